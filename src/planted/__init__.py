"""Which one-hidden-layer neural network produced this data?

Names load on first use, so that `import planted` and the command line's help are quick.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

__version__ = "0.1.0"

logging.getLogger("planted").addHandler(logging.NullHandler())

_MODULES = (
    "activations",
    "bench",
    "certificates",
    "datasets",
    "estimators",
    "inputs",
    "methods",
    "networks",
    "objectives",
    "pages",
    "plots",
    "reading",
    "reproduce",
    "rows",
    "solvers",
    "starts",
)
_NAMES = {
    "Network": "networks",
    "ConvNetwork": "networks",
    "match": "networks",
    "permutation_error": "networks",
    "certify": "certificates",
    "PlantedRegressor": "estimators",
    "PlantedClassifier": "estimators",
    "PlantedConvRegressor": "estimators",
    "load": "estimators",
    "Reading": "reading",
    "read": "reading",
}

__all__ = [*_MODULES, *_NAMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"planted.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"planted.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'planted' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
