"""Where to begin."""

from planted.starts._random import random_rows

__all__ = ["random_rows"]
