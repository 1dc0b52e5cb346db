r"""How wide the inputs are on which a model bends: one distance an input, for models that do not say.

Along one axis, x = t e_j, a network is nearly linear where t is much smaller than the distance at which its neurons
bend, and its slopes at both ends are settled where t is much larger. So the share of f(t) − f(0) that is not linear
grows from nothing to a constant, and the distance is where it passes half of that.
"""

from __future__ import annotations

import numpy as np

from planted.reading._query import Frame

_RATIO = 4.0
_STEPS = 12
_VISIBLE = 1e4
_HALF = 0.5


def input_scales(frame: Frame, epsilon: float) -> np.ndarray:
    """Distances (d,) from the centre at which the model bends along each axis, in the frame's coordinates.

    Along an axis on which it does not bend, the distance is the median of the others; one where there are none.

    Parameters
    ----------
    frame : Frame
        The model.
    epsilon : float
        Relative rounding of its answers.

    Examples
    --------
    >>> from planted.reading._query import Query, Source
    >>> def model(X):
    ...     return np.tanh(1e-3 * X[:, 0] + 1) + np.tanh(X[:, 1])
    >>> frame = Frame(Query(Source(model, 2)), np.zeros(2), np.ones(2))
    >>> scales = input_scales(frame, 1e-16)
    >>> bool(100 < scales[0] < 10_000), bool(0.1 < scales[1] < 10)
    (True, True)
    """
    d = frame.n_inputs
    t = _RATIO ** np.arange(-_STEPS, _STEPS + 1.0)
    scales = np.full(d, np.nan)
    centre = frame(np.zeros((1, d)))[0]
    for j in range(d):
        points = np.zeros((2 * len(t), d))
        points[:, j] = np.concatenate([t, -t])
        ahead, behind = (frame(points) - centre).reshape(2, len(t), -1)
        even, odd = np.abs(ahead + behind).max(axis=1), np.abs(ahead - behind)
        bent = np.abs((ahead - behind)[1:] - _RATIO * (ahead - behind)[:-1]).max(axis=1) / _RATIO
        size = odd.max(axis=1) + even
        level = float(np.abs(centre).max())
        visible = (size > _VISIBLE * epsilon * (level + size))[:-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(visible, np.maximum(even[:-1], bent) / size[:-1], 0.0)
        share = np.where(np.isfinite(share), share, 0.0)
        if share.max() > np.sqrt(epsilon):
            scales[j] = t[int(np.argmax(share >= _HALF * share.max()))]
    if np.all(np.isnan(scales)):
        return np.ones(d)
    return np.where(np.isnan(scales), np.nanmedian(scales), scales)
