"""Networks with one filter shared by non-overlapping patches: evaluate, canonical form, save, load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.names import count_of
from planted.networks._dense import Network
from planted.networks._format import Form
from planted.networks._kind import Kind
from planted.numerics.validation import as_matrix

_BLOCK_ENTRIES = 4_000_000


def as_patches(name: str, value: ArrayLike, n_patches: int | None) -> np.ndarray:
    """Patches (n, k, p) from such an array, or from flat rows (n, k·p) when k is known.

    >>> as_patches("Z", np.ones((5, 6)), 3).shape
    (5, 3, 2)
    >>> as_patches("Z", np.ones((5, 6)), 4)
    Traceback (most recent call last):
    ValueError: Z has 6 columns, which do not split into 4 patches of equal size
    """
    array = np.asarray(value)
    if array.ndim == 2:
        rows = as_matrix(name, value)
        if n_patches is None:
            raise ValueError(f"{name} has flat rows: give n_patches, or an array (n, patches, patch size)")
        if rows.shape[1] % n_patches:
            raise ValueError(
                f"{name} has {rows.shape[1]} columns, which do not split into {n_patches} patches of equal size"
            )
        return rows.reshape(len(rows), n_patches, -1)
    patches = as_matrix(name, value, 3)
    if n_patches is not None and patches.shape[1] != n_patches:
        raise ValueError(f"{name} has {patches.shape[1]} patches in a row, expected {n_patches}")
    return patches


@dataclass(frozen=True, eq=False)
class ConvNetwork(Kind):
    """The network Z ↦ Σ_i output_i φ(filter·Z_i), one filter for all k patches Z_i (Du et al. 2017).

    Parameters
    ----------
    filter : array (p,)
        Shared by all patches.
    output : array (k,)
        Output weight of each patch.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.

    Examples
    --------
    >>> net = ConvNetwork([3.0, 4.0], [1.0, -1.0])
    >>> net.predict([[[1.0, 0.0], [0.0, 1.0]]])
    array([-1.])
    >>> net.canonical().filter, net.canonical().output
    (array([0.6, 0.8]), array([ 5., -5.]))
    """

    form: ClassVar[Form] = Form(
        "planted-conv-network", frozenset({"filter", "output"}), frozenset({"filter", "output"})
    )

    filter: np.ndarray
    output: np.ndarray
    activation: Activation

    def __init__(self, filter: ArrayLike, output: ArrayLike, activation: Any = "relu") -> None:
        fields: dict[str, Any] = {
            "filter": as_matrix("filter", filter, 1).copy(),
            "output": as_matrix("output", output, 1).copy(),
            "activation": activations.get(activation),
        }
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def n_patches(self) -> int:
        """Number of patches k."""
        return len(self.output)

    @property
    def patch_size(self) -> int:
        """Number of inputs p in a patch."""
        return len(self.filter)

    def predict(self, Z: ArrayLike) -> np.ndarray:
        """Outputs (n,) for patches Z (n, k, p), or for flat rows (n, k·p), patch after patch."""
        patches = as_patches("Z", Z, self.n_patches)
        if patches.shape[2] != self.patch_size:
            raise ValueError(f"Z has patches of size {patches.shape[2]} but the filter has {self.patch_size} entries")
        result = np.empty(len(patches))
        block = max(1, _BLOCK_ENTRIES // (self.n_patches * self.patch_size))
        for start in range(0, len(patches), block):
            part = slice(start, start + block)
            result[part] = self.activation(patches[part] @ self.filter) @ self.output
        return result

    def traced(self, z: Any) -> Any:
        """The same as :meth:`predict` for JAX arrays (n, k, p) of any precision, without checks."""
        return self.activation(z @ jnp.asarray(self.filter, z.dtype)) @ jnp.asarray(self.output, z.dtype)

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Patches (n, k, p)."""
        return X.reshape(len(X), self.n_patches, self.patch_size)

    def preactivations(self, X: np.ndarray) -> np.ndarray:
        """filter·Z_i (n, k)."""
        return self.rows(X) @ self.filter

    def reach(self, X: np.ndarray) -> np.ndarray:
        """|filter|·|Z_i| (n, k)."""
        return np.abs(self.rows(X)) @ np.abs(self.filter)

    def terms(self, X: np.ndarray) -> np.ndarray:
        """|output|·|φ| (n,)."""
        return np.abs(self.activation(self.preactivations(X))) @ np.abs(self.output)

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """|output|·(|φ'| reach + |φ|) (n,)."""
        z = self.preactivations(X)
        return (np.abs(self.activation.derivative(z)) * self.reach(X) + np.abs(self.activation(z))) @ np.abs(
            self.output
        )

    def jacobian(self, X: ArrayLike, *, intercept: bool = False) -> np.ndarray:
        """∂f(Z_r)/∂θ (n, 1, k + p), output weights first.

        >>> ConvNetwork([1.0, 2.0], [3.0]).jacobian([[[1.0, 1.0]]])
        array([[[3., 3., 3.]]])
        """
        patches = np.asarray(X, dtype=np.float64)
        z = patches @ self.filter
        slope = self.activation.derivative(z) * self.output
        by_filter = np.einsum("rk,rkp->rp", slope, patches)
        return np.concatenate([self.activation(z), by_filter], axis=1)[:, None, :]

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters by name: filter and output."""
        return {"filter": self.filter, "output": self.output}

    def canonical(self) -> ConvNetwork:
        """The same function without the free choices of scale and sign.

        For a positively homogeneous φ of degree q the filter has norm one and the outputs carry ‖filter‖^q; for
        an even or odd φ the first non-zero entry of the filter is positive.

        >>> ConvNetwork([0.0, -2.0], [3.0], "tanh").canonical().output
        array([-3.])
        """
        weights, output = self.filter.copy(), self.output.copy()
        norm = float(np.linalg.norm(weights))
        if self.activation.homogeneity is not None and norm > 0:
            weights, output = weights / norm, output * norm**self.activation.homogeneity
        if self.activation.parity is not None and norm > 0 and weights[np.argmax(weights != 0)] < 0:
            weights = 0.0 - weights
            if self.activation.parity == "odd":
                output = 0.0 - output
        return ConvNetwork(weights, output, self.activation)

    def to_network(self) -> Network:
        """The same function of flat rows (n, k·p) as a fully connected network: one neuron a patch.

        >>> ConvNetwork([1.0, 2.0], [1.0, 3.0]).to_network().weights
        array([[1., 2., 0., 0.],
               [0., 0., 1., 2.]])
        """
        return Network(np.kron(np.eye(self.n_patches), self.filter), self.output, self.activation)

    def __repr__(self) -> str:
        patches = count_of(self.n_patches, "patch", "patches")
        return f"ConvNetwork({self.activation.name} filter of {self.patch_size} over {patches})"
