"""The scikit-learn front door for labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.estimators._base import PlantedEstimator, checked_width
from planted.estimators._tables import coded_table
from planted.methods import LABELS, Free, LabelProblem, Method, Problem, choose_label_width
from planted.numerics import random
from planted.numerics.progress import Progress
from planted.numerics.seeding import words_from
from planted.objectives import check_probability
from planted.rows import Block, ChunkedRows, Rows, Survey


class PlantedClassifier(ClassifierMixin, PlantedEstimator):
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
    standard_errors_ : Uncertainty
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
    ('estimated', True)
    """

    scales_targets = False

    classes_: np.ndarray

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

    def _check_settings(self) -> None:
        checked_width(self.n_hidden)
        check_probability(activations.get(self.activation))

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        inputs, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}: there is nothing to tell apart")
        return inputs, codes.astype(np.float64)

    def _rows(self, rows: ChunkedRows, looked: Survey) -> tuple[ChunkedRows, Survey]:
        """The two values that the targets take become 0 and 1."""
        if self.n_hidden == "auto":
            raise ValueError(
                "n_hidden='auto' needs labels in memory: fit a sample first, or give the number of neurons"
            )
        low, high = float(looked.smallest), float(looked.largest)
        if low == high:
            raise ValueError(f"y has only one class, {low:g}: there is nothing to tell apart")
        coded = rows.map(block_relabelled, np.asarray(low), np.asarray(high - low))
        others = float(coded.sum(block_others))
        if others:
            raise ValueError(
                f"Only binary classification is supported: {others:.0f} rows are neither {low:g} nor {high:g}."
            )
        self.classes_ = np.array([low, high])
        span = high - low
        return coded, replace(
            looked, y=(looked.y - low) / span, mean=(looked.mean - low) / span, variance=looked.variance / span**2,
            smallest=0.0, largest=1.0,
        )  # fmt: skip

    def _width_guess(self, rows: ChunkedRows) -> int:
        return rows.n_features if self.n_hidden == "auto" else int(self.n_hidden)

    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        return LabelProblem(
            rows=rows,
            survey=looked,
            n_hidden=1 if self.n_hidden == "auto" else int(self.n_hidden),
            activation=activations.get(self.activation),
            free=Free(bool(self.fit_bias)),
            key=words_from(self.random_state),
            progress=progress,
            restarts=self.restarts,
        )

    def _method(self) -> Method:
        return LABELS["likelihood"]

    def _chosen_width(self, problem: Any, method: Method) -> Problem:
        if self.n_hidden != "auto":
            return problem
        key, width_key = random.split(problem.key)
        largest = problem.n_features
        width, self.width_losses_ = choose_label_width(replace(problem, key=width_key), method, largest)
        return replace(problem, n_hidden=width, key=key)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, 2) of the two classes."""
        check_is_fitted(self)
        second = self.network_.predict(validate_data(self, coded_table(self, X), dtype=np.float64, reset=False))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each row."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[likely.astype(int)]


def block_relabelled(block: Block, low: jax.Array, span: jax.Array) -> Block:
    """The block with targets moved from {low, low + span} to {0, 1}."""
    return block | {"y": (block["y"] - low) / span}


def block_others(block: Block) -> jax.Array:
    """Rows whose target is neither 0 nor 1."""
    return jnp.sum((block["weight"] > 0) & (block["y"] != 0) & (block["y"] != 1))
