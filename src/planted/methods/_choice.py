"""What was compared when activation, width or parts of a network were left open, and what was chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from planted import activations
from planted.activations import Activation
from planted.methods._problem import Free
from planted.names import count_of
from planted.networks import Network

_SHOWN = 16


@dataclass(frozen=True)
class Candidate:
    """A kind of network, and how well it predicts rows that were held out.

    Attributes
    ----------
    activation : Activation or None
        None for networks without neurons.
    n_hidden : int
    free : Free
        Which parts it has besides weights and outputs.
    n_parameters : int
        Numbers that it has, symmetries taken off.
    loss, error : float
        Mean squared residual of held-out rows over the variance of the targets, and its standard error.
    chosen : bool
    why : str
        Why it was chosen, or why not, where that is known.
    link : str
        What its values mean for labels, "mean" or "logit", where both were compared; empty otherwise.
    beside : str
        How it explains held-out rows beside the chosen one, where nothing else spoke against it.

    Examples
    --------
    >>> Candidate(activations.get("tanh"), 3, Free(bias=True), 18, 0.1, 0.01).name
    '3 tanh neurons, biases'
    >>> Candidate(activations.get("tanh"), 3, Free(bias=True), 18, 0.1, 0.01, link="logit").name
    '3 tanh neurons, biases, link logit'
    >>> Candidate(None, 0, Free(intercept=True, skip=True), 6, 0.1, 0.01).name
    'linear function, intercept'
    """

    activation: Activation | None
    n_hidden: int
    free: Free
    n_parameters: int
    loss: float
    error: float
    chosen: bool = False
    why: str = ""
    link: str = ""
    beside: str = ""

    @property
    def reason(self) -> str:
        """Why it was chosen, or why not."""
        return self.why or self.beside

    @property
    def shape(self) -> str:
        """The activation's name, with the link where that was compared; "linear" without neurons."""
        if self.activation is None:
            return "linear"
        return f"{self.activation.name} (link {self.link})" if self.link else self.activation.name

    @property
    def name(self) -> str:
        """What it is, in words."""
        parts = [("biases", self.free.bias), ("intercept", self.free.intercept)]
        if self.activation is None:
            head = "linear function" if self.free.skip else "constant"
            return ", ".join([head] + ["intercept"] * (self.free.intercept and self.free.skip))
        head = count_of(self.n_hidden, f"{self.activation.name} neuron")
        parts += [("linear part", self.free.skip), (f"link {self.link}", bool(self.link))]
        return ", ".join([head, *(part for part, there in parts if there)])

    @property
    def spread(self) -> str:
        """The standard error in words, where there is one."""
        return "" if np.isnan(self.error) else f" ± {self.error:.1g}"

    def as_dict(self) -> dict[str, Any]:
        """Numbers and words in JSON's types."""
        return {
            "candidate": self.name,
            "activation": None if self.activation is None else self.activation.name,
            "n_hidden": self.n_hidden,
            "bias": self.free.bias,
            "intercept": self.free.intercept,
            "skip": self.free.skip,
            "n_parameters": self.n_parameters,
            "loss": self.loss,
            "standard_error": self.error,
            "chosen": self.chosen,
            "why": self.reason,
        } | ({"link": self.link} if self.link else {})


@dataclass(frozen=True, eq=False)
class Choice:
    """The table of candidates; printing it shows those that matter.

    Attributes
    ----------
    candidates : tuple of Candidate
        In the order in which they were tried.
    reason : str
        Why the chosen one, in one sentence.
    network : Network or None
        The chosen candidate as the comparison fitted it, from which the fit may begin.
    out_of_time : bool
        Whether the time budget ran out before every candidate was compared.

    Examples
    --------
    >>> one = Candidate(activations.get("relu"), 2, Free(), 6, 0.1, 0.01, chosen=True, why="the simplest")
    >>> print(Choice((one,), "it explains held-out rows best"))
    chosen: 2 relu neurons (it explains held-out rows best)
       candidate       numbers  held-out loss ± error
     * 2 relu neurons        6       0.1 ± 0.01        the simplest
    """

    candidates: tuple[Candidate, ...]
    reason: str
    network: Network | None = field(default=None, repr=False)
    out_of_time: bool = False

    @property
    def chosen(self) -> Candidate:
        """The candidate that is fitted."""
        return next(candidate for candidate in self.candidates if candidate.chosen)

    @property
    def width_losses(self) -> dict[int, float]:
        """The lowest held-out loss of each width tried with the chosen activation."""
        chosen = self.chosen
        losses: dict[int, float] = {}
        for one in self.candidates:
            if (one.activation, one.link) == (chosen.activation, chosen.link) or one.activation is None:
                losses[one.n_hidden] = min(one.loss, losses.get(one.n_hidden, np.inf))
        return dict(sorted(losses.items()))

    @property
    def activation_losses(self) -> dict[str, float]:
        """The lowest held-out loss of each activation tried."""
        losses: dict[str, float] = {}
        for one in self.candidates:
            losses[one.shape] = min(one.loss, losses.get(one.shape, np.inf))
        return dict(sorted(losses.items(), key=lambda pair: pair[1]))

    def shown(self) -> list[Candidate]:
        """The candidates that a reader wants to see: the chosen one, its variants, the best of every activation.

        Those without neurons are always among them.
        """
        best: dict[str, Candidate] = {}
        for one in sorted(self.candidates, key=lambda one: one.loss):
            best.setdefault(one.shape, one)
        chosen = self.chosen
        variants = [one for one in self.candidates if one.n_hidden == chosen.n_hidden and one.why]
        rows = [one for one in self.candidates if one in variants or one in best.values()]
        plain = [one for one in self.candidates if one.activation is None and one is not chosen]
        rest = [one for one in rows if one.activation is not None and one is not chosen]
        rest = sorted(rest, key=lambda one: one.loss)[: _SHOWN - 1 - len(plain)]
        return [chosen, *sorted([*plain, *rest], key=lambda one: one.loss)]

    @property
    def unshown(self) -> str:
        """How many candidates were compared that are not shown, in words; empty if there are none."""
        more = len(self.candidates) - len(self.shown())
        return f"{more:,} more {'was' if more == 1 else 'were'} compared" if more else ""

    def as_dict(self) -> dict[str, Any]:
        """The table in JSON's types."""
        return {
            "reason": self.reason,
            "out_of_time": self.out_of_time,
            "candidates": [one.as_dict() for one in self.candidates],
        }

    def __str__(self) -> str:
        rows = [("candidate", "numbers", "held-out loss ± error", "")]
        rows += [(one.name, str(one.n_parameters), f"{one.loss:.3g}" + one.spread, one.reason) for one in self.shown()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"chosen: {self.chosen.name} ({self.reason})"]
        for place, row in enumerate(rows):
            mark = "*" if place == 1 else " "
            cells = f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:^{widths[2]}}  {row[3]}"
            lines.append(f" {mark} {cells}".rstrip())
        return "\n".join([*lines, *([f"   {self.unshown}"] if self.unshown else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The choice as arrays, for a journal."""
        text = json.dumps(
            self.as_dict()
            | {"parameters": [dict(one.activation.parameters) if one.activation else {} for one in self.candidates]}
            | {"reasons": [(one.why, one.beside) for one in self.candidates]}
        )
        network = {} if self.network is None else self.network.arrays()
        return {"table": np.frombuffer(text.encode(), np.uint8)} | {f"net {name}": v for name, v in network.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], given: Activation | None) -> Choice:
        """What :meth:`to_arrays` made; an activation that a caller gave is not looked up by its name."""
        stored = json.loads(arrays["table"].tobytes())
        made = []
        rows = zip(stored["candidates"], stored["parameters"], stored["reasons"], strict=True)
        for row, parameters, (why, beside) in rows:
            act = None if row["activation"] is None else given or activations.get(row["activation"], **parameters)
            free = Free(row["bias"], row["intercept"], row["skip"])
            numbers = (row["n_parameters"], row["loss"], row["standard_error"])
            about = (row["chosen"], why, row.get("link", ""), beside)
            made.append(Candidate(act, row["n_hidden"], free, *numbers, *about))
        choice = cls(tuple(made), stored["reason"], None, stored["out_of_time"])
        parts = {name.removeprefix("net "): value for name, value in arrays.items() if name.startswith("net ")}
        if not parts:
            return choice
        return replace(choice, network=Network(**parts, activation=choice.chosen.activation or "relu"))
