"""What is asked of a method: the rows, the kind of network, and what is free in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.inputs import Gaussian, InputLaw
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress, silent
from planted.numerics.random import as_key
from planted.numerics.seeding import words_from
from planted.numerics.validation import as_matrix, count
from planted.objectives import Dense, Squared, SquaredError
from planted.rows import ArrayRows, Block, ChunkedRows, Rows, Survey, in_memory

Once = Callable[[str, Callable[[], dict[str, np.ndarray]]], dict[str, np.ndarray]]
"""`once(name, compute)` gives the arrays that `compute` returned when it was first called."""


def _directly(name: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return compute()


@dataclass(frozen=True)
class Free:
    """Which parameters are free besides the weights and the outputs: biases, an intercept, a linear part."""

    bias: bool = False
    intercept: bool = False
    skip: bool = False

    def unknowns(self, n_features: int, n_hidden: int, n_outputs: int = 1) -> int:
        """How many numbers a network with these parts has.

        >>> Free(bias=True).unknowns(5, 2)
        14
        """
        layers = n_hidden * (n_features + n_outputs + self.bias)
        return layers + n_outputs * (self.intercept + n_features * self.skip)


@dataclass(frozen=True, eq=False)
class Problem:
    """A recovery problem: which network with these free parts produced these rows?

    Attributes
    ----------
    rows : Rows
        All rows, wherever they are.
    survey : Survey
        Of the same rows. Searches run on its sample, which is complete for rows in memory.
    n_hidden : int
        Number of neurons k.
    activation : Activation
        φ.
    free : Free
    inputs : InputLaw
        What is known of the law of the inputs.
    key : array (2,)
        Source of all randomness, see :mod:`planted.numerics.random`.
    progress : callable
    names : tuple of str
        Of the inputs, for what is said of them; numbers where there are none.
    guess : Network or None
        A network of the kind asked for that comparisons have fitted to some rows already.
    at_minimum : bool
        Whether the guess is at a minimum of the sample's loss.
    compared : tuple of str
        Settings that comparisons have chosen, by their names; nobody is told to try others of these.
    units : array (m,), optional
        What each of several targets was divided by, for what is said of them.
    once : callable
        Remembers what was computed under a name; see :meth:`planted.rows.Journal.once`.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> problem.n_features, problem.n_outputs, problem.unknowns
    (3, 1, 8)
    """

    rows: Rows
    survey: Survey
    n_hidden: int
    activation: Activation
    free: Free = field(default_factory=Free)
    inputs: InputLaw = field(default_factory=lambda: InputLaw(None, None, "nothing was asked of the inputs"))
    key: Any = None
    progress: Progress = silent
    once: Once = _directly
    names: tuple[str, ...] = ()
    guess: Network | None = None
    at_minimum: bool = False
    compared: tuple[str, ...] = ()
    units: np.ndarray | None = None

    @classmethod
    @float64
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        n_hidden: int,
        activation: Any = "relu",
        *,
        free: Free | None = None,
        sample_weight: ArrayLike | None = None,
        random_state: Any = 0,
    ) -> Problem:
        """The problem for arrays X (n, …), y (n,) or (n, m) and row weights (n,)."""
        inputs = as_matrix("X", X, np.ndim(X))
        targets = as_matrix("y", y, 1 if np.ndim(y) < 2 else 2)
        if len(inputs) != len(targets):
            raise ValueError(f"X has {len(inputs)} rows but y has {len(targets)} entries")
        weight = None if sample_weight is None else as_matrix("sample_weight", sample_weight, 1)
        key = (
            as_key(random_state)
            if np.ndim(random_state) or isinstance(random_state, jax.Array)
            else words_from(random_state)
        )
        survey = Survey.of(inputs, targets, weight)
        k, act = count("n_hidden", n_hidden), activations.get(activation)
        return cls(in_memory(survey), survey, k, act, free or Free(), key=key)

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return int(self.survey.first.size)

    @property
    def n_outputs(self) -> int:
        """Number of outputs m."""
        return 1 if self.survey.y.ndim == 1 else self.survey.y.shape[1]

    @property
    def unknowns(self) -> int:
        """Numbers in the network asked for."""
        return self.free.unknowns(self.n_features, self.n_hidden, self.n_outputs)

    @property
    def energy(self) -> float:
        """½ mean ‖y‖² over all rows."""
        return 0.5 * (self.survey.variance + float(np.sum(np.square(self.survey.mean))))

    @property
    def in_chunks(self) -> bool:
        """Whether rows are read piece by piece."""
        return isinstance(self.rows, ChunkedRows)

    @cached_property
    def sample(self) -> ArrayRows:
        """The rows of the survey's sample as JAX arrays."""
        whole = isinstance(self.rows, ArrayRows) and self.survey.complete
        return self.rows if whole else in_memory(self.survey)  # type: ignore[return-value]

    @cached_property
    def gaussian(self) -> Gaussian:
        """The Gaussian with the mean and covariance of all rows."""
        mean = self.survey.first
        return Gaussian(mean, self.survey.second - np.outer(mean, mean))

    def whitened(self, rows: Rows) -> Rows:
        """Rows whose inputs are (x − mean)·whitener, white by the mean and covariance of all rows."""
        law = self.gaussian
        whitener = law.whiten(np.eye(self.n_features) + law.mean)
        return rows.map(block_whitened, to_jax(np.asarray(law.mean)), to_jax(whitener))

    def on_sample(self) -> Problem:
        """The same problem for the survey's sample alone."""
        if self.survey.complete and not self.in_chunks:
            return self
        survey = Survey.of(self.survey.X, self.survey.y, self.survey.weight)
        return replace(self, rows=self.sample, survey=survey, once=_directly)

    @property
    def at_hand(self) -> Problem:
        """The same problem on rows in memory where the sample is all rows that count; itself where it is not."""
        if not self.in_chunks or not self.survey.complete:
            return self
        weight = self.survey.weight
        counts = slice(None) if weight is None else weight > 0
        return self.on(self.survey.part(counts), once=_directly)

    def with_inputs(self, X: np.ndarray) -> Problem:
        """The problem on the sample with other inputs (n, d) in place of its own."""
        return self.on(replace(self.survey, X=X))

    def on(self, survey: Survey, **changed: Any) -> Any:
        """The problem on the rows in memory of another survey, with other settings changed."""
        return replace(self, rows=in_memory(survey), survey=survey, **changed)

    @property
    def model(self) -> Any:
        """The network asked for as a model: what its parameters are, and how they stand for a network."""
        free, several = self.free, None if self.survey.y.ndim == 1 else self.n_outputs
        return Dense(self.activation, None, free.bias, free.intercept, free.skip, several)

    def objective(self, rows: Rows | None = None) -> Any:
        """The squared loss over all rows, or over those given."""
        return Squared.composed(self.rows if rows is None else rows, self.model, SquaredError())

    def settled(self, details: dict[str, Any]) -> Problem:
        """The problem as a result with these details solved it."""
        return self

    def params(self, network: Any) -> dict[str, np.ndarray]:
        """The free parameters of a network; parts that it lacks are zero."""
        return self.model.params(network)

    def network(self, params: dict[str, Any]) -> Any:
        """The network with the given free parameters."""
        return self.model.network(params)


@singledispatch
def problem_of(network: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
    """The problem whose answer a network of some kind claims to be, for rows in memory and their weights (n,).

    >>> problem_of(Network([[1.0, 2.0]], [1.0], bias=[0.5]), np.ones((3, 2)), np.ones(3)).free
    Free(bias=True, intercept=False, skip=False)
    """
    raise TypeError(f"no method answers with a {type(network).__name__}")


@problem_of.register
def _of_dense(network: Network, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Problem:
    free = Free(network.bias is not None, bool(np.any(network.intercept)), network.skip is not None)
    # Nobody asks for a network without neurons, but a linear function is an answer.
    problem = Problem.of(X, y, 1, network.activation, free=free, sample_weight=sample_weight)
    return replace(problem, n_hidden=network.n_hidden)


def block_whitened(block: Block, mean: jax.Array, whitener: jax.Array) -> Block:
    """The block with inputs (x − mean)·whitener."""
    return block | {"x": (block["x"] - mean) @ whitener}
