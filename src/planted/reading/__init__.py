"""Read a model by asking it: any function, estimator, module or file into a network with one hidden layer."""

from planted.reading._adapters import adapt, log_ratios
from planted.reading._query import ModelError
from planted.reading._read import read
from planted.reading._result import Reading

__all__ = ["ModelError", "Reading", "adapt", "log_ratios", "read"]
