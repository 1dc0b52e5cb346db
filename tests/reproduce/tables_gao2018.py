"""Made-up tables for the study of Gao et al. (2018)."""

import math

from made_up import Case, change

from planted.reproduce.gao2018._estimated import KNOWN, PANELS, PLAIN, PRINTED, TREATMENTS, WHITENED, G, estimated
from planted.reproduce.gao2018._laplace import IDENTITY, POPULATION, ROTATED, SMOOTH
from planted.reproduce.gao2018._rates import DEGREES, ORDERS, left_out, theorem_slope
from planted.reproduce.gao2018._scores import PAPER_SLOPES, PERCENTILES

SIZES = (128, 1024, 8192)
BANDWIDTHS = (0.5, 1.0, 2.0)


def scores(slopes, rule=(-0.2, -0.2), bias=0.0):
    """Errors n^slope, by order, the same for every fixed bandwidth, and with Remark 1's."""
    curves = [(False, h, slopes) for h in BANDWIDTHS] + [(True, None, rule)]
    rows = []
    for is_rule, h, pair in curves:
        for n in SIZES:
            for order, slope in zip((2, 4), pair, strict=True):
                error = float(n**slope)
                spread = {"mean_log_se": 0.0, "log_se": 1e-6, "bias": bias}
                curve = {"rule": is_rule, "bandwidth": h if h else n ** (-1 / 8), "n": n, "order": order}
                curve |= {"error": error, "mean_log": math.log(error)} | spread
                rows += [curve | {"percentile": percentile} for percentile in PERCENTILES]
    return rows


def score_cases(figure, inputs):
    paper = PAPER_SLOPES[inputs]
    off = (paper[0], paper[1] - 0.1)
    name = f"gao2018/{figure}"
    good = scores(paper)
    return [
        Case(name, "the printed slopes", scores(paper, rule=paper), ["holds", "holds", "holds", "holds"]),
        Case(name, "one slope is off", scores(off), ["fails", "holds", "holds", "fails"]),
        Case(name, "Remark 1 differs", good, ["holds", "holds", "holds", "explained"]),
        Case(name, "Remark 1 is too slow", scores(paper, rule=(-0.1, -0.1)), ["holds", "holds", "fails", "explained"]),
        Case(
            name,
            "a flat percentile on its bias",
            change(good, lambda row: row["percentile"] == 95 and row["bandwidth"] == 2.0, error=1.2, bias=1.0),
            ["holds", "explained", "holds", "explained"],
        ),
        Case(
            name,
            "a flat percentile far from its bias",
            change(good, lambda row: row["percentile"] == 95 and row["bandwidth"] == 2.0, error=1.2, bias=0.1),
            ["holds", "fails", "holds", "explained"],
        ),
    ]


LOST = {"error": 0.5, "strict": 0.5, "to_axes": 0.5, "matched": 3.0, "gradient": 1e-6, "lam": None, "mu": 30.0}
FOUND = LOST | {"error": 0.001, "strict": 0.001, "matched": 10.0}
DIVERGED = dict.fromkeys(LOST) | {"mu": 30.0}


def laplace(**changes):
    """The last rows of Figure 3's runs, as the paper would have them, with changes by name of the run."""
    runs = {
        "squared": {"panel": IDENTITY, "loss": "squared"} | LOST,
        "G": {"panel": IDENTITY, "loss": "G"} | LOST,
        "L": {"panel": IDENTITY, "loss": "L"} | FOUND,
        "low": {"panel": IDENTITY, "loss": "G"} | LOST | {"lam": 300.0},
        "high": {"panel": IDENTITY, "loss": "G"} | LOST | {"lam": 1200.0},
        "rotated": {"panel": ROTATED, "loss": "L"} | LOST | {"to_axes": 0.001},
        "population": {"panel": POPULATION, "loss": "L"} | LOST | {"matched": 7.0},
        "allowed": {"panel": POPULATION, "loss": "L"} | FOUND | {"mu": 0.01},
        "small": {"panel": IDENTITY, "loss": "L"} | FOUND | {"mu": 0.01},
        "smooth": {"panel": SMOOTH, "loss": "L"} | FOUND | {"mu": None},
    }
    return [{"iteration": 1500} | values | changes.get(name, {}) for name, values in runs.items()]


def fig3(why, verdicts, **changes):
    return Case("gao2018/fig3", why, laplace(**changes), verdicts)


REPEATED = {"error": 0.001, "strict": 0.9, "matched": 7.0}
BOTH_DIVERGE = {"low": DIVERGED | {"lam": 300.0}, "high": DIVERGED | {"lam": 1200.0}}


def verdicts(places, word="fails", total=7):
    """All hold but those at these places."""
    return [word if place in places else "holds" for place in range(total)]


FIG3 = [
    fig3("as printed", verdicts([])),
    fig3("L is lost", verdicts([0, 3]), L=LOST | {"matched": 3.0}, population={"matched": 10.0}),
    fig3("the squared loss recovers", verdicts([1]), squared=FOUND),
    fig3("the squared loss is still moving", verdicts([1]), squared={"gradient": 0.5}),
    fig3("G diverges, and sits in repeated rows else", verdicts([2], "explained"), **BOTH_DIVERGE, G=REPEATED),
    fig3("G diverges, and recovers else", verdicts([2]), **BOTH_DIVERGE, G=FOUND),
    fig3("G is still moving", verdicts([2]), low={"gradient": 0.1}, high={"gradient": 0.1}),
    fig3("rows repeat because of μ", verdicts([3], "explained"), L=REPEATED),
    fig3("rows repeat with a small μ too", verdicts([3]), L=REPEATED, allowed={"matched": 9.0}),
    fig3("a small μ does not help Laplace inputs", verdicts([4], "explained"), small=REPEATED),
    fig3("and a smooth density neither", verdicts([4, 6]), small=REPEATED, smooth=LOST | {"mu": None}),
    fig3("the rotated teacher is recovered", verdicts([5]), rotated=FOUND),
]


def alike(errors, kappa=0.3):
    """Last rows of Figure 4: all errors 0.001 but those given by panel, loss and treatment (None: all of them)."""
    rows = []
    for panel in PANELS:
        for trial in range(3):
            for loss in (G, WHITENED, KNOWN, estimated(1.0), estimated(2.0)):
                for treatment in TREATMENTS:
                    error = 0.001
                    for (p, name, t), value in errors.items():
                        if p == panel and name == loss and t in (None, treatment):
                            error = value
                    least = kappa if panel == MIXTURE else 0.3
                    rows.append(
                        {"panel": panel, "trial": trial, "loss": loss, "treatment": treatment, "kappa": least}
                        | {"iteration": 2000, "strict": error, "gradient": 0.0}
                    )
    return rows


NORMAL, MIXTURE, SHORTER = PANELS
AS_PRINTED = {
    (MIXTURE, G, None): 0.4,
    (MIXTURE, WHITENED, None): 0.4,
    (SHORTER, G, None): 0.4,
    (SHORTER, WHITENED, None): 0.4,
}
NARROW = {(MIXTURE, estimated(1.0), None): 0.2, (MIXTURE, KNOWN, None): 0.3, (MIXTURE, WHITENED, None): 0.0005}


def fig4(why, words, errors, kappa=0.3):
    return Case("gao2018/fig4", why, alike(AS_PRINTED | errors, kappa), words)


FIG4 = [
    fig4("as printed", verdicts([], total=8), {}),
    fig4("L is off on Gaussian inputs", verdicts([0], total=8), {(NORMAL, estimated(2.0), None): 0.06}),
    fig4("L diverges on Gaussian inputs", verdicts([0], total=8), {(NORMAL, estimated(2.0), None): None}),
    fig4(
        "G needs the missing variance reduction to fail",
        verdicts([1], "explained", 8),
        {(MIXTURE, G, None): 0.01, (MIXTURE, G, PLAIN): 0.4, (MIXTURE, G, PRINTED): 0.4},
    ),
    fig4("G recovers either way", verdicts([1, 4], total=8), {(MIXTURE, G, None): 0.01}),
    fig4(
        "wide bandwidths are the fitted Gaussian, κ* = 0",
        ["holds", "holds", "explained", "fails", "holds", "explained", "holds", "holds"],
        NARROW,
        kappa=0.001,
    ),
    fig4(
        "narrow bandwidths fail where the true density does not",
        ["holds", "holds", "fails", "fails", "holds", "holds", "holds", "holds"],
        NARROW | {(MIXTURE, KNOWN, None): 0.001},
    ),
    fig4(
        "the true density fails though κ* is large",
        ["holds", "holds", "holds", "holds", "holds", "fails", "holds", "holds"],
        {(MIXTURE, KNOWN, None): 0.3},
    ),
    fig4(
        "nothing recovers as printed",
        verdicts([4], total=8),
        {(MIXTURE, estimated(1.0), PRINTED): 0.3, (MIXTURE, estimated(2.0), PRINTED): 0.3},
    ),
    fig4(
        "a narrow bandwidth has too much variance",
        verdicts([6], "explained", 8),
        {(SHORTER, estimated(1.0), None): 0.3},
    ),
    fig4("a wide bandwidth fails", verdicts([6], total=8), {(SHORTER, estimated(2.0), None): 0.3}),
    fig4("whitening is enough there", verdicts([7], total=8), {(SHORTER, WHITENED, None): 0.01}),
]

SCORES = [
    *score_cases("fig1", "gaussian"),
    *score_cases("fig2", "mixture"),
    *score_cases("fig1-printed", "gaussian"),
    *score_cases("fig2-printed", "mixture"),
]


def rates(stays=1.0, **slopes):
    """Errors of degree p for S_m with the theorem's slopes but those given as p1m1=…; m > p at what is left out."""
    return [
        {"degree": p, "order": m, "n": n, "h": 1.0, "log_se": 0.0}
        | {"error": n ** slopes.get(f"p{p}m{m}", theorem_slope(p, m)) if m <= p else stays * left_out(p, m)}
        for p in DEGREES
        for n in (1000, 8000)
        for m in ORDERS
    ]


RATES = [
    Case("gao2018/theorem1", "the theorem's rates", rates(), ["holds", "holds", "holds"]),
    Case("gao2018/theorem1", "one is slower", rates(p3m2=-0.1), ["fails", "fails", "holds"]),
    Case("gao2018/theorem1", "smaller bias where p − m is even", rates(p3m1=-0.6), ["holds", "explained", "holds"]),
    Case("gao2018/theorem1", "one is faster and p − m odd", rates(p2m1=-0.6), ["holds", "fails", "holds"]),
    Case("gao2018/theorem1", "consistent without the degree", rates(stays=0.1), ["holds", "holds", "fails"]),
]

CASES = [*SCORES, *FIG3, *FIG4, *RATES]
