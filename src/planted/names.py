"""Names a caller may type, the sentence said about one that is not known, and counts of things.

Imports neither NumPy nor JAX, so that a command line can check its arguments before they load.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr

_LONGEST = 60
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _LONGEST

ACTIVATIONS: tuple[str, ...] = (
    "relu",
    "leaky_relu",
    "abs",
    "quadratic",
    "squared_relu",
    "softplus",
    "sigmoid",
    "tanh",
    "erf",
    "standard_erf",
    "tanh_probability",
    "erf_probability",
    "gelu",
    "silu",
    "relu6",
    "hard_tanh",
    "hard_sigmoid",
)
"""Activations that `planted.activations.get` knows by name."""

SKLEARN_ACTIVATIONS: dict[str, str] = {"relu": "relu", "tanh": "tanh", "sigmoid": "logistic"}
"""Those that scikit-learn's networks have, and its names of them."""

TASKS: tuple[str, ...] = ("regression", "classification")
"""What the command line fits."""

LINKS: tuple[str, ...] = ("mean", "logit")
"""How a network gives the probabilities of classes: their mean, or their log-odds (softmax for more than two)."""

LABEL_LOSSES: tuple[str, ...] = ("likelihood", "quadratic")
"""What the weights behind labels minimise."""

LABEL_SOLVERS: tuple[str, ...] = ("newton", "gradient")
"""How they are found."""

METHODS: tuple[str, ...] = tuple(
    sorted(path.stem for path in (Path(__file__).parent / "methods" / "regression").glob("[a-z]*.py"))
)
"""Recovery methods that the estimators and the command line know by name: one module each."""

DENSITIES: tuple[str, ...] = ("auto", "gaussian", "mixture", "logistic", "hyperbolic_secant", "laplace", "local")
"""Laws of the inputs that the estimators and the command line know by name, and fit to the rows."""


MISSING_RULES: tuple[str, ...] = ("refuse", "drop", "mean")
"""What may be done about missing values of a table."""

BENCHES: tuple[str, ...] = ("drawn", "trained", "laws")
"""Kinds of teachers and rows that `planted bench` poses."""

EXPORTS: dict[str, str] = {"onnx": ".onnx", "torch": ".pt", "sklearn": ".joblib"}
"""Formats of other libraries that `planted export` writes, and how their files end."""

PLOTS: tuple[str, ...] = ("descent", "permutation", "animation", "sphere", "spectrum", "slices")
"""Pictures that `planted plot` makes."""

PLOT_LOSSES: tuple[str, ...] = ("squared", "G", "L")
"""Losses whose descent it can show."""


def count_of(count: int, thing: str, things: str = "") -> str:
    """How many of a thing there are, in words; `things` where the plural is not the word with an s.

    >>> count_of(1, "neuron"), count_of(2000, "neuron"), count_of(2, "patch", "patches")
    ('1 neuron', '2,000 neurons', '2 patches')
    """
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """Say that `name` is not a known `kind`, suggest the nearest one, and list those that are.

    >>> unknown("method", "hermit", METHODS)
    "unknown method 'hermit'; did you mean 'hermite'? Known: auto, expand, ..."
    >>> unknown("method", "zzz", METHODS)
    "unknown method 'zzz'. Known: auto, expand, ..."
    """
    known = tuple(known)
    given = _REPR.repr(name)
    nearest = get_close_matches(str(name)[:_LONGEST], known, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    return f"unknown {kind} {given}{hint} Known: {', '.join(known)}."
