"""How to descend: one loop under first-order steps, quasi-Newton, least-squares polish and saddle escapes."""

from planted.numerics.progress import silent
from planted.solvers._driver import Monitor, descend
from planted.solvers._escape import Escape, leave_saddles, perturbed_descent
from planted.solvers._first_order import (
    AdaptiveStep,
    FirstOrder,
    Perturbation,
    decaying_adam,
    step_size_cuts,
    unit_rows,
)
from planted.solvers._gauss_newton import gauss_newton
from planted.solvers._lbfgs import lbfgs
from planted.solvers._least_squares import least_squares
from planted.solvers._mini_batches import MiniBatches
from planted.solvers._newton import newton_polish
from planted.solvers._projection import SeparableRows, variable_projection
from planted.solvers._result import Descent, History
from planted.solvers._sample_newton import sample_newton
from planted.solvers._traced_descent import traced_descent
from planted.solvers._traced_lbfgs import TracedEnd, traced_lbfgs
from planted.solvers._traced_least_squares import traced_least_squares

__all__ = [
    "AdaptiveStep",
    "Descent",
    "Escape",
    "FirstOrder",
    "History",
    "MiniBatches",
    "Monitor",
    "Perturbation",
    "SeparableRows",
    "TracedEnd",
    "decaying_adam",
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
    "traced_descent",
    "traced_lbfgs",
    "traced_least_squares",
    "unit_rows",
    "variable_projection",
]
