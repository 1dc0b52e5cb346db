"""`planted certify --loss G|F|L`: the minimum of a designed loss next to a network, and how near the teacher is."""

from __future__ import annotations

from typing import Any

from planted.names import unknown

LOSSES = ("squared", "G", "F", "L")


def check_loss(loss: str, population: bool, others: bool) -> None:
    """Raise unless `loss` is a known one, and goes with the other options; `others` says whether some are given.

    >>> check_loss("H", False, False)
    Traceback (most recent call last):
    ValueError: unknown loss 'H'. Known: squared, G, F, L.
    """
    if loss not in LOSSES:
        raise ValueError(unknown("loss", loss, LOSSES))
    if loss != "squared" and others:
        raise ValueError(f"--loss {loss} is for regression and goes without --descent, --report and --weights")
    if loss == "squared" and population:
        raise ValueError("--population is for --loss G, F or L")


def designed_certificate(loss: str, network: Any, X: Any, y: Any, inputs: Any, seed: int) -> Any:
    """Certificate of the minimum of G, F or L next to a network of at most as many neurons as inputs.

    G and F take the rows of X as standard Gaussian, L as drawn from the law `inputs`, a density or a name.

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
    start, act = _directions(network), network.activation
    objective: Any
    if loss == "G":
        objective = Landscape(X, y, act, n_hidden=k)
    elif loss == "F":
        objective = FullRankLandscape(X, y, act, n_hidden=k)
        start = _full_rank_point(network)
    else:
        objective = ScoreLandscape(X, y, input_law(inputs, X).law, n_hidden=k)
    run = lbfgs(objective, start, steps=2000, tolerance=1e-9)
    return certify(objective, run.params, seed=seed)


def expected_certificate(loss: str, teacher: Any, X: Any, inputs: Any, seed: int) -> Any:
    """Certificate of the minimum of the expected G, F or L next to the network that the data is taken to come from.

    G and F are for standard Gaussian inputs. L is for the law `inputs`, a density or a name, whose parameters a name
    leaves to the rows of X; its form is the full-rank one unless the teacher's rows are orthonormal.

    >>> from planted.networks import Network
    >>> certificate = expected_certificate("G", Network([[0.6, 0.8], [-0.8, 0.6]], [1.0, 2.0]), None, "auto", 0)
    >>> certificate.kind, certificate.teacher_distance.row_error < 1e-6
    ('global minimum', True)
    """
    from planted.certificates import certify
    from planted.inputs import LocalLikelihood, input_law
    from planted.objectives import (
        PopulationFullRankLandscape,
        PopulationLandscape,
        PopulationScoreLandscape,
        orthonormal,
    )
    from planted.solvers import lbfgs

    start = _directions(teacher)
    objective: Any
    if loss == "G":
        objective = PopulationLandscape(teacher)
    elif loss == "F":
        objective, start = PopulationFullRankLandscape(teacher), _full_rank_point(teacher)
    else:
        law = input_law(inputs, X).law
        if isinstance(law, LocalLikelihood):
            raise ValueError("--population needs a density: a name other than 'local', or one of your own")
        full = not orthonormal(start)
        objective = PopulationScoreLandscape(
            teacher, law, form="full-rank" if full else "orthogonal", random_state=seed
        )
        start = _full_rank_point(teacher) if full else start
    run = lbfgs(objective, start, steps=2000, tolerance=1e-9)
    return certify(objective, run.params, seed=seed)


def _directions(network: Any) -> Any:
    """Unit rows (k, d) of a network."""
    import numpy as np

    norms = np.linalg.norm(network.weights, axis=1)
    if np.any(norms == 0):
        raise ValueError("the network has a neuron whose weights are all zero")
    return network.weights / norms[:, None]


def _full_rank_point(network: Any) -> Any:
    """Where the full-rank losses begin: the rows of (A†)ᵀ, A with a neuron's strength and direction in each row."""
    import numpy as np

    rows = _directions(network)
    strength = np.sqrt(np.abs(network.output) * np.linalg.norm(network.weights, axis=1))
    return np.linalg.pinv(strength[:, None] * rows).T
