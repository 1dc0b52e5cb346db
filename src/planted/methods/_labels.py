"""Problems whose targets are labels: what is asked, and the probabilities that a network gives to classes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from planted.methods._problem import Free, Problem
from planted.names import LABEL_LOSSES, LABEL_SOLVERS, LINKS, unknown
from planted.networks import Network
from planted.numerics.precision import float64
from planted.objectives import (
    BernoulliLogit,
    BernoulliMean,
    Dense,
    Fit,
    Likelihood,
    MeanOfProbabilities,
    Penalised,
    Softmax,
    Squared,
    check_probability,
)
from planted.rows import Rows


@dataclass(frozen=True, eq=False)
class LabelProblem(Problem):
    """Which neurons give labels y in {0, …, m − 1} their probabilities?

    With `link="mean"` P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i), the model of Fu et al. (2018) for two classes. With
    `link="logit"` a network f gives the log-odds: P(y = 1 | x) = 1/(1 + e^{−f(x)}) for two classes, and
    P(y = c | x) = e^{f_c(x)} / Σ_c' e^{f_c'(x)} for more. A function added to all f_c changes nothing, so canonical
    outputs sum to zero over the classes, and the parameters they cost are not counted.

    Attributes
    ----------
    restarts : int
        Random starts; with `link="mean"` they are tried beside the tensor start.
    link : "mean" or "logit"
    n_classes : int
    loss : "likelihood" or "quadratic"
        What the weights minimise; the quadratic loss, eq. 2 of Fu et al. (2018), is for `link="mean"`.
    solver : "newton" or "gradient"
        L-BFGS and Newton steps, or the plain gradient descent of Algorithm 1 there.
    split : bool
        Three separate thirds of the rows for the three stages of the tensor start, as Algorithm 2 there has them.
    alpha : float
        Strength of an ℓ2 penalty, see :class:`planted.objectives.Penalised`.
    class_weight : array (m,), optional
        Factors that the rows' weights already contain, by class: these rows are not repeated ones.
    search_rows : int
        Rows that random starts of `link="logit"` look at, at least.
    """

    restarts: int = 4
    link: str = LINKS[0]
    n_classes: int = 2
    loss: str = LABEL_LOSSES[0]
    solver: str = LABEL_SOLVERS[0]
    split: bool = False
    alpha: float = 0.0
    class_weight: np.ndarray | None = None
    search_rows: int = 5000

    def __post_init__(self) -> None:
        for kind, name, names in (
            ("link", self.link, LINKS), ("loss", self.loss, LABEL_LOSSES), ("solver", self.solver, LABEL_SOLVERS)
        ):  # fmt: skip
            if name not in names:
                raise ValueError(unknown(kind, name, names))
        if self.link == "mean":
            check_probability(self.activation)
            if self.n_classes > 2:
                raise ValueError(f"link='mean' is a model of two classes, not {self.n_classes}: use link='logit'")
            if self.free.intercept or self.free.skip:
                raise ValueError(
                    "probabilities of link='mean' are means of neurons, without an intercept or a linear part"
                )
        elif self.loss == "quadratic":
            raise ValueError("loss='quadratic' is that of Fu et al. (2018), for link='mean'")
        if self.loss == "quadratic" and self.alpha:
            raise ValueError("alpha penalises the likelihood: leave it out with loss='quadratic'")

    @classmethod
    @float64
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        n_hidden: int,
        activation: Any = "sigmoid",
        *,
        free: Free | None = None,
        sample_weight: ArrayLike | None = None,
        random_state: Any = 0,
        **settings: Any,
    ) -> LabelProblem:
        """The problem for arrays X (n, d), classes y (n,) and row weights (n,); `settings` are its other attributes."""
        plain = Problem.of(
            X, y, n_hidden, activation, free=free, sample_weight=sample_weight, random_state=random_state
        )
        there = {field.name: getattr(plain, field.name) for field in fields(plain)}
        return cls(**there | settings)

    @property
    def n_outputs(self) -> int:
        """Outputs of the network: one for two classes, otherwise one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def unknowns(self) -> int:
        """Free numbers of the network asked for: outputs of link="mean" are fixed, those of a softmax centred."""
        if self.link == "mean":
            return self.n_hidden * (self.n_features + self.free.bias)
        return self.free.unknowns(self.n_features, self.n_hidden, self.n_classes - 1)

    @property
    def model(self) -> Any:
        """The mean of the neurons, or the log-odds of the classes."""
        free = self.free
        if self.link == "mean":
            return MeanOfProbabilities(self.activation, free.bias)
        several = None if self.n_classes == 2 else self.n_classes
        return Dense(
            self.activation, None, free.bias, free.intercept, free.skip, several, centred=several is not None
        )  # fmt: skip

    @property
    def cross_entropy(self) -> Any:
        """The loss of a row whose mean is the likelihood."""
        return BernoulliMean() if self.link == "mean" else BernoulliLogit() if self.n_classes == 2 else Softmax()

    @property
    def spread(self) -> np.ndarray:
        """Standard deviations (d,) of the inputs, one where an input is constant."""
        variance = np.diagonal(self.survey.second) - self.survey.first**2
        return np.sqrt(np.where(variance > 1e-12 * np.diagonal(self.survey.second), variance, 1.0))

    def objective(self, rows: Rows | None = None) -> Any:
        """What the weights minimise, over all rows or over those given."""
        rows = self.rows if rows is None else rows
        if self.loss == "quadratic":
            return self.quadratic(rows)
        if self.alpha:
            return Penalised(rows, self.model, self.cross_entropy, self.alpha, self.spread)
        return self.likelihood(rows)

    def settled(self, details: dict[str, Any]) -> LabelProblem:
        """The problem with the penalty that labels without a finite minimiser were fitted with."""
        return replace(self, alpha=float(details["alpha"])) if details.get("alpha") else self

    def likelihood(self, rows: Rows) -> Any:
        """−mean log P(y | x), without a penalty."""
        loss = self.cross_entropy
        return (Likelihood if self.link == "mean" else Fit).composed(rows, self.model, loss)

    def quadratic(self, rows: Rows) -> Squared:
        """The quadratic loss of eq. 2: the squared loss with outputs fixed at 1/k."""
        return Squared.on(rows, self.activation, np.full(self.n_hidden, 1.0 / self.n_hidden), self.free.bias)

    def network(self, params: dict[str, Any]) -> Network:
        """The network with these parameters, outputs of several classes centred: see :class:`LabelProblem`."""
        network = self.model.network(params)
        if self.n_classes == 2:
            return network
        arrays = network.arrays()
        names = [name for name in ("output", "intercept", "skip") if name in arrays and arrays[name].ndim]
        return network.replace(**{name: arrays[name] - arrays[name].mean(axis=0) for name in names})

    def begin_at(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters of link="mean" with these weights and biases of zero."""
        return {"weights": weights} | ({"bias": np.zeros(len(weights))} if self.free.bias else {})

    def probabilities(self, network: Network) -> np.ndarray:
        """Probabilities (s, m) of the classes at the rows of the sample."""
        return class_probabilities(network, self.survey.X, self.link)

    @property
    def shares(self) -> np.ndarray:
        """Share (m,) of each class in the sample, by weight."""
        codes, weight = self.survey.y.astype(int), self.survey.weight
        counts = np.bincount(codes, weights=weight, minlength=self.n_classes)
        return counts / counts.sum()


def class_probabilities(network: Network, X: Any, link: str) -> np.ndarray:
    """Probabilities (n, m) of m classes at inputs X (n, d).

    >>> class_probabilities(Network([[0.0]], [2.0], "sigmoid"), [[1.0]], "logit").round(3)
    array([[0.269, 0.731]])
    """
    value = network.predict(X)
    if link == "mean":
        return np.column_stack([1 - value, value])
    if value.ndim == 1:
        return np.column_stack([expit(-value), expit(value)])
    shifted = np.exp(value - value.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def cross_entropies(probability: np.ndarray, y: np.ndarray) -> np.ndarray:
    """−log P(y) of each row, for probabilities (n, m) of classes y (n,).

    >>> cross_entropies(np.array([[0.5, 0.5]]), np.array([1.0])).round(4)
    array([0.6931])
    """
    own = probability[np.arange(len(y)), np.asarray(y).astype(int)]
    return -np.log(np.maximum(own, 1e-300))
