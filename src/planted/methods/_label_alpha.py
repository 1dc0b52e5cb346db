"""The strength of the penalty of a problem with labels, whatever its link."""

from __future__ import annotations

from planted.methods._label_penalty import choose_alpha, thirds
from planted.methods._label_search import standardised
from planted.methods._labels import LabelProblem
from planted.methods.labels import likelihood, logit
from planted.numerics.precision import float64


@float64
def choose_label_alpha(problem: LabelProblem) -> tuple[float, dict[float, float]]:
    """The strength that held-out rows ask for, zero where it is as good, and the held-out cross-entropy of each one.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> alpha, losses = choose_label_alpha(LabelProblem.of(data.X, data.y, 1, "sigmoid"))
    >>> alpha < 0.01, losses[0.1] > losses[alpha]
    (True, True)
    """
    if problem.link == "mean":
        return choose_alpha(problem, likelihood.fitted_params, thirds(problem))
    return choose_alpha(standardised(problem)[0], logit.fitted_params, thirds(problem))
