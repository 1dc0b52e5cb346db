r"""What rows that change the side of a kink add to the errors of a network.

The first-order covariance takes the rows' gradients at the truth. The estimate θ̂ is where they vanish at θ̂, and
between the two some rows have changed the side of a kink, where the gradient jumps by g a_j x̃, with g the jump of φ′,
a_j the output of the neuron, and x̃ the input, a one appended where there are biases. Noise is independent in these
rows, so that their jumps add to the covariance of the gradient:

    D_j = Σ_i v_ij g² Φ(−|z_ij − κ|/s_ij) x̃_i x̃_iᵀ,   s_ij² = x̃_iᵀ C_j x̃_i,

v_ij the variance of the noise of row i along a_j, C_j the covariance of the neuron's weights and bias, κ the kink, z_ij
the pre-activation. Where φ is homogeneous, its kink lies at zero and no row changes sides if all weights of a neuron
grow, so that errors are those beside it: C_j = P C Pᵀ with P = I − w wᵀM/(wᵀMw), M the mean of x̃x̃ᵀ. They are the
same in all units of the inputs; those of weights of length one are not. Rows that may cross are a share ∝ n^{−1/2} of
all, and so is the relative change of the covariance; what smooth activations add beyond the first order is of the order
1/n.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from planted.activations import Activation
from planted.certificates._uncertainty import Uncertainty
from planted.networks import Network

_STEP = 1e-7


def kink_jumps(activation: Activation) -> dict[float, float]:
    """Kinks at which φ′ jumps, and by how much.

    >>> from planted import activations
    >>> {kink: round(jump, 6) for kink, jump in kink_jumps(activations.get("abs")).items()}
    {0.0: 2.0}
    >>> kink_jumps(activations.get("squared_relu"))
    {}
    """
    jumps = {}
    for kink in activation.kinks:
        step = _STEP * max(1.0, abs(kink))
        before, after = np.asarray(activation.derivative(np.array([kink - step, kink + step]), 1))
        if abs(after - before) > 1e-5 * max(1.0, abs(before), abs(after)):
            jumps[kink] = float(after - before)
    return jumps


def crossing_scores(about: Uncertainty, X: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """D (p, p) in the order of the covariance, whose errors must all be finite.

    Parameters
    ----------
    about : Uncertainty
        Of the first order.
    X : array (n, d)
    variance : array (n, k)
        Of each row's noise along the outputs of each neuron, times what the row counts.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> from planted.certificates import uncertainty
    >>> from planted.objectives import Squared
    >>> data = make_planted(500, 2, 1, noise=0.3, random_state=0)
    >>> loss = Squared(data.X, data.y)
    >>> about = uncertainty(loss, loss.model.params(data.teacher))
    >>> crossing_scores(about, data.X, np.full((500, 1), about.noise**2 / 500)).shape
    (3, 3)
    """
    network, p = about.network, len(about.covariance)
    places, begin = {}, 0
    for name in sorted(about.estimate):
        size = about.estimate[name].size
        places[name] = np.arange(begin, begin + size).reshape(about.estimate[name].shape)
        begin += size
    added = np.zeros((p, p))
    z = network.preactivations(X)
    inputs = np.column_stack([X, np.ones(len(X))]) if "bias" in places else X
    for j, own in enumerate(places["weights"]):
        own = np.append(own, places["bias"][j]) if "bias" in places else own
        block = about.covariance[np.ix_(own, own)]
        if isinstance(network, Network) and network.activation.homogeneity is not None:
            beside = _beside_growth(network, j, inputs, z[:, j] * variance[:, j])
            block = beside @ block @ beside.T
        reach = np.sqrt(np.maximum(np.sum((inputs @ block) * inputs, axis=1), 1e-300))
        for kink, jump in kink_jumps(network.activation).items():
            share = variance[:, j] * jump**2 * norm.cdf(-np.abs(z[:, j] - kink) / reach)
            added[np.ix_(own, own)] += (inputs * share[:, None]).T @ inputs
    return added


def _beside_growth(network: Network, j: int, inputs: np.ndarray, along: np.ndarray) -> np.ndarray:
    """P for neuron j, from `inputs` (n, d), a one appended where there are biases, and z (n,) times what rows count."""
    own = network.weights[j] if network.bias is None else np.append(network.weights[j], network.bias[j])
    across = along @ inputs
    size = float(across @ own)
    return np.eye(len(own)) - np.outer(own, across) / (size if size > 0 else np.inf)
