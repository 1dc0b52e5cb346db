"""Made-up tables for the study of Ge et al. (2017)."""

from made_up import Case, change

QUICK = {"fig1": 10_000, "fig2": 500, "fig3": 400}


def runs(figure, error, **more):
    """Five runs whose last row has this error."""
    steps = QUICK[figure]
    return [
        {"run": i, "step": step, "loss": 1.0, "error": 0.9 if step < steps else error} | more
        for i in range(5)
        for step in (steps // 2, steps)
    ]


def escape(**values):
    measured = {"kind under P'": "local minimum", "kind under G": "saddle", "lowest nearby P'": 2.0001, "error": 0.001}
    return [{"point": "before", "row": 0, "column": 0, "weight": 1.0} | measured | values]


def layers(**values):
    measured = {"error": 0.1, "signs_right": True, "bound": 0.2}
    pairs = [("orthogonal", "correlation"), ("correlated", "general_correlation"), ("correlated", "least_squares")]
    return [{"weights": kind, "algorithm": name, "trial": 0} | measured | values for kind, name in pairs]


STUCK = runs("fig1", 0.9, expected_loss=0.05)
FOUND = {figure: runs(figure, 0.001) for figure in ("fig2", "fig3")}


def last_of_run(i):
    return lambda row: row["run"] == i and row["error"] != 0.9


CASES = [
    Case("ge2017/fig1", "all stuck", STUCK, ["holds", "holds"]),
    Case("ge2017/fig1", "one recovers", change(STUCK, lambda row: row["run"] == 3, error=0.01), ["fails", "holds"]),
    Case("ge2017/fig1", "one at 0", change(STUCK, lambda r: r["run"] == 0, expected_loss=1e-5), ["holds", "fails"]),
    Case("ge2017/fig2", "all recover", FOUND["fig2"], ["holds"]),
    Case("ge2017/fig2", "one is off", change(FOUND["fig2"], last_of_run(2), error=0.021), ["fails"]),
    Case("ge2017/fig3", "all recover", FOUND["fig3"], ["holds"]),
    Case("ge2017/fig3", "one is off", change(FOUND["fig3"], last_of_run(4), error=0.3), ["fails"]),
    Case("ge2017/appendix-d", "as in the paper", escape(), ["holds"] * 3),
    Case("ge2017/appendix-d", "P' has a saddle", escape(**{"kind under P'": "saddle"}), ["fails", "holds", "holds"]),
    Case("ge2017/appendix-d", "lower nearby", escape(**{"lowest nearby P'": 1.999}), ["fails", "holds", "holds"]),
    Case("ge2017/appendix-d", "so has G", escape(**{"kind under G": "local minimum"}), ["holds", "fails", "holds"]),
    Case("ge2017/appendix-d", "descent is stuck", escape(error=0.2), ["holds", "holds", "fails"]),
    Case("ge2017/output-layer", "as in the paper", layers(), ["holds"] * 4),
    Case("ge2017/output-layer", "beyond the bound", layers(error=0.3), ["holds", "holds", "holds", "fails"]),
    Case("ge2017/output-layer", "a wrong sign", layers(signs_right=False), ["fails", "fails", "fails", "holds"]),
]
