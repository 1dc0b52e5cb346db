r"""Gradient descent on over-parameterised networks: Figures 2, 3 and 4 of Soltanolkotabi et al. (2017).

Figures 2 and 3 ask how often gradient descent on both layers finds the global minimum: for each width k (or input size
d), ten planted problems y = Σ φ(w*·x) of n = 100 rows, ten starts each, a problem counting as free of spurious minima
if every start ends at zero loss. A logistic curve fitted to the fractions crosses 1/2 at the number reported.

The paper leaves step size, iterations and the meaning of "global minimum" open. Here gradient descent takes a step of
fixed size for `steps` iterations and Levenberg–Marquardt then settles what it was converging to: a loss below 1e-10 is
global.

Under gradient flow ‖w_q‖² − 2v_q² is conserved for φ(z) = z², and it is about −1 at the paper's start, so no output of
a quadratic network can change its sign: from v₀ = ±1 wrong signs stay. With v = 1 fixed, teachers of less than n
parameters are found more often again the smaller they are, so that only kd ≥ n belongs to the crossing.

Figure 4 fits random labels y ~ N(0, 1). As printed, x ↦ 1ᵀφ(Wx), it cannot reach zero: softplus and z² are positive,
so every negative label leaves a residual. With both layers learned it can, and both are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.activations import Activation
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from

_ROWS = 100
_GLOBAL = 1e-10
_DRAWS = 200


@dataclass(frozen=True)
class Panel:
    """One panel of Figures 2 and 3: what is varied, what is fixed, the step size over k, the paper's crossing."""

    activation: Activation
    varied: str
    fixed: int
    rate: float
    paper: float

    def sizes(self, value: int) -> tuple[int, int]:
        """(k, d) where the varied one is `value`."""
        return (value, self.fixed) if self.varied == "k" else (self.fixed, value)


PANELS = {
    "2a": Panel(activations.softplus(b=10.0), "k", 10, 0.5, 11.40),
    "2b": Panel(activations.softplus(b=10.0), "d", 10, 0.5, 10.70),
    "3a": Panel(activations.get("quadratic"), "k", 20, 0.02, 5.5),
    "3b": Panel(activations.get("quadratic"), "d", 5, 0.02, 25.40),
}


def logistic_crossing(values: np.ndarray, fraction: np.ndarray, trials: int) -> tuple[float, float]:
    """Where a logistic curve fitted by maximum likelihood to binomial fractions is 1/2, and its slope.

    A weak penalty (1e-3 slope²) keeps the slope finite when the fractions jump from 0 to 1.

    >>> crossing, slope = logistic_crossing(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 0.9]), 10)
    >>> round(crossing, 3), slope > 0
    (2.0, True)
    """
    crossing, slope = _fit_logistic(np.asarray(values, np.float64), np.asarray(fraction, np.float64)[None], trials)
    return float(crossing[0]), float(slope[0])


def _fit_logistic(x: np.ndarray, p: np.ndarray, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Crossings and slopes for every row of fractions `p` (b, m), by Newton's method with halved steps."""
    design = np.stack([np.ones(len(x)), x - x.mean()])
    ridge = np.array([1e-6, 2e-3])

    def loss(theta: np.ndarray) -> np.ndarray:
        z = theta @ design
        return trials * np.sum(np.logaddexp(0, z) - p * z, axis=1) + 0.5 * np.sum(ridge * theta**2, axis=1)

    theta = np.tile([0.0, 1.0], (len(p), 1))
    for _ in range(100):
        mean = 0.5 * (1 + np.tanh(0.5 * theta @ design))
        gradient = trials * (mean - p) @ design.T + ridge * theta
        hessian = trials * np.einsum("bm,im,jm->bij", mean * (1 - mean), design, design) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        here, length = loss(theta), np.ones(len(p))
        while np.any(worse := (loss(theta - length[:, None] * step) > here) & (length > 1e-9)):
            length = np.where(worse, length / 2, length)
        theta = theta - length[:, None] * step
        if np.max(np.abs(gradient)) < 1e-10 * trials:
            break
    return x.mean() - theta[:, 0] / theta[:, 1], theta[:, 1]


def crossing_error(values: np.ndarray, counts: np.ndarray, trials: int, seed: int = 0) -> float:
    """Standard error of the crossing, by resampling the problems of every value (200 times).

    `counts` (values, problems) are successes out of `trials`. It is half the distance between the 16th and the 84th
    percentile: a resample without both outcomes has its crossing anywhere.

    >>> counts = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 1]], 10, axis=1)
    >>> 0 < crossing_error(np.array([1.0, 2.0, 3.0]), counts, 1) < 0.5
    True
    """
    n, problems = counts.shape
    picks = np.random.default_rng(seed).integers(problems, size=(_DRAWS, n, problems))
    fractions = np.take_along_axis(counts[None], picks, axis=2).mean(axis=2) / trials
    crossings = _fit_logistic(np.asarray(values, np.float64), fractions, problems * trials)[0]
    return float(np.subtract(*np.percentile(crossings, [84, 16])) / 2)


def _predict(params: Any, x: jax.Array, activation: Activation, neurons: Any = 1.0) -> jax.Array:
    return (neurons * activation(x @ params["weights"].T)) @ params["output"]


def _loss(params: Any, x: jax.Array, y: jax.Array, activation: Activation, neurons: Any) -> jax.Array:
    residual = _predict(params, x, activation, neurons) - y
    return 0.5 * jnp.mean(residual * residual)


@partial(jax.jit, static_argnames=("activation", "steps", "every", "layers"))
def gradient_descent(
    params: Any, x: jax.Array, y: jax.Array, rate: Any, activation: Activation, steps: int, every: int, layers: str,
    neurons: Any = 1.0,
) -> tuple[Any, jax.Array]:  # fmt: skip
    """Plain gradient descent on the squared loss; the end and the losses (steps // every,).

    `layers` is "both" or "first" (outputs stay as they are); `neurons` (k,) masks neurons out.
    """

    def one(state: Any, _: None) -> tuple[Any, None]:
        gradient = jax.grad(_loss)(state, x, y, activation, neurons)
        if layers == "first":
            gradient = gradient | {"output": jnp.zeros_like(state["output"])}
        return jax.tree.map(lambda leaf, slope: leaf - rate * slope, state, gradient), None

    def record(state: Any, _: None) -> tuple[Any, jax.Array]:
        state = jax.lax.scan(one, state, None, every)[0]
        return state, _loss(state, x, y, activation, neurons)

    return jax.lax.scan(record, params, None, steps // every)


def jacobian_gram(
    params: Any, x: jax.Array, activation: Activation, neurons: Any = 1.0, layers: str = "both"
) -> jax.Array:
    """Gram matrix (n, n) of the gradients of the predictions in the learned layers, without forming the Jacobian.

    By Lemma 5.4 it is (Σ_q v_q² φ'(w_q·xᵢ)φ'(w_q·xⱼ)) (xᵢ·xⱼ), and + φ(Wxᵢ)·φ(Wxⱼ) if `layers` is "both".

    >>> params = {"weights": jnp.ones((1, 1)), "output": jnp.ones(1)}
    >>> jacobian_gram(params, jnp.array([[2.0]]), activations.get("quadratic"))
    Array([[80.]], dtype=float32)
    """
    z = x @ params["weights"].T
    slopes, features = neurons * activation.derivative(z) * params["output"], neurons * activation(z)
    first = (slopes @ slopes.T) * (x @ x.T)
    return first + features @ features.T if layers == "both" else first


@partial(jax.jit, static_argnames=("activation", "steps", "layers"))
def _settle(
    params: Any, x: jax.Array, y: jax.Array, activation: Activation, steps: int, neurons: Any, layers: str
) -> jax.Array:
    """Loss after Levenberg–Marquardt: steps −Jᵀ(JJᵀ + damping)⁻¹r through the n × n Gram matrix."""
    n = len(y)

    def value_of(point: Any) -> jax.Array:
        return 0.5 * jnp.mean((_predict(point, x, activation, neurons) - y) ** 2)

    def one(state: tuple[Any, jax.Array, jax.Array], _: None) -> tuple[Any, None]:
        point, damping, value = state
        r, pull = jax.vjp(lambda p: _predict(p, x, activation, neurons) - y, point)
        factor = jnp.linalg.cholesky(jacobian_gram(point, x, activation, neurons, layers) + damping * jnp.eye(n))
        (step,) = pull(jax.scipy.linalg.cho_solve((factor, True), r))
        if layers == "first":
            step = step | {"output": jnp.zeros_like(step["output"])}
        trial = jax.tree.map(jnp.subtract, point, step)
        reached = value_of(trial)
        better = reached < value
        damping = jnp.clip(jnp.where(better, damping / 3, damping * 4), 1e-9, 1e8)
        kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), trial, point)
        return (kept, damping, jnp.where(better, reached, value)), None

    start = (params, jnp.asarray(1.0, y.dtype), value_of(params))
    return jax.lax.scan(one, start, None, steps)[0][2]


@partial(jax.jit, static_argnames=("activation", "outputs", "shape", "problems", "starts", "steps", "polish"))
def _ends(
    key: jax.Array, rate: Any, d: Any, k: Any, activation: Activation, outputs: str, shape: tuple[int, int],
    problems: int, starts: int, steps: int, polish: int,
) -> jax.Array:  # fmt: skip
    """Final losses (problems, starts) of planted problems with all-one outputs.

    All sizes of a panel share one compiled program of shape (k, d): inputs beyond d are zero, and so are the first and
    second derivatives of the loss in neurons beyond k, whose weights and outputs start at zero and stay there.
    """
    layers = "both" if outputs == "signs" else "first"
    neurons, columns = jnp.arange(shape[0]) < k, jnp.arange(shape[1]) < d

    def draw(key: jax.Array) -> jax.Array:
        return jax.random.normal(key, shape, jnp.float64) / d**0.5 * neurons[:, None]

    def problem(key: jax.Array) -> jax.Array:
        teacher_key, input_key, start_key = jax.random.split(key, 3)
        x = jax.random.normal(input_key, (_ROWS, shape[1]), jnp.float64) * columns
        y = activation(x @ draw(teacher_key).T) @ neurons.astype(jnp.float64)

        def start(key: jax.Array) -> jax.Array:
            weight_key, sign_key = jax.random.split(key)
            signs = jax.random.rademacher(sign_key, (shape[0],), jnp.float64) if outputs == "signs" else 1.0
            params = {"weights": draw(weight_key), "output": signs * neurons.astype(jnp.float64)}
            end, _ = gradient_descent(params, x, y, rate, activation, steps, steps, layers, neurons)
            finite = jax.tree.map(lambda new, old: jnp.where(jnp.isfinite(new), new, old), end, params)
            return _settle(finite, x, y, activation, polish, neurons, layers)

        return jax.vmap(start)(jax.random.split(start_key, starts))

    return jax.lax.map(problem, jax.random.split(key, problems))


@float64
def reached(
    panel: str, value: int, *, reading: str = "signs", widest: int, problems: int, starts: int, steps: int, polish: int,
    random_state: Any = 0,
) -> np.ndarray:  # fmt: skip
    """Which starts of which planted problems end at zero loss: booleans (problems, starts).

    Parameters
    ----------
    panel : str
        A name in :data:`PANELS`.
    value : int
        Of k or d, at most `widest`: all values of a panel share one compiled program of that size.
    reading : "signs" or "ones"
        Both layers learned from v₀ = ±1, as the text says; or v = v* = 1 fixed and the weights learned.

    Examples
    --------
    >>> hits = reached("3a", 8, reading="ones", widest=8, problems=2, starts=3, steps=200, polish=50)
    >>> hits.shape
    (2, 3)
    """
    if panel not in PANELS or reading not in ("signs", "ones"):
        raise ValueError(f"unknown panel {panel!r} or reading {reading!r}")
    plan = PANELS[panel]
    k, d = plan.sizes(value)
    ends = _ends(
        key_from(random_state), plan.rate / k, d, k, plan.activation, reading, plan.sizes(widest), problems, starts,
        steps, polish,
    )  # fmt: skip
    return np.asarray(ends) < _GLOBAL


@dataclass(frozen=True)
class RandomLabels:
    """Curves of Figure 4: RMSE = √L against iterations on random labels, from several starts.

    Attributes
    ----------
    activation, layers : str
        `layers` is "both", from outputs ±1 in turn, or "first" with all outputs one as the text says.
    k, d, n : int
    iterations : array (m,)
    rmse : array (m, starts)
    floor : float
        Least RMSE possible when the prediction cannot be negative and `layers` is "first", else 0.
    """

    activation: str
    layers: str
    k: int
    d: int
    n: int
    iterations: np.ndarray
    rmse: np.ndarray
    floor: float


@float64
def random_labels(
    activation: str, k: int, *, layers: str = "both", steps: int = 50_000, starts: int = 1, random_state: Any = 0
) -> RandomLabels:
    """Gradient descent on labels y ~ N(0, 1) that have nothing to do with x ~ N(0, I); n = 100.

    >>> curve = random_labels("softplus", 5, steps=400)
    >>> bool(curve.rmse[-1, 0] < curve.rmse[0, 0])
    True
    """
    act, d, rate = (
        (activations.softplus(b=10.0), 10, 0.5 / k)
        if activation == "softplus"
        else (activations.get("quadratic"), 20, 0.02 / k)
    )
    if layers == "first":
        # With all outputs positive the start predicts far too much, and a long first step would silence every neuron.
        rate = rate / 10
    x_key, y_key, w_key = jax.random.split(key_from(random_state), 3)
    x = jax.random.normal(x_key, (_ROWS, d), jnp.float64)
    y = jax.random.normal(y_key, (_ROWS,), jnp.float64)
    # Signs in turn: those of a quadratic network stay, so that too few of one sign would decide the end.
    output = jnp.where(jnp.arange(k) % 2 == 0, 1.0, -1.0) if layers == "both" else jnp.ones(k)
    weights = jax.random.normal(w_key, (starts, k, d), jnp.float64) / d**0.5
    params = {"weights": weights, "output": jnp.tile(output, (starts, 1))}
    every = max(steps // 200, 1)
    # One start after another: products of small matrices are slower side by side.
    losses = np.asarray(
        jax.lax.map(lambda start: gradient_descent(start, x, y, rate, act, steps, every, layers)[1], params)
    ).T
    negative = np.minimum(np.asarray(y), 0.0)
    floor = float(np.sqrt(np.mean(negative**2) / 2)) if layers == "first" else 0.0
    return RandomLabels(activation, layers, k, d, _ROWS, every * np.arange(1, len(losses) + 1), np.sqrt(losses), floor)
