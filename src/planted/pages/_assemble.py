"""One file from a page's parts: its HTML, style and scripts, which lie beside this module."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any


def part(name: str) -> str:
    """The text of a file of this package.

    >>> part("shared.css").startswith(":root")
    True
    """
    return files("planted.pages").joinpath(name).read_text(encoding="utf-8")


def assemble(page: str, style: tuple[str, ...], scripts: tuple[str, ...], slots: dict[str, str]) -> str:
    """The page with its style and scripts inside, and the text of each slot in the place of <!--slot-->."""
    inside = {
        "style": "".join(part(name) for name in style),
        "script": "".join(part(name) for name in scripts),
    } | slots
    text = part(page)
    for name, value in inside.items():
        text = text.replace(f"<!--{name}-->", value)
    return text


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element; numbers that are not finite become null.

    >>> embedded({"a": [1.0, float("nan")], "b": "</script>"})
    '{"a":[1.0,null],"b":"\\\\u003c/script>"}'
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value
