r"""Kinds of label networks that are compared where the activation is left open: links and shapes of neurons.

Of activations that are one another up to the scale of a neuron, and an intercept where there is one, the first speaks
for all: tanh_probability(z) = σ(2z), and tanh(z) = 2σ(2z) − 1. A relative has nearly the same shape: it is fitted from
where the other has ended. Squares are no candidates: several of them are not determined by their sum, and with biases
they escape a penalty on weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planted import activations
from planted.activations import Activation
from planted.methods._labels import LabelProblem

_MEAN = ("sigmoid", "erf_probability")
_LOG_ODDS = ("tanh", "relu", "softplus")
_NEAR = {"erf_probability": "sigmoid"}


def label_activations(link: str, intercept: bool) -> tuple[Activation, ...]:
    """Activations of different shapes for a link, commonest first.

    >>> [act.name for act in label_activations("logit", intercept=False)]
    ['tanh', 'relu', 'softplus', 'sigmoid']
    """
    names = _MEAN if link == "mean" else _LOG_ODDS + ("sigmoid",) * (not intercept)
    return tuple(activations.get(name) for name in names)


def label_kinds(problem: LabelProblem, links: Iterable[str], *, intercept: bool) -> list[LabelProblem]:
    """The problem with every activation of these links; log-odds have an intercept if asked to.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(50, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "sigmoid")
    >>> [(kind.link, kind.activation.name) for kind in label_kinds(problem, ("mean", "logit"), intercept=True)][:2]
    [('mean', 'sigmoid'), ('mean', 'erf_probability')]
    """
    made = []
    for link in links:
        free = replace(problem.free, intercept=link == "logit" and intercept)
        made += [replace(problem, link=link, activation=act, free=free) for act in label_activations(link, intercept)]
    return made


def label_linear(problem: LabelProblem) -> LabelProblem:
    """The problem of log-odds that are one linear function of the inputs, without neurons: logistic regression.

    >>> from planted.methods import Free
    >>> label_linear(LabelProblem.of([[1.0], [2.0]], [0.0, 1.0], 1, link="logit", free=Free(intercept=True))).unknowns
    2
    """
    return replace(problem, n_hidden=0, free=replace(problem.free, bias=False, skip=True))


def relatives(kinds: Sequence[LabelProblem], kind: LabelProblem) -> list[LabelProblem]:
    """Those of the same link whose activation has nearly the shape of that of another one.

    >>> problem = LabelProblem.of([[1.0], [2.0]], [0.0, 1.0], 1, "sigmoid")
    >>> kinds = label_kinds(problem, ("mean", "logit"), intercept=True)
    >>> [[other.activation.name for other in relatives(kinds, kind)] for kind in kinds[:2]]
    [['erf_probability'], []]
    """
    name = kind.activation.name
    return [other for other in kinds if other.link == kind.link and _NEAR.get(other.activation.name) == name]
