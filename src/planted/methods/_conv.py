r"""Recover a shared filter and its output weights from data (Du et al. 2017): restarts, descent, polish, verdict.

The model is y = Σ_i a_i φ(w·Z_i) + noise, with patches Z_i of covariance Σ within a patch. Four restarts, the signs of
one draw (Theorem 3.2), descend side by side in the coordinates U_i = Σ^{-1/2} Z_i, in which the theorems hold if the
Z_i are centred, Gaussian and independent. Whitening only steers the descent: the loss and its minimiser are those of
the data, whatever the law of the inputs. The best restart is then polished by least squares on all rows, and accepted
if its residuals carry no linear trace of the inputs, which the spurious minimum's do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.inputs import Gaussian
from planted.methods._conv_dynamics import fates, typical_step
from planted.methods._conv_polish import expected_error, polish, residual_test
from planted.networks import ConvNetwork, as_patches, match
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.numerics.seeding import key_from
from planted.numerics.validation import as_matrix
from planted.objectives import ConvSquared
from planted.solvers import AdaptiveStep, Monitor, descend, silent
from planted.starts import SIGNS, output_radius, sign_restarts, uniform_start

_GRADIENT, _PROGRESS = 1e-3, 1e-8
_EXACT = 1e-20
_EXCESS = 8.0
_LARGEST_ERROR = 0.25
_NEAR_ON_DATA = (0.3, 0.6, 0.3)


@dataclass(frozen=True)
class ConvRestart:
    """One of the four restarts: its signs of (filter, output), where its descent ended, and the loss there.

    `fate` is "global minimum" ("best minimum found" unless the network was recovered), "spurious minimum" (that of
    Lemma 4.1, known for ReLU), "stationary point" (descent has stopped elsewhere) or "still moving".
    """

    signs: tuple[int, int]
    fate: str
    loss: float


@dataclass(frozen=True)
class ConvResult:
    """What was recovered and how.

    Attributes
    ----------
    network : ConvNetwork
        In canonical form; the best found, whatever the status.
    status : "recovered" or "not recovered"
    reason : str
        One sentence.
    loss : float
        ½ mean squared residual on all rows.
    noise : float
        Standard deviation of the residuals.
    expected_error : float
        Estimated relative standard error of the weights at this noise (the Cramér–Rao bound).
    restarts : tuple of ConvRestart
        The four restarts of the last descent.
    curve : (array (T,), array (T, 4))
        Iterations of the last descent at which it was looked at, and the loss of each restart there.
    n_iterations : int
        Iterations of all descents.
    seconds : float
    """

    network: ConvNetwork
    status: str
    reason: str
    loss: float
    noise: float
    expected_error: float
    restarts: tuple[ConvRestart, ...]
    curve: tuple[np.ndarray, np.ndarray]
    n_iterations: int
    seconds: float

    def __str__(self) -> str:
        lines = [
            f"{self.status}: {self.reason}",
            f"{self.network!r}, loss {self.loss:.4g}, noise {self.noise:.4g}, "
            f"expected error {self.expected_error:.2g} ({self.n_iterations} iterations, {self.seconds:.1f} s)",
        ]
        lines += [f"  restart ({r.signs[0]:+d}, {r.signs[1]:+d}): {r.fate}, loss {r.loss:.4g}" for r in self.restarts]
        return "\n".join(lines)


class _Settled:
    """Whether the best restart, or every one, has settled; `restarts` (4,) says which have."""

    def __init__(self, energy: float, all_restarts: bool) -> None:
        self.energy, self.all_restarts = energy, all_restarts
        self.before, self.restarts = np.array(np.inf), np.array(False)

    def __call__(self, state: Any) -> bool:
        losses = np.asarray(state.value)
        lengths, slopes, changes = (
            np.asarray(jnp.linalg.norm(part, axis=1))
            for part in (state.params["filter"], state.gradient["filter"], state.gradient["output"])
        )
        # ‖v‖ ∂ℓ/∂v and √ℓ ∂ℓ/∂a have the units of the loss, whatever the scale of y and v.
        norms = lengths * slopes + self.energy**0.5 * changes
        # Noise puts kinks next to a minimum, where the gradient stays large and only the loss can tell.
        self.restarts = (norms <= _GRADIENT * self.energy) | (self.before - losses <= _PROGRESS * self.energy)
        self.before = losses
        return bool(self.restarts.all() if self.all_restarts else self.restarts[np.argmin(losses)])


def _fates(
    params: dict[str, np.ndarray], settled: np.ndarray, objective: ConvSquared, winner: ConvNetwork, status: str
) -> list[str]:
    """Where the restarts are, with the network found in the teacher's place."""
    best = "global minimum" if status == "recovered" else "best minimum found"
    if objective.activation.name == "relu":
        found = fates(params, winner, _NEAR_ON_DATA)
    else:
        networks = [objective.network({"filter": v, "output": a}) for v, a in zip(*params.values(), strict=True)]
        near = [match(network, winner).weight_error <= _NEAR_ON_DATA[2] for network in networks]
        found = ["global minimum" if one else "still moving" for one in near]
    names = {"global minimum": best, "spurious minimum": "spurious minimum"}
    return [names.get(f, "stationary point" if done else f) for f, done in zip(found, settled, strict=True)]


def _whitener(patches: np.ndarray, whiten: bool) -> np.ndarray:
    """W (p, p) with Z·W white: W = L⁻ᵀ where LLᵀ is the covariance of the patches, all taken together."""
    p = patches.shape[2]
    if not whiten:
        return np.eye(p)
    return Gaussian(np.zeros(p), np.atleast_2d(Gaussian.fit(patches.reshape(-1, p)).cov)).whiten(np.eye(p))


@float64
def recover_conv(
    Z: ArrayLike,
    y: ArrayLike,
    *,
    activation: Any = "relu",
    n_patches: int | None = None,
    n_filters: int = 1,
    whiten: bool = True,
    descent_rows: int | None = None,
    max_iterations: int = 3000,
    random_state: Any = None,
    progress: Progress = silent,
) -> ConvResult:
    """Recover the network y = Σ_i output_i φ(filter·Z_i) behind data.

    Parameters
    ----------
    Z : array (n, k, p), or flat rows (n, k·p) together with n_patches
    y : array (n,)
    activation : str, Activation or callable
        φ.
    n_filters : int
        Must be 1; :func:`recover_filters` fits several.
    whiten : bool
        Descend in coordinates in which the patches' common covariance is the identity.
    descent_rows : int, optional
        Rows of the first descent, max(4096, 50 (p + k)) unless given. If it leads nowhere, one on all rows follows.
    max_iterations : int
        Of each descent.
    random_state : None, int, RandomState or Generator
    progress : callable
        Called as progress(done, total, text).

    Examples
    --------
    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> result = recover_conv(data.X, data.y, random_state=0)
    >>> result.status, match(result.network, data.teacher).weight_error < 1e-10
    ('recovered', True)
    """
    began = time.perf_counter()
    patches, targets = as_patches("Z", Z, n_patches), as_matrix("y", y, 1)
    act: Activation = activations.get(activation)
    objective = ConvSquared(patches, targets, act)
    n, k, p = patches.shape
    if n_filters != 1:
        raise ValueError(f"this recovers one filter, not n_filters={n_filters!r}; use recover_filters for several")
    if n < p + k:
        raise ValueError(f"{n} rows cannot determine a filter of {p} entries and {k} output weights")
    energy = float(np.mean(targets**2)) / 2
    if energy == 0:
        raise ValueError("y is zero in every row: there is no network to recover")
    whitener = _whitener(patches, whiten)
    variance, mean = float(np.var(targets)), float(np.mean(targets))
    typical, second = act.hermite(0), act.second_moment()
    square = variance / (second - typical**2) if second > typical**2 else variance / second
    total = 0.0 if abs(typical) < 1e-12 else mean / typical
    step = float(typical_step(total, square, k, act))
    radius = output_radius(mean, variance, k, act)
    first = min(n, max(4096, 50 * (p + k)) if descent_rows is None else int(descent_rows))
    candidates: list[tuple[float, ConvNetwork]] = []
    iterations = 0
    keys = jax.random.split(key_from(random_state), 2)
    for attempt, size in enumerate([first, n] if first < n else [n, n]):
        white = ConvSquared(patches[:size] @ whitener, targets[:size], act)
        starts = sign_restarts(uniform_start(keys[attempt], p, k, radius))
        settled = _Settled(float(np.mean(targets[:size] ** 2)) / 2, all_restarts=attempt > 0)
        run = descend(
            white, starts, AdaptiveStep(step), steps=max_iterations, key=keys[attempt], side_by_side=True,
            monitor=Monitor(settled=settled), progress=progress,
        )  # fmt: skip
        params, losses, iterations = run.params, run.value, iterations + run.n_steps
        for index in np.argsort(losses):
            found = white.network({name: leaf[index] for name, leaf in params.items()})
            near = ConvNetwork(whitener @ found.filter, found.output, act).canonical()
            network, descent = polish(objective, near)
            candidates.append((float(descent.value), network))
            status, reason, test, error = _verdict(objective, network, float(descent.value), energy, whitener)
            if status == "recovered":
                break
        if status == "recovered":
            break
    if status != "recovered":
        loss, network = min(candidates, key=lambda pair: pair[0])
        status, reason, test, error = _verdict(objective, network, loss, energy, whitener)
    else:
        loss = candidates[-1][0]
    winner = ConvNetwork(np.linalg.solve(whitener, network.filter), network.output, act).canonical()
    restarts = tuple(
        ConvRestart(signs, fate, float(value))
        for signs, fate, value in zip(
            SIGNS, _fates(params, settled.restarts, white, winner, status), losses, strict=True
        )
    )
    seconds = time.perf_counter() - began
    curve = (np.array(run.history.step), np.array(run.history.value))
    return ConvResult(network, status, reason, loss, test.noise, error, restarts, curve, iterations, seconds)


def _verdict(
    objective: ConvSquared, network: ConvNetwork, loss: float, energy: float, whitener: np.ndarray
) -> tuple[str, str, Any, float]:
    """Status, reason, residual test and expected error of a polished network."""
    test = residual_test(objective, network, whitener)
    error = expected_error(objective, network, test.noise)
    if loss <= _EXACT * energy:
        return "recovered", "the network reproduces every row to rounding", test, error
    if not np.isfinite(error):
        return "not recovered", "the rows do not determine all weights; more rows are needed", test, error
    if error > _LARGEST_ERROR:
        reason = f"the weights are uncertain by {error:.0%} at this noise; more rows are needed"
        return "not recovered", reason, test, error
    if test.excess > _EXCESS:
        reason = (
            f"residuals still depend on the inputs ({test.excess:.0f} standard deviations): a spurious minimum, or the "
            "model does not fit the data"
        )
        return "not recovered", reason, test, error
    return "recovered", "residuals carry no trace of the inputs", test, error
