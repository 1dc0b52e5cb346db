"""What a method returns, and the refinement that all of them end with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import Squared
from planted.rows import ArrayRows
from planted.solvers import Descent, gauss_newton, lbfgs, least_squares, silent

# A relative loss (residual variance over target variance) that rounding alone explains.
EXACT = 1e-12
# A relative loss below which descending further moves weights by rounding errors only.
_ROUNDING = 1e-25
_ROWS_PER_PARAMETER = 20
_DENSE_PARAMETERS = 300
_POLISH = 25
# Half the relative loss below which Gauss–Newton steps converge at once, and a decrease an iteration that is too slow.
_NEAR, _SLOW = 1e-3, 1e-3


@dataclass(frozen=True)
class Recovery:
    """A recovered network and what is known of it.

    Attributes
    ----------
    network : Network
    status : str
        "recovered" (the network explains every row to rounding), "fitted" (it does not, for noise or for
        another reason that data alone may not show) or "failed".
    reason : str
        One sentence.
    advice : str
        What to try if it is not what was hoped for; empty when recovered.
    loss : float
        ½ mean (prediction − y)².
    relative_loss : float
        mean (prediction − y)² / var(y).
    method : str
    seconds : float
    descents : dict
        The solvers' runs by phase.
    details : dict
        Numbers of the method, such as the constants μ, λ it used.
    """

    network: Network
    status: str
    reason: str
    advice: str
    loss: float
    relative_loss: float
    method: str
    seconds: float
    descents: dict[str, Descent] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [
            f"{self.status}: {self.reason}",
            f"{self.network}, by method {self.method!r} in {self.seconds:.1f} s",
            f"relative loss {self.relative_loss:.3g}",
        ]
        return "\n".join(lines + ([self.advice] if self.advice else []))


@float64
def refine(
    X: np.ndarray,
    y: np.ndarray,
    network: Network,
    *,
    fit_bias: bool = False,
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
    steps: int = 1000,
    progress: Progress = silent,
) -> tuple[Network, float, dict[str, Descent]]:
    """Descend the squared loss over both layers from `network`; the network, its loss and the solvers' runs.

    L-BFGS on all rows brings the start near, and stops where rounding begins. Levenberg–Marquardt then finishes,
    first on a subsample of twenty rows a parameter (enough to pin a noise-free network down), then on all rows.
    Networks with more than 300 parameters are finished by Gauss–Newton steps without a Jacobian, whose cost grows
    linearly in them, and by L-BFGS again if those do not converge.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 4, 3, random_state=0)
    >>> near = Network(data.teacher.weights + 0.05, data.teacher.output)
    >>> refine(data.X, data.y, near)[1] < 1e-20
    True
    """
    weight = None if sample_weight is None else to_jax(sample_weight)

    def loss_on(few: int | None) -> Squared:
        part = None if weight is None else weight[:few]
        rows = ArrayRows(to_jax(X[:few]), to_jax(y[:few]), part)
        return Squared.on(rows, network.activation, bias=fit_bias, intercept=fit_intercept)

    loss = loss_on(None)
    params: dict[str, Any] = {"weights": network.weights, "output": network.output}
    if fit_bias:
        params["bias"] = np.zeros(network.n_hidden) if network.bias is None else network.bias
    if fit_intercept:
        params["intercept"] = np.asarray(network.intercept)
    size = sum(np.size(leaf) for leaf in params.values())
    runs: dict[str, Descent] = {}
    dense = size <= _DENSE_PARAMETERS and len(X) >= size
    enough = _ROUNDING * float(np.average(y**2, weights=sample_weight))
    if size > _DENSE_PARAMETERS and len(X) >= size:
        near = _NEAR * float(np.average(y**2, weights=sample_weight))
        runs["near"] = lbfgs(loss, params, steps=steps, tolerance=1e-14, target=near, decrease=_SLOW, progress=progress)
        runs["gauss_newton"] = gauss_newton(loss, runs["near"].params, progress=progress)
        params = runs["gauss_newton"].params
    if "gauss_newton" not in runs or runs["gauss_newton"].status != "converged":
        runs["lbfgs"] = lbfgs(
            loss, params, steps=300 if dense else steps, tolerance=1e-14, target=enough, progress=progress
        )
        params = runs["lbfgs"].params
    if dense and runs["lbfgs"].value > enough:
        few = _ROWS_PER_PARAMETER * size
        if len(X) > 2 * few:
            runs["subsample"] = least_squares(loss_on(few), params, steps=_POLISH, progress=progress)
            if loss.value(runs["subsample"].params) < runs["lbfgs"].value:
                params = runs["subsample"].params
        runs["least_squares"] = least_squares(loss, params, steps=_POLISH, progress=progress)
        params = runs["least_squares"].params
    found = Network(
        params["weights"], params["output"], network.activation, params.get("bias"), params.get("intercept", 0.0)
    )
    return found, float(loss.value(params)), runs


def verdict(loss: float, y: np.ndarray, sample_weight: np.ndarray | None = None) -> tuple[str, str, str, float]:
    """Status, reason, advice and relative loss of a fit with ½ mean squared residual `loss`.

    >>> verdict(0.0, np.array([0.0, 1.0]))[0]
    'recovered'
    """
    mean = np.average(y, weights=sample_weight)
    return verdict_at(loss, float(np.average((y - mean) ** 2, weights=sample_weight)))


def verdict_at(loss: float, variance: float) -> tuple[str, str, str, float]:
    """The same for targets of the given variance.

    >>> verdict_at(0.0, 1.0)[0]
    'recovered'
    """
    relative = 2 * loss / variance
    if relative <= EXACT:
        return "recovered", "the network explains every row to rounding error", "", relative
    if relative <= 0.5:
        return (
            "fitted",
            f"the network explains {100 * (1 - relative):.4g} % of the variance; the rest is noise of standard "
            f"deviation {np.sqrt(2 * loss):.3g}, or structure that this network lacks",
            "If the data has no noise: try more neurons, another activation, more rows or another random_state.",
            relative,
        )
    return (
        "failed",
        f"the network explains only {100 * (1 - relative):.3g} % of the variance",
        "Check the activation and the number of neurons, try method='squared', more rows, or another random_state.",
        relative,
    )


def finish(
    X: np.ndarray,
    y: np.ndarray,
    start: Network,
    *,
    method: str,
    began: float,
    fit_bias: bool,
    progress: Progress,
    descents: dict[str, Descent],
    details: dict[str, Any],
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
) -> Recovery:
    """Refine `start`, judge it and wrap it up: the common end of every method.

    >>> from planted.datasets import make_planted
    >>> from planted.solvers import silent
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> done = finish(data.X, data.y, data.teacher, method="squared", began=time.perf_counter(), fit_bias=False,
    ...               progress=silent, descents={}, details={})
    >>> done.status
    'recovered'
    """
    network, loss, runs = refine(
        X, y, start, fit_bias=fit_bias, fit_intercept=fit_intercept, sample_weight=sample_weight, progress=progress
    )
    status, reason, advice, relative = verdict(loss, y, sample_weight)
    return Recovery(
        network=network,
        status=status,
        reason=reason,
        advice=advice,
        loss=loss,
        relative_loss=relative,
        method=method,
        seconds=time.perf_counter() - began,
        descents=descents | runs,
        details=details,
    )
