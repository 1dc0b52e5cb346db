"""Which density the inputs have: one that was given, one of a named family fitted to the rows, or a tested guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from planted.inputs._base import Density
from planted.inputs._gaussian import Gaussian
from planted.inputs._gaussianity import gaussianity
from planted.inputs._local_likelihood import LocalLikelihood
from planted.inputs._mixture import GaussianMixture
from planted.inputs._product import HyperbolicSecant, Laplace, Logistic
from planted.names import DENSITIES, unknown
from planted.numerics.validation import as_matrix

_FAMILIES: dict[str, type[Gaussian | GaussianMixture | Logistic | HyperbolicSecant | Laplace]] = {
    "gaussian": Gaussian,
    "mixture": GaussianMixture,
    "logistic": Logistic,
    "hyperbolic_secant": HyperbolicSecant,
    "laplace": Laplace,
}


@dataclass(frozen=True)
class InputLaw:
    """What was decided about the inputs.

    Attributes
    ----------
    law : Density, LocalLikelihood or None
        A LocalLikelihood without data is to be fitted to the rows at which its scores are wanted. None where
        nothing needed to be decided.
    gaussian : bool or None
        Whether the inputs are taken to be Gaussian.
    reason : str
        One sentence.
    """

    law: Any
    gaussian: bool | None
    reason: str

    def __str__(self) -> str:
        return self.reason if self.law is None else f"{self.law!r} ({self.reason})"


def input_law(inputs: Any, X: ArrayLike) -> InputLaw:
    """The law of the rows of X (n, d).

    Parameters
    ----------
    inputs : Density, LocalLikelihood, str or InputLaw
        A density is taken as it is. "gaussian", "mixture", "logistic", "hyperbolic_secant" and "laplace" are
        fitted to X; "local" is a LocalLikelihood. "auto" is Gaussian unless :func:`gaussianity` rejects that,
        otherwise a mixture of Gaussians.

    Examples
    --------
    >>> from planted.inputs import Logistic
    >>> print(input_law("auto", Logistic(2).sample(5000, random_state=0)))
    GaussianMixture(... components, 2 inputs) (the inputs are not Gaussian: ...
    >>> input_law("logistik", [[0.0]])
    Traceback (most recent call last):
    ValueError: unknown inputs 'logistik'; did you mean 'logistic'? Known: ...
    """
    rows = as_matrix("X", X)
    check_inputs(inputs)
    if isinstance(inputs, InputLaw):
        return inputs
    if isinstance(inputs, str):
        return _named(inputs, rows)
    d = getattr(inputs, "n_features_in_", None) if isinstance(inputs, LocalLikelihood) else inputs.n_features
    if d not in (None, rows.shape[1]):
        raise ValueError(f"X has {rows.shape[1]} columns, but the given law of the inputs has {d}")
    return InputLaw(inputs, isinstance(inputs, Gaussian), "it was given")


def check_inputs(inputs: Any) -> None:
    """Raise unless `inputs` is something that :func:`input_law` takes, before any row is looked at.

    >>> check_inputs("logistik")
    Traceback (most recent call last):
    ValueError: unknown inputs 'logistik'; did you mean 'logistic'? Known: ...
    """
    if isinstance(inputs, str):
        if inputs not in DENSITIES:
            raise ValueError(unknown("inputs", inputs, DENSITIES))
    elif not isinstance(inputs, (Density, LocalLikelihood, InputLaw)):
        raise TypeError(
            "inputs must be a density of planted.inputs, a LocalLikelihood, 'auto' or another name, "
            f"not {type(inputs).__name__}"
        )


def _named(name: str, rows: Any) -> InputLaw:
    if name == "local":
        return InputLaw(LocalLikelihood("moment", random_state=0), False, "its family was named")
    if name != "auto":
        return InputLaw(_FAMILIES[name].fit(rows), name == "gaussian", "its family was named, its parameters fitted")
    normality = gaussianity(rows)
    law = Gaussian.fit(rows) if normality.gaussian else GaussianMixture.fit(rows)
    return InputLaw(law, normality.gaussian, normality.reason)
