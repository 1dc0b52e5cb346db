"""Made-up tables for the study of spurious minima."""

from made_up import Case

from planted.reproduce._spurious import STUDENTS

END = {"k": 6, "start": 0, "gradient_norm": 1e-11, "least_eigenvalue": 0.01, "saddles_left": 0}


def ends(**changes):
    """One start of every student: the squared loss is trapped, the others are not; with changes by student."""
    kinds = {student: "local minimum" if student == "squared" else "global minimum" for student in STUDENTS}
    return [
        {"student": student, "kind": kind, "value": float(kind == "local minimum")} | END | changes.get(student, {})
        for student, kind in kinds.items()
    ]


def case(why, failing, **changes):
    return Case("spurious", why, ends(**changes), ["fails" if place in failing else "holds" for place in range(5)])


CASES = [
    case("as described", []),
    case("the squared loss is never trapped", [0, 2], squared={"kind": "global minimum", "value": 0.0}),
    case("its traps are no minima", [0], squared={"least_eigenvalue": -0.1}),
    case("G is trapped", [1], G={"kind": "local minimum"}),
    case("wide students are trapped", [2], **{"2k": {"kind": "local minimum"}}),
    case("a gradient is large", [3], F={"gradient_norm": 1e-8}),
    case("an end is unsettled", [4], **{"k+1": {"kind": "unsettled"}}),
]
