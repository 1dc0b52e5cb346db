"""Activations φ: values, derivatives, Hermite coefficients, Gaussian moments, symmetries and bounds."""

from planted.activations._activation import Activation, custom
from planted.activations._library import get, leaky_relu, sigmoid, softplus

__all__ = ["Activation", "custom", "get", "leaky_relu", "sigmoid", "softplus"]
