"""Models whose filters are shared by patches: one filter (Du et al. 2017), several filters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.networks import ConvNetwork, Network
from planted.objectives._host_filters import FilterCoordinates, unit_coordinates
from planted.objectives._models import Model, Params, check_names, flatten, lengths, unit
from planted.objectives._paths import Arrays, Candidates


class SharedFilter(Model):
    """Z ↦ Σ_i output_i φ(filter·Z_i) over {"filter": (p,), "output": (k,)}, patches Z_1, …, Z_k.

    Parameters
    ----------
    activation : str, Activation or callable
    normalised_filter : bool, optional
        Whether filter/‖filter‖ takes the place of the filter, so that its length is a free choice; by default where φ
        is positively homogeneous.

    Examples
    --------
    >>> model = SharedFilter("relu")
    >>> model.network({"filter": np.array([3.0, 4.0]), "output": np.ones(2)}).filter
    array([0.6, 0.8])
    """

    _static = ("activation", "normalised_filter")
    on_host = True

    def __init__(self, activation: Any = "relu", normalised_filter: bool | None = None) -> None:
        self.activation = activations.get(activation)
        homogeneous = self.activation.homogeneity is not None
        self.normalised_filter = homogeneous if normalised_filter is None else bool(normalised_filter)

    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
        """Filter (p,) and output (k,)."""
        check_names(arrays, {"filter": row_shape[-1:], "output": row_shape[-2:-1]})

    def preactivations(self, params: Params, x: jax.Array) -> jax.Array:
        """filter·Z_i (r, k)."""
        return x @ (unit(params["filter"]) if self.normalised_filter else params["filter"])

    def reach(self, params: Params, x: jax.Array) -> jax.Array:
        """‖filter‖‖Z_i‖ (r, k)."""
        norm = jnp.linalg.norm(unit(params["filter"]) if self.normalised_filter else params["filter"])
        return jnp.linalg.norm(x, axis=-1) * norm

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network output (r,) for patches x (r, k, p)."""
        return self.activation(self.preactivations(params, x)) @ params["output"]

    def filter_coordinates(self, params: Params) -> FilterCoordinates:
        """The filter, or its direction."""
        weights, output = np.asarray(params["filter"]), np.asarray(params["output"])
        if self.normalised_filter:
            return unit_coordinates("filter", weights, output)
        return FilterCoordinates("filter", weights[None], output[None])

    def params(self, network: ConvNetwork) -> dict[str, np.ndarray]:
        """Filter and output; where filters are normalised those of the canonical network."""
        network = network.canonical() if self.normalised_filter else network
        return {"filter": network.filter, "output": network.output}

    def network(self, params: Params) -> ConvNetwork:
        """The network with these parameters."""
        weights = np.asarray(params["filter"], dtype=np.float64)
        if self.normalised_filter:
            weights = weights / (np.linalg.norm(weights) or 1.0)
        return ConvNetwork(weights, params["output"], self.activation)

    def symmetries(self, arrays: Arrays, silent: np.ndarray) -> Candidates:
        """The length of the filter, which the outputs make up for where it matters."""
        degree = self.activation.homogeneity
        if degree is not None and not self.normalised_filter:
            yield (
                "scale between the layers",
                lambda t: {
                    "filter": arrays["filter"] * np.exp(t),
                    "output": arrays["output"] * np.exp(-degree * t),
                },
            )

    def _power(self) -> float | None:
        """Power of the filter's length that goes to the outputs; None where its length is no free choice."""
        return 0.0 if self.normalised_filter else self.activation.homogeneity

    def normalised(self, params: dict[str, Any]) -> dict[str, Any]:
        """A unit filter, where its length is free."""
        power = self._power()
        if power is None:
            return params
        return {"filter": unit(params["filter"]), "output": params["output"] * lengths(params["filter"]) ** power}

    def gauge(self, arrays: Arrays) -> np.ndarray:
        """The filter's length."""
        power = self._power()
        if power is None or not np.any(arrays["filter"]):
            return super().gauge(arrays)
        return flatten({"filter": arrays["filter"], "output": -power * arrays["output"]})[None]

    def canonical(self, params: Params) -> dict[str, np.ndarray]:
        """That of :meth:`planted.ConvNetwork.canonical`."""
        network = self.network(params).canonical()
        return {"filter": network.filter, "output": network.output}


class Filters(Model):
    """Z ↦ Σ_f Σ_i output_fi φ(filters_f·Z_i) over {"filters": (f, p), "output": (f, k)}.

    Its networks are fully connected on flat rows (n, k·p), with f·k neurons, filter after filter.

    Parameters
    ----------
    activation : str, Activation or callable
    n_patches : int
        k.

    Examples
    --------
    >>> model = Filters("relu", 2)
    >>> model.network({"filters": np.ones((1, 1)), "output": np.array([[1.0, 3.0]])}).weights
    array([[1., 0.],
           [0., 1.]])
    """

    _static = ("activation", "n_patches")
    on_host = True

    def __init__(self, activation: Any, n_patches: int) -> None:
        self.activation, self.n_patches = activations.get(activation), int(n_patches)

    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
        """Filters (f, p) and output (f, k)."""
        k, p = row_shape[-2:]
        shapes = {name: array.shape for name, array in arrays.items()}
        f = len(arrays["filters"]) if "filters" in arrays and arrays["filters"].ndim else 0
        if shapes != {"filters": (f, p), "output": (f, k)}:
            raise ValueError(f"params have shapes {shapes}, expected filters (f, {p}) and output (f, {k})")

    def preactivations(self, params: Params, x: jax.Array) -> jax.Array:
        """filters_f·Z_i (r, k, f)."""
        return x @ params["filters"].T

    def reach(self, params: Params, x: jax.Array) -> jax.Array:
        """‖filters_f‖‖Z_i‖ (r, k, f)."""
        return jnp.linalg.norm(x, axis=-1)[..., None] * jnp.linalg.norm(params["filters"], axis=1)

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network output (r,) for patches x (r, k, p)."""
        return jnp.einsum("rkf,fk->r", self.activation(self.preactivations(params, x)), params["output"])

    def filter_coordinates(self, params: Params) -> FilterCoordinates:
        """The filters as they are."""
        return FilterCoordinates("filters", np.asarray(params["filters"]), np.asarray(params["output"]))

    def params(self, network: Network) -> dict[str, np.ndarray]:
        """Filters and outputs of a network made by :meth:`network`."""
        k = self.n_patches
        blocks = network.weights.reshape(-1, k, k, network.n_features // k)
        return {"filters": blocks[:, 0, 0], "output": network.output.reshape(-1, k)}

    def network(self, params: Params) -> Network:
        """The fully connected network on flat rows."""
        filters, output = (np.asarray(params[name], dtype=np.float64) for name in ("filters", "output"))
        weights = np.concatenate([np.kron(np.eye(self.n_patches), one) for one in filters])
        return Network(weights, output.ravel(), self.activation)

    def symmetries(self, arrays: Arrays, silent: np.ndarray) -> Candidates:
        """The length of each filter, which its outputs make up for where φ is homogeneous."""
        degree = self.activation.homogeneity
        if degree is None:
            return
        for only in np.eye(len(arrays["filters"]))[:, :, None]:

            def path(t: float, only: np.ndarray = only) -> Arrays:
                shrunk = arrays["output"] * np.exp(-degree * t * only)
                return {"filters": arrays["filters"] * np.exp(t * only), "output": shrunk}

            yield "scale between the layers", path

    def normalised(self, params: dict[str, Any]) -> dict[str, Any]:
        """Unit filters where φ is homogeneous."""
        degree = self.activation.homogeneity
        if degree is None:
            return params
        grown = params["output"] * lengths(params["filters"])[:, None] ** degree
        return {"filters": unit(params["filters"]), "output": grown}

    def gauge(self, arrays: Arrays) -> np.ndarray:
        """The length of each filter."""
        degree = self.activation.homogeneity
        if degree is None:
            return super().gauge(arrays)
        tangents = []
        for only in np.eye(len(arrays["filters"]))[np.any(arrays["filters"], axis=1), :, None]:
            tangents.append(flatten({"filters": arrays["filters"] * only, "output": -degree * arrays["output"] * only}))
        return np.array(tangents).reshape(len(tangents), len(flatten(arrays)))

    def canonical(self, params: Params) -> dict[str, np.ndarray]:
        """Each filter in the form of :meth:`planted.ConvNetwork.canonical`, in their order."""
        pairs = zip(*(np.asarray(params[name]) for name in ("filters", "output")), strict=True)
        networks = [ConvNetwork(one, output, self.activation).canonical() for one, output in pairs]
        return {
            "filters": np.stack([one.filter for one in networks]),
            "output": np.stack([one.output for one in networks]),
        }
