"""The scikit-learn front door for binary labels."""

from __future__ import annotations

import warnings
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.certificates import Certificate, Uncertainty, certify, uncertainty
from planted.estimators._large import Checkpoint, as_rows_in_chunks, fit_large_labels, is_large
from planted.methods import Recovery, choose_label_width, classification
from planted.networks import Network
from planted.numerics.seeding import key_from
from planted.objectives import Likelihood, check_probability
from planted.solvers import silent

_FAR_BELOW = 4.0


class PlantedClassifier(ClassifierMixin, BaseEstimator):
    """Recover the neurons behind binary labels with P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i).

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" adds neurons as long as held-out labels become more likely.
    activation : str, Activation or callable
        φ into [0, 1]: "sigmoid", "tanh_probability", "erf_probability" or one's own.
    fit_bias : bool
        Whether neurons have biases.
    restarts : int
        Random starts tried beside the tensor start.
    random_state : None, int or RandomState
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.

    Attributes
    ----------
    classes_ : array (2,)
        `predict_proba` and the network give the probability of the second.
    network_ : Network
        With all outputs 1/k.
    result_ : Recovery
        Status, reason, advice; `result_.details["rows_needed"]` says how many rows the noise asks for.
    uncertainty_ : Uncertainty
        Standard errors, intervals and confidence ellipsoids of the weights.
    certificate_ : Certificate
        Of the likelihood at the network.
    n_hidden_ : int
    width_losses_ : dict
        Held-out cross-entropy by width, when n_hidden="auto".

    Examples
    --------
    >>> from planted import datasets, match
    >>> data = datasets.make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                              task="classification", random_state=0)
    >>> est = PlantedClassifier(n_hidden=2, random_state=0).fit(data.X, data.y)
    >>> est.result_.status, match(est.network_, data.teacher).weight_error < 0.1
    ('recovered', True)
    """

    classes_: np.ndarray
    network_: Network
    result_: Recovery
    uncertainty_: Uncertainty
    certificate_: Certificate

    def __init__(
        self,
        n_hidden: Any = "auto",
        activation: Any = "sigmoid",
        fit_bias: bool = False,
        restarts: int = 4,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.fit_bias = fit_bias
        self.restarts = restarts
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Recover the neurons from inputs X (n, d) and two-valued labels y (n,).

        X may also be rows that do not fit in memory, with the options that :meth:`PlantedRegressor.fit` has for them;
        labels are then numbers.
        """
        if is_large(X):
            return self._fit_large(X, y, **options)
        if options:
            raise TypeError(f"fit takes X and y, not {', '.join(sorted(options))}")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}: there is nothing to tell apart")
        labels = codes.astype(np.float64)
        act = activations.get(self.activation)
        check_probability(act)
        key = key_from(self.random_state)
        progress = self.progress or silent

        def run(X: np.ndarray, y: np.ndarray, k: int, key: jax.Array) -> Recovery:
            return classification(
                X, y, k, act, fit_bias=self.fit_bias, key=key, progress=progress, restarts=self.restarts
            )

        k = self.n_hidden
        if k == "auto":
            key, width_key = jax.random.split(key)
            k, self.width_losses_ = choose_label_width(run, X, labels, width_key, X.shape[1])
        elif isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"n_hidden must be a positive integer or 'auto', not {k!r}")
        self.n_hidden_ = int(k)
        self.result_ = run(X, labels, self.n_hidden_, key)
        self.network_ = self.result_.network
        net = self.network_
        loss = Likelihood(X, labels, act, self.fit_bias)
        params: Any = {"weights": net.weights, "bias": net.bias} if self.fit_bias else net.weights
        self.uncertainty_ = uncertainty(loss, params)
        self.certificate_ = certify(loss, params)
        self._warn(len(X))
        return self

    def _fit_large(
        self, X: Any, y: Any, *, checkpoint: Any = None, resume: bool = False, sample_rows: int | None = None
    ) -> Self:
        rows = as_rows_in_chunks(X, y)
        self.result_, self.uncertainty_, self.certificate_, self.classes_, n = fit_large_labels(
            rows,
            n_hidden=self.n_hidden,
            activation=self.activation,
            fit_bias=self.fit_bias,
            restarts=self.restarts,
            random_state=self.random_state,
            progress=self.progress or silent,
            checkpoint=Checkpoint(checkpoint, resume),
            sample_rows=sample_rows,
        )
        self.network_ = self.result_.network
        self.n_hidden_, self.n_features_in_ = self.network_.n_hidden, rows.n_features
        self._warn(n)
        return self

    def _warn(self, n: int) -> None:
        needed = self.result_.details["rows_needed"]
        if self.result_.status == "failed":
            warnings.warn(f"{self.result_.reason}. {self.result_.advice}", ConvergenceWarning, stacklevel=3)
        elif needed > _FAR_BELOW * n:
            warnings.warn(
                f"{n} rows of labels are far too few to recover these neurons: the expected relative weight error is "
                f"{self.result_.details['expected_error']:.2g}, and about {needed:,.0f} rows would bring it to 0.1",
                ConvergenceWarning,
                stacklevel=3,
            )

    def confidence_intervals(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Lower and upper ends (2, …) by name that each cover their parameter with this probability."""
        check_is_fitted(self)
        return self.uncertainty_.intervals(level)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, 2) of the two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        second = self.network_.predict(X)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each row."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[likely.astype(int)]
