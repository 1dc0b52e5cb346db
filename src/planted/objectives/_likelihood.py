r"""Likelihoods of labels: cross-entropies of what a network says about classes.

P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i) is eq. 3 of Fu et al. (2018). The paper minimises the quadratic loss, which is
:class:`planted.objectives.Squared` with the output fixed at 1/k. The likelihood has the same minimiser on the
population and the smallest variance on a sample. :class:`LogisticLikelihood` and :class:`SoftmaxLikelihood` take the
output of a dense network for log-odds instead, of two classes and of several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.numerics.precision import float64
from planted.objectives._dense_models import Dense, MeanOfProbabilities
from planted.objectives._fit import Fit, targets_of
from planted.objectives._losses import BernoulliLogit, BernoulliMean, Softmax
from planted.objectives._squared import Squared
from planted.rows import ArrayRows


def check_probability(activation: Activation) -> None:
    """Raise a ValueError unless φ maps into [0, 1].

    >>> check_probability(activations.get("tanh"))
    Traceback (most recent call last):
    ValueError: classification needs an activation into [0, 1], such as sigmoid, tanh_probability or
    erf_probability, not tanh
    """
    low, high = activation.range
    if low < 0 or high > 1:
        raise ValueError(
            "classification needs an activation into [0, 1], such as sigmoid, tanh_probability or erf_probability, "
            f"not {activation.name}"
        )


def _labels(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> ArrayRows:
    """Rows whose targets are labels 0 and 1, or probabilities between them."""
    if np.ndim(y) != 1 or np.min(y) < 0 or np.max(y) > 1:
        raise ValueError("y must hold labels 0 and 1")
    return targets_of(X, y, sample_weight)


class Likelihood(Fit):
    """−mean(y log p + (1 − y) log(1 − p)) with p = (1/k) Σ_i φ(weights_i·x + bias_i).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Labels 0 and 1, or probabilities between them.
    activation : str, Activation or callable
        φ into [0, 1].
    bias : bool
        Whether there are hidden biases, {"weights": …, "bias": …}.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = Likelihood([[1.0], [-1.0]], [1, 0])
    >>> round(loss.value(np.zeros((2, 1))), 6)    # log 2
    0.693147
    """

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "sigmoid",
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        model = MeanOfProbabilities(activation, bias)
        check_probability(model.activation)
        super().__init__(_labels(X, y, sample_weight), model, BernoulliMean())


class LogisticLikelihood(Fit):
    """mean log(1 + eᵗ) − y t for log-odds t = intercept + skip·x + Σ_i output_i φ(weights_i·x + bias_i).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Labels 0 and 1, or probabilities between them.
    activation : str, Activation or callable
    bias, intercept, skip : bool
        Whether there are hidden biases, an intercept, a linear part.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = LogisticLikelihood([[1.0], [-1.0]], [1, 0])
    >>> round(loss.value({"weights": np.ones((2, 1)), "output": np.zeros(2)}), 6)    # log 2
    0.693147
    """

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
        intercept: bool = False,
        skip: bool = False,
    ) -> None:
        model = Dense(activation, None, bias, intercept, skip)
        super().__init__(_labels(X, y, sample_weight), model, BernoulliLogit())


class SoftmaxLikelihood(Fit):
    """mean log Σ_c e^{t_c} − t_y for log-odds t (m,) of m classes, the outputs of a dense network.

    A function added to all log-odds changes nothing: canonical outputs, intercepts and linear parts sum to zero over
    the classes.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,) or (n, m)
        Classes 0, …, m − 1, or shares of the classes that sum to one.
    activation : str, Activation or callable
    bias, intercept, skip : bool
        Whether there are hidden biases (k,), intercepts (m,), linear parts (m, d).
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = SoftmaxLikelihood([[1.0], [-1.0], [2.0]], [1, 0, 2])
    >>> round(loss.value({"weights": np.ones((2, 1)), "output": np.zeros((3, 2))}), 6)    # log 3
    1.098612
    """

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
        intercept: bool = False,
        skip: bool = False,
    ) -> None:
        shares = np.asarray(y, dtype=np.float64)
        if shares.ndim == 1:
            if not np.all((shares >= 0) & (shares == np.round(shares))):
                raise ValueError("y must hold the numbers of classes 0, 1, …")
            shares = np.eye(int(shares.max()) + 1)[shares.astype(int)]
        elif np.any(shares < 0) or not np.allclose(shares.sum(axis=-1), 1):
            raise ValueError("the shares of classes in a row of y must be positive and sum to one")
        model = Dense(activation, None, bias, intercept, skip, n_outputs=shares.shape[-1], centred=True)
        super().__init__(targets_of(X, shares, sample_weight), model, Softmax())


def label_loss(
    X: ArrayLike, y: ArrayLike, n_hidden: int, activation: Any = "sigmoid", sample_weight: ArrayLike | None = None
) -> Squared:
    """The quadratic loss of eq. 2, ½ mean (y − (1/k) Σ_i φ(w_i·x))²: the squared loss with outputs fixed at 1/k.

    >>> label_loss([[1.0], [-1.0]], [1.0, 0.0], 2).value(np.zeros((2, 1)))
    0.125
    """
    act = activations.get(activation)
    check_probability(act)
    return Squared(X, y, act, np.full(n_hidden, 1.0 / n_hidden), sample_weight=sample_weight)
