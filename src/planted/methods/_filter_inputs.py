"""Which patches, or inputs of a patch, say nothing that others do not say, in words."""

from __future__ import annotations

import numpy as np

from planted.activations import Activation
from planted.inputs import white_coordinates
from planted.names import count_of

# Rows that tell most patches apart.
_FEW_ROWS = 20


def repeated_inputs(patches: np.ndarray, activation: Activation) -> str:
    """Patches (n, k, p) that are zero or others again, and inputs that are zero or follow from others.

    Patches count from 1, and the first of each kind is named; empty if there are none. A patch of the opposite sign is
    another again where φ is odd or even, and one of zeros says nothing where φ is zero there.

    >>> from planted import activations
    >>> Z = np.random.default_rng(0).standard_normal((50, 4, 2))
    >>> Z[:, 2], Z[:, 3] = -Z[:, 0], 0.0
    >>> repeated_inputs(Z, activations.get("relu")), repeated_inputs(Z, activations.get("tanh"))
    ('patch 4 is zero', 'patch 4 is zero, and patch 3 is the opposite of patch 1')
    >>> repeated_inputs(np.stack([Z[:, 0, 0], 2 * Z[:, 0, 0]], axis=1)[:, None], activations.get("relu"))
    '1 input of the patches follows from the others'
    """
    k, p = patches.shape[1:]
    silent = float(activation(np.zeros(1))[0]) == 0
    zero = [i for i in range(k) if silent and not patches[:, i].any()]
    words = [f"patch {zero[0] + 1} is zero"] if zero else []
    others = [i for i in range(k) if i not in zero]
    words.append(_twin(patches, others, 1.0, "equals"))
    if activation.parity is not None:
        words.append(_twin(patches, others, -1.0, "is the opposite of"))
    flat = patches.reshape(-1, p)
    empty = int(np.sum(~flat.any(axis=0)))
    spare = int(np.sum(~white_coordinates(flat).any(axis=0))) - empty
    if empty:
        words.append(f"{count_of(empty, 'input')} of the patches {'is' if empty == 1 else 'are'} zero")
    if spare > 0:
        words.append(
            f"{count_of(spare, 'input')} of the patches {'follows' if spare == 1 else 'follow'} from the others"
        )
    return ", and ".join(filter(None, words))


def _twin(patches: np.ndarray, places: list[int], sign: float, verb: str) -> str:
    """The first patch that is an earlier one times a sign, in words."""
    few = patches[:_FEW_ROWS]
    for j in places:
        alike = np.all(few == sign * few[:, j : j + 1], axis=(0, 2))
        for i in places:
            if i < j and alike[i] and np.array_equal(patches[:, i], sign * patches[:, j]):
                return f"patch {j + 1} {verb} patch {i + 1}"
    return ""
