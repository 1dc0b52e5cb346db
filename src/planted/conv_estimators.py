"""The scikit-learn front door for networks with a shared filter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from planted.conv_datasets import images_to_patches, patch_to_image
from planted.conv_networks import ConvNetwork, as_patches
from planted.methods import ConvResult, recover_conv


class PlantedConvRegressor(RegressorMixin, BaseEstimator):
    """Recover one filter shared by non-overlapping patches, and the output weight of each patch.

    y = Σ_i output_i φ(filter·Z_i) + noise; see :func:`planted.methods.recover_conv` for how. A fit that does not
    recover the network warns and says why in `result_`.

    Parameters
    ----------
    n_patches : int, optional
        Patches k in a flat row (n, k·p). Arrays (n, k, p) need none.
    patch_shape : (int, int), optional
        Height and width of a patch; X then holds images (n, H, W) or (n, H, W, channels).
    activation : str, Activation or callable
        φ.
    n_filters : int
        Only 1 is known how to recover.
    whiten : bool
        Descend in coordinates in which the patches' common covariance is the identity.
    max_iterations : int
        Of each descent.
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    network_ : ConvNetwork
        In canonical form: for a positively homogeneous φ, ‖filter‖ = 1.
    filter_ : array (p,), or (h, w) or (h, w, channels) for images
    result_ : ConvResult
        Status, reason, noise, expected error and the fate of each restart.

    Examples
    --------
    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> model = PlantedConvRegressor(random_state=0).fit(data.X, data.y)
    >>> model.result_.status, round(model.score(data.X, data.y), 6)
    ('recovered', 1.0)
    """

    network_: ConvNetwork
    filter_: np.ndarray
    result_: ConvResult

    def __init__(
        self,
        n_patches: int | None = None,
        patch_shape: Sequence[int] | None = None,
        activation: Any = "relu",
        n_filters: int = 1,
        whiten: bool = True,
        max_iterations: int = 3000,
        random_state: Any = None,
    ) -> None:
        self.n_patches = n_patches
        self.patch_shape = patch_shape
        self.activation = activation
        self.n_filters = n_filters
        self.whiten = whiten
        self.max_iterations = max_iterations
        self.random_state = random_state

    def _patches(self, X: ArrayLike, n_patches: int | None) -> np.ndarray:
        if self.patch_shape is None:
            if np.ndim(X) not in (2, 3):
                raise ValueError(
                    f"X has {np.ndim(X)} dimensions: give (n, patches, patch size), flat rows with n_patches, or "
                    "images with patch_shape"
                )
            return as_patches("X", X, n_patches)
        patches = images_to_patches(X, self.patch_shape)
        if n_patches is not None and patches.shape[1] != n_patches:
            raise ValueError(f"the images have {patches.shape[1]} patches, expected {n_patches}")
        return patches

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Recover the network behind patches, flat rows or images X and targets y (n,)."""
        patches = self._patches(X, self.n_patches)
        result = recover_conv(
            patches,
            y,
            activation=self.activation,
            n_filters=self.n_filters,
            whiten=self.whiten,
            max_iterations=self.max_iterations,
            random_state=self.random_state,
        )
        if result.status != "recovered":
            warnings.warn(f"{result.status}: {result.reason}", ConvergenceWarning, stacklevel=2)
        self.result_, self.network_ = result, result.network
        self.n_features_in_ = patches.shape[1] * patches.shape[2]
        self.filter_ = (
            result.network.filter
            if self.patch_shape is None
            else patch_to_image(result.network.filter, self.patch_shape)
        )
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,) of the recovered network, for X as given to :meth:`fit`."""
        check_is_fitted(self, "network_")
        return self.network_.predict(self._patches(X, self.network_.n_patches))
