"""What is known of the inputs x."""

from planted.inputs._gaussian import Gaussian

__all__ = ["Gaussian"]
