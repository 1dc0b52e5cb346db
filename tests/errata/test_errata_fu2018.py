"""Where Fu, Chi and Liang (2018) print something else than what is right."""

import numpy as np

from planted.objectives import label_loss


def slope_of_the_hessian(k: int, d: int = 3) -> float:
    """‖∇²ℓ(W) − ∇²ℓ(W′)‖/‖W − W′‖_F of one row, one neuron moved along it and the others elsewhere."""
    rng = np.random.default_rng(0)
    x = np.full((1, d), 0.6)
    W = rng.standard_normal((k, d))
    W[0] = 0.0
    moved = W.copy()
    moved[0] += 1e-3 * x[0] / np.linalg.norm(x)
    loss = label_loss(x, np.ones(1), k)
    return float(np.linalg.norm(loss.hessian(moved) - loss.hessian(W), 2)) / 1e-3


def test_lemma_6_and_equations_61_to_63_have_too_high_a_power_of_the_width() -> None:
    """By (62) the quotient times K^{3/2} is bounded; it grows like √K, and the quotient times K is what stays."""
    widths = np.array([4, 16, 64])
    quotients = np.array([slope_of_the_hessian(int(k)) for k in widths])
    printed, right = quotients * widths**1.5, quotients * widths
    assert printed[2] > 3 * printed[0]
    assert right.max() < 1.6 * right.min()
