"""The kinds of problems that `planted bench` poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.datasets import make_planted
from planted.methods import Free, Problem


@dataclass(frozen=True)
class BenchCell:
    """One kind of problem: n = ratio·k·d rows from a random teacher."""

    d: int
    k: int
    ratio: float
    activation: str = "relu"
    weights: str = "gaussian"
    output: str = "mixed"
    bias: bool = False
    noise: float = 0.0
    inputs: str = "gaussian"

    def __str__(self) -> str:
        extras = [name for name, usual in (("weights", "gaussian"), ("output", "mixed"), ("inputs", "gaussian"))
                  if getattr(self, name) != usual]  # fmt: skip
        words = [f"{name} {getattr(self, name)}" for name in extras]
        words += ["bias"] * self.bias + [f"noise {self.noise:g}"] * (self.noise > 0)
        return " ".join([f"{self.activation} d={self.d} k={self.k} n={self.ratio:g}kd", *words])

    def data(self, seed: int) -> Any:
        """Rows and teacher for a seed."""
        return make_planted(
            int(self.ratio * self.k * self.d),
            self.d,
            self.k,
            activation=self.activation,
            weights=self.weights,
            output=self.output,
            bias=self.bias,
            noise=self.noise,
            inputs=self.inputs,
            random_state=seed,
        )

    def problem(self, X: np.ndarray, y: np.ndarray, seed: int = 0) -> Problem:
        """What is asked of a method on rows of this cell."""
        return Problem.of(X, y, self.k, self.activation, free=Free(self.bias), random_state=seed)


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
