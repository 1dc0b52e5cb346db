"""Verdict and certificate of one network: what one knows, the other says too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted.certificates import Certificate, Uncertainty
from planted.methods._collinear import dependence_advice
from planted.methods._label_runaway import runaway
from planted.methods._labels import LabelProblem
from planted.methods._limits import limit_of
from planted.methods._verdict import Verdict, judge
from planted.networks import Network

_AGAIN = "Try another random_state."
_NATS = 1.0
# A smaller share of the loss is rounding: it is a sum over rows, and descents end before.
_ROUNDING = 1e-11


def without_end(problem: Any, network: Any, errors: Uncertainty | None) -> str:
    """Why no finite network minimises the loss next to this one, in words; empty if one does.

    Parameters
    ----------
    problem : Problem
    network : Network or ConvNetwork
    errors : Uncertainty or None
        What the rows leave open; None where that was not computed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> problem = LabelProblem.of(X, (X[:, 0] > 0).astype(float), 1, "sigmoid")
    >>> without_end(problem, Network([[50.0]], [1.0], "sigmoid"), None)[:49]
    'neuron 1 runs off, the loss still falls as its we'
    """
    labels = isinstance(problem, LabelProblem)
    if not isinstance(network, Network) or not network.n_hidden or (labels and problem.alpha):
        return ""
    off = runaway(problem, network) if labels else None
    if off is not None:
        return off.reason.removeprefix("no finite minimiser: ")
    if errors is None or errors.determined or dependence_advice(problem.survey, problem.free, problem.names):
        return ""
    survey = problem.survey
    return limit_of(survey.X, errors, labels=labels, survey=None if labels else survey).reason


def with_ends(certificate: Certificate, problem: Any, network: Any, errors: Uncertainty | None) -> Certificate:
    """The certificate, which says where there is no finite minimiser, and which penalty a loss has.

    A loss that falls towards infinity has a gradient that vanishes to rounding: that is no minimum.
    """
    alpha = float(getattr(problem, "alpha", 0.0))
    if alpha:
        return replace(certificate, reason=f"{certificate.reason}; the loss has an ℓ2 penalty of {alpha:.2g}")
    why = "" if certificate.kind == "global minimum" else without_end(problem, network, errors)
    if not why:
        return certificate
    if certificate.kind in ("not critical", "saddle"):
        return replace(certificate, reason=f"no finite minimiser: {why}; {certificate.reason}")
    return replace(certificate, kind="undecided", reason=f"no finite minimiser: {why}; here the loss is flat")


def agreeing(verdict: Verdict, certificate: Certificate, n_rows: float) -> Verdict:
    """The verdict, which says where the search did not end in a minimum.

    A network is a misfit where the loss of `n_rows` rows falls by more than one unit of log-likelihood, and its numbers
    are thus off by more than rows leave open. Nothing is said of what is below the rounding of the loss.

    >>> import numpy as np
    >>> from planted.certificates import certify
    >>> from planted.methods._facts import Facts
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 3.0], "softplus")
    >>> point = certify(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})
    >>> verdict = judge(Facts(0.1, np.inf, 100, 2, p_value=0.5))
    >>> agreeing(verdict, point, 2).reason[-73:], agreeing(verdict, point, 1e6).status
    ('the search ended before a minimum: the loss still falls by 0.06 of itself', 'misfit')
    """
    if verdict.facts.explained or certificate.is_minimum:
        return verdict
    if certificate.kind == "undecided":
        why = certificate.reason.removeprefix("no finite minimiser: ").partition(";")[0]
        if why in verdict.reason:
            return verdict
        return replace(verdict, reason=f"{verdict.reason}; whether this is a minimum is open: {certificate.reason}")
    share = certificate.decrease / max(abs(certificate.value), 1e-300)
    if share < _ROUNDING:
        return verdict
    where = "at a saddle" if certificate.kind == "saddle" else "before a minimum"
    words = f"the search ended {where}: the loss still falls by {share:.1g} of itself"
    gain = n_rows * (certificate.decrease if verdict.facts.labels else share / 2)
    if verdict.status == "estimated" and gain > _NATS:
        unfinished = judge(replace(verdict.facts, unfinished=words))
        return unfinished if verdict.facts.late else unfinished.advising(_AGAIN)
    return replace(verdict, reason=f"{verdict.reason}; {words}", advice=verdict.advice or _AGAIN * (gain > _NATS))
