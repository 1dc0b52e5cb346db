r"""Do labels have structure that a network's probabilities leave? A score test of random probes.

With t the log-odds that the network gives, e = y − p the residuals of the labels, C = Var(e), J = ∂t/∂θ and probes
G(x) added to the log-odds, the score of the probes cleared of what the weights can explain is

    u = Σ w (Gᵀ − K Jᵀ) e,   K = I_gθ I_θθ⁺,   V = I_gg − K I_θg,   I = Σ w [J G]ᵀ C [J G],

and u V⁺ u is χ² with rank V degrees of freedom if the model is right, whatever consistent estimate θ is: one that a
penalty or the quadratic loss gives too (Neyman's C(α) test). All are sums over rows, so a row of weight w counts like
w equal rows.

Where classes c have factors f_c, the probabilities p are those of the weighted population, p_c ∝ f_c π_c with π_c those
of the rows. Given x the terms of u still have mean zero, and with s = w/f the number of rows

    V = Σ s Σ_c π_c f_c² t_c t_cᵀ,   t_c = (Gᵀ − K Jᵀ)(1_c − p).

The squares of the terms themselves would have the same mean, but with few labels of a class a test that uses them
rejects too often.

Labels of a rare class, or few that count much, also make the tail of T = uᵀV⁺u heavier than that of χ². With
z_c = V^{−½}t_c, g_cd = z_cᵀz_d and a_c = π_c f_c² the variance of T is

    2q + Σ s (Σ_c a_c² g_cc²/π_c − (Σ_c a_c g_cc)² − 2 Σ_cd a_c a_d g_cd²),   q = rank V.

Its first sum is the trace of M = Σ s Σ_c (a_c²/π_c) g_cc z_c z_cᵀ. Eigenvectors of M whose eigenvalue is large are
probes that a few labels decide, which have no normal law: T is taken over the others. It is compared with the multiple
of a χ² law that has its mean and variance. Both depend on the inputs and the network, not on the labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from planted.methods._labels import LabelProblem, class_probabilities
from planted.networks import Network

_PROBES, _LEAST_PROBES = 36, 6
_MOST_PARAMETERS = 1000
_WORK = 2e10
_ENTRIES = 4_000_000
_LEAST_VARIANCE = 1e-9
_VANISHING = 1e-9
# Less than this share of a probe's information, cleared of what the weights explain, is rounding over `_VANISHING`.
_EXPLAINED = 1e-6
# Eigenvalues of M in probes that a few labels decide: a normal law has about q over the labels of the rarest class.
_FEW_LABELS = 0.5
# With many rows T has the variance of χ² up to this share, which is half that of the trace of M.
_NEGLIGIBLE = 0.01


def label_p_value(problem: LabelProblem, network: Network, seed: int = 0) -> float:
    """p-value of the score test on the problem's sample; NaN where there are too few rows or too many parameters.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 3, 2, activation="sigmoid", task="classification", random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 2, "sigmoid")
    >>> 0.001 < label_p_value(problem, data.teacher) < 1.0
    True
    """
    survey, free = problem.survey, problem.free
    probes = max(_PROBES // (problem.n_classes - 1), _LEAST_PROBES)
    count, added = problem.unknowns, probes * (problem.n_classes - 1)
    n = len(survey.y)
    if count > _MOST_PARAMETERS or n < count + 2 * added:
        return float("nan")
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((probes, problem.n_features)) / np.sqrt(problem.n_features) / problem.spread
    most = max(int(_WORK / (problem.n_outputs * (count + added) ** 2)), 4 * (count + added))
    some = np.arange(n) if n <= most else rng.choice(n, most, replace=False)
    weight = np.ones(n) if survey.weight is None else survey.weight
    rows = _Rows(problem, network, directions, not free.intercept)
    parts = np.array_split(some, max(1, len(some) * problem.n_outputs * (count + added) // _ENTRIES))
    sums = [_sums(*rows.at(part), weight[part]) for part in parts]
    information, score = sum(s[0] for s in sums), sum(s[1] for s in sums)
    first = len(score) - added
    inside, outside = slice(0, first), slice(first, None)
    K = information[outside, inside] @ _pseudo_inverse(information[inside, inside])
    u = score[outside] - K @ score[inside]
    V = information[outside, outside] - K @ information[inside, outside]
    if problem.class_weight is not None:
        V = sum(_squares(rows.by_class(part, K, weight[part])) for part in parts)
    unit = 1 / np.sqrt(np.maximum(np.diagonal(information)[outside], 1e-300))
    values, vectors = np.linalg.eigh(V * np.outer(unit, unit))
    known = values > _EXPLAINED
    if not known.any():
        return float("nan")
    white = unit[:, None] * vectors[:, known] / np.sqrt(values[known])
    concentration, axes = np.linalg.eigh(sum(_fourth(rows.by_class(part, K, weight[part]), white) for part in parts))
    white = white @ axes[:, concentration < _FEW_LABELS]
    statistic, freedom = float(np.sum((u @ white) ** 2)), white.shape[1]
    if not freedom:
        return float("nan")
    excess = 0.0
    if concentration.sum() > _NEGLIGIBLE * freedom:
        excess = sum(_excess(rows.by_class(part, K, weight[part]), white) for part in parts)
    multiple = max(1 + excess / (2 * freedom), 1e-9)
    return float(chi2.sf(statistic / multiple, freedom / multiple))


def _sums(J: np.ndarray, residual: np.ndarray, half: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    """Σ w JᵀCJ and Σ w Jᵀe of some rows, `half` being √C J."""
    flat = (half * np.sqrt(weight)[:, None, None]).reshape(-1, half.shape[2])
    return flat.T @ flat, np.einsum("nmp,nm->p", J, residual * weight[:, None])


class _ByClass(NamedTuple):
    """Numbers s (n,) of rows; probabilities π (n, m), a = π f² (n, m) and terms t (n, m, q) by class."""

    number: np.ndarray
    probability: np.ndarray
    squared: np.ndarray
    terms: np.ndarray


def _squares(rows: _ByClass) -> np.ndarray:
    """Σ s Σ_c a_c t_c t_cᵀ (q, q)."""
    flat = (rows.terms * np.sqrt(rows.number[:, None] * rows.squared)[:, :, None]).reshape(-1, rows.terms.shape[2])
    return np.asarray(flat.T @ flat)


def _fourth(rows: _ByClass, white: np.ndarray) -> np.ndarray:
    """What some rows add to M (r, r), with V⁺ = white whiteᵀ."""
    z = rows.terms @ white
    own = rows.squared**2 / rows.probability * np.sum(z**2, axis=2)
    flat = (z * np.sqrt(rows.number[:, None] * own)[:, :, None]).reshape(-1, z.shape[2])
    return np.asarray(flat.T @ flat)


def _excess(rows: _ByClass, white: np.ndarray) -> float:
    """What some rows add to the variance of T beyond that of χ², with V⁺ = white whiteᵀ."""
    z = rows.terms @ white
    g, a = np.einsum("ncr,ndr->ncd", z, z), rows.squared
    own = np.einsum("ncc->nc", g)
    fourth = np.sum(a**2 / rows.probability * own**2, axis=1)
    return float(rows.number @ (fourth - np.sum(a * own, axis=1) ** 2 - 2 * np.einsum("nc,nd,ncd->n", a, a, g**2)))


class _Rows:
    """Derivatives of the log-odds by parameters and probes, residuals, and √C, of some rows of a problem."""

    def __init__(self, problem: LabelProblem, network: Network, directions: np.ndarray, constant: bool) -> None:
        self.problem, self.network, self.directions, self.constant = problem, network, directions, constant

    def probabilities(self, part: np.ndarray) -> np.ndarray:
        """Of the classes (n, m)."""
        return class_probabilities(self.network, self.problem.survey.X[part], self.problem.link)

    def residuals(self, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """e of classes y (n,): one column for two classes, otherwise one a class."""
        return (y - p[:, 1])[:, None] if self.problem.n_classes == 2 else np.eye(self.problem.n_classes)[y] - p

    def by_class(self, part: np.ndarray, K: np.ndarray, weight: np.ndarray) -> _ByClass:
        """Terms of the score cleared of the weights by K, for each class that a row may have."""
        problem = self.problem
        factors = np.ones(problem.n_classes) if problem.class_weight is None else problem.class_weight
        p = self.probabilities(part)
        J = self.derivatives(part, p)
        first = J.shape[2] - len(K)
        cleared = J[:, :, first:] - J[:, :, :first] @ K.T
        own = np.maximum(p, _LEAST_VARIANCE) / factors
        own = own / own.sum(axis=1, keepdims=True)
        terms = [np.einsum("nmq,nm->nq", cleared, self.residuals(np.full(len(p), c), p)) for c in range(len(factors))]
        number = weight / factors[problem.survey.y[part].astype(int)]
        return _ByClass(number, own, own * factors**2, np.stack(terms, axis=1))

    def at(self, part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J, e and √C J."""
        p = self.probabilities(part)
        J = self.derivatives(part, p)
        residual = self.residuals(self.problem.survey.y[part].astype(int), p)
        if self.problem.n_classes == 2:
            return J, residual, J * np.sqrt(_variance(p))[:, None, None]
        # diag(p) − ppᵀ = Σ_c p_c (e_c − p)(e_c − p)ᵀ.
        return J, residual, np.sqrt(p)[:, :, None] * (J - np.einsum("nm,nmp->np", p, J)[:, None, :])

    def derivatives(self, part: np.ndarray, p: np.ndarray) -> np.ndarray:
        """J, where the classes have probabilities p (n, m)."""
        problem, network, m = self.problem, self.network, self.problem.n_classes
        X = problem.survey.X[part]
        # Far from where the rows lie every projection would be a straight line.
        probes = _probes(X - problem.survey.first, self.directions, self.constant)
        J = network.jacobian(X, intercept=problem.free.intercept)
        if m == 2:
            if problem.link == "mean":
                J = _without_outputs(J, network) / _variance(p)[:, None, None]
            return np.concatenate([J, probes[:, None, :]], axis=2)
        # A probe on every class but the last: one on all of them changes nothing.
        added = np.einsum("nq,ac->nacq", probes, np.eye(m)[:, : m - 1]).reshape(len(X), m, -1)
        return np.concatenate([J, added], axis=2)


def _variance(p: np.ndarray) -> np.ndarray:
    """Var(e) (n,) of two classes."""
    return np.maximum(p[:, 0] * p[:, 1], _LEAST_VARIANCE)


def _without_outputs(J: np.ndarray, network: Network) -> np.ndarray:
    """Columns of biases and weights alone: the outputs of link="mean" are fixed."""
    k = network.n_hidden
    start = 0 if network.bias is None else k
    return np.delete(J, np.arange(start, start + k), axis=2)


def _probes(X: np.ndarray, directions: np.ndarray, constant: bool) -> np.ndarray:
    """Values (n, q) of odd, even and local functions of random projections, a third each; perhaps a constant."""
    t = X @ directions.T
    third = t.shape[1] // 3
    values = np.concatenate([np.abs(t[:, :third]), t[:, third : 2 * third] ** 2, np.sin(3 * t[:, 2 * third :])], axis=1)
    if constant:
        values[:, -1] = 1.0
    return values


def _pseudo_inverse(matrix: np.ndarray) -> np.ndarray:
    """Of a positive semi-definite matrix, directions being judged in units of its diagonal."""
    unit = 1 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    inverse = np.linalg.pinv(matrix * np.outer(unit, unit), rcond=_VANISHING, hermitian=True)
    return inverse * np.outer(unit, unit)
