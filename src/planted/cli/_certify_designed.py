"""`planted certify --loss G|F|L`: the minimum of a designed loss next to a network, and how near the teacher is."""

from __future__ import annotations

from typing import Any

from planted.names import unknown

LOSSES = ("squared", "G", "F", "L")


def check_loss(loss: str, others: bool) -> None:
    """Raise unless `loss` is a known one, and goes with the other options; `others` says whether some are given.

    >>> check_loss("H", False)
    Traceback (most recent call last):
    ValueError: unknown loss 'H'. Known: squared, G, F, L.
    """
    if loss not in LOSSES:
        raise ValueError(unknown("loss", loss, LOSSES))
    if loss != "squared" and others:
        raise ValueError(f"--loss {loss} is for regression and goes without --descent and --report")


def designed_certificate(loss: str, network: Any, X: Any, y: Any, inputs: str, seed: int) -> Any:
    """Certificate of the minimum of G, F or L next to a network of at most as many neurons as inputs.

    G and F take the rows of X as standard Gaussian, L as drawn from the law that `inputs` names.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(4000, 2, 2, random_state=0)
    >>> certificate = designed_certificate("G", data.teacher, data.X, data.y, "auto", 0)
    >>> certificate.kind, certificate.teacher_distance.expected < 0.3
    ('local minimum', True)
    """
    import numpy as np

    from planted.certificates import certify
    from planted.inputs import input_law
    from planted.objectives import FullRankLandscape, Landscape, ScoreLandscape
    from planted.solvers import lbfgs

    plain = network.bias is None and network.skip is None and not np.any(network.intercept)
    if not plain or network.output.ndim > 1:
        raise ValueError(f"--loss {loss} takes a network of one output without biases, intercept and linear part")
    k, d = network.weights.shape
    if k > d:
        raise ValueError(f"--loss {loss} takes at most as many neurons as inputs, not {k} of {d}")
    norms = np.linalg.norm(network.weights, axis=1)
    if np.any(norms == 0):
        raise ValueError("the network has a neuron whose weights are all zero")
    start, act = network.weights / norms[:, None], network.activation
    objective: Any
    if loss == "G":
        objective = Landscape(X, y, act, n_hidden=k)
    elif loss == "F":
        objective = FullRankLandscape(X, y, act, n_hidden=k)
        start = np.linalg.pinv(np.sqrt(np.abs(network.output) * norms)[:, None] * start).T
    else:
        objective = ScoreLandscape(X, y, input_law(inputs, X).law, n_hidden=k)
    run = lbfgs(objective, start, steps=2000, tolerance=1e-9)
    return certify(objective, run.params, seed=seed)
