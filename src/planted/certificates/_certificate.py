"""The certificate of a point: its kind, with the numbers the verdict rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.certificates._assumption import Assumption
from planted.certificates._conv import ConvStationary
from planted.certificates._kinks import Kinks
from planted.certificates._local_convergence import LocalConvergence
from planted.certificates._teacher_distance import TeacherDistance
from planted.networks import ConvNetwork, Network
from planted.objectives import Params
from planted.pages import Subject, fragment, write_report

# Numbers that a direction is described by.
_MOVES = 4

KINDS = ("global minimum", "local minimum", "saddle", "not critical", "undecided")


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known about a point of an objective.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`. "local minimum" and "saddle" say nothing about the global minimum.
    reason : str
        Why, in words.
    value, gradient_norm : float
    gradient_tolerance : float
        The gradient norm below which the point counts as critical: tolerance · ‖H‖ · ‖θ‖ for one array of parameters.
    min_eigenvalue, residual, hessian_norm : float
        Smallest eigenvalue of the Hessian, residual ‖Hv − λv‖ of its eigenpair, spectral norm.
    direction : Params or None
        Unit escape direction at a saddle, steepest descent where not critical, otherwise None.
    decrease : float
        How much the loss was seen to fall along `direction`.
    flat : tuple of str
        Known symmetries that explain flat directions.
    kinks : Kinks
        Whether the loss is smooth here.
    assumptions : tuple of Assumption
        Which assumptions of the theorems hold.
    method : "dense" or "lanczos"
    stationary_point : ConvStationary or None
        For a shared filter, the point of Lemma 4.1 of Du et al. (2017) that this is.
    spectrum : array (p,) or None
        All eigenvalues of the Hessian, rising, where it was formed.
    descent : LocalConvergence or None
        What gradient descent from here is proved to reach, where that was asked for.
    teacher_distance : TeacherDistance or None
        For a minimum of G, F or L, how near the theorems say that a permutation of the teacher is.
    network : Network, ConvNetwork or None
        The network that the point is, where the objective knows.
    """

    kind: str
    reason: str
    value: float
    gradient_norm: float
    gradient_tolerance: float
    min_eigenvalue: float
    residual: float
    hessian_norm: float
    direction: Params | None
    decrease: float
    flat: tuple[str, ...]
    kinks: Kinks
    method: str
    assumptions: tuple[Assumption, ...] = field(default=())
    stationary_point: ConvStationary | None = None
    spectrum: np.ndarray | None = None
    descent: LocalConvergence | None = None
    teacher_distance: TeacherDistance | None = None
    network: Network | ConvNetwork | None = None

    @property
    def is_minimum(self) -> bool:
        """Whether the point is a minimum, local or global."""
        return self.kind in ("global minimum", "local minimum")

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON; the direction is left out."""
        numbers = (
            "value",
            "gradient_norm",
            "gradient_tolerance",
            "min_eigenvalue",
            "residual",
            "hessian_norm",
            "decrease",
        )
        return {
            "kind": self.kind,
            "reason": self.reason,
            **{name: float(getattr(self, name)) for name in numbers},
            "flat": list(self.flat),
            "method": self.method,
            "smooth": not self.kinks.present,
            "stationary_point": None if self.stationary_point is None else self.stationary_point.name,
            "teacher_distance": None if self.teacher_distance is None else asdict(self.teacher_distance),
            "assumptions": [row.as_dict() for row in self.assumptions],
            **({} if self.descent is None else {"descent": self.descent.as_dict()}),
        }

    def report(self, path: str | PathLike[str], names: Sequence[str] = (), targets: Sequence[str] = ()) -> Path:
        """Write one HTML page about the point; `names` are those of the inputs, `targets` those of the outputs.

        >>> import tempfile
        >>> from planted.certificates import certify
        >>> from planted.objectives import PopulationSquared
        >>> certificate = certify(PopulationSquared(Network(np.eye(2), np.ones(2))), np.eye(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     "global minimum" in certificate.report(f"{folder}/page.html").read_text(encoding="utf-8")
        True
        """
        return write_report(path, self._subject(names, targets))

    def _subject(self, names: Sequence[str] = (), targets: Sequence[str] = ()) -> Subject:
        return Subject(self.network, self.kind, self.reason, certificate=self, names=names, targets=targets)

    def _repr_html_(self) -> str:
        """Kind, reason and network in a notebook."""
        return fragment(self._subject())

    def __str__(self) -> str:
        lines = [
            f"{self.kind}: {self.reason}",
            f"  value {self.value:.6g}, gradient {self.gradient_norm:.3g} (zero below {self.gradient_tolerance:.1g})",
            f"  smallest Hessian eigenvalue {self.min_eigenvalue:.6g} (residual {self.residual:.1g}, "
            f"spectral norm {self.hessian_norm:.3g}, {self.method})",
        ]
        if self.flat:
            lines.append(f"  flat along: {'; '.join(self.flat)}")
        if self.decrease:
            lines.append(f"  the loss falls by {self.decrease:.3g} along a direction{_largest_moves(self.direction)}")
        if self.descent is not None:
            lines.append(str(self.descent))
        return "\n".join(lines)


def _largest_moves(direction: Params | None) -> str:
    """The numbers that a unit direction changes most, in words.

    >>> _largest_moves({"weights": np.array([[0.6, 0.0]]), "output": np.array([-0.8])})
    ' that changes output[0] by −0.8, weights[0, 0] by +0.6'
    """
    if direction is None:
        return ""
    arrays = direction if isinstance(direction, dict) else {"weights": direction}
    moves = [(name, place, float(value)) for name, part in arrays.items() for place, value in np.ndenumerate(part)]
    moves = sorted((move for move in moves if move[2]), key=lambda move: -abs(move[2]))
    leading = [(f"{name}{list(place) if place else ''}", value) for name, place, value in moves[:_MOVES]]
    shown = [f"{name} by {value:+.2g}".replace("-", "−") for name, value in leading]
    more = f", and {len(moves) - _MOVES:,} more" if len(moves) > _MOVES else ""
    return f" that changes {', '.join(shown)}{more}"
