"""The kinds of problems that `planted bench` poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.datasets import make_planted, make_trained
from planted.methods import Free, Problem


@dataclass(frozen=True)
class BenchCell:
    """One kind of problem: n = ratio·k·d rows from a random teacher, or `ratio` rows a number of a trained one.

    `source` is what the teacher was trained on, see :func:`planted.datasets.make_trained`; empty for one that is drawn.
    """

    d: int
    k: int
    ratio: float
    activation: str = "relu"
    weights: str = "gaussian"
    output: str = "mixed"
    bias: bool = False
    noise: float = 0.0
    inputs: str = "gaussian"
    source: str = ""

    def __str__(self) -> str:
        extras = [name for name, usual in (("weights", "gaussian"), ("output", "mixed"), ("inputs", "gaussian"))
                  if getattr(self, name) != usual]  # fmt: skip
        words = [f"{name} {getattr(self, name)}" for name in extras]
        words += ["bias"] * (self.bias and not self.source) + [f"noise {self.noise:g}"] * (self.noise > 0)
        words += [f"trained on {self.source}"] * bool(self.source)
        rows = f"n={self.n_samples}" if self.source else f"n={self.ratio:g}kd"
        return " ".join([f"{self.activation} d={self.d} k={self.k} {rows}", *words])

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return int(self.ratio * self.k * (self.d + 2 if self.source else self.d))

    def data(self, seed: int) -> Any:
        """Rows and teacher for a seed."""
        options: dict[str, Any] = {"noise": self.noise, "inputs": self.inputs, "random_state": seed}
        if self.source:
            return make_trained(self.n_samples, self.k, source=self.source, activation=self.activation, **options)
        return make_planted(
            self.n_samples,
            self.d,
            self.k,
            activation=self.activation,
            weights=self.weights,
            output=self.output,
            bias=self.bias,
            **options,
        )

    def problem(self, X: np.ndarray, y: np.ndarray, seed: int = 0) -> Problem:
        """What is asked of a method on rows of this cell."""
        free = Free(self.bias, intercept=bool(self.source))
        return Problem.of(X, y, self.k, self.activation, free=free, random_state=seed)


def trained(d: int, k: int, activation: str, source: str) -> BenchCell:
    """A trained teacher with biases and an intercept, and twenty rows a number.

    >>> str(trained(10, 8, "tanh", "diabetes"))
    'tanh d=10 k=8 n=1920 trained on diabetes'
    """
    return BenchCell(d, k, 20, activation, bias=True, source=source)


QUICK = (BenchCell(10, 5, 10), BenchCell(20, 10, 10), BenchCell(10, 5, 20, "tanh"))
FULL = (
    *(BenchCell(d, k, ratio) for d, k in ((10, 5), (20, 10), (20, 20), (50, 20), (50, 50)) for ratio in (10,)),
    *(BenchCell(d, k, 3) for d, k in ((20, 10), (20, 20))),
    *(
        BenchCell(20, 10, 20, name)
        for name in ("leaky_relu", "abs", "softplus", "sigmoid", "tanh", "erf", "squared_relu")
    ),
    *(BenchCell(20, 10, 20, name, bias=True) for name in ("relu", "tanh")),
    BenchCell(20, 10, 20, weights="correlated", output="positive"),
    BenchCell(20, 10, 20, inputs="mixture"),
    BenchCell(20, 10, 20, inputs="laplace"),
    BenchCell(20, 10, 50, noise=0.1),
)
TRAINED = tuple(
    trained(d, k, activation, source)
    for d, k, source in (
        (10, 8, "diabetes"),
        (10, 16, "diabetes"),
        (13, 12, "wine"),
        (30, 16, "cancer"),
        (10, 32, "diabetes"),
    )
    for activation in ("relu", "tanh", "sigmoid")
)
LAWS = tuple(
    BenchCell(10, 6, 20, activation, bias=True, inputs=law)
    for law in ("uniform", "binary", "counts", "sparse", "heavy", "correlated", "scales")
    for activation in ("relu", "tanh")
)
CELLS: dict[str, tuple[BenchCell, ...]] = {"drawn": FULL, "trained": TRAINED, "laws": LAWS}
