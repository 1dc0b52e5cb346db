"""Is an answer to a table true? The status, the network against the teacher, and the sentences, held against the truth.

An answer is "true" (what a person who knows the truth would say), "false" (it states something that is not so) or
"none": it does not find out, and says nothing false.
"""

from dataclasses import replace

import numpy as np
from scipy.stats import chi2, norm
from sklearn.metrics import r2_score

import tables
from planted import Network, activations, match

SAME_FUNCTION, SAME_WEIGHTS = 1e-4, 1e-3
"""Relative differences up to which a network that is called recovered is the teacher."""
SURPRISE = 1e-5
"""A truth less likely than this under the errors that are stated is outside them."""
BEHIND = 0.02
"""How far the R² of a real table may lie below that of the best of a linear function and an MLP of the same width."""

_LEAK = activations.get("leaky_relu").derivative(np.array([-1.0]))[0]
# φ(z) = factor·base(stretch·z) + tilt·z + offset for activations that say the same of a table.
_BASES = {
    "tanh": ("tanh", 1.0, 1.0, 0.0, 0.0),
    "sigmoid": ("tanh", 0.5, 0.5, 0.0, 0.5),
    "relu": ("relu", 1.0, 1.0, 0.0, 0.0),
    "abs": ("relu", 2.0, 1.0, -1.0, 0.0),
    "leaky_relu": ("relu", 1 - _LEAK, 1.0, _LEAK, 0.0),
}


def words(estimator):
    """The conclusion: what the answer says beside tables of scores and weights."""
    result = estimator.result_
    return f"{result.status}: {result.reason}. {result.advice}"


def base(network):
    """The same function by the activation that stands for its family."""
    name = network.activation.name
    if name not in _BASES or name == _BASES[name][0]:
        return network
    to, factor, stretch, tilt, offset = _BASES[name]
    bias = np.zeros(network.n_hidden) if network.bias is None else network.bias
    intercept = network.intercept + offset * network.output.sum(axis=-1) + tilt * network.output @ bias
    skip = network.skip
    if tilt:
        skip = (0.0 if skip is None else skip) + tilt * network.output @ network.weights
    return Network(
        stretch * network.weights, factor * network.output, to,
        None if network.bias is None else stretch * bias, intercept, skip,
    )  # fmt: skip


def function_gap(network, table):
    """Relative difference to the truth on fresh rows, the noise left out."""
    gap = network.predict(table.fresh) - table.fresh_truth
    return float(np.sqrt(np.mean(gap**2) / max(np.mean(np.var(table.fresh_truth, axis=0)), 1e-300)))


def weight_gap(network, table):
    """Relative difference to the teacher's weights up to the symmetries of the function; NaN where it means nothing."""
    ours, theirs = base(network.simplify(1e-7)), bent(base(table.teacher), table)
    if ours.activation.name != theirs.activation.name:
        return float("inf")
    if ours.activation.name == "quadratic":
        return float("nan")  # Only Σ aᵢwᵢwᵢᵀ is determined, which is the function.
    scale = table.fresh.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    ours, theirs = (
        net.replace(weights=net.weights * scale, **({} if net.skip is None else {"skip": net.skip * scale}))
        for net in (ours, theirs)
    )
    distance = match(ours, theirs)
    return float(max(distance.weight_error, distance.output_error))


def bent(teacher, table):
    """The same function of all rows without relu neurons that are active in every row, which are linear, or in none."""
    if teacher.activation.name != "relu":
        return teacher
    bias = np.zeros(teacher.n_hidden) if teacher.bias is None else teacher.bias
    z = np.concatenate([table.X, table.fresh]) @ teacher.weights.T + bias
    always, kink = np.all(z > 0, axis=0), np.any(z > 0, axis=0) & np.any(z < 0, axis=0)
    parts = {"weights": teacher.weights[kink], "output": teacher.output[..., kink]}
    if teacher.bias is not None:
        parts["bias"] = bias[kink]
    if always.any():
        straight = teacher.output[..., always]
        parts["skip"] = straight @ teacher.weights[always] + (0.0 if teacher.skip is None else teacher.skip)
        parts["intercept"] = teacher.intercept + straight @ bias[always]
    return teacher.replace(**parts)


def excess(estimator, table):
    """Squared distance from the truth in units of what least squares of this size leaves; about one if it is right."""
    n, m = len(table.y), 1 if table.y.ndim == 1 else table.y.shape[1]
    network = estimator.network_
    gaps = np.mean((network.predict(table.fresh) - table.fresh_truth) ** 2, axis=0)
    noise = np.var(table.fresh_y - table.fresh_truth, axis=0)
    size = sum(np.size(value) for value in network.arrays().values())
    return float(np.mean(gaps / np.maximum(noise, 1e-300)) * n * m / size)


def outside(estimator, table):
    """Probability of a parameter as far from the truth as the farthest, Bonferroni; None where they do not compare."""
    errors = estimator.result_.uncertainty
    if errors is None or estimator.network_.activation.name == "quadratic":
        return None
    network = errors.network
    truth = same_form(table.teacher, network)
    if truth is None:
        return None
    distances = []
    for name, error in errors.errors.items():
        value = getattr(truth, name)
        value = np.zeros_like(error) if value is None else np.asarray(value)
        known = np.isfinite(error)
        distances.append((np.abs(errors.estimate[name] - value)[known] / np.maximum(error[known], 1e-300)).ravel())
    for name in ("bias", "skip", "intercept"):
        absent = name not in errors.errors and getattr(truth, name) is not None
        if absent and np.max(np.abs(getattr(truth, name)), initial=0.0) > 1e-9:
            return None
    farthest = np.concatenate(distances)
    return float(min(1.0, len(farthest) * 2 * norm.sf(farthest.max())))


def same_form(teacher, network):
    """The teacher with the order, signs and scales of a canonical network; None if their neurons do not pair up."""
    if teacher.activation.name != network.activation.name:
        if base(teacher).activation.name != base(network).activation.name:
            return None
        teacher = unbase(base(teacher), network.activation.name)
    if teacher.n_hidden != network.n_hidden:
        return None
    if network.bias is not None and teacher.bias is None:
        teacher = teacher.replace(bias=np.zeros(teacher.n_hidden))
    degree = teacher.activation.homogeneity
    if degree is not None:
        size = np.linalg.norm(teacher.weights, axis=1)
        parts = {"weights": teacher.weights / size[:, None], "output": teacher.output * size**degree}
        if teacher.bias is not None:
            parts["bias"] = teacher.bias / size
        teacher = teacher.replace(**parts)
    order = match(network, teacher).permutation
    back = np.argsort(order)
    parts = {"weights": teacher.weights[back], "output": teacher.output[..., back]}
    if teacher.bias is not None:
        parts["bias"] = teacher.bias[back]
    teacher = teacher.replace(**parts)
    overlap = np.sum(teacher.weights * network.weights, axis=1)
    if np.any(overlap < 0) and teacher.activation.centred_parity is not None:
        turned = teacher.turned(np.where(overlap < 0, -1.0, 1.0))
        teacher = turned if turned.skip is None or network.skip is not None else teacher
    return teacher


def unbase(network, name):
    """A network by the base of a family, written by another activation of it."""
    to, factor, stretch, tilt, offset = _BASES[name]
    if name == to:
        return network
    output, weights = network.output / factor, network.weights / stretch
    bias = None if network.bias is None else network.bias / stretch
    shift = np.zeros(network.n_hidden) if bias is None else bias
    skip = network.skip
    if tilt:
        skip = (0.0 if skip is None else skip) - tilt * output @ weights
    intercept = network.intercept - offset * output.sum(axis=-1) - tilt * output @ shift
    return Network(weights, output, name, bias, intercept, skip)


def left_open(table):
    """Whether the rows leave something of the teacher open: its derivatives are singular beyond the symmetries."""
    teacher = table.teacher
    if teacher is None or not teacher.n_hidden or teacher.activation.name == "quadratic":
        return False
    J = teacher.jacobian(table.X, intercept=bool(np.any(teacher.intercept)))
    J = J.reshape(-1, J.shape[-1])
    size = np.linalg.norm(J, axis=0)
    values = np.linalg.svd(J / np.where(size > 0, size, 1.0), compute_uv=False)
    scales = teacher.n_hidden if teacher.activation.homogeneity is not None else 0
    return int(np.sum(values < 1e-9 * values[0])) > scales


def one_linear_function(table):
    """Whether targets without noise are a linear function at all rows, as where no row reaches a kink."""
    design = np.column_stack([np.ones(len(table.X)), table.X / np.maximum(table.X.std(axis=0), 1e-300)])
    left = table.y - design @ np.linalg.lstsq(design, table.y, rcond=None)[0]
    return bool(np.max(np.abs(left)) <= 1e-9 * np.max(np.abs(table.y)))


def judged(kind, table, estimator, scores):
    """("true" | "false" | "none", why) of an answer."""
    said, result = words(estimator).lower(), estimator.result_
    holds = not kind.words or any(word in said for word in kind.words)
    if kind.answer == tables.REAL:
        return judged_real(result, said, scores)
    ours = r2_score(table.fresh_y, estimator.predict(table.fresh))
    if result.verdict.success and ours < -0.05 and "mean" not in said:
        return "false", f"{result.status}, but worse than the mean on fresh rows (R² {ours:.2f})"
    if kind.answer == tables.NOISE:
        if result.status == "recovered" or (result.status == "estimated" and not holds):
            return "false", f"{result.status}, where there is nothing but noise"
        return ("true", "not better than the mean") if holds else ("none", result.status)
    gap = function_gap(estimator.network_, table)
    if kind.answer == tables.RECOVERED and one_linear_function(table):
        kind = replace(kind, answer=tables.LINEAR, words=("linear",))
        holds = "linear" in said
    if "no neuron is needed" in said and kind.answer != tables.LINEAR:
        return "false", f"no neuron is needed, it says, where neurons are the truth (function off by {gap:.1g})"
    if result.status == "recovered":
        return judged_recovered(kind, table, estimator, gap, holds)
    if kind.answer == tables.RECOVERED and result.status == "ambiguous" and left_open(table):
        return "true", f"ambiguous, as the teacher is; function off by {gap:.1g}"
    if kind.answer == tables.RECOVERED:
        if result.status == "estimated" and gap > 1e-3:
            return "false", f"estimated with the rest as noise, where there is none (function off by {gap:.1g})"
        return "none", f"{result.status}, function off by {gap:.1g}"
    if kind.answer == tables.MISFIT:
        return ("false" if result.status == "estimated" else "true" if result.status == "misfit" else "none"), (
            f"{result.status}, function off by {gap:.1g}"
        )
    if kind.answer == tables.AMBIGUOUS:
        right = result.status == "ambiguous" and holds
        return ("true" if right else "none"), result.status + ("" if holds else f", without {kind.words}")
    return judged_noisy(kind, table, estimator, holds)


def judged_recovered(kind, table, estimator, gap, holds):
    if kind.answer in (tables.ESTIMATED, tables.MISFIT):
        return "false", f"recovered, where that cannot be (function off by {gap:.1g})"
    if kind.answer == tables.LINEAR:
        # Fresh rows may be beyond a kink that no row of the fit has reached.
        same = gap < SAME_FUNCTION or estimator.network_.n_hidden == 0
        return ("true", "one linear function") if holds and same else ("false", "recovered neurons")
    if "linear in all of these rows" in words(estimator):
        # It speaks of these rows: others may pass a kink that none of them has, and there is no noise in them.
        table = replace(table, fresh=table.X, fresh_truth=table.y)
        gap = function_gap(estimator.network_, table)
    if table.teacher is None:
        return ("true" if gap < SAME_FUNCTION else "false"), f"recovered, function off by {gap:.1g}"
    weights = weight_gap(estimator.network_, table)
    away = f"function off by {gap:.1g}, weights by {weights:.1g}"
    if gap > SAME_FUNCTION or weights > SAME_WEIGHTS:
        return "false", f"recovered, but {away}"
    return "true", f"recovered, {away}"


def judged_noisy(kind, table, estimator, holds):
    """An answer to a table with noise behind which there is a network or a linear function."""
    status, size = estimator.result_.status, excess(estimator, table)
    right = size < chi2.ppf(1 - SURPRISE, 10) / 10 or function_gap(estimator.network_, table) < 1e-9
    away = f"error {size:.2g} of what least squares leaves"
    if kind.answer == tables.LINEAR:
        if status == "estimated" and not holds and estimator.network_.n_hidden:
            return "false", "neurons estimated where one linear function is the truth"
        return ("true" if holds and right and status != "misfit" else "none"), f"{status}, {away}"
    if status == "misfit":
        return ("false", f"structure is said to be left, but {away}") if size < 1.5 else ("none", f"misfit, {away}")
    if status != "estimated":
        return "none", f"{status}, {away}"
    if size > 5 * chi2.ppf(1 - SURPRISE, 10) / 10:
        return "false", f"estimated with the rest as noise, but {away}"
    chance = outside(estimator, table)
    if chance is not None and chance < SURPRISE and "varies" not in words(estimator):
        return "false", f"the teacher is outside the errors stated (p = {chance:.1g})"
    if chance is None and table.teacher.activation.name != "quadratic":
        ours = estimator.network_
        return "none", f"another network: {ours!r}, {away}"
    return ("true" if right else "none"), f"estimated, {away}" + ("" if chance is None else f", p = {chance:.2g}")


def judged_real(result, said, scores):
    best = max(scores["linear"], scores["MLP, same width"])
    ours = scores["planted"]
    if result.status == "recovered":
        return "false", "recovered from a real table"
    if result.verdict.success and ours < 0 and "mean" not in said:
        return "false", f"{result.status}, but worse than the mean on rows left out (R² {ours:.2f})"
    if ours < best - BEHIND:
        return "none", f"{result.status}, R² {ours:.3f}, {best - ours:.3f} below the best"
    if scores["linear"] >= ours - 1e-3 and "linear" not in said:
        return "none", f"{result.status}, does not say that a linear function does as well"
    return "true", f"{result.status}, R² {ours:.3f}"
