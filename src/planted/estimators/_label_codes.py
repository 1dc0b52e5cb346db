"""Labels of a table as numbers of the classes that a model knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def label_codes(labels: Iterable[Any], classes: Sequence[Any]) -> np.ndarray:
    """The number (n,) of each label's class, −1 where the label is missing.

    Labels are compared as text, so that 1, 1.0 and "1" are the same class, and so are True and "true".

    >>> label_codes(["yes", "no", ""], ["no", "yes"]).tolist(), label_codes([1.0, 0.0], [0, 1]).tolist()
    ([1, 0, -1], [1, 0])
    >>> label_codes([True, False], [0.0, 1.0]).tolist()
    [1, 0]
    >>> label_codes(["maybe"], ["no", "yes"])
    Traceback (most recent call last):
    ValueError: the target holds 'maybe', which is no class of the network: it knows no, yes
    """
    known = {_plain(label): code for code, label in enumerate(classes)} | {"": -1, "nan": -1}
    # Tables write truth values as words or as 0 and 1.
    for word, digit in (("false", "0"), ("true", "1")):
        known |= {new: known[old] for old, new in ((word, digit), (digit, word)) if old in known and new not in known}
    codes = []
    for label in labels:
        code = known.get(_plain(label))
        if code is None:
            names = ", ".join(str(name) for name in classes)
            raise ValueError(f"the target holds {str(label)!r}, which is no class of the network: it knows {names}")
        codes.append(code)
    return np.array(codes, dtype=int)


def _plain(label: Any) -> str:
    """A label as text; whole numbers without a decimal point, truth values in small letters."""
    text = str(label)
    try:
        number = float(text)
    except ValueError:
        return text.lower() if text.lower() in ("true", "false") else text
    return f"{number:.17g}"
