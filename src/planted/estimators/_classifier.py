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
from planted.estimators._base import PlantedEstimator, checked_part, checked_width, is_auto
from planted.methods import (
    Choice,
    Free,
    LabelProblem,
    Method,
    Problem,
    choose_label_alpha,
    choose_label_network,
    class_probabilities,
    joined_rows,
    label_activations,
    label_kinds,
    label_linear,
    label_method,
)
from planted.names import LABEL_LOSSES, LABEL_SOLVERS, LINKS, unknown
from planted.numerics import random
from planted.numerics.progress import Progress
from planted.objectives import check_probability
from planted.pages import Evidence, displayed, evidence
from planted.rows import Block, ChunkedRows, Rows, Survey, in_memory

_MOST_RESTARTS = 10_000
_MOST_CLASSES = 1000
# Rows up to which weights of rows are made copies of them.
_MOST_REPEATED = 50_000
# Widths that are looked at where inputs are fewer: two inputs may need three neurons.
_LEAST_WIDTHS = 3


class PlantedClassifier(ClassifierMixin, PlantedEstimator):
    """Recover the neurons behind labels, of two classes or of many.

    With `link="mean"` P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i), the model of Fu et al. (2018). With `link="logit"` a
    network f(x) = Σ_i a_i φ(w_i·x + b_i) + c gives the log-odds of two classes, P(y = 1 | x) = 1/(1 + e^{−f(x)}), or
    those of m classes, P(y = c | x) ∝ e^{f_c(x)}, the softmax that networks are trained with. A function added to all
    f_c changes nothing: outputs and intercepts of the canonical network sum to zero over the classes.

    Parameters
    ----------
    n_hidden : int or "auto"
        Number of neurons; "auto" adds neurons as long as held-out labels become clearly more likely, or those fitted by
        more than the price of a neuron's numbers. Log-odds may need none: one linear function is compared, too.
    activation : str, Activation, callable or "auto"
        φ; into [0, 1] for `link="mean"`: "sigmoid", "tanh_probability", "erf_probability" or one's own. "auto" compares
        sigmoid and erf_probability for `link="mean"`, and tanh, relu and softplus for `link="logit"`, where sigmoid is
        the same as tanh up to the intercept, on held-out rows.
    fit_bias : bool or "auto"
        Whether neurons have biases; "auto" takes them if the labels become more likely by more than the price of their
        numbers, and held-out ones not less likely.
    restarts : int
        Random starts tried beside the tensor start; with `link="logit"` up to 2 (restarts + 1) of them.
    random_state : None, int or RandomState
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.
    link : "auto", "mean" or "logit"
        "auto" takes "mean" where that model can be: two classes, φ into [0, 1], no intercept and no class weights asked
        for; otherwise "logit". Where the activation is left open too, both are compared.
    fit_intercept : bool or "auto"
        Whether log-odds have intercepts; "auto" is yes. Means of neurons have none.
    alpha : float or "auto"
        Strength of an ℓ2 penalty ½ alpha (‖weights‖² + ‖output‖²), weights in units of the inputs' spread. "auto"
        chooses it by held-out rows, zero where that is as good. Intervals of a penalised fit are biased, and the result
        says so. Labels that can be told apart with hardly an error are fitted with a penalty chosen like that even if
        alpha is zero.
    class_weight : None, "balanced" or dict
        Factors of the rows by class, for `link="logit"`. "balanced" gives all classes the same weight. Probabilities
        are then those of the weighted population; standard errors are the sandwich's.
    loss : "likelihood" or "quadratic"
        What weights minimise. The quadratic loss, eq. 2 of Fu et al. (2018), is for `link="mean"`, and its standard
        errors are the sandwich's.
    solver : "newton" or "gradient"
        L-BFGS and scoring steps, or gradient descent with a constant step: with `loss="quadratic"` and `restarts=0`
        Algorithm 1 of that paper.
    split : bool
        Whether the tensor start, Algorithm 2 of that paper, takes separate thirds of the rows for its stages.
    time_budget : float, optional
        Seconds after which the best network until then is finished, judged and returned; the result says so.

    Attributes
    ----------
    classes_ : array (m,)
        `predict_proba` has a column for each; for two classes the network is about the second.
    link_ : str
        The link that was taken.
    network_ : Network
        With all outputs 1/k for `link="mean"`, otherwise the log-odds.
    result_ : Recovery
        Status, reason, advice; `result_.details["rows_needed"]` says how many rows the noise asks for.
    standard_errors_ : Uncertainty
        Standard errors, intervals and confidence ellipsoids of the weights.
    certificate_ : Certificate
        Of the loss at the network.
    n_hidden_ : int
    choice_ : Choice
        The networks that were compared where activation, width or biases were left open, with held-out cross-entropies,
        a row costing at most 7, and why one was chosen.
    width_losses_, activation_losses_ : dict
        The lowest of these by width, for the activation that was chosen, and by activation.
    alpha_ : float
        Strength of the penalty that was used.
    alpha_losses_ : dict
        Held-out cross-entropy by strength, when it was chosen.

    Examples
    --------
    >>> from planted import datasets, match
    >>> data = datasets.make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                              task="classification", random_state=0)
    >>> est = PlantedClassifier(n_hidden=2, activation="sigmoid", random_state=0).fit(data.X, data.y)
    >>> est.result_.status, match(est.network_, data.teacher).weight_error < 0.1
    ('estimated', True)
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> y = np.where(X[:, 0] > 1, "high", np.where(X[:, 1] + X[:, 0] > 0, "middle", "low"))
    >>> est = PlantedClassifier(n_hidden=2, activation="tanh", alpha=1e-3, random_state=0).fit(X, y)
    >>> est.predict_proba(X[:5]).shape, est.score(X, y) > 0.95
    ((5, 3), True)
    """

    scales_targets = False

    choice_: Choice
    classes_: np.ndarray
    link_: str
    activation_losses_: dict[str, float]
    alpha_: float
    alpha_losses_: dict[float, float]
    _factors: np.ndarray | None

    def __init__(
        self,
        n_hidden: Any = "auto",
        activation: Any = "auto",
        fit_bias: Any = "auto",
        restarts: int = 4,
        random_state: Any = None,
        progress: Any = None,
        *,
        link: str = "auto",
        fit_intercept: Any = "auto",
        alpha: Any = 0.0,
        class_weight: Any = None,
        loss: str = LABEL_LOSSES[0],
        solver: str = LABEL_SOLVERS[0],
        split: bool = False,
        time_budget: float | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.fit_bias = fit_bias
        self.restarts = restarts
        self.random_state = random_state
        self.progress = progress
        self.link = link
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.class_weight = class_weight
        self.loss = loss
        self.solver = solver
        self.split = split
        self.time_budget = time_budget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.link != "mean" and self.loss != "quadratic"
        return tags

    def _check_settings(self) -> None:
        checked_width(self.n_hidden)
        for kind, name, names in (
            ("link", self.link, ("auto", *LINKS)),
            ("loss", self.loss, LABEL_LOSSES),
            ("solver", self.solver, LABEL_SOLVERS),
        ):
            if not isinstance(name, str) or name not in names:
                raise ValueError(unknown(kind, name, names))
        checked_part("fit_bias", self.fit_bias)
        if not isinstance(self.split, (bool, np.bool_)):
            raise ValueError(f"split must be True or False, not {self.split!r}")
        number = isinstance(self.restarts, (int, np.integer)) and not isinstance(self.restarts, bool)
        if not (number and 0 <= self.restarts <= _MOST_RESTARTS):
            raise ValueError(f"restarts must be an integer from 0 to {_MOST_RESTARTS:,}, not {self.restarts!r}")
        known = isinstance(self.alpha, str) and self.alpha == "auto"
        if not known and not (_is_number(self.alpha) and 0 <= self.alpha < np.inf):
            raise ValueError(f"alpha must be 'auto' or a number that is not negative, not {self.alpha!r}")
        if not (self.fit_intercept in (True, False) or self.fit_intercept == "auto"):
            raise ValueError(f"fit_intercept must be True, False or 'auto', not {self.fit_intercept!r}")
        _check_class_weight(self.class_weight)
        if self.link == "mean":
            if not is_auto(self.activation):
                check_probability(activations.get(self.activation))
            if self.fit_intercept is True:
                raise ValueError("fit_intercept=True is for link='logit': link='mean' has means of neurons")
            if self.class_weight is not None:
                raise ValueError(
                    "class_weight is for link='logit': with weighted classes probabilities are no means of neurons"
                )
        quadratic = self.loss == "quadratic"
        if quadratic and self.link == "logit":
            raise ValueError("loss='quadratic' is for link='mean'")
        if quadratic and (known or self.alpha):
            raise ValueError("alpha penalises the likelihood: leave it out with loss='quadratic'")

    def _links(self, n_classes: int) -> tuple[str, ...]:
        """The links that can be, the one to take first; several only where the activation is open."""
        if self.link != "auto":
            return (self.link,)
        low, high = (0.0, 1.0) if is_auto(self.activation) else activations.get(self.activation).range
        mean = n_classes == 2 and low >= 0 and high <= 1 and self.fit_intercept is not True
        if not mean or self.class_weight is not None:
            return ("logit",)
        return LINKS if is_auto(self.activation) and self.loss != "quadratic" else ("mean",)

    def _set_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
        if self.link == "mean" and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported with link='mean'. The type of the target is multiclass: use "
                "link='logit'."
            )
        if len(classes) > _MOST_CLASSES:
            raise ValueError(f"y has {len(classes):,} classes: numbers to explain are for PlantedRegressor")
        self.classes_ = classes
        self.link_ = self._links(len(classes))[0]

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        inputs, labels = validate_data(self, X, _truth_values(y), dtype=np.float64, ensure_min_samples=2)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"Unknown label type: {kind}. Labels are a column of classes, two or more.")
        return inputs, labels

    def _joined(self, looked: Survey) -> Survey:
        """Weights of labels are numbers of rows: where they are whole, each row stands there as often."""
        X, y, number = joined_rows(looked.X, looked.y, looked.weight)
        most = max(_MOST_REPEATED, len(looked.y))
        if number is None or np.any(number != np.round(number)) or np.sum(number) > most:
            return looked
        places = np.repeat(np.arange(len(y)), number.astype(int))
        return Survey.of(X[places], y[places])

    def _coded(self, targets: np.ndarray) -> np.ndarray:
        """0, 1, … for the classes, which are those of rows with a positive weight."""
        classes, codes = np.unique(targets, return_inverse=True)
        self._set_classes(classes)
        if 2 < len(classes) == len(targets):
            raise ValueError(f"each of the {len(targets):,} rows has a class of its own: nothing can be learned of any")
        return codes.astype(np.float64)

    def _rows(self, rows: ChunkedRows, looked: Survey) -> tuple[ChunkedRows, Survey]:
        """The values that the targets take become 0, 1, …"""
        if self.n_hidden == "auto":
            raise ValueError(
                "n_hidden='auto' needs labels in memory: fit a sample first, or give the number of neurons"
            )
        if self.class_weight is not None:
            raise ValueError(
                "class_weight needs labels in memory: weight the rows instead, see planted.rows.block_rows"
            )
        low, high = float(looked.smallest), float(looked.largest)
        classes = np.unique(np.append(looked.y, [low, high]))
        self._set_classes(classes)
        coded = rows.map(block_relabelled, classes)
        others = float(coded.sum(block_others))
        if others:
            raise ValueError(
                f"{others:.0f} rows have a label that a sample of {len(looked.y):,} rows has not: give a larger "
                "sample_rows"
            )
        codes = np.searchsorted(classes, looked.y).astype(np.float64)
        changed: dict[str, Any] = {"y": codes, "smallest": 0.0, "largest": float(len(classes) - 1)}
        if len(classes) == 2:
            span = high - low
            changed |= {"mean": (looked.mean - low) / span, "variance": looked.variance / span**2}
        else:
            changed |= {"mean": float(np.mean(codes)), "variance": float(np.var(codes))}
        return coded, replace(looked, **changed)

    def _width_guess(self, rows: ChunkedRows) -> int:
        return rows.n_features if self.n_hidden == "auto" else int(self.n_hidden)

    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        factors = self._factors = _class_factors(self.class_weight, self.classes_, looked)
        if factors is not None:
            weight = np.ones(len(looked.y)) if looked.weight is None else looked.weight
            looked = Survey.of(looked.X, looked.y, weight * factors[looked.y.astype(int)])
            rows = in_memory(looked)
        intercept = self.link_ == "logit" and self.fit_intercept is not False
        return LabelProblem(
            rows=rows,
            survey=looked,
            n_hidden=1 if self.n_hidden == "auto" else int(self.n_hidden),
            activation=label_activations(self.link_, intercept)[0]
            if is_auto(self.activation)
            else activations.get(self.activation),
            free=Free(not is_auto(self.fit_bias) and bool(self.fit_bias), intercept),
            progress=progress,
            restarts=self.restarts,
            link=self.link_,
            n_classes=len(self.classes_),
            loss=self.loss,
            solver=self.solver,
            split=bool(self.split),
            alpha=0.0 if self.alpha == "auto" else float(self.alpha),
            class_weight=factors,
        )

    def _method(self) -> Method:
        return label_method(getattr(self, "link_", self.link))

    def _chosen(self, problem: Any) -> Problem:
        self._method().check(problem)
        wide, biased, shaped = is_auto(self.n_hidden), is_auto(self.fit_bias), is_auto(self.activation)
        if wide or biased or shaped:
            key, choice_key = random.split(problem.key)
            largest = max(problem.n_features, _LEAST_WIDTHS) if wide else problem.n_hidden
            widths = range(problem.n_hidden, largest + 1)
            biases = (False, True) if biased else (problem.free.bias,)
            kinds = [replace(problem.on_sample(), key=choice_key)]
            links = self._links(problem.n_classes)
            if shaped:
                kinds = label_kinds(kinds[0], links, intercept=self.fit_intercept is not False)
            # One sigmoid neuron is logistic regression.
            linear = wide and all(kind.link == "logit" for kind in kinds) and kinds[0].free.intercept
            choice = choose_label_network(kinds, widths, biases, label_linear(kinds[0]) if linear else None)
            if choice is not None:
                chosen, self.choice_ = choice.chosen, choice
                self.width_losses_, self.activation_losses_ = choice.width_losses, choice.activation_losses
                self.link_ = chosen.link or self.link_
                problem = replace(
                    problem, n_hidden=chosen.n_hidden, free=chosen.free, key=key, link=self.link_,
                    activation=chosen.activation or problem.activation,
                    compared=("activation",) * shaped + ("link",) * (shaped and len(links) > 1) + ("n_hidden",) * wide,
                )  # fmt: skip
        if self.alpha == "auto":
            alpha, self.alpha_losses_ = choose_label_alpha(problem)
            problem = replace(problem, alpha=alpha)
        return problem

    def _recover(self, problem: Problem, n_rows: int) -> None:
        super()._recover(problem, n_rows)
        details = self.result_.details
        self.alpha_ = float(details.get("alpha", 0.0))
        if "alpha_losses" in details:
            self.alpha_losses_ = details["alpha_losses"]

    def save(self, path: Any, about: Any = None, **known: Any) -> Any:
        """Write the model to a file, with its classes and the loss that its network minimises; returns the path."""
        check_is_fitted(self)
        factors = None if self._factors is None else self._factors.tolist()
        fitted = {"loss": self.loss, "alpha": self.alpha_, "class_factors": factors}
        return super().save(path, {**(about or self.fingerprint_), **fitted}, **known)

    def _evidence(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, **about: Any) -> Evidence:
        if weight is not None and self._factors is not None:
            # Rows are counted, not classes.
            weight = weight / self._factors[y.astype(int)]
        network = displayed(self.result_.network, self.result_.uncertainty)
        link = self.link_
        return evidence(
            network, X, y, labels=True, probability=lambda net, rows: class_probabilities(net, rows, link),
            weight=weight, **about,
        )  # fmt: skip

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, m) of the classes, in the order of `classes_`."""
        check_is_fitted(self)
        return class_probabilities(self.network_, self._inputs(X), self.link_)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; of equally probable ones the first."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]


def _truth_values(y: Any) -> Any:
    """Truth values that a column of objects holds, as one has that once held gaps; other labels as they are.

    >>> _truth_values(np.array([True, False], dtype=object))
    array([ True, False])
    """
    labels = np.asarray(y, dtype=object) if getattr(getattr(y, "dtype", None), "kind", "") == "O" else None
    if labels is None or not all(isinstance(label, (bool, np.bool_)) for label in labels.ravel()):
        return y
    return labels.astype(bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _check_class_weight(class_weight: Any) -> None:
    """Raise a ValueError unless `class_weight` is None, "balanced" or a mapping to positive numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, not {class_weight!r}")
    for label, factor in class_weight.items():
        if not (_is_number(factor) and 0 < factor < np.inf):
            raise ValueError(f"class_weight has {factor!r} for class {label!r}: factors are positive numbers")


def _class_factors(class_weight: Any, classes: np.ndarray, looked: Survey) -> np.ndarray | None:
    """Factors (m,) by class that leave the sum of all weights as it is, or None.

    A class that a dict does not name has factor one.
    """
    if class_weight is None:
        return None
    codes = looked.y.astype(int)
    total = np.bincount(codes, weights=looked.weight, minlength=len(classes))
    if isinstance(class_weight, str):
        factors = 1 / total
    else:
        given = classes.tolist()
        strange = [label for label in class_weight if label not in given]
        if strange:
            raise ValueError(f"class_weight names {strange[0]!r}, which is no class of y: {given}")
        factors = np.array([float(class_weight.get(label, 1.0)) for label in given])
    return factors * (total.sum() / float(factors @ total))


def block_relabelled(block: Block, classes: jax.Array) -> Block:
    """The block with targets that are the numbers of their classes, −1 for one that is not among them."""
    place = jnp.clip(jnp.searchsorted(classes, block["y"]), 0, len(classes) - 1)
    return block | {"y": jnp.where(classes[place] == block["y"], place, -1).astype(block["y"].dtype)}


def block_others(block: Block) -> jax.Array:
    """Rows whose target is no class."""
    return jnp.sum((block["weight"] > 0) & (block["y"] < 0))
