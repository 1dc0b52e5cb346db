"""Why a candidate was chosen, in one sentence that claims no more than what was compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planted.methods._choice import Candidate
from planted.names import count_of

UNCLEAR = "held-out rows are less likely, not clearly"
"""Why a candidate was not chosen that held-out rows hardly tell from the chosen one, to its disadvantage."""


def reason_of(
    chosen: Candidate, others: Sequence[Candidate], ties: Callable[[Candidate], bool], *, exact: bool,
    unclear: Callable[[Candidate], bool] | None = None,
) -> str:  # fmt: skip
    """The sentence; `ties` says whether another one explains held-out rows as well as the chosen one.

    `unclear` says, if that is more, whether they are not clear about one that has another activation.

    A candidate is simpler if it has fewer numbers. One that is simpler and ties is named with what speaks against it.

    >>> from dataclasses import replace
    >>> from planted import activations
    >>> from planted.methods._problem import Free
    >>> tanh = activations.get("tanh")
    >>> chosen = Candidate(tanh, 3, Free(), 12, 0.10, 0.01)
    >>> other = Candidate(tanh, 2, Free(), 8, 0.10, 0.01, why="less likely")
    >>> reason_of(chosen, [other], lambda other: False, exact=False)
    'of what was compared, nothing simpler explains held-out rows as well'
    >>> reason_of(chosen, [other], lambda other: True, exact=False)
    'of what was compared, 2 tanh neurons, with fewer numbers, explain held-out rows as well, but: less likely'
    >>> reason_of(chosen, [replace(other, why=UNCLEAR)], lambda other: True, exact=False)
    'of what was compared, 2 tanh neurons, with fewer numbers, are not clearly worse, but held-out rows are less likely'
    >>> reason_of(chosen, [Candidate(tanh, 3, Free(bias=True), 15, 0.10, 0.01)], lambda other: True, exact=False)
    'of what was compared, all with 3 neurons, nothing simpler explains held-out rows as well'
    >>> erf = Candidate(activations.get("erf"), 3, Free(), 12, 0.11, 0.01)
    >>> reason_of(chosen, [erf], lambda other: False, exact=False, unclear=lambda other: True)[-53:]
    ' as well; held-out rows alone do not tell it from erf'
    """
    width = chosen.n_hidden
    given = width > 0 and all(other.n_hidden == width for other in others)
    compared = "of what was compared" + f", all with {count_of(width, 'neuron')}" * given
    simpler = [other for other in others if other.n_parameters < chosen.n_parameters and ties(other)]
    if exact and not simpler:
        return f"it explains held-out rows to rounding, and {compared}{',' * given} nothing simpler does"
    if not simpler:
        words = f"{compared}, nothing simpler explains held-out rows as well"
    else:
        least = min(simpler, key=lambda other: (other.n_parameters, other.loss))
        verb = "explain" if least.n_hidden > 1 else "explains"
        against = f", but: {least.why}" if least.why else ""
        says = f"{verb} held-out rows as well{against}"
        if least.why == UNCLEAR:
            verb = "are" if least.n_hidden > 1 else "is"
            says = f"{verb} not clearly worse, but {UNCLEAR.removesuffix(', not clearly')}"
        words = f"{compared}, {least.name}, with fewer numbers, {says}"
    names = [other.shape for other in others if other.activation is not None and (unclear or ties)(other)]
    rivals = [name for name in dict.fromkeys(names) if name != chosen.shape]
    if chosen.activation is not None and rivals and not exact:
        words += f"; held-out rows alone do not tell it from {', '.join(rivals)}"
    return words
