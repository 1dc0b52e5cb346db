r"""Several filters shared by patches, y = Σ_f Σ_i output_fi φ(filter_f·Z_i): squared loss from several starts.

No theorem is known for more than one filter. As for any network, Adam descends from random starts side by side, each
good one is finished by least squares on all rows, and the verdict is that of the residuals alone.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import ArrayLike

from planted import activations
from planted.methods._recovery import Recovery, verdict
from planted.networks import ConvNetwork, Network, as_patches
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.numerics.seeding import key_from
from planted.numerics.validation import as_matrix, count
from planted.objectives import ConvFilters
from planted.solvers import FirstOrder, descend, least_squares, silent
from planted.starts import random_rows

_ROWS, _RESTARTS, _POLISHED, _STEPS = 4096, 16, 4, 1000
_SOLVER = FirstOrder(optax.adam(optax.cosine_decay_schedule(0.03, _STEPS)))


def _network(filters: list[ConvNetwork]) -> Network:
    """The sum of networks with one filter each as one fully connected network on flat rows (n, k·p)."""
    dense = [one.to_network() for one in filters]
    weights = np.concatenate([net.weights for net in dense])
    return Network(weights, np.concatenate([net.output for net in dense]), dense[0].activation)


@float64
def recover_filters(
    Z: ArrayLike,
    y: ArrayLike,
    n_filters: int,
    *,
    activation: Any = "relu",
    n_patches: int | None = None,
    random_state: Any = None,
    progress: Progress = silent,
) -> Recovery:
    """Recover several shared filters behind data.

    Parameters
    ----------
    Z : array (n, k, p), or flat rows (n, k·p) together with n_patches
    y : array (n,)
    n_filters : int
        f.

    Returns
    -------
    Recovery whose network is fully connected on flat rows, f·k neurons, and whose details hold "filters" (f, p) and
    "outputs" (f, k), each filter in canonical form, and the losses of the restarts.

    Examples
    --------
    >>> from planted.datasets import make_planted_conv
    >>> one, two = (make_planted_conv(1000, 3, 4, random_state=seed) for seed in (0, 1))
    >>> result = recover_filters(one.X, one.y + two.teacher.predict(one.X), 2, random_state=0)
    >>> result.status, result.details["filters"].shape
    ('recovered', (2, 4))
    """
    began = time.perf_counter()
    patches, targets = as_patches("Z", Z, n_patches), as_matrix("y", y, 1)
    f, act = count("n_filters", n_filters), activations.get(activation)
    n, k, p = patches.shape
    if len(targets) != n:
        raise ValueError(f"Z has {n} rows but y has {len(targets)} entries")
    if n < f * (p + k):
        raise ValueError(f"{n} rows cannot determine {f} filters of {p} entries with {k} output weights each")
    if np.ptp(targets) == 0:
        raise ValueError("y is constant: there is no network to recover")
    few = slice(0, _ROWS)
    filter_key, sign_key, run_key = jax.random.split(key_from(random_state), 3)
    spread = np.sqrt(np.mean(patches[few] ** 2, axis=(0, 1)))
    filters = random_rows(filter_key, f, p, _RESTARTS) / to_jax(np.where(spread > 0, spread, 1.0))
    signs = jax.random.normal(sign_key, (_RESTARTS, f, k), jnp.float64)
    run = descend(
        ConvFilters(patches[few], targets[few], act),
        {"filters": filters, "output": signs * float(np.std(targets)) / (f * k) ** 0.5},
        _SOLVER,
        steps=_STEPS,
        key=run_key,
        side_by_side=True,
        record_every=100,
        progress=progress,
    )
    objective: Any = ConvFilters(patches, targets, act)
    values = np.where(np.isfinite(run.value), run.value, np.inf)
    ends = []
    for index in np.argsort(values)[:_POLISHED]:
        start = {name: leaf[index] for name, leaf in run.params.items()}
        ends.append(least_squares(objective, start, progress=progress))
        if verdict(ends[-1].value, targets)[0] == "recovered":
            break
    best = min(ends, key=lambda end: float(end.value))
    found = [
        ConvNetwork(w, a, act).canonical()
        for w, a in zip(*(best.params[m] for m in ("filters", "output")), strict=True)
    ]
    status, reason, advice, relative = verdict(float(best.value), targets)
    return Recovery(
        network=_network(found),
        status=status,
        reason=reason,
        advice=advice,
        loss=float(best.value),
        relative_loss=relative,
        method="squared",
        seconds=time.perf_counter() - began,
        descents={"squared": run, "least_squares": best},
        details={
            "filters": np.stack([one.filter for one in found]),
            "outputs": np.stack([one.output for one in found]),
            "restart_losses": np.sort(values),
        },
    )
