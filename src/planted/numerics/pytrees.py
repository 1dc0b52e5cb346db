"""Objects that JAX can take apart: arrays on one side, static configuration on the other.

An object that is a pytree can be an *argument* of a jitted function. Its arrays are then inputs of the
compiled program, not constants of it, and two objects with equal shapes and configuration share one
compilation.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import jax


class Pytree:
    """Base class: a subclass names its array attributes in `_arrays` and its static ones in `_static`.

    >>> import jax
    >>> class Scaled(Pytree):
    ...     _arrays, _static = ("factor",), ("name",)
    ...     def __init__(self, factor, name):
    ...         self.factor, self.name = factor, name
    >>> jax.tree.map(lambda leaf: 2 * leaf, Scaled(3.0, "a")).factor
    6.0
    """

    _arrays: ClassVar[tuple[str, ...]] = ()
    _static: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        jax.tree_util.register_pytree_node(cls, cls._flatten, cls._unflatten)

    def _flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        arrays = tuple(getattr(self, name) for name in self._arrays)
        return arrays, tuple(getattr(self, name) for name in self._static)

    @classmethod
    def _unflatten(cls, static: tuple[Any, ...], arrays: tuple[Any, ...]) -> Self:
        self = object.__new__(cls)
        self.__dict__.update(zip(cls._arrays, arrays, strict=True))
        self.__dict__.update(zip(cls._static, static, strict=True))
        return self

    @classmethod
    def _build(cls, **attributes: Any) -> Self:
        """An instance with the given attributes, without `__init__` and its validation."""
        return cls._unflatten(
            tuple(attributes.pop(name) for name in cls._static),
            tuple(attributes.pop(name) for name in cls._arrays),
        )
