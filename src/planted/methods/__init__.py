"""Recipes: each names one part of every kind and puts them in order.

A :class:`Method` is called on a :class:`Problem` and returns a :class:`Recovery`. One module of `regression/`,
`labels/` or `filters/` holds one recipe and its record; :data:`METHODS`, :data:`LABELS` and :data:`FILTERS` are read
off these folders.
"""

from planted.methods._agreement import agreeing, with_ends
from planted.methods._certificate import certificate
from planted.methods._choice import Candidate, Choice
from planted.methods._choose import choose
from planted.methods._contribution import contribution, random_directions, turned
from planted.methods._decide import Decision, decide
from planted.methods._directions import start_from_directions
from planted.methods._errors import PARAMETERS_WITH_ERRORS
from planted.methods._facts import Facts
from planted.methods._filter_dynamics import (
    FATES,
    Trajectory,
    conv_descent,
    fate_code,
    typical_step,
)
from planted.methods._filter_theorem import (
    PhaseBounds,
    leads_to_spurious_minimum,
    leads_to_teacher,
    phase_bounds,
    step_size_bound,
)
from planted.methods._filters import FilterProblem
from planted.methods._finish import recover
from planted.methods._inputs import InputsWarning, assumed_inputs
from planted.methods._label_alpha import choose_label_alpha
from planted.methods._label_finish import label_uncertainty, leaving
from planted.methods._label_kinds import label_activations, label_kinds, label_linear
from planted.methods._label_width import choose_label_network, label_method
from planted.methods._labels import LabelProblem, class_probabilities
from planted.methods._method import Method, methods_table, records
from planted.methods._observations import Observations, joined_rows, observations
from planted.methods._problem import Free, Problem, block_whitened, problem_of
from planted.methods._quadratic_matrix import QuadraticFit, determined, factorise, fit_matrix, fit_quadratic
from planted.methods._question import Question
from planted.methods._recovery import Recovery, Start
from planted.methods._refine import Refined, finish, refine
from planted.methods._residual_test import residual_p_value
from planted.methods._search import Search
from planted.methods._target_units import in_noise_units, in_own_units, in_units
from planted.methods._verdict import STATUSES, SUCCESSES, Verdict, judge
from planted.methods._width import choose_width

METHODS = records("regression")
LABELS = records("labels")
FILTERS = records("filters")

__all__ = [
    "FATES",
    "FILTERS",
    "LABELS",
    "METHODS",
    "PARAMETERS_WITH_ERRORS",
    "STATUSES",
    "SUCCESSES",
    "Candidate",
    "Choice",
    "Decision",
    "Facts",
    "FilterProblem",
    "Free",
    "InputsWarning",
    "LabelProblem",
    "Method",
    "Observations",
    "PhaseBounds",
    "Problem",
    "QuadraticFit",
    "Question",
    "Recovery",
    "Refined",
    "Search",
    "Start",
    "Trajectory",
    "Verdict",
    "agreeing",
    "assumed_inputs",
    "block_whitened",
    "certificate",
    "choose",
    "choose_label_alpha",
    "choose_label_network",
    "choose_width",
    "class_probabilities",
    "contribution",
    "conv_descent",
    "decide",
    "determined",
    "factorise",
    "fate_code",
    "finish",
    "fit_matrix",
    "fit_quadratic",
    "in_noise_units",
    "in_own_units",
    "in_units",
    "joined_rows",
    "judge",
    "label_activations",
    "label_kinds",
    "label_linear",
    "label_method",
    "label_uncertainty",
    "leads_to_spurious_minimum",
    "leads_to_teacher",
    "leaving",
    "methods_table",
    "observations",
    "phase_bounds",
    "problem_of",
    "random_directions",
    "recover",
    "refine",
    "residual_p_value",
    "start_from_directions",
    "step_size_bound",
    "turned",
    "typical_step",
    "with_ends",
]
