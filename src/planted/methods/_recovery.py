"""What every method returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planted.methods._verdict import Verdict
from planted.networks import ConvNetwork, Network, grown
from planted.solvers import Descent


@dataclass(frozen=True)
class Start:
    """Where a method begins the last descent, and how it came there.

    Attributes
    ----------
    network : Network or ConvNetwork
    method : str
        The method whose directions these are.
    loss : float, optional
        On the survey's sample, where the network has been refined there already.
    descents : dict
        The solvers' runs by phase.
    details : dict
        Numbers of the method, such as the constants μ, λ it used.
    remark : str
        What a reader of the result must know of how the directions came about, such as a fall-back.
    """

    network: Any
    method: str
    loss: float | None = None
    descents: dict[str, Descent] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    def adding(self, descents: dict[str, Descent], details: dict[str, Any]) -> Start:
        """The same start with more to report."""
        return replace(self, descents=self.descents | descents, details=self.details | details)


@dataclass(frozen=True)
class Recovery:
    """A recovered network and what is known of it: the result of every method and every estimator.

    Attributes
    ----------
    network : Network or ConvNetwork
    verdict : Verdict
        Status, reason and advice, with the facts they follow from.
    loss : float
        ½ mean squared residual; for labels ½ mean (probability − y)².
    relative_loss : float
        mean squared residual / variance of the targets; the mean of that over several targets.
    method : str
        The method whose directions were refined.
    seconds : float
    uncertainty : Uncertainty or None
        Standard errors of the parameters; None where there are too many of them.
    descents : dict
        The solvers' runs by phase.
    details : dict
        Numbers of the method, such as the constants μ, λ it used.
    squares : array (m,), optional
        Mean squared residual of each of several targets.
    units : array (m,), optional
        What each of several targets was divided by in the loss that was made least.
    """

    network: Network | ConvNetwork
    verdict: Verdict
    loss: float
    relative_loss: float
    method: str
    seconds: float
    uncertainty: Any = None
    descents: dict[str, Descent] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    squares: np.ndarray | None = None
    units: np.ndarray | None = None

    @property
    def status(self) -> str:
        """One of :data:`planted.methods.STATUSES`."""
        return self.verdict.status

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return self.verdict.reason

    @property
    def advice(self) -> str:
        """What to try if it is not what was hoped for; empty when recovered."""
        return self.verdict.advice

    def in_units(self, unit: Any) -> Recovery:
        """The same result for targets that were divided by `unit`, or each of several by its own, on the way in.

        The loss is infinite, or zero, where float64 cannot hold the square.

        >>> from planted.methods import Facts, judge
        >>> verdict = judge(Facts(0.0, 0.0, 9, 1))
        >>> Recovery(Network([[1.0]], [2.0]), verdict, 0.0, 0.0, "squared", 0.0).in_units(1e200).network.output
        array([2.e+200])
        """
        arrays = {name: grown(value, name, unit) for name, value in self.network.arrays().items()}
        network = type(self.network)(**arrays, activation=self.network.activation)
        errors = self.uncertainty
        with np.errstate(over="ignore", under="ignore"):
            squares = None if self.squares is None else self.squares * unit * unit
            loss = float(np.float64(self.loss) * unit * unit if squares is None else np.sum(squares) / 2)
        return replace(
            self,
            network=network,
            loss=loss,
            squares=squares,
            units=unit if self.units is None and np.ndim(unit) else self.units,
            uncertainty=None if errors is None else errors.in_units(unit, network),
        )

    def __str__(self) -> str:
        lines = [
            f"{self.status}: {self.reason}",
            f"{self.network}, by method {self.method!r} in {self.seconds:.1f} s",
            f"relative loss {self.relative_loss:.3g}",
        ]
        return "\n".join(lines + [text for text in (contribution_sentence(self.details), self.advice) if text])

    def __repr__(self) -> str:
        return f"Recovery({self.status}, {self.network!r}, relative loss {self.relative_loss:.3g})"


def contribution_sentence(details: dict[str, Any]) -> str:
    """The same in a sentence; empty where it was not measured.

    >>> numbers = {"turned": np.array([1.0, 3.2]), "random_directions": {"relative_loss": 0.5, "as_low": False}}
    >>> contribution_sentence(numbers)
    'refinement turned its directions by up to 3.2°; from random ones it ends at a relative loss of 0.5'
    """
    if "random_directions" not in details:
        return ""
    other = details["random_directions"]
    ends = (
        "random ones with the same refinement explain the rows as well"
        if other["as_low"]
        else f"from random ones it ends at a relative loss of {other['relative_loss']:.2g}"
    )
    return f"refinement turned its directions by up to {np.max(details['turned']):.2g}°; {ends}"
