"""The scikit-learn front door for networks with a shared filter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from planted.datasets import patch_to_image, to_patches
from planted.estimators._large import Checkpoint, as_rows_in_chunks, fit_large_conv, is_large
from planted.methods import ConvResult, Recovery, recover_conv, recover_filters
from planted.networks import ConvNetwork, Network
from planted.numerics.validation import count
from planted.solvers import silent


class PlantedConvRegressor(RegressorMixin, BaseEstimator):
    """Recover a filter shared by non-overlapping patches, and the output weight of each patch.

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
        f. More than one filter, each with its own outputs, is fitted by least squares from several starts, without
        the guarantees of one; see :func:`planted.methods.recover_filters`.
    whiten : bool
        Descend in coordinates in which the patches' common covariance is the identity.
    max_iterations : int
        Of each descent.
    random_state : None, int, RandomState or Generator
    progress : callable, optional
        Called as `progress(done, total, text)` while fitting.

    Attributes
    ----------
    network_ : ConvNetwork, or Network for several filters
        In canonical form: for a positively homogeneous φ, ‖filter‖ = 1. Several filters make a fully connected
        network of f·k neurons on flat rows.
    filter_ : array (p,), or (h, w) or (h, w, channels) for images
        For several filters, f of them stacked.
    n_patches_, n_features_in_ : int
        k, and k·p: the inputs of a row however it is shaped.
    result_ : ConvResult, or Recovery for several filters
        Status, reason, noise, expected error and the fate of each restart.

    Examples
    --------
    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> model = PlantedConvRegressor(random_state=0).fit(data.X, data.y)
    >>> model.result_.status, round(model.score(data.X, data.y), 6)
    ('recovered', 1.0)
    """

    network_: ConvNetwork | Network
    filter_: np.ndarray
    result_: ConvResult | Recovery

    def __init__(
        self,
        n_patches: int | None = None,
        patch_shape: Sequence[int] | None = None,
        activation: Any = "relu",
        n_filters: int = 1,
        whiten: bool = True,
        max_iterations: int = 3000,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_patches = n_patches
        self.patch_shape = patch_shape
        self.activation = activation
        self.n_filters = n_filters
        self.whiten = whiten
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        # One filter and no intercept: on arbitrary targets the model has no power to speak of.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Recover the network behind patches, flat rows or images X and targets y (n,).

        X may also be rows that do not fit in memory, flat or of patches, with the options that
        :meth:`PlantedRegressor.fit` has for them; one filter is then recovered.
        """
        if is_large(X):
            return self._fit_large(X, y, **options)
        if options:
            raise TypeError(f"fit takes X and y, not {', '.join(sorted(options))}")
        X, y = validate_data(self, X, y, dtype=np.float64, allow_nd=True, y_numeric=True, ensure_min_samples=2)
        patches = to_patches(X, self.n_patches, self.patch_shape)
        common = {
            "activation": self.activation,
            "random_state": self.random_state,
            "progress": self.progress or silent,
        }
        result: ConvResult | Recovery
        if count("n_filters", self.n_filters) == 1:
            result = recover_conv(patches, y, whiten=self.whiten, max_iterations=self.max_iterations, **common)
            filters = result.network.filter[None]
        else:
            result = recover_filters(patches, y, self.n_filters, **common)
            filters = result.details["filters"]
        if result.status in ("not recovered", "failed"):
            warnings.warn(f"{result.status}: {result.reason}", ConvergenceWarning, stacklevel=2)
        self.result_, self.network_ = result, result.network
        self.n_patches_ = patches.shape[1]
        self.n_features_in_ = patches.shape[1] * patches.shape[2]
        if self.patch_shape is not None:
            filters = np.stack([patch_to_image(one, self.patch_shape) for one in filters])
        self.filter_ = filters[0] if self.n_filters == 1 else filters
        return self

    def _fit_large(
        self, X: Any, y: Any, *, checkpoint: Any = None, resume: bool = False, sample_rows: int | None = None
    ) -> Self:
        if self.n_filters != 1 or self.patch_shape is not None:
            raise ValueError("rows outside memory are flat or made of patches, and one filter is recovered from them")
        result, shape = fit_large_conv(
            as_rows_in_chunks(X, y),
            n_patches=self.n_patches,
            activation=self.activation,
            whiten=self.whiten,
            max_iterations=self.max_iterations,
            random_state=self.random_state,
            progress=self.progress or silent,
            checkpoint=Checkpoint(checkpoint, resume),
            sample_rows=sample_rows,
        )
        if result.status == "not recovered":
            warnings.warn(f"{result.status}: {result.reason}", ConvergenceWarning, stacklevel=3)
        self.result_, self.network_, self.filter_ = result, result.network, result.network.filter
        self.n_patches_, self.n_features_in_ = shape[0], shape[0] * shape[1]
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,) of the recovered network, for X as given to :meth:`fit`."""
        check_is_fitted(self, "network_")
        rows = check_array(X, dtype=np.float64, allow_nd=True)
        if rows.ndim == 2:
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        patches = to_patches(rows, self.n_patches_, self.patch_shape)
        return self.network_.predict(patches if self.n_filters == 1 else patches.reshape(len(patches), -1))
