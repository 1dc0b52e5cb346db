r"""Activations that differ by what a linear part, an intercept, biases or the scale of a neuron make up for.

relu, leaky_relu and abs are |z| up to a factor and a linear part. sigmoid is tanh(z/2) up to a factor and a constant.
One search with a linear part, an intercept and biases free therefore speaks for every member of such a family, and a
member's hidden rows follow from those of the representative: φ_member(scale·z + shift) is a multiple of
φ_representative(z) plus a linear function of z.
"""

from __future__ import annotations

from dataclasses import dataclass

from planted import activations
from planted.activations import Activation


@dataclass(frozen=True)
class Member:
    """An activation, and how its pre-activations follow from the representative's: scale·z + shift."""

    activation: Activation
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True)
class Family:
    """A representative and the members that it speaks for, commonest first.

    Attributes
    ----------
    representative : Activation
    members : tuple of Member
    near : str
        A family that looks much the same, from whose neurons its own search begins; its own random start if empty.
    near_scale : float
        Factor of that family's hidden rows.

    Examples
    --------
    >>> [member.activation.name for member in Family.of("tanh", ("tanh", 1.0), ("sigmoid", 2.0)).members]
    ['tanh', 'sigmoid']
    """

    representative: Activation
    members: tuple[Member, ...]
    near: str = ""
    near_scale: float = 1.0

    @classmethod
    def of(
        cls,
        representative: str,
        *members: tuple[str, float] | tuple[str, float, float],
        near: tuple[str, float] | None = None,
    ) -> Family:
        """The family of library activations with these names, scales and shifts."""
        named = tuple(Member(activations.get(name), *numbers) for name, *numbers in members)
        return cls(activations.get(representative), named, *(near or ()))

    @property
    def by_matrix(self) -> bool:
        """Whether its neurons are a matrix Σ a wwᵀ, which linear least squares finds: as z² are."""
        return self.representative.name == "quadratic"

    @property
    def biased(self) -> bool:
        """Whether biases say something that a linear part and an intercept do not: not for z²."""
        return not self.by_matrix

    @property
    def name(self) -> str:
        """That of the representative."""
        return self.representative.name

    @property
    def shape(self) -> str:
        """The name of the family that it looks like, its own if it looks like none."""
        return self.near or self.name


def families(activation: Activation | None = None) -> tuple[Family, ...]:
    """The families of the library, commonest first, or that of one activation alone.

    >>> [family.name for family in families()][:4]
    ['relu', 'tanh', 'quadratic', 'softplus']
    >>> [family.name for family in families(activations.get("sigmoid"))]
    ['sigmoid']
    """
    if activation is not None:
        return (Family(activation, (Member(activation),)),)
    root = 0.5**0.5
    return (
        Family.of("relu", ("relu", 1.0), ("abs", 1.0), ("leaky_relu", 1.0)),
        Family.of("tanh", ("tanh", 1.0), ("sigmoid", 2.0)),
        Family.of("quadratic", ("quadratic", 1.0)),
        Family.of("softplus", ("softplus", 1.0)),
        Family.of("squared_relu", ("squared_relu", 1.0)),
        Family.of("erf", ("erf", 1.0), ("erf_probability", root), near=("tanh", 1.2)),
        Family.of("gelu", ("gelu", 1.0), near=("softplus", 0.6)),
        Family.of("silu", ("silu", 1.0), near=("softplus", 1.0)),
        Family.of("hard_tanh", ("hard_tanh", 1.0), ("hard_sigmoid", 3.0), ("relu6", 3.0, 3.0), near=("tanh", 0.8)),
    )
