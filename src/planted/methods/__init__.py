"""The recipes: each paper is one."""

from planted.methods._conv import ConvRestart, ConvResult, recover_conv
from planted.methods._conv_dynamics import Trajectory, conv_descent, step_size_bound

__all__ = ["ConvRestart", "ConvResult", "Trajectory", "conv_descent", "recover_conv", "step_size_bound"]
