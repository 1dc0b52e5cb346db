"""Words that several sentences share."""

from __future__ import annotations

REFITTED = "both refitted to a part of the rows and scored on the rest"
"""What scores of a cause are of, beside those of rows left out one by one."""
# Relative losses beyond which it does not matter how large one is, and between which three digits of the rest are 1.
_WORST, _NINES, _ROUNDING = 11.0, 5e-4, 1e-15


def listed(words: list[str]) -> str:
    """Words with commas and "or".

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b, or c', 'a')
    """
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f"{',' * (len(words) > 2)} or {words[-1]}"


def penalised_words(alpha: float) -> str:
    """What stands before the name of a fit with an ℓ2 penalty of this strength; empty without one.

    >>> penalised_words(0.001), penalised_words(0.0)
    ('ℓ2-penalised (0.001, by held-out rows) ', '')
    """
    return f"ℓ2-penalised ({alpha:.2g}, by held-out rows) " if alpha else ""


def gain(loss: float) -> str:
    """The share that a relative loss leaves explained, with as many nines as it has.

    >>> gain(0.25), gain(2e3), gain(1e-4)
    ('0.75', 'below −10', '1 − 0.0001')
    """
    if _ROUNDING < loss < _NINES:
        return f"1 − {loss:.2g}"
    return f"{1 - loss:.3g}" if loss <= _WORST else f"below −{_WORST - 1:g}"
