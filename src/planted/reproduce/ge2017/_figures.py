"""Figures 1 to 3 of Ge et al. (2017): what is run, what the paper prints, what it claims."""

from __future__ import annotations

from typing import Any

from planted.reproduce._claims import Claim, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.ge2017._descents import (
    BOTH,
    LINEAR,
    MAIN,
    NONE,
    OUTPUTS_RECOVERED,
    QUADRATIC,
    RECOVERED,
    WEIGHTS,
    arm,
    arms,
    gradient_noise,
    run_cell,
)

RUNS = 5
STUCK_LOSS = 1e-3
ONLY_WEIGHTS, FOOTNOTE, PLAIN, NOISE = "outputs fixed", "γ = ½|z|, footnote 12", "no variance reduction", "noise"

NOISES = {
    "G": ("G", NONE),
    "G with variance reduction": ("G", QUADRATIC),
    "f'": ("f'", NONE),
    "squared loss": ("squared", NONE),
}


def _ends(rows: Rows, name: str) -> Rows:
    return select(rows, arm=name, last=True)


def _recovered(row: dict[str, Any]) -> bool:
    return row["error"] < RECOVERED and row["output_error"] < OUTPUTS_RECOVERED


def _count(ends: Rows) -> str:
    errors, outputs = ([row[name] for row in ends] for name in ("error", "output_error"))
    learned = f", outputs off by {min(outputs):.2g} to {max(outputs):.2g}" if max(outputs) else ""
    count = sum(map(_recovered, ends))
    return f"{count} of {len(ends)} recovered, errors {min(errors):.3g} to {max(errors):.3g}{learned}"


def _all_recover(statement: str, paper: str, ends: Rows, note: str = "") -> Claim:
    return claim(statement, paper, _count(ends), all(map(_recovered, ends)), note)


def _loss_vanishes(ends: Rows, first: Rows, statement: str) -> Claim:
    """Whether the expected loss above its minimum falls to a hundredth of what it was at the first record."""
    worst = max(row["loss"] / start["loss"] for row, start in zip(ends, first, strict=True))
    largest = max(row["loss"] for row in ends)
    return claim(statement, "0", f"at most {largest:.2g}, {worst:.2g} of the first value recorded", worst < 0.01)


def _first(rows: Rows, name: str) -> Rows:
    mine = select(rows, arm=name)
    return [row for row in mine if row["step"] == mine[0]["step"]]


def _figure_1(config: Config, rows: Rows) -> list[Claim]:
    both, weights = _ends(rows, MAIN), _ends(rows, ONLY_WEIGHTS)
    ends = both + weights
    losses, settled = ([row[name] for row in ends] for name in ("loss", "settled_loss"))
    return [
        claim(
            "squared loss is stuck in every run",
            f"0 of {RUNS} recovered",
            f"both layers: {_count(both)}; outputs fixed: {_count(weights)}",
            not any(row["error"] < RECOVERED for row in ends),
        ),
        claim(
            "its test error stays away from zero",
            "none of five runs reaches zero",
            f"expected loss {min(losses):.3g} to {max(losses):.3g}",
            min(losses) > STUCK_LOSS,
        ),
        claim(
            "not because descent is slow: minimised further it stays there",
            "the step size is below 1e-9 in the end",
            f"after L-BFGS on the expected loss from there {min(settled):.3g} to {max(settled):.3g}",
            min(settled) > STUCK_LOSS,
        ),
    ]


def _figure_2(config: Config, rows: Rows) -> list[Claim]:
    ends = _ends(rows, MAIN)
    claims = [
        _all_recover("f' recovers the teacher in every run", f"{RUNS} of {RUNS} recovered", ends),
        _loss_vanishes(ends, _first(rows, MAIN), "its loss, minus the minimum of eq. 2.7, goes to zero"),
    ]
    if FOOTNOTE in config["others"]:
        also = _ends(rows, FOOTNOTE)
        d = arm(config, FOOTNOTE)["d"]
        claims.append(_all_recover(f"γ = ½|z| also works (footnote 12; d = {d})", "yes, not shown", also))
    return claims


def _figure_3(config: Config, rows: Rows) -> list[Claim]:
    ends, plain = _ends(rows, MAIN), _ends(rows, PLAIN)
    setting = arm(config, PLAIN)
    shares = {name: _noise_share(rows, *pair) for name, pair in NOISES.items()}
    return [
        _all_recover("G recovers the teacher in every run", f"{RUNS} of {RUNS} recovered", ends),
        _loss_vanishes(ends, _first(rows, MAIN), "its loss goes to its minimum"),
        _all_recover(
            f"and without variance reduction, at d = {setting['d']} with batches of {setting['batch']:,}",
            f"{RUNS} of {RUNS} recovered at d = 50 with batches of 262,144",
            plain,
        ),
        claim(
            "a gradient of G has more noise than one of f', and that more than one of the squared loss",
            "batches of 262,144, 8,192 and 256",
            f"noise over expectation of a gradient at random rows, {config['noise_batch']:,} rows, d = {config['d']}: "
            + ", ".join(f"{name} {share:.2g}" for name, share in shares.items()),
            shares["G"] > shares["f'"] > shares["squared loss"],
        ),
    ]


def _noise_share(rows: Rows, loss: str, reduction: str) -> float:
    row = select(rows, arm=NOISE, loss_name=loss, reduction=reduction)[0]
    return row["noise"] / row["signal"]


def _noisy_arms(config: Config) -> list[Cell]:
    return [*arms(config), {"arm": NOISE, "run": 0}]


def _run_3(config: Config, cell: Cell, seed: int) -> Rows:
    if cell["arm"] != NOISE:
        return run_cell(config, cell, seed)
    rows = []
    for loss, reduction in NOISES.values():
        setting = arm(config, MAIN) | {"loss": loss, "reduction": reduction, "batch": config["noise_batch"]}
        named = {"loss_name": loss, "reduction": reduction}
        rows.append(cell | named | gradient_noise(setting, seed, config["noise_batches"]))
    return rows


def _curves(config: Config, rows: Rows, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for number, name in enumerate([MAIN, *config["others"]]):
        for i in sorted({row["run"] for row in rows if row["arm"] == name}):
            mine = [row for row in rows if row["arm"] == name and row["run"] == i]
            steps = [row["step"] / mine[-1]["step"] for row in mine]
            label = None if i else (f"d = {config['d']}, {config['learned']}" if name == MAIN else name)
            left.plot(steps, [row["loss"] for row in mine], f"C{number}", linewidth=1, label=label)
            right.plot(steps, [row["error"] for row in mine], f"C{number}", linewidth=1)
    left.set(xlabel="share of the steps", ylabel="expected loss minus its minimum", yscale="log")
    left.legend(frameon=False, fontsize=7)
    right.axhline(RECOVERED, color="grey", linestyle=":", label=f"{RECOVERED} counts as recovered")
    right.set(xlabel="share of the steps", ylabel="parameter error (eq. 6.1)", ylim=(0, 1))
    right.legend(frameon=False)


_SMALL = "small, for a quick look; --full has the printed value"
_OWN = "not stated in the paper"
_PRINTED = {
    "d": Printed("inputs and neurons d = m", 50, _SMALL),
    "runs": Printed("runs", RUNS),
    "rate": Printed("first step size", None, _OWN),
    "reduction": Printed("taken out of y before the loss", NONE, "less noise in a batch, the same expectation"),
}


def _learned(paper: str) -> Printed:
    return Printed("learned", paper, "the paper's G has no outputs")


_1 = {
    "loss": "squared", "batch": 256, "rate": 0.05, "learned": BOTH, "reduction": NONE, "runs": RUNS,
    "others": {ONLY_WEIGHTS: {"learned": WEIGHTS, "runs": RUNS}},
}  # fmt: skip
_2 = {"loss": "f'", "learned": BOTH, "reduction": LINEAR, "runs": RUNS}
_ABS = {"loss": "½|z|", "reduction": NONE}
_3 = {
    "loss": "G", "rate": 0.1, "learned": WEIGHTS, "reduction": QUADRATIC, "mu": 0.12, "lam": 0.8, "runs": RUNS,
    "noise_batches": 4,
}  # fmt: skip
_2_PRINTED = {
    "d": _PRINTED["d"],
    "batch": Printed("rows a batch", 8192, _SMALL),
    "steps": Printed("steps", None, "the axis of the figure has no numbers in the text"),
    "rate": _PRINTED["rate"],
    "learned": _learned(BOTH),
    "reduction": Printed(
        _PRINTED["reduction"].label,
        NONE,
        "without it some 40,000 steps are needed; planted reproduce ge2017/fig2-printed takes none out",
    ),
    "runs": _PRINTED["runs"],
}

ENTRIES = (
    Entry(
        "ge2017/fig1",
        "squared loss with ReLU",
        quick=_1 | {"d": 30, "steps": 16_000, "first_cut": 8000, "cut_every": 600},
        full=_1 | {"d": 50, "steps": 75_000, "first_cut": 10_000, "cut_every": 5000},
        cells=arms,
        run_cell=run_cell,
        claims=_figure_1,
        draw=_curves,
        printed={
            "d": _PRINTED["d"],
            "batch": Printed("rows a batch", 256),
            "steps": Printed("steps", None, "until the step size is below 1e-9 for the last 5,000"),
            "rate": _PRINTED["rate"],
            "first_cut": Printed("a quarter of the step size after", 10_000, _SMALL),
            "cut_every": Printed("and again every", 5000, _SMALL),
            "learned": _learned(BOTH),
            "reduction": _PRINTED["reduction"],
            "runs": _PRINTED["runs"],
        },
    ),
    Entry(
        "ge2017/fig2",
        "the loss f' on unit rows",
        quick=_2
        | {"d": 15, "batch": 4096, "steps": 500, "rate": 2.0}
        | {"others": {FOOTNOTE: _ABS | {"d": 6, "batch": 4096, "steps": 2400, "rate": 0.25, "runs": 3}}},
        full=_2
        | {"d": 50, "batch": 8192, "steps": 1400, "rate": 4.0}
        | {"others": {FOOTNOTE: _ABS | {"d": 20, "batch": 8192, "steps": 8000, "rate": 0.075, "runs": 3}}},
        cells=arms,
        run_cell=run_cell,
        claims=_figure_2,
        draw=_curves,
        printed=_2_PRINTED,
    ),
    Entry(
        "ge2017/fig2-printed",
        "the loss f' on unit rows, nothing taken out of y",
        quick=_2 | {"d": 15, "batch": 8192, "steps": 4000, "rate": 1.0, "reduction": NONE, "others": {}},
        full=_2 | {"d": 50, "batch": 8192, "steps": 40_000, "rate": 0.06, "reduction": NONE, "others": {}},
        cells=arms,
        run_cell=run_cell,
        claims=_figure_2,
        draw=_curves,
        printed=_2_PRINTED | {"reduction": Printed("taken out of y before the loss", NONE)},
        apart="about half an hour of one core",
    ),
    Entry(
        "ge2017/fig3",
        "the designed loss G",
        quick=_3
        | {"d": 15, "batch": 16_384, "steps": 400, "noise_batch": 16_384}
        | {"others": {PLAIN: {"d": 5, "batch": 65_536, "steps": 300, "rate": 0.1, "reduction": NONE, "runs": 2}}},
        full=_3
        | {"d": 50, "batch": 65_536, "steps": 500, "noise_batch": 262_144}
        | {"others": {PLAIN: {"d": 10, "batch": 262_144, "steps": 600, "rate": 0.05, "reduction": NONE, "runs": 3}}},
        cells=_noisy_arms,
        run_cell=_run_3,
        claims=_figure_3,
        draw=_curves,
        printed={
            "d": _PRINTED["d"],
            "batch": Printed("rows a batch", 262_144, "a quarter, with variance reduction"),
            "steps": Printed("steps", None, "the axis of the figure has no numbers in the text"),
            "rate": _PRINTED["rate"],
            "mu": Printed("μ", None, "the largest that Theorem 5.1 allows, corrected"),
            "lam": Printed("λ", None, "the least that Theorem 5.1 allows, rounded up"),
            "learned": _learned(WEIGHTS),
            "reduction": Printed(
                "taken out of y before the loss",
                NONE,
                "without it a gradient at d = 50 is mostly noise, as the last claim measures, and descent with steps "
                "small enough to average it out would take a day; an arm with fewer inputs does without",
            ),
            "runs": _PRINTED["runs"],
        },
    ),
)
