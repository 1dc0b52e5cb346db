"""What a descent returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class History:
    """What was recorded on the way: lists of equal length, one entry a record.

    `value`, `gradient_norm` and `error` hold numbers, or arrays (restarts,) when restarts run side by side.
    """

    step: list[int] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    gradient_norm: list[Any] = field(default_factory=list)
    error: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Descent:
    """Where a solver ended and why.

    Attributes
    ----------
    params : array or dict
        The last parameters, NumPy float64 or as computed.
    value, gradient_norm : float or array (restarts,)
    status : str
        "converged", "step limit", "stalled" or "diverged".
    reason : str
        One sentence, with what to try where it helps.
    n_steps : int
    seconds : float
    history : History
    """

    params: Any
    value: Any
    gradient_norm: Any
    status: str
    reason: str
    n_steps: int
    seconds: float
    history: History

    def __str__(self) -> str:
        value = np.min(np.asarray(self.value))
        return f"{self.status} after {self.n_steps} steps ({self.seconds:.1f} s), value {value:.6g}: {self.reason}"
