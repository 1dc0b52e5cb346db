"""Every claim of every study can hold and can fail: made-up tables, from the modules `tables_*.py` beside this one."""

import ast
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from made_up import Case, change, uncovered

import planted.reproduce
from planted.reproduce import ENTRIES, Claim, Explanation, claim

HERE = Path(__file__).parent
TABLES = {path.stem.removeprefix("tables_"): import_module(path.stem) for path in sorted(HERE.glob("tables_*.py"))}
CASES = [case for module in TABLES.values() for case in module.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.entry}: {case.why}")
def test_verdicts(case: Case) -> None:
    found = case.claims
    assert [claim.verdict for claim in found] == list(case.verdicts), "\n".join(map(str, found))


@pytest.mark.parametrize("paper", TABLES)
def test_every_claim_holds_and_fails_somewhere(paper: str) -> None:
    cases = [case for case in TABLES[paper].CASES if case.entry.split("/")[0] == paper]
    assert {case.entry for case in cases} == {name for name in ENTRIES if name.split("/")[0] == paper}
    assert uncovered(cases) == []


def test_every_paper_has_made_up_tables() -> None:
    assert set(TABLES) == {name.split("/")[0] for name in ENTRIES}


def test_a_claim_without_made_up_tables_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "ge2017/fig1"
    entry = ENTRIES[name]

    def more(config: Any, rows: Any) -> list[Claim]:
        return [*entry.claims(config, rows), claim("new", "printed", "measured", len(rows) > 0)]

    monkeypatch.setitem(ENTRIES, name, replace(entry, claims=more))
    cases = [replace(case) for case in CASES if case.entry == name]  # new ones, that have not taken their claims yet
    assert uncovered(cases) == [f"{name}, claim 3 never fails"]


def written_down(tree: ast.AST) -> list[str]:
    """Outcomes that a module writes instead of measuring: a `Claim` with a verdict, or a constant outcome."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    found = [f"line {call.lineno}: a verdict" for call in calls if call.func.id == "Claim"]
    for call in calls:
        place = {"claim": 3, "Explanation": 2}.get(call.func.id)
        outcomes = [keyword.value for keyword in call.keywords if keyword.arg == "holds"]
        if place is not None:
            outcomes += call.args[place : place + 1]
        found += [f"line {call.lineno}: a constant" for outcome in outcomes if isinstance(outcome, ast.Constant)]
    return found


@pytest.mark.parametrize("paper", TABLES)
def test_no_outcome_is_written_down(paper: str) -> None:
    folder = Path(planted.reproduce.__file__).parent
    modules = [*(folder / paper).rglob("*.py"), *folder.glob(f"_{paper}.py")]
    assert modules
    assert {path.name: written_down(ast.parse(path.read_text())) for path in modules} == {p.name: [] for p in modules}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("Claim('a', 'b', 'c', 'explained')", ["line 1: a verdict"]),
        ("claim('a', 'b', 'c', True)", ["line 1: a constant"]),
        ("Explanation('a', 'b', holds=True)", ["line 1: a constant"]),
        ("claim('a', 'b', 'c', error < 1, explanation=Explanation('a', 'b', error > 2))", []),
    ],
)
def test_outcomes_written_down_are_seen(code: str, found: list[str]) -> None:
    assert written_down(ast.parse(code)) == found


@pytest.mark.parametrize("name", ENTRIES)
def test_every_deviation_from_the_printed_settings_has_a_reason(name: str) -> None:
    from planted.reproduce._printed import settings

    for quick in (True, False):
        table = settings(ENTRIES[name].printed, ENTRIES[name].config(quick))
        silent = [row.label for row in table if not row.remark]
        assert not silent, f"{'quick' if quick else 'full'}: {silent}"


def test_an_explanation_must_hold_itself() -> None:
    verdicts = [
        claim("a", "b", "c", holds, explanation=why).verdict
        for holds in (True, False)
        for why in (None, Explanation("r", "m", True), Explanation("r", "m", False))
    ]
    assert verdicts == ["holds", "holds", "holds", "fails", "explained", "fails"]


def test_uncovered_claims_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"value": 1}]
    case = Case("spurious", "", rows, ["holds"])
    monkeypatch.setattr(Case, "claims", property(lambda self: [claim("a", "b", "c", self.rows[0]["value"] == 1)]))
    assert uncovered([case]) == ["spurious, claim 0 never fails"]
    assert uncovered([case, Case("spurious", "", change(rows, lambda row: row["value"] == 1, value=2), [])]) == []
    with pytest.raises(ValueError, match="no row is changed"):
        change(rows, lambda row: row["value"] == 5, value=2)


DRAWN = {case.entry: case for case in reversed(CASES) if case.entry.split("/")[0] in ("fu2018", "soltanolkotabi2017")}


@pytest.mark.parametrize("name", DRAWN)
def test_tables_can_be_drawn(name: str) -> None:
    from matplotlib.figure import Figure

    figure, case = Figure(), DRAWN[name]
    ENTRIES[name].draw(ENTRIES[name].config(quick=True) | case.config, case.rows, figure)
    assert all(axis.has_data() for axis in figure.axes)
