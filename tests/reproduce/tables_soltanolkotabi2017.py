"""Made-up tables for the study of Soltanolkotabi, Javanmard and Lee (2017)."""

import numpy as np
from made_up import Case, change

from planted.reproduce.soltanolkotabi2017._landscape import BOTH, NARROW, ONE, PLANTED, RANDOM
from planted.reproduce.soltanolkotabi2017._sweep import PANELS

NAMES = ("softplus", "sigmoid", "erf", "tanh")


def activations(slope=0.3, curved=0.2, odd=0.0, gap=0.17328679513998632):
    rows = [{"activation": name, "curve": "slope", "at": s, "value": slope} for name in NAMES for s in (0.1, 1.0)]
    for name in NAMES:
        value = curved if name == "softplus" else odd
        rows.append({"activation": name, "curve": "curvature", "at": 1.0, "value": value})
    rows += [{"activation": "softplus", "curve": "value", "at": 0.0, "value": gap}]
    return [*rows, {"activation": "relu", "curve": "value", "at": 0.0, "value": 0.0}]


def words(failing, total, word="fails"):
    return [word if place in failing else "holds" for place in range(total)]


FIG1 = [
    Case("soltanolkotabi2017/fig1", why, activations(**values), words(failing, 4))
    for why, failing, values in (
        ("as printed", [], {}),
        ("a slope of zero", [0], {"slope": 0.0}),
        ("softplus is flat", [1], {"curved": 0.0}),
        ("a curvature does not vanish", [2], {"odd": 1e-6}),
        ("another gap", [3], {"gap": 0.2}),
    )
]


def starts(panel, reading, values, crossing, below="stuck"):
    """Four problems of four starts a value: at zero above `crossing`, of descent alone and after the polish."""
    descent, finished = crossing
    rows = []
    for value in values:
        k, d = PANELS[panel].sizes(value)
        for problem in range(4):
            for start in range(4):
                verdict = "zero" if value > descent else below
                end = 0.0 if value > finished else 0.1
                rows.append(
                    {"panel": panel, "reading": reading, "value": value, "k": k, "d": d, "problem": problem}
                    | {"start": start, "verdict": verdict, "loss": 0.0 if verdict == "zero" else 0.1, "finished": end}
                    | {"positive": k if end == 0.0 else k // 2}
                )
    return rows


def fig2(why, verdicts, **values):
    config = {"panels": {"2a": [9, 11, 13]}, "within": 0.15}
    return Case("soltanolkotabi2017/fig2", why, starts("2a", "signs", [9, 11, 13], **values), verdicts, config)


FIG2 = [
    fig2("as printed", ["holds", "holds", "holds"], crossing=(11.4, 11.4)),
    fig2("descent has not settled", ["explained", "holds", "explained"], crossing=(99, 11.4), below="not settled"),
    fig2("descent is stuck", ["fails", "holds", "fails"], crossing=(99, 11.4)),
    fig2(
        "descent has not settled, and ends elsewhere",
        ["fails", "fails", "fails"],
        crossing=(99, 99),
        below="not settled",
    ),
    fig2("far below", ["fails", "fails", "holds"], crossing=(8, 8)),
]


def mixed(panel, values, single, every=False, by_sign=True, alike=False):
    """Forty problems of four starts; each start succeeds by its own luck, with odds e^(value − single).

    With `every` all succeed above `single`; with `alike` one start in four fails far beyond it.
    """
    rows, rng = [], np.random.default_rng(0)
    for value in values:
        k, d = PANELS[panel].sizes(value)
        luck = rng.random((40, 4)) < 1 / (1 + np.exp(1.5 * (single - value)))
        if every:
            luck[:] = value > single
        if alike:
            luck[:] = value > single
            luck[:, 0] &= value > 2 * single
        for problem in range(40):
            for start in range(4):
                good = bool(luck[problem, start])
                count = (k if good else 0) if by_sign else k
                rows.append(
                    {"panel": panel, "reading": "signs", "value": value, "k": k, "d": d, "problem": problem}
                    | {"start": start, "verdict": "zero" if good else "not settled", "loss": 0.1 * (not good)}
                    | {"finished": 0.0 if good else 0.1, "positive": count}
                )
    return rows


SIZES = [4, 5, 6, 7, 8, 10, 12]


def fig3(why, verdicts, rows, ones=5.5):
    config = {"panels": {"3a": SIZES}, "within": 0.15}
    return Case("soltanolkotabi2017/fig3", why, rows + starts("3a", "ones", SIZES, (ones, ones)), verdicts, config)


FIG3 = [
    fig3("as printed", ["holds"] * 4, mixed("3a", SIZES, 5.5, every=True)),
    fig3("signs decide", ["explained", "explained", "holds", "holds"], mixed("3a", SIZES, 5.5)),
    fig3(
        "most are stuck, and signs decide",
        ["fails", "explained", "holds", "holds"],
        change(mixed("3a", SIZES, 5.5), lambda row: row["verdict"] == "not settled", verdict="stuck"),
    ),
    fig3(
        "none has settled",
        ["explained", "holds", "holds", "holds"],
        change(mixed("3a", SIZES, 5.5, every=True), lambda row: True, verdict="not settled", loss=0.1),
    ),
    fig3("signs do not matter", ["fails", "fails", "holds", "holds"], mixed("3a", SIZES, 5.5, by_sign=False)),
    fig3("later than luck makes it", ["fails", "fails", "holds", "holds"], mixed("3a", SIZES, 4.5, alike=True)),
    fig3("single starts are off too", ["fails", "fails", "fails", "holds"], mixed("3a", SIZES, 9, every=True)),
    fig3("and so are fixed outputs", ["fails", "fails", "fails", "fails"], mixed("3a", SIZES, 9), ones=9),
]


def labels(wide=1e-6, narrow=0.5, fixed=0.48):
    rows = []
    for activation, d, widths in (("softplus", 10, (5, 20)), ("quadratic", 20, (3, 10))):
        for layers, ends in (("both", dict(zip(widths, (narrow, wide), strict=True))), ("first", {widths[1]: fixed})):
            for k, end in ends.items():
                row = {"activation": activation, "layers": layers, "k": k, "d": d, "n": 100, "floor": 0.45}
                rows += [row | {"start": start, "iteration": 100, "rmse": end} for start in (0, 1)]
    return rows


FIG4 = [
    Case("soltanolkotabi2017/fig4", "as measured", labels(), ["holds", "holds", "explained"] * 2),
    Case("soltanolkotabi2017/fig4", "zero as printed", labels(fixed=1e-3), ["holds"] * 6),
    Case("soltanolkotabi2017/fig4", "a third above the bound", labels(fixed=0.6), ["holds", "holds", "fails"] * 2),
    Case("soltanolkotabi2017/fig4", "RMSE 37", labels(fixed=37.0), ["holds", "holds", "fails"] * 2),
    Case("soltanolkotabi2017/fig4", "below the floor", labels(fixed=0.3), ["holds", "holds", "fails"] * 2),
    Case("soltanolkotabi2017/fig4", "wide networks do not fit", labels(wide=0.3), ["fails", "holds", "explained"] * 2),
    Case("soltanolkotabi2017/fig4", "narrow ones do", labels(narrow=0.01), ["holds", "fails", "explained"] * 2),
    Case(
        "soltanolkotabi2017/fig4", "one start of two does not fit",
        change(labels(), lambda row: (row["start"], row["k"], row["layers"]) == (1, 20, "both"), rmse=0.4),
        ["fails", "holds", "explained", "holds", "holds", "explained"],
    ),
]  # fmt: skip


def points():
    """One end of each kind of start."""
    rows = []
    arms = ((BOTH, RANDOM, 8), (BOTH, RANDOM, 20), (BOTH, PLANTED, 8), (ONE, PLANTED, 8), (NARROW, RANDOM, 8))
    for family, labels_, n in arms:
        for silent in (0, 3):
            optimum = 0.2 if (labels_, n) == (RANDOM, 20) else 0.0
            kind = "strict saddle" if silent else "neither" if family == NARROW else "global"
            row = {"family": family, "labels": labels_, "sign": 1.0, "d": 4, "n": n, "k": 8, "problem": 0, "start": 0}
            row |= {"silent": silent, "kind": kind, "optimum": optimum, "gradient_norm": 1e-13}
            row |= {"value": optimum if kind == "global" else 0.5, "least_eigenvalue": -0.1}
            row |= {"certified": {"global": "global minimum", "strict saddle": "saddle"}.get(kind, "undecided")}
            rows.append(row)
    return rows


def chosen(family, silent, **more):
    return lambda row: (
        (row["family"], row["silent"] > 0) == (family, silent)
        and all(row[name] == value for name, value in more.items())
    )


def landscape(why, failing, where=None, **values):
    rows = points() if where is None else change(points(), where, **values)
    return Case("soltanolkotabi2017/theorem2.1", why, rows, words(failing, 8))


LANDSCAPE = [
    landscape("as printed", []),
    landscape("a spurious minimum", [0], chosen(BOTH, False, labels=PLANTED), kind="neither"),
    landscape("a saddle that is flat", [1], chosen(BOTH, True), kind="neither"),
    landscape("descents have not settled", [1], chosen(BOTH, True, labels=PLANTED), kind="not settled"),
    landscape("no saddle is met", [1], chosen(BOTH, True), kind="global", certified="global minimum"),
    landscape("a spurious minimum, one sign", [2], chosen(ONE, False), kind="neither"),
    landscape("a flat saddle, one sign", [3], chosen(ONE, True), kind="neither"),
    landscape("random labels are not fitted", [4], chosen(BOTH, False, labels=RANDOM, n=8), value=0.1),
    landscape("or fitted beyond", [4], chosen(BOTH, False, labels=RANDOM, n=20), value=0.0),
    landscape("planted labels are not fitted", [5], chosen(ONE, False), value=0.01),
    landscape("two neurons are enough", [6], chosen(NARROW, False), kind="global", certified="global minimum"),
    landscape("the certificate differs", [7], chosen(ONE, False), certified="undecided"),
]


def rates(sigma=2.0, d=0.0, n=-2.0, k=0.0, bounded=True, predicted=1.0, scatter=0.0, rounding=1e-6):
    """(1 − rate)/α by powers of what is varied, from the quick study's base."""
    rows = []
    base = {"d": 15, "k": 15, "n": 18, "sigma": 1.0}
    sweeps = [("sigma", base | {"sigma": s}) for s in (1.0, 0.3, 0.1)] + [("k", base | {"k": w}) for w in (15, 30)]
    sweeps += [("n", base | {"n": m}) for m in (18, 34)]
    sweeps += [("d", {"d": s, "k": s, "n": round(0.15 * s * s), "sigma": 1.0}) for s in (15, 30)]
    for sweep, size in sweeps:
        speed = 0.3 * size["sigma"] ** sigma * (size["k"] / size["d"]) ** k
        if sweep == "n":
            speed *= (size["n"] / 18) ** n
        if sweep == "d":
            speed *= (34 / 18) ** n * (size["d"] / 15) ** d
        step = 0.01
        for trial in range(4):
            # Trials differ in their power of whatever is varied, so that its standard error is about `scatter`/2.
            tilt = (size[sweep] / base[sweep]) ** (scatter * (-1) ** trial)
            rate = 1 - step * speed * tilt
            rows.append(
                {"sweep": sweep, "trial": trial, "activation": "softplus", "step": step, "rate": rate}
                | size
                | {"predicted": 1 - predicted * (1 - rate), "printed": size["d"] / size["n"], "weights_radius": 1e-6}
                | {"corrected": size["sigma"] ** 2 * size["d"] ** 2 / size["n"], "output_radius": 1e-6, "limit": 1.0}
                | {"bounded": bounded, "rounding": rounding}
            )
    return rows


def local(why, verdicts, **values):
    return Case("soltanolkotabi2017/theorem2.5", why, rates(**values), verdicts)


LOCAL = [
    local("as printed", ["holds"] * 6, sigma=0.0, n=-1.0),
    local("as equation 7.44 has it", ["holds", "holds", "explained", "holds", "holds", "explained"]),
    local("a bound is broken", ["fails", "holds", "explained", "holds", "holds", "explained"], bounded=False),
    local("not the Jacobian's rate", ["holds", "fails", "explained", "holds", "holds", "explained"], predicted=1.2),
    local("σ_min with the fourth power", ["holds", "holds", "fails", "holds", "holds", "explained"], sigma=4.0),
    local("falls like 1/d", ["holds", "holds", "explained", "fails", "holds", "fails"], d=-1.0),
    local("falls like 1/k", ["holds", "holds", "explained", "holds", "fails", "explained"], k=-1.0),
    local("grows with k", ["holds", "holds", "explained", "holds", "holds", "explained"], k=3.0),
    local("all is rounding", ["holds", "fails", "explained", "holds", "holds", "explained"], rounding=0.01),
    local("does not depend on n", ["holds", "holds", "explained", "holds", "holds", "fails"], n=0.0),
    local(
        "trials differ too much to tell a power", ["holds", "holds", "fails", "fails", "fails", "fails"], scatter=0.6
    ),
]

CASES = [*FIG1, *FIG2, *FIG3, *FIG4, *LANDSCAPE, *LOCAL]
