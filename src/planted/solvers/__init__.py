"""How to descend: one driver for first-order steps, quasi-Newton, least-squares polish."""

from planted.solvers._driver import descend
from planted.solvers._first_order import FirstOrder, Perturbation, step_size_cuts, unit_rows
from planted.solvers._lbfgs import lbfgs
from planted.solvers._least_squares import least_squares
from planted.solvers._result import Descent, History, silent

__all__ = [
    "Descent",
    "FirstOrder",
    "History",
    "Perturbation",
    "descend",
    "lbfgs",
    "least_squares",
    "silent",
    "step_size_cuts",
    "unit_rows",
]
