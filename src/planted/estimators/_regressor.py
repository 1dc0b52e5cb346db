"""The scikit-learn front doors."""

from __future__ import annotations

import warnings
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from planted import activations
from planted.certificates import Uncertainty, certify, uncertainty
from planted.estimators._large import Checkpoint, as_rows_in_chunks, fit_large, is_large
from planted.methods import METHODS, assumed_inputs, choose_width, judge
from planted.names import unknown
from planted.numerics.seeding import key_from
from planted.objectives import Squared
from planted.solvers import silent

_ROWS_PER_PARAMETER = 5
_PARAMETERS_WITH_ERRORS = 1000


class PlantedRegressor(RegressorMixin, BaseEstimator):
    """Recover the one-hidden-layer network behind (X, y).

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" finds the smallest number that explains held-out rows. That is a matter of the
        squared loss, which assumes nothing of the inputs, so `inputs` has no part in it.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.
    method : "auto", "expand", "landscape", "hermite", "score", "tensor", "quadratic" or "squared"
        How to recover; see :mod:`planted.methods`.
    inputs : "auto", a density of planted.inputs, a LocalLikelihood or a name
        What is known of X, see :func:`planted.inputs.input_law`. method="score" uses it; "landscape" and "hermite",
        which whiten X by its mean and covariance, warn where it is not Gaussian. "auto" tests for that.
    fit_bias : bool
        Whether neurons have biases.
    fit_intercept : bool
        Whether the output has an intercept; zero otherwise.
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
    verdict_ : Verdict
        What can be said without the teacher: "recovered", "noise-limited", "not this kind of network" or "not enough
        data", with the reason.
    standard_errors_ : Uncertainty
        Of every parameter of the canonical network; missing above 1,000 parameters.
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
        fit_intercept: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.method = method
        self.inputs = inputs
        self.fit_bias = fit_bias
        self.random_state = random_state
        self.progress = progress
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # It looks for a network that made the data: on data from another source, however simple, it may fit poorly.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Recover the network from inputs X (n, d), targets y (n,) and, with `sample_weight=`, row weights (n,).

        A row of weight w counts like w equal rows; rows of weight zero are left out. It is an option and not a named
        argument because scikit-learn would then ask for it on fewer rows than unknowns, which is refused here.

        X may also be rows that do not fit in memory: the path of a file or folder (see
        :func:`planted.rows.file_rows`), :class:`planted.rows.ChunkedRows`, Dask arrays X and y, or a Dask dataframe;
        y is then the name of the target column, "y" unless given. Options for these: `checkpoint=` names a folder that
        keeps what passes over the rows have found, `resume=True` goes on from it, and `sample_rows=` sets how many rows
        the search takes into memory. `survey_` and `passes_` tell what was seen of the rows and how often.
        """
        if is_large(X):
            return self._fit_large(X, y, **options)
        sample_weight = options.pop("sample_weight", None)
        if options:
            raise TypeError(f"fit takes X, y and sample_weight, not {', '.join(sorted(options))}")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            X, y, sample_weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self._check(X, y)
        act = activations.get(self.activation)
        key = key_from(self.random_state)
        progress = self.progress or silent
        self.inputs_ = assumed_inputs(self.inputs, X, self.method)
        extra = {"inputs": self.inputs_} if self.method == "score" else {}
        k = self.n_hidden
        if k == "auto":
            key, width_key = jax.random.split(key)
            k, self.width_losses_ = choose_width(
                X,
                y,
                act,
                width_key,
                self._largest(*X.shape),
                fit_bias=self.fit_bias,
                sample_weight=sample_weight,
                progress=progress,
            )
        self.n_hidden_ = int(k)
        result = METHODS[self.method](
            X,
            y,
            self.n_hidden_,
            act,
            fit_bias=self.fit_bias,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            key=key,
            progress=progress,
            **extra,
        )
        self.result_ = result
        self.network_ = result.network
        self.method_ = result.method
        self.verdict_ = judge(X, y, self.network_, result.relative_loss, sample_weight=sample_weight)
        self.certificate_ = self._certificate(X, y, sample_weight)
        if self.network_.n_hidden * (X.shape[1] + 2) <= _PARAMETERS_WITH_ERRORS:
            self.standard_errors_: Uncertainty = self._uncertainty(X, y, sample_weight)
        if result.status == "failed":
            warnings.warn(f"{result.reason}. {result.advice}", ConvergenceWarning, stacklevel=2)
        return self

    def _fit_large(
        self, X: Any, y: Any, *, checkpoint: Any = None, resume: bool = False, sample_rows: int | None = None
    ) -> Self:
        rows = as_rows_in_chunks(X, y)
        found = fit_large(
            rows,
            n_hidden=self.n_hidden,
            activation=self.activation,
            method=self.method,
            fit_bias=self.fit_bias,
            fit_intercept=self.fit_intercept,
            random_state=self.random_state,
            progress=self.progress or silent,
            largest=self._largest,
            check=self._check_sizes,
            checkpoint=Checkpoint(checkpoint, resume),
            sample_rows=sample_rows,
        )
        self.inputs_ = assumed_inputs(self.inputs, found.survey.X, self.method)
        self.n_hidden_, self.result_, self.network_ = found.n_hidden, found.result, found.result.network
        self.method_, self.verdict_, self.certificate_ = found.result.method, found.verdict, found.certificate
        if found.standard_errors is not None:
            self.standard_errors_ = found.standard_errors
        if found.width_losses is not None:
            self.width_losses_ = found.width_losses
        self.survey_, self.passes_ = found.survey, found.counts
        self.n_features_in_ = rows.n_features
        if self.result_.status == "failed":
            warnings.warn(f"{self.result_.reason}. {self.result_.advice}", ConvergenceWarning, stacklevel=3)
        return self

    def _largest(self, n: int, d: int) -> int:
        """Widest network that eight tenths of the rows can still determine."""
        return max(1, min(4 * d, int(0.8 * n) // (d + 1 + bool(self.fit_bias))))

    def _check(self, X: np.ndarray, y: np.ndarray) -> None:
        self._check_sizes(X.shape[0], X.shape[1], bool(np.ptp(y) == 0))

    def _check_sizes(self, n: int, d: int, constant: bool) -> None:
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
        if constant:
            raise ValueError("y is constant: there is no network to recover")

    def _certificate(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
        net = self.network_
        params = {"weights": net.weights, "output": net.output}
        if net.bias is not None:
            params["bias"] = net.bias
        weight = sample_weight
        if self.result_.status == "recovered":
            # Zero on every row is zero on some: these settle the verdict, and the curvature costs less.
            some = slice(max(1000, _ROWS_PER_PARAMETER * sum(np.size(value) for value in params.values())))
            X, y, weight = X[some], y[some], None if weight is None else weight[some]
        loss = Squared(X, y - net.intercept, net.activation, bias=net.bias is not None, sample_weight=weight)
        return certify(loss, params)

    def _uncertainty(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Uncertainty:
        net = self.network_
        if not self.fit_intercept:
            net, y = net.replace(intercept=0.0), y - net.intercept
        bias, intercept = net.bias is not None, bool(self.fit_intercept)
        loss = Squared(X, y, net.activation, bias=bias, sample_weight=sample_weight, intercept=intercept)
        return uncertainty(loss, loss.model.params(net))

    def confidence_intervals(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Lower and upper ends (2, …) of every parameter of the canonical network, `standard_errors_.network`.

        >>> from planted import datasets
        >>> data = datasets.make_planted(500, 2, 1, noise=0.1, random_state=0)
        >>> est = PlantedRegressor(1, random_state=0).fit(data.X, data.y)
        >>> lower, upper = est.confidence_intervals(0.99)["output"]
        >>> bool(lower[0] < 1 < upper[0])
        True
        """
        check_is_fitted(self)
        if not hasattr(self, "standard_errors_"):
            raise ValueError(f"standard errors are computed for at most {_PARAMETERS_WITH_ERRORS} parameters")
        return self.standard_errors_.intervals(level)

    def predict(self, X: Any) -> np.ndarray:
        """Outputs (n,) of the recovered network."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_.predict(X)
