"""What a reading returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from planted.networks import Network
from planted.pages import fragment, subject_of, write_report


@dataclass(frozen=True)
class Reading:
    """A network read from a model by asking it.

    Attributes
    ----------
    network : Network
        On the caller's own inputs. Where the model is no such network, what was learnt of it.
    status : str
        "recovered": equal to the model to rounding on fresh questions near and far, and unique up to its symmetries.
        "ambiguous": equal, but other weights give the same function. "estimated": close, or the budget was spent.
        "misfit": the model is not a network with one hidden layer.
    reason : str
        One sentence that says why.
    queries : int
        Rows that the model was asked for.
    fidelity : float
        Largest |model − network| / sd on fresh questions, near and far; infinite where none could be asked.
    """

    network: Network
    status: str
    reason: str
    queries: int
    fidelity: float

    @property
    def queries_per_parameter(self) -> float:
        """Queries divided by the number of weights, biases, outputs and intercepts of the network."""
        return self.queries / max(sum(array.size for array in self.network.arrays().values()), 1)

    def report(self, path: str | PathLike[str], names: Sequence[str] = (), targets: Sequence[str] = ()) -> Path:
        """Write one HTML page about the reading; `names` are those of the inputs, `targets` those of the outputs.

        >>> import tempfile
        >>> reading = Reading(Network([[3.0, 4.0]], [2.0]), "recovered", "by construction", 10, 0.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     "recovered" in reading.report(f"{folder}/page.html", ["age", "pay"]).read_text(encoding="utf-8")
        True
        """
        return write_report(path, subject_of(self, names=names, targets=targets))

    def _repr_html_(self) -> str:
        """The verdict, the formula and the strongest neurons in a notebook."""
        return fragment(subject_of(self))

    def as_dict(self) -> dict[str, Any]:
        """Status, reason and numbers, without the network."""
        return {
            "status": self.status,
            "reason": self.reason,
            "queries": self.queries,
            "queries_per_parameter": self.queries_per_parameter,
            "fidelity": self.fidelity,
        }

    def __str__(self) -> str:
        return (
            f"{self.status}: {self.reason}\n{self.network!r}\n"
            f"{self.queries} queries ({self.queries_per_parameter:.2f} a parameter), "
            f"largest difference {self.fidelity:.2g} sd"
        )
