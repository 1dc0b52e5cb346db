"""How to descend: one driver for first-order steps, quasi-Newton, least-squares polish."""

from planted.numerics.progress import silent
from planted.solvers._driver import descend
from planted.solvers._escape import Escape, leave_saddles, perturbed_descent
from planted.solvers._first_order import FirstOrder, Perturbation, step_size_cuts, unit_rows
from planted.solvers._gauss_newton import gauss_newton
from planted.solvers._lbfgs import lbfgs
from planted.solvers._least_squares import least_squares
from planted.solvers._newton import newton_polish
from planted.solvers._result import Descent, History
from planted.solvers._sample_newton import sample_newton

__all__ = [
    "Descent",
    "Escape",
    "FirstOrder",
    "History",
    "Perturbation",
    "descend",
    "gauss_newton",
    "lbfgs",
    "least_squares",
    "leave_saddles",
    "newton_polish",
    "perturbed_descent",
    "sample_newton",
    "silent",
    "step_size_cuts",
    "unit_rows",
]
