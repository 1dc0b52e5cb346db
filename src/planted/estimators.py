"""The scikit-learn front doors."""

from __future__ import annotations

import warnings
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.certificates import certify
from planted.methods import METHODS, Recovery, assumed_inputs
from planted.methods._width import choose_width
from planted.names import unknown
from planted.objectives import Squared
from planted.seeding import key_from
from planted.solvers import silent

_ROWS_PER_PARAMETER = 5


class PlantedRegressor(RegressorMixin, BaseEstimator):
    """Recover the one-hidden-layer network behind (X, y).

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" finds the smallest number that explains held-out rows.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.
    method : "auto", "landscape", "hermite", "score", "quadratic" or "squared"
        How to recover; see :mod:`planted.methods`.
    inputs : "auto", a density of planted.inputs, a LocalLikelihood or a name
        What is known of X, see :func:`planted.inputs.input_law`. method="score" uses it; "landscape" and "hermite",
        which whiten X by its mean and covariance, warn where it is not Gaussian. "auto" tests for that.
    fit_bias : bool
        Whether neurons have biases.
    random_state : None, int or RandomState
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.

    Attributes
    ----------
    network_ : Network
        On the caller's own inputs.
    result_ : Recovery
        Status, reason, advice, losses, timings; printing it is readable.
    certificate_ : Certificate
        Of the squared loss at the network; see :func:`planted.certify`. A network that explains every row is
        certified on five rows a parameter.
    method_ : str
        The method that found it.
    inputs_ : InputLaw
        What was decided about the inputs, and why.
    n_hidden_ : int
    width_losses_ : dict
        Held-out relative loss by width, when n_hidden="auto".

    Examples
    --------
    >>> from planted import datasets, match
    >>> data = datasets.make_planted(2000, 5, 3, output="mixed", random_state=0)
    >>> est = PlantedRegressor(n_hidden=3, random_state=0).fit(data.X, data.y)
    >>> est.result_.status, match(est.network_, data.teacher).weight_error < 1e-8
    ('recovered', True)
    """

    def __init__(
        self,
        n_hidden: Any = "auto",
        activation: Any = "relu",
        method: str = "auto",
        inputs: Any = "auto",
        fit_bias: bool = False,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.method = method
        self.inputs = inputs
        self.fit_bias = fit_bias
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any) -> Self:
        """Recover the network from inputs X (n, d) and targets y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        self._check(X, y)
        act = activations.get(self.activation)
        method = METHODS[self.method]
        key = key_from(self.random_state)
        progress = self.progress or silent
        self.inputs_ = assumed_inputs(self.inputs, X, self.method)
        options = {"inputs": self.inputs_} if self.method == "score" else {}

        def run(X: np.ndarray, y: np.ndarray, k: int, key: jax.Array) -> Recovery:
            return method(X, y, k, act, fit_bias=self.fit_bias, key=key, progress=progress, **options)

        k = self.n_hidden
        if k == "auto":
            key, width_key = jax.random.split(key)
            k, self.width_losses_ = choose_width(run, X, y, width_key, self._largest(*X.shape))
        self.n_hidden_ = int(k)
        result = run(X, y, self.n_hidden_, key)
        self.result_ = result
        self.network_ = result.network
        self.method_ = result.method
        self.certificate_ = self._certificate(X, y)
        if result.status == "failed":
            warnings.warn(f"{result.reason}. {result.advice}", ConvergenceWarning, stacklevel=2)
        return self

    def _largest(self, n: int, d: int) -> int:
        """Widest network that eight tenths of the rows can still determine."""
        return max(1, min(4 * d, int(0.8 * n) // (d + 1 + bool(self.fit_bias))))

    def _check(self, X: np.ndarray, y: np.ndarray) -> None:
        n, d = X.shape
        if self.method not in METHODS:
            raise ValueError(unknown("method", self.method, METHODS))
        if self.n_hidden != "auto":
            k = self.n_hidden
            if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
                raise ValueError(f"n_hidden must be a positive integer or 'auto', not {k!r}")
            unknowns = int(k) * (d + 1 + bool(self.fit_bias))
            # An over-parameterised quadratic network is a convex problem in its matrix: the method counts by itself.
            if n < unknowns and self.method != "quadratic":
                raise ValueError(f"{n} samples cannot determine {unknowns} unknowns; give more rows or fewer neurons")
        elif n < d + 2:
            raise ValueError(
                f"{n} samples cannot determine even one neuron with {d} inputs; n_samples must exceed {d + 1}"
            )
        if np.ptp(y) == 0:
            raise ValueError("y is constant: there is no network to recover")

    def _certificate(self, X: np.ndarray, y: np.ndarray) -> Any:
        net = self.network_
        params = {"weights": net.weights, "output": net.output}
        if net.bias is not None:
            params["bias"] = net.bias
        if self.result_.status == "recovered":
            # Zero on every row is zero on some: these settle the verdict, and the curvature costs less.
            some = max(1000, _ROWS_PER_PARAMETER * sum(np.size(value) for value in params.values()))
            X, y = X[:some], y[:some]
        return certify(Squared(X, y, net.activation, bias=net.bias is not None), params)

    def predict(self, X: Any) -> np.ndarray:
        """Outputs (n,) of the recovered network."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_.predict(X)
