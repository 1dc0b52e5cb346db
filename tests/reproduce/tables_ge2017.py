"""Made-up tables for the study of Ge et al. (2017)."""

from made_up import Case, change

from planted.reproduce.ge2017._conjecture import GENERAL, GLOBAL, HALF, HELD, POSITIVE, SIGNED, SPURIOUS, UNSETTLED
from planted.reproduce.ge2017._descents import MAIN
from planted.reproduce.ge2017._figures import FOOTNOTE, NOISE, NOISES, ONLY_WEIGHTS, PLAIN


def runs(*arms, error, **more):
    """Two runs of each arm, whose last row has this error and a thousandth of the first one's loss."""
    values = {"output_error": 0.01} | more
    return [
        {"arm": arm, "run": i, "step": step, "last": step == 100, "loss": loss, "error": 0.9 if step < 100 else error}
        | values
        for arm in arms
        for i in range(2)
        for step, loss in ((50, 1.0), (100, 0.001))
    ]


def noises(**shares):
    """Noise over signal by loss: as the paper has it, but those given."""
    chosen = {"G": 9.0, "G with variance reduction": 0.5, "f'": 3.0, "squared loss": 0.2} | shares
    return [
        {"arm": NOISE, "run": 0, "loss_name": loss, "reduction": reduction, "noise": chosen[name], "signal": 1.0}
        for name, (loss, reduction) in NOISES.items()
    ]


def escape(**values):
    measured = {"kind under P'": "local minimum", "kind under G": "saddle", "lowest nearby P'": 2.0001, "error": 0.001}
    return [{"point": "before", "row": 0, "column": 0, "weight": 1.0} | measured | values]


def layers(**values):
    measured = {"error": 0.1, "signs_right": True, "bound": 0.2}
    pairs = [("orthogonal", "correlation"), ("correlated", "general_correlation"), ("correlated", "least_squares")]
    return [{"weights": kind, "algorithm": name, "trial": 0} | measured | values for kind, name in pairs]


def search():
    """Two ends a setting of the search for spurious minima: global, but at α/β = 0 and with a wrong output."""
    rows = []
    for student, sizes in ((POSITIVE, ((3, 3), (3, 4))), (SIGNED, ((3, 3),)), (HALF, ((3, 3),))):
        for d, k in sizes:
            for ratio in (0.0, 1.0, 100.0) if student != HALF else (-1.0,):
                for start in range(2):
                    end = {"kind": GLOBAL, "value": 0.0, "gradient_norm": 1e-12, "least_eigenvalue": 0.1}
                    place = {"student": student, "teacher": GENERAL, "d": d, "k": k, "ratio": ratio, "start": start}
                    rows.append(place | end | {"least_output": 1.0})
    rows = change(rows, lambda row: row["student"] == POSITIVE and row["ratio"] == 0, kind=HELD)
    return change(rows, lambda row: row["student"] == SIGNED and row["start"] == 1, kind=HELD, least_output=-0.4)


def fresh(**errors):
    """Two runs a loss, whose last error is 0.001 unless given."""
    return [
        {
            "loss": loss,
            "run": i,
            "step": step,
            "last": step == 80,
            "error": errors.get(loss, 0.001) if step == 80 else 0.5,
        }
        for loss in ("G", "F", "L")
        for i in range(2)
        for step in (40, 80)
    ]


def end_at(student, ratio, k):
    return lambda row: (row["student"], row["ratio"], row["k"], row["start"]) == (student, ratio, k, 0)


SEARCH = search()
STUCK = change(runs(MAIN, ONLY_WEIGHTS, error=0.9, settled_loss=0.05), lambda row: True, loss=0.05)
FOUND = runs(MAIN, FOOTNOTE, error=0.001)
DESIGNED = runs(MAIN, PLAIN, error=0.001) + noises()


def last_of(arm):
    return lambda row: row["arm"] == arm and row.get("run") == 1 and row.get("last")


CASES = [
    Case("ge2017/corollary2.4", "all three", fresh(), ["holds", "holds", "holds"]),
    Case("ge2017/corollary2.4", "G is off", fresh(G=0.03), ["fails", "holds", "holds"]),
    Case("ge2017/corollary2.4", "F is off", fresh(F=0.03), ["holds", "fails", "holds"]),
    Case("ge2017/corollary2.4", "L is off", fresh(L=0.03), ["holds", "holds", "fails"]),
    Case("ge2017/conjecture", "as derived", SEARCH, ["holds", "holds", "explained", "holds", "holds"]),
    Case(
        "ge2017/conjecture",
        "one spurious minimum",
        change(SEARCH, end_at(POSITIVE, 1.0, 3), kind=SPURIOUS),
        ["fails", "holds", "explained", "holds", "holds"],
    ),
    Case(
        "ge2017/conjecture",
        "one unsettled end of many neurons",
        change(SEARCH, end_at(POSITIVE, 100.0, 4), kind=UNSETTLED),
        ["holds", "fails", "explained", "holds", "holds"],
    ),
    Case(
        "ge2017/conjecture",
        "both signs are no trap",
        change(SEARCH, lambda row: row["student"] == SIGNED, kind=GLOBAL),
        ["holds", "holds", "holds", "holds", "holds"],
    ),
    Case(
        "ge2017/conjecture",
        "a trap whose outputs are all right",
        change(SEARCH, end_at(SIGNED, 1.0, 3), kind=SPURIOUS),
        ["holds", "holds", "fails", "holds", "holds"],
    ),
    Case(
        "ge2017/conjecture",
        "no trap at the ends of the range",
        change(SEARCH, lambda row: row["student"] == POSITIVE, kind=GLOBAL),
        ["holds", "holds", "explained", "fails", "holds"],
    ),
    Case(
        "ge2017/conjecture",
        "½|z| is trapped",
        change(SEARCH, lambda row: row["student"] == HALF, kind=SPURIOUS),
        ["holds", "holds", "explained", "holds", "fails"],
    ),
    Case("ge2017/fig1", "all stuck", STUCK, ["holds", "holds", "holds"]),
    Case("ge2017/fig1", "one recovers", change(STUCK, last_of(MAIN), error=0.01), ["fails", "holds", "holds"]),
    Case(
        "ge2017/fig1",
        "one of fixed outputs recovers",
        change(STUCK, last_of(ONLY_WEIGHTS), error=0.01),
        ["fails", "holds", "holds"],
    ),
    Case("ge2017/fig1", "one at 0", change(STUCK, last_of(MAIN), loss=1e-5), ["holds", "fails", "holds"]),
    Case("ge2017/fig1", "just slow", change(STUCK, last_of(MAIN), settled_loss=1e-9), ["holds", "holds", "fails"]),
    Case("ge2017/fig2", "all recover", FOUND, ["holds", "holds", "holds"]),
    Case("ge2017/fig2", "one is off", change(FOUND, last_of(MAIN), error=0.021), ["fails", "holds", "holds"]),
    Case(
        "ge2017/fig2", "an output is off", change(FOUND, last_of(MAIN), output_error=0.2), ["fails", "holds", "holds"]
    ),
    Case("ge2017/fig2", "the loss stays", change(FOUND, last_of(MAIN), loss=0.02), ["holds", "fails", "holds"]),
    Case("ge2017/fig2", "½|z| is stuck", change(FOUND, last_of(FOOTNOTE), error=0.3), ["holds", "holds", "fails"]),
    Case("ge2017/fig2-printed", "all recover", runs(MAIN, error=0.001), ["holds", "holds"]),
    Case("ge2017/fig2-printed", "none recovers", runs(MAIN, error=0.5), ["fails", "holds"]),
    Case(
        "ge2017/fig2-printed",
        "the loss stays",
        change(runs(MAIN, error=0.001), last_of(MAIN), loss=0.1),
        ["holds", "fails"],
    ),
    Case("ge2017/fig3", "all recover", DESIGNED, ["holds"] * 4),
    Case("ge2017/fig3", "one is off", change(DESIGNED, last_of(MAIN), error=0.3), ["fails", "holds", "holds", "holds"]),
    Case(
        "ge2017/fig3", "the loss stays", change(DESIGNED, last_of(MAIN), loss=0.1), ["holds", "fails", "holds", "holds"]
    ),
    Case(
        "ge2017/fig3", "noise wins", change(DESIGNED, last_of(PLAIN), error=0.3), ["holds", "holds", "fails", "holds"]
    ),
    Case(
        "ge2017/fig3",
        "f' is as noisy as G",
        runs(MAIN, PLAIN, error=0.001) + noises(**{"f'": 9.5}),
        ["holds", "holds", "holds", "fails"],
    ),
    Case("ge2017/appendix-d", "as in the paper", escape(), ["holds"] * 3),
    Case("ge2017/appendix-d", "P' has a saddle", escape(**{"kind under P'": "saddle"}), ["fails", "holds", "holds"]),
    Case("ge2017/appendix-d", "lower nearby", escape(**{"lowest nearby P'": 1.999}), ["fails", "holds", "holds"]),
    Case("ge2017/appendix-d", "so has G", escape(**{"kind under G": "local minimum"}), ["holds", "fails", "holds"]),
    Case("ge2017/appendix-d", "descent is stuck", escape(error=0.2), ["holds", "holds", "fails"]),
    Case("ge2017/output-layer", "as in the paper", layers(), ["holds"] * 4),
    Case("ge2017/output-layer", "beyond the bound", layers(error=0.3), ["holds", "holds", "holds", "fails"]),
    Case("ge2017/output-layer", "a wrong sign", layers(signs_right=False), ["fails", "fails", "fails", "holds"]),
]
