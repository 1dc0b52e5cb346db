"""Planted data for networks with a shared filter, and images cut into patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from planted.datasets._teachers import OUTPUTS, teacher_output
from planted.inputs import Gaussian
from planted.names import unknown
from planted.networks import ConvNetwork, as_patches
from planted.numerics import random
from planted.numerics.precision import float64
from planted.numerics.seeding import words_from
from planted.numerics.validation import as_matrix, count, non_negative


@float64
def make_planted_conv(
    n_samples: int,
    n_patches: int,
    patch_size: int,
    *,
    activation: Any = "relu",
    filter: Any = "gaussian",
    output: Any = "gaussian",
    cov: ArrayLike | None = None,
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Data from a planted shared filter: y = Σ_i output_i φ(filter·Z_i) + noise·ξ, patches Z_i ~ N(0, cov).

    Parameters
    ----------
    n_samples, n_patches, patch_size : int
        n, k and p.
    activation : str, Activation or callable
        φ.
    filter : "gaussian" or array (p,)
        "gaussian" is uniform on the unit sphere.
    output : "gaussian", "ones", "positive", "mixed" or array (k,)
        "gaussian" has independent N(0, 1) entries; the others are those of `make_planted`.
    cov : array (p, p), optional
        Covariance within a patch, the identity if omitted; patches are independent of each other.
    noise : float
        Standard deviation of Gaussian noise.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    Bunch with X (n, k, p), y (n,) and teacher (:class:`planted.ConvNetwork`).

    Examples
    --------
    >>> data = make_planted_conv(100, 4, 6, random_state=0)
    >>> data.X.shape, data.y.shape, data.teacher
    ((100, 4, 6), (100,), ConvNetwork(relu filter of 6 over 4 patches))
    """
    n, k, p = (
        count(name, value)
        for name, value in (("n_samples", n_samples), ("n_patches", n_patches), ("patch_size", patch_size))
    )
    non_negative("noise", noise)
    teacher_key, input_key, noise_key = random.split(words_from(random_state), 3)
    rng = np.random.default_rng(random.bits(teacher_key, (4,)))
    if isinstance(filter, str):
        if filter != "gaussian":
            raise ValueError(unknown("filter", filter, ("gaussian",)))
        weights = rng.standard_normal(p)
        weights /= np.linalg.norm(weights)
    else:
        weights = as_matrix("filter", filter, 1)
        if weights.shape != (p,):
            raise ValueError(f"filter has shape {weights.shape}, expected ({p},)")
    if isinstance(output, str) and output not in ("gaussian", *OUTPUTS):
        raise ValueError(unknown("output", output, ("gaussian", *OUTPUTS)))
    gaussian = isinstance(output, str) and output == "gaussian"
    outputs = rng.standard_normal(k) if gaussian else teacher_output(output, k, rng)
    teacher = ConvNetwork(weights, outputs, activation)
    law = Gaussian(np.zeros(p), cov)
    seed = int(random.bits(input_key, ()))
    patches = law.sample(n * k, random_state=seed).reshape(n, k, p)
    y = teacher.predict(patches)
    if noise:
        y = y + noise * random.normal(noise_key, (n,))
    return Bunch(X=patches, y=y, teacher=teacher)


def images_to_patches(images: ArrayLike, patch_shape: Sequence[int]) -> np.ndarray:
    """Patches (n, k, h·w·c) of images (n, H, W) or (n, H, W, c), row by row.

    Within a patch, entries run over rows, then columns, then channels: `patch_to_image` undoes it. A `patch_shape` of
    two numbers (h, w) cuts images without overlap or rest. Four numbers (h, w, down, right) put a patch every `down`
    rows and `right` columns, so that patches overlap or leave gaps; what does not fill a patch at the end is left out.

    >>> images_to_patches(np.arange(16.0).reshape(1, 4, 4), (2, 2))[0, 1]
    array([2., 3., 6., 7.])
    >>> images_to_patches(np.arange(16.0).reshape(1, 4, 4), (2, 2, 1, 2)).shape
    (1, 6, 4)
    >>> images_to_patches(np.ones((1, 5, 4)), (2, 2))
    Traceback (most recent call last):
    ValueError: images of 5x4 pixels do not split into patches of 2x2 without overlap or rest
    """
    array = np.asarray(images)
    pixels = as_matrix("images", images, 4 if array.ndim == 4 else 3)
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    h, w, down, right = check_patch_grid(patch_shape)
    n, height, width, channels = pixels.shape
    if height < h or width < w:
        raise ValueError(f"images of {height}x{width} pixels have no patch of {h}x{w}")
    if len(patch_shape) == 4:
        windows = np.lib.stride_tricks.sliding_window_view(pixels, (h, w), axis=(1, 2))[:, ::down, ::right]
        grid = windows.transpose(0, 1, 2, 4, 5, 3)
        return np.ascontiguousarray(grid.reshape(n, grid.shape[1] * grid.shape[2], h * w * channels))
    if height % h or width % w:
        raise ValueError(
            f"images of {height}x{width} pixels do not split into patches of {h}x{w} without overlap or rest"
        )
    grid = pixels.reshape(n, height // h, h, width // w, w, channels).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(grid.reshape(n, (height // h) * (width // w), h * w * channels))


def to_patches(X: ArrayLike, n_patches: int | None = None, patch_shape: Sequence[int] | None = None) -> np.ndarray:
    """Patches (n, k, p) from patches, flat rows with `n_patches`, or images with a `patch_shape`.

    See :func:`images_to_patches` for shapes; (height, width) is enough for patches that do not overlap.

    >>> to_patches(np.ones((3, 4, 6)), patch_shape=(2, 3)).shape
    (3, 4, 6)
    >>> to_patches(np.ones((3, 4, 6, 1)))
    Traceback (most recent call last):
    ValueError: X has 4 dimensions: give (n, patches, patch size), flat rows with n_patches, or images with patch_shape
    """
    dimensions = np.ndim(X)
    if patch_shape is None:
        if dimensions not in (2, 3):
            raise ValueError(
                f"X has {dimensions} dimensions: give (n, patches, patch size), flat rows with n_patches, or images "
                "with patch_shape"
            )
        return as_patches("X", X, n_patches)
    if dimensions not in (3, 4):
        raise ValueError(
            f"X has {dimensions} dimensions: images are (n, height, width) or (n, height, width, channels)"
        )
    patches = images_to_patches(X, patch_shape)
    if n_patches is not None and patches.shape[1] != n_patches:
        raise ValueError(f"the images have {patches.shape[1]} patches, expected {n_patches}")
    return patches


def patch_to_image(patch: ArrayLike, patch_shape: Sequence[int]) -> np.ndarray:
    """A filter (h·w·c,) as an image (h, w), or (h, w, c) when there are several channels.

    >>> patch_to_image([1.0, 2.0, 3.0, 4.0], (2, 2))
    array([[1., 2.],
           [3., 4.]])
    """
    entries = as_matrix("patch", patch, 1)
    h, w, _, _ = check_patch_grid(patch_shape)
    if len(entries) % (h * w):
        raise ValueError(f"a filter of {len(entries)} entries is no patch of {h}x{w}")
    image = entries.reshape(h, w, -1)
    return image[..., 0] if image.shape[2] == 1 else image


def check_patch_grid(patch_shape: Sequence[int]) -> tuple[int, int, int, int]:
    """(height, width, down, right), or a ValueError unless `patch_shape` is two or four positive integers.

    >>> check_patch_grid((2, 3)), check_patch_grid((2, 3, 1, 1))
    ((2, 3, 2, 3), (2, 3, 1, 1))
    """
    try:
        sides = tuple(int(side) for side in patch_shape)
        valid = len(sides) in (2, 4) and min(sides) > 0 and sides == tuple(patch_shape)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            f"patch_shape must be two positive integers (height, width), or four for patches that overlap (height, "
            f"width, down, right), not {patch_shape!r}"
        )
    return (*sides, *sides)[:4]  # type: ignore[return-value]
