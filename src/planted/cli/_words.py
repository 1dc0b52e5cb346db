"""Advice in the words of the command line: flags where Python has arguments."""

from __future__ import annotations

import re

_FLAGS = {
    "n_hidden": "--hidden",
    "activation": "--activation",
    "method": "--method",
    "inputs": "--inputs",
    "time_budget": "--time-budget",
    "random_state": "--seed",
    "n_filters": "--filters",
    "n_patches": "--patches",
    "patch_shape": "--patch",
    "target": "--target",
    "features": "--features",
    "exclude": "--exclude",
    "missing": "--missing",
    "link": "--link",
    "alpha": "--alpha",
    "loss": "--loss",
    "class_weight": "--class-weight",
    "solver": "--solver",
}
_SWITCHES = {
    "fit_bias": "bias", "fit_intercept": "intercept", "fit_skip": "skip", "categorical": "categorical",
    "header": "header",
}  # fmt: skip
_GIVEN = re.compile(r"\b([a-z_]+)=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|True|False|[\w.]+)")
_NAMED = re.compile(r"\b(time_budget|random_state|n_hidden|fit_bias|fit_intercept|fit_skip|n_patches|n_filters)\b=?")


def in_flags(sentence: str) -> str:
    """A sentence with arguments of Python as flags of the command line.

    >>> in_flags("Try activation='tanh' or fit_intercept=True, or a larger n_hidden.")
    'Try --activation tanh or --intercept, or a larger --hidden.'
    >>> in_flags("exclude=['a b'] leaves it out")
    "--exclude 'a b' leaves it out"
    """
    return _NAMED.sub(_name, _GIVEN.sub(_given, sentence))


def _given(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name in _SWITCHES:
        return f"--{'no-' * (value == 'False')}{_SWITCHES[name]}"
    if name not in _FLAGS:
        return match[0]
    bare = value.strip("[]").strip("'\"")
    return f"{_FLAGS[name]} {bare!r}" if " " in bare else f"{_FLAGS[name]} {bare}"


def _name(match: re.Match[str]) -> str:
    name = match[1]
    return _FLAGS.get(name) or f"--{_SWITCHES[name]}"
