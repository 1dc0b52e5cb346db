"""Made-up tables for the study of Fu, Chi and Liang (2018)."""

from made_up import Case, change

from planted.names import ACTIVATIONS

SHOWN = ACTIVATIONS[: ACTIVATIONS.index("gelu")]


def rhos(**values):
    return [
        {"activation": name, "sigma": sigma, "rho": values.get(name, 0.0 if name == "quadratic" else 0.01)}
        for name in SHOWN
        for sigma in (0.1, 1.0)
    ]


FIG2 = [
    Case("fu2018/fig2", "as printed", rhos(), ["holds"] * 3),
    Case("fu2018/fig2", "sigmoid vanishes", rhos(sigmoid=0.0), ["fails", "holds", "holds"]),
    Case("fu2018/fig2", "tanh vanishes", rhos(tanh=-0.1), ["holds", "fails", "holds"]),
    Case("fu2018/fig2", "the quadratic does not", rhos(quadratic=0.1), ["holds", "holds", "fails"]),
]


def sets(descent, lbfgs, largest=1.0, d=20, gone=3.0):
    """Ten data sets at each of three n/d; `descent` and `lbfgs` are how many of them succeed there."""
    rows = []
    for ratio, good, other in zip((25, 150, 350), descent, lbfgs, strict=True):
        for index in range(10):
            both = {"descent_spread": 0.001 if index < good else 1.0, "same_spread": 0.001 if index < other else 1.0}
            size = largest if index < other else gone
            row = {"d": d, "n": d * ratio, "data_set": index, "error": 1.0, "asymptotic_error": 1.0, "largest": size}
            rows.append(row | both | {"spread": both["same_spread"]})
    return rows


def fig3(why, verdicts, rows, **config):
    return Case("fu2018/fig3", why, rows, verdicts, config)


def two(lbfgs_20, lbfgs_40):
    """Two d, gradient descent on the first only."""
    rows = [row | {"descent_spread": None, "same_spread": None} for row in sets((0, 0, 10), lbfgs_40, d=40)]
    return [*sets(lbfgs_20, lbfgs_20), *rows]


GOOD = (0, 5, 10)
FIG3 = [
    fig3("as printed", ["holds"] * 5, sets(GOOD, GOOD)),
    fig3("descent spreads with many rows", ["fails", *["holds"] * 3, "fails"], sets((0, 5, 8), GOOD)),
    fig3("half succeed with few rows", ["holds", "fails", "holds", "fails", "holds"], sets((5, 5, 10), (5, 5, 10))),
    fig3("L-BFGS spreads with many rows", ["holds", "holds", "fails", "holds", "explained"], sets(GOOD, (0, 5, 8))),
    fig3("neurons run off", ["holds", "holds", "holds", "holds", "explained"], sets((0, 9, 10), GOOD)),
    fig3("they differ, and nothing runs off", ["holds"] * 4 + ["fails"], sets((0, 9, 10), GOOD, gone=1.2)),
    fig3("rows grow like d", ["holds"] * 6, two(GOOD, GOOD), inputs=[20, 40]),
    fig3("rows grow faster", ["holds"] * 5 + ["fails"], two((0, 10, 10), (0, 0, 10)), inputs=[20, 40]),
]


def errors(power, ratios):
    """Errors of `power`, and over the sandwich n^(−1/2) these ratios."""
    rows = []
    for n, ratio in zip((1600, 3200, 6400, 12800), ratios, strict=True):
        row = {"d": 20, "n": n, "error": float(n**power), "asymptotic_error": float(n**power) / ratio, "spread": 0.0}
        rows += [row | {"data_set": index} for index in range(2)]
    return rows


BENT = change(errors(-0.5, (1.5, 1.2, 1.05, 1.02)), lambda row: row["n"] == 1600, error=3 * 1600**-0.5)
BENT = [row | {"asymptotic_error": row["n"] ** -0.5} for row in BENT]
FIG4 = [
    Case("fu2018/fig4", "as printed", errors(-0.5, (1, 1, 1, 1)), ["holds", "holds"]),
    Case("fu2018/fig4", "too slow", errors(-0.3, (1, 1, 1, 1)), ["fails", "holds"]),
    Case("fu2018/fig4", "steep at small n only", BENT, ["explained", "holds"]),
    Case("fu2018/fig4", "steep everywhere", errors(-0.7, (1.5, 1.2, 1.1, 1.0)), ["fails", "holds"]),
    Case("fu2018/fig4", "another constant", errors(-0.5, (1, 1, 1, 1.3)), ["holds", "fails"]),
]


def suprema(n_power=-0.5, d_power=0.5, wide=1.05, quantity="hessian"):
    rows = []
    sizes = [(8, n) for n in (1000, 2000, 8000)] + [(d, 2000) for d in (16, 32)]
    for d, n in sizes:
        good = n**-0.5 * d**0.5
        row = {"K": 2, "d": d, "n": n, "trial": 0, "radius": 0.01, "hessian": good, "slope": good}
        row |= {quantity: n**n_power * d**d_power}
        factors = {"hessian": 1.0, "slope": 1.0} | {quantity: wide}
        rows.append(row | {f"wide_{name}": factor * row[name] for name, factor in factors.items()})
    return rows


LEMMAS = [Case("fu2018/lemmas", "as printed", suprema(), ["holds"] * 6)]
for first, quantity in ((0, "hessian"), (3, "slope")):
    for place, (why, values) in enumerate(
        (("slow in n", {"n_power": -0.3}), ("fast in d", {"d_power": 1.0}), ("not uniform", {"wide": 3.0}))
    ):
        words = ["fails" if index == first + place else "holds" for index in range(6)]
        LEMMAS.append(Case("fu2018/lemmas", f"{quantity}: {why}", suprema(quantity=quantity, **values), words))

CASES = [*FIG2, *FIG3, *FIG4, *LEMMAS]
