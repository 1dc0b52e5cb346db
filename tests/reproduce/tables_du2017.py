"""Made-up tables for the study of Du et al. (2017)."""

from made_up import Case

FATES = {"success": "global minimum", "failure": "spurious minimum"}


def curves(rate=0.9, slow=0.99, end=40, gap=0.01, **summary):
    """A success that falls slowly until `end` and by `rate` after it, a failure that stays `gap` above 0.3."""
    shared = {"phase_one_end": end, "rate": rate, "predicted_rate": 0.9, "spurious_loss": 0.3, "draws": 4}
    shared |= {"draws_with_both": 3, "still_moving": 0} | summary
    rows = []
    for t in range(100):
        loss = slow ** min(t, end) * rate ** max(t - end, 0)
        rows.append({"outcome": "success", "signs": "(1, 1)", "iteration": t, "loss": loss} | shared)
    for t in range(100):
        loss = 0.3 * (1 + gap) if t == 99 else 0.5
        rows.append({"outcome": "failure", "signs": "(1, -1)", "iteration": t, "loss": loss} | shared)
    return [row | {"fate": FATES[row["outcome"]], "angle": 10.0} for row in rows]


FIG1 = [
    Case("du2017/fig1", "as printed", curves(), ["holds"] * 4),
    Case("du2017/fig1", "one draw of four has both", curves(draws_with_both=1), ["fails", *["holds"] * 3]),
    Case("du2017/fig1", "a descent is still moving", curves(still_moving=1), ["fails", *["holds"] * 3]),
    Case("du2017/fig1", "a fast first phase", curves(slow=0.9), ["holds", "fails", "holds", "holds"]),
    Case("du2017/fig1", "another second phase", curves(rate=0.95), ["holds", "holds", "fails", "holds"]),
    Case("du2017/fig1", "the failure is elsewhere", curves(gap=0.5), ["holds", "holds", "holds", "fails"]),
    Case("du2017/fig1", "the failure is below", curves(gap=-0.01), ["holds", "holds", "holds", "fails"]),
]


def frequencies(changes):
    """One size, k = 8: the ratios of the quick study, with changes by ratio."""
    base = {"patch_size": 6, "n_patches": 8, "draws": 400, "single": 0.6, "restarts": 1.0, "spurious": 0.2}
    base |= {"premises_31": 1.0, "premises_33": 0.0, "broken_31": 0, "broken_33": 0, "moving": 0, "iterations": 100}
    ratios = {0.001: {"trapped": 1.0, "premises_33": 0.99}, 1.0: {"trapped": 0.7}, 8.0: {"trapped": 0.0}}
    return [base | {"ratio": ratio} | values | changes.get(ratio, {}) for ratio, values in ratios.items()]


def theorems(why, failing, changes):
    verdicts = ["fails" if place in failing else "holds" for place in range(6)]
    return Case("du2017/theorems", why, frequencies(changes), verdicts)


THEOREMS = [
    theorems("as printed", [], {}),
    theorems("success 0.12", [0], {0.001: {"single": 0.12}}),
    theorems("success 0.20", [0], {1.0: {"single": 0.20}}),
    theorems("a draw has no sign that succeeds", [1], {8.0: {"restarts": 0.995}}),
    theorems("a start with the premises fails", [2], {1.0: {"broken_31": 1}}),
    theorems("no sign has the premises", [2], {1.0: {"premises_31": 0.9}}),
    theorems("failure does not grow", [3], {1.0: {"trapped": 0.2}, 0.001: {"trapped": 0.1, "premises_33": 0.99}}),
    theorems("premises are rare", [4], {0.001: {"premises_33": 0.5}}),
    theorems("a start with the premises of 3.3 succeeds", [4], {0.001: {"broken_33": 2}}),
    theorems("failure above the threshold", [5], {8.0: {"trapped": 0.01}}),
]


def phases(**values):
    row = {"p": 2, "k": 2, "ratio": 1.0, "step": 0.01, "stable_over_step": 50.0, "T1": 1000.0, "T2": 2000.0}
    row |= {"first": 100, "second": 300}
    return [row | {"draw": draw} | (values if draw == 0 else {}) for draw in range(4)]


LATE = [row | {"first": -1, "second": -1, "T1": 1e7, "T2": 1e7} for row in phases()]
STEPS = [
    Case("du2017/theorem3.1", "as printed", phases(), ["holds", "holds"]),
    Case("du2017/theorem3.1", "phase I is late", phases(first=1100), ["fails", "holds"]),
    Case("du2017/theorem3.1", "phase I never ends", phases(first=-1), ["fails", "holds"]),
    Case("du2017/theorem3.1", "phase II is late", phases(second=3500), ["holds", "fails"]),
    Case("du2017/theorem3.1", "most are not due", [*LATE, *phases()[:1]], ["fails", "fails"]),
    Case("du2017/theorem3.1", "one is not due", [LATE[0], *phases()], ["holds", "holds"]),
]

CASES = [*FIG1, *THEOREMS, *STEPS]
