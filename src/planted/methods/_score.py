r"""Recovery by the loss L of Gao et al. (2018), for inputs with any smooth density.

L is an average of y S₄(x) for the score function S₄ = ∇⁴f/f of the inputs' density f, so nothing need be Gaussian.
Teachers with orthonormal rows and those with any full-rank rows have their own form of L; which one the data has is
not known beforehand, so both are minimised, and least squares on all rows tells which directions explain y.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from planted.activations import Activation
from planted.inputs import Gaussian, LocalLikelihood, input_law
from planted.methods._recovery import Recovery, finish
from planted.networks import Network
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.objectives import ScoreLandscape, read_off, whitening
from planted.solvers import Descent, lbfgs, silent
from planted.starts import random_rows
from planted.starts.output_layer import OutputLayer, least_squares_outputs

_STARTS = 4
_FORMS = ("full-rank", "auto")


@dataclass(frozen=True)
class _Candidate:
    """Directions (k, d) at the least value of one form of L, in the coordinates that L was given."""

    loss: ScoreLandscape
    run: Descent
    directions: np.ndarray


def _minimise(L: ScoreLandscape, n_hidden: int, key: jax.Array, progress: Progress) -> _Candidate:
    full_rank = L.form.startswith("full-rank")
    if full_rank:
        starts = np.asarray(random_rows(key, n_hidden, n_hidden, _STARTS)) @ whitening(np.asarray(L.T), n_hidden).T
    else:
        starts = np.asarray(random_rows(key, n_hidden, L.n_features, _STARTS)) @ np.asarray(L.projector)
    runs = [lbfgs(L, start, steps=1000, tolerance=1e-7, progress=progress) for start in starts]
    run = min(runs, key=lambda found: found.value)
    rows = read_off(run.params)[0] if full_rank else run.params
    return _Candidate(L, run, rows / np.linalg.norm(rows, axis=1, keepdims=True))


@float64
def score(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
    key: jax.Array,
    progress: Progress = silent,
    inputs: Any = "auto",
    whiten: bool = True,
) -> Recovery:
    """Recover a network with full-rank weights, n_hidden ≤ d, from rows with a known or estimated density.

    Parameters
    ----------
    inputs : Density, LocalLikelihood, str or InputLaw
        See :func:`planted.inputs.input_law`.
    whiten : bool
        Estimate local scores on whitened rows, since their kernel is the same in all directions. A LocalLikelihood
        that has its own data already, or a density, is used on the rows as they are.

    Each form of L is minimised by L-BFGS from four random starts. The directions with the least residual of a
    least-squares output layer are refined; `details` holds both residuals, and those before refinement. Row weights
    enter L and the refinement; a law that is fitted to the rows, and the test behind "auto", take all rows alike.

    >>> from planted import activations, datasets
    >>> from planted.inputs import Logistic
    >>> data = datasets.make_planted(20_000, 3, 2, inputs=Logistic(3), random_state=0)
    >>> relu = activations.get("relu")
    >>> score(data.X, data.y, 2, relu, key=jax.random.key(0), inputs=Logistic(3)).status
    'recovered'
    """
    began = time.perf_counter()
    d = X.shape[1]
    if n_hidden > d:
        raise ValueError(f"method='score' needs n_hidden ≤ inputs, but {n_hidden} > {d}; use method='squared'")
    chosen = input_law(inputs, X)
    law, frame, Z = chosen.law, Gaussian(np.zeros(d)), X
    if isinstance(law, LocalLikelihood) and not hasattr(law, "n_features_in_"):
        if whiten:
            frame = Gaussian.fit(X)
            Z = frame.whiten(X)
        law = clone(law).fit(Z)
    details: dict[str, Any] = {"inputs": str(chosen), "residuals": {}}
    descents: dict[str, Descent] = {}
    best: tuple[float, OutputLayer] | None = None
    for form, form_key in zip(_FORMS, jax.random.split(key, len(_FORMS)), strict=True):
        try:
            L = ScoreLandscape(Z, y, law, form=form, n_hidden=n_hidden, sample_weight=sample_weight)
        except ValueError as error:
            # T is not definite, or a moment vanishes: this form cannot be written down for these rows.
            details[f"{form} form"] = str(error)
            continue
        found = _minimise(L, n_hidden, form_key, progress)
        descents[f"score, {L.form}"] = found.run
        on_x, _ = frame.unwhiten_weights(found.directions)
        layer = least_squares_outputs(X, y, on_x / np.linalg.norm(on_x, axis=1, keepdims=True), activation)
        squares = (Network(layer.weights, layer.output, activation).predict(X) - y) ** 2
        residual = float(np.average(squares, weights=sample_weight))
        details["residuals"][L.form] = residual / float(np.var(y))
        if best is None or residual < best[0]:
            best = residual, layer
            details |= {"form": L.form, "constants": L.constants.as_dict(), "kappa": L.kappa, "signs": layer.status}
    if best is None:
        raise ValueError(f"no form of the score landscape applies to these rows: {details[f'{_FORMS[-1]} form']}")
    details["directions"] = best[1].weights
    return finish(
        X,
        y,
        Network(best[1].weights, best[1].output, activation),
        method="score",
        began=began,
        fit_bias=fit_bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        progress=progress,
        descents=descents,
        details=details,
    )
