"""The scikit-learn front door for networks with a shared filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from planted import activations
from planted.datasets import patch_to_image, to_patches
from planted.estimators._base import MOST_NEURONS, PlantedEstimator
from planted.estimators._values import check_numbers
from planted.methods import FILTERS, FilterProblem, Method, Problem
from planted.numerics.progress import Progress
from planted.numerics.validation import count
from planted.rows import Block, ChunkedRows, Rows, Survey


class PlantedConvRegressor(RegressorMixin, PlantedEstimator):
    """Recover a filter shared by patches, and the output weight of each patch.

    y = Σ_i output_i φ(filter·Z_i) + noise; see :mod:`planted.methods.filters.shared` for how. A fit that does not
    recover the network warns and says why in `result_`.

    Parameters
    ----------
    n_patches : int, optional
        Patches k in a flat row (n, k·p). Arrays (n, k, p) need none.
    patch_shape : (int, int) or (int, int, int, int), optional
        Height and width of a patch; X then holds images (n, H, W) or (n, H, W, channels). Two more numbers, the steps
        down and right from patch to patch, let patches overlap. They are fitted like others, and `result_` says that
        the theorems are about patches that do not.
    activation : str, Activation or callable
        φ.
    n_filters : int
        f. More than one filter, each with its own outputs, is fitted by least squares from several starts, without
        the guarantees of one; see :mod:`planted.methods.filters.several`.
    whiten : bool
        Descend in coordinates in which the patches' common covariance is the identity.
    max_iterations : int
        Of each descent.
    random_state : None, int, RandomState or Generator
    time_budget : float, optional
        Seconds after which the best filter until then is finished, judged and returned; the result says so.
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
    result_ : Recovery
        Status, reason, advice; `details` has the noise, the expected error and the fate of each restart.
    certificate_ : Certificate
        Of the squared loss at the network.

    Examples
    --------
    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> model = PlantedConvRegressor(random_state=0).fit(data.X, data.y)
    >>> model.result_.status, round(model.score(data.X, data.y), 6)
    ('recovered', 1.0)
    """

    n_patches_: int

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
        time_budget: float | None = None,
    ) -> None:
        self.n_patches = n_patches
        self.patch_shape = patch_shape
        self.activation = activation
        self.n_filters = n_filters
        self.whiten = whiten
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.progress = progress
        self.time_budget = time_budget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        # One filter and no intercept: on arbitrary targets the model has no power to speak of.
        tags.regressor_tags.poor_score = True
        return tags

    def _check_settings(self) -> None:
        activations.get(self.activation)
        if count("n_filters", self.n_filters) > MOST_NEURONS:
            raise ValueError(f"n_filters is at most {MOST_NEURONS:,}, not {self.n_filters!r}")
        if self.n_patches is not None:
            count("n_patches", self.n_patches)
        count("max_iterations", self.max_iterations)
        if not isinstance(self.whiten, (bool, np.bool_)):
            raise ValueError(f"whiten must be True or False, not {self.whiten!r}")

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        rows, targets = validate_data(self, X, y, dtype=np.float64, allow_nd=True, y_numeric=True, ensure_min_samples=2)
        patches = to_patches(rows, self.n_patches, self.patch_shape)
        self.n_features_in_ = patches.shape[1] * patches.shape[2]
        return patches, np.asarray(targets, dtype=np.float64)

    def _open(self, X: Any, y: Any) -> ChunkedRows:
        """Rows of patches: flat ones are cut."""
        if self.patch_shape is not None:
            raise ValueError("rows outside memory are flat or made of patches: give n_patches, not patch_shape")
        rows = super()._open(X, y)
        if len(rows.shape) > 1:
            return rows
        k = self.n_patches
        if k is None or rows.n_features % k:
            raise ValueError(f"n_patches must divide the {rows.n_features} inputs of a row, not {k!r}")
        return rows.map(Reshaped(k), shape=(k, rows.n_features // k))

    def _rows(self, rows: ChunkedRows, looked: Survey) -> tuple[ChunkedRows, Survey]:
        return rows, replace(looked, X=looked.X.reshape(len(looked.y), *rows.shape))

    def _problem(self, rows: Rows, looked: Survey, progress: Progress) -> Problem:
        self.n_patches_ = looked.X.shape[1]
        return FilterProblem(
            rows=rows,
            survey=looked,
            n_hidden=int(self.n_filters),
            activation=activations.get(self.activation),
            progress=progress,
            whiten=bool(self.whiten),
            max_iterations=self.max_iterations,
        )

    def _method(self) -> Method:
        return FILTERS["shared" if self.n_filters == 1 else "several"]

    @property
    def filter_(self) -> np.ndarray:
        """The filter (p,), or its image (h, w) or (h, w, channels); several of them stacked."""
        result = self._fitted()
        network: Any = result.network
        filters = network.filter[None] if self.n_filters == 1 else result.details["filters"]
        if self.patch_shape is not None:
            filters = np.stack([patch_to_image(one, self.patch_shape) for one in filters])
        return filters[0] if self.n_filters == 1 else filters

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,) of the recovered network, for X as given to :meth:`fit`."""
        check_is_fitted(self)
        check_numbers("X", X)
        rows = check_array(X, dtype=np.float64, allow_nd=True)
        if rows.ndim == 2:
            rows = self._inputs(X)
        patches = to_patches(rows, self.n_patches_, self.patch_shape)
        return self.network_.predict(patches if self.n_filters == 1 else patches.reshape(len(patches), -1))


@dataclass(frozen=True)
class Reshaped:
    """Makes patches (k, p) of flat rows."""

    patches: int

    def __call__(self, block: Block) -> Block:
        n, width = block["x"].shape
        return block | {"x": block["x"].reshape(n, self.patches, width // self.patches)}
