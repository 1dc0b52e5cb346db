"""Measure the structure of a source tree of `planted`: width of functions, private doors, rooms and walks.

Usage
-----
    house.py --src PATH/src/planted [--walks] [--json] [--check]

What is counted
---------------
wide functions
    Functions and methods outside `cli/`, nested ones too, with nine or more parameters: positional and keyword-only,
    `*args` and `**kwargs` not counted, nor a first parameter called self or cls. Constructors (`__init__`) are left
    out, as an estimator of scikit-learn lists its options there.
private imports
    Import statements, wherever they stand in a file, that reach into another room by a private name:
    `from planted.x._y import …`, `import planted.x._y`, `from planted.x import _name` or `from planted.x import _y`,
    relative ones resolved. A room is a module or package directly under `planted`, the importing file's own room does
    not count, and neither does a private room as such: of `planted._numerics`, its public modules may be imported by
    all. Names with two underscores (`__version__`) are not private. A statement counts once; the names that these
    statements bring in are counted beside it, as the review did (92 at b20ce75, in 68 statements).
top-level modules
    `.py` files directly in `planted`, but for `__init__.py`.
lines
    Lines of all `.py` files, as `wc -l` counts them; long files have more than 450.
vague words
    Lines on which a NAME token of the code (not of comments or strings) is found, seen, told, sure or kept. A line
    with two of them counts once for each in the table, and once in the sum.
walks
    Four fits, each in a process of its own, under `sys.setprofile` in every thread. The walk is the sequence of
    distinct functions of `planted` in the order in which they are first called. A function is a code object with a
    name: nested functions and methods are functions, while lambdas, comprehensions and generator expressions belong to
    the function around them. What runs while a module is being imported (class bodies, decorators, tables) is no part
    of a walk, whenever that import happens. The walk's data are made in the same process before it begins, and its
    modules may be loaded or not. Then

    files      files in which these functions stand,
    functions  how many there are,
    returns    the sequence of their rooms, equal neighbours taken together, is gone through, and every entry of a room
               that has been left before is one return.

    At b20ce75 this gives 42/179/51, 35/185/61, 23/100/34 and 42/211/67, where the review counted 41/176/55, 33/179/60,
    21/94/32 and 39/206/75 by a definition that it does not state: no number differs by more than 15 %.

With `--check` the exit status is 1 if a limit of `LIMITS` or, with `--walks`, of `RETURNS` is exceeded: what has been
reached. `ASKED` has what was asked for where that is less, and is printed beside it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = "planted"
WIDE = 9
LONG = 450
Function = ast.FunctionDef | ast.AsyncFunctionDef
WORDS = ("found", "seen", "told", "sure", "kept")

# Largest numbers that --check accepts.
LIMITS = {"wide functions": 8, "private imports": 0, "top-level modules": 2, "long files": 0}
RETURNS = {
    "planted fit data.csv": 125,
    "PlantedClassifier.fit": 105,
    "PlantedConvRegressor.fit": 120,
    'fit("folder")': 125,
}
# What was asked for at the first version's capability, and has not been reached with what came since.
ASKED = {
    "lines": 24_963,
    "planted fit data.csv": 35,
    "PlantedClassifier.fit": 35,
    "PlantedConvRegressor.fit": 25,
    'fit("folder")': 40,
}


# ----------------------------------------------------------------------------------------------------------- the tree


def sources(src: Path) -> list[Path]:
    """Python files of the tree, sorted."""
    return sorted(src.rglob("*.py"))


def room_of(relative: Path) -> str:
    """Top-level package or module of a file whose path is relative to the tree."""
    return relative.parts[0].removesuffix(".py")


def is_private(name: str) -> bool:
    """Whether a name has one leading underscore."""
    return name.startswith("_") and not name.startswith("__")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file."""
    return ast.parse(path.read_text())


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """What lies directly below a node, but for expressions: no statement lies in one."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node, but for expressions."""
    for child in parts_of(node):
        yield child
        yield from statements(child)


def functions_with_names(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below a node, with its qualified name."""
    for child in parts_of(node):
        name = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            name += "."
        yield from functions_with_names(child, name)


def n_parameters(function: Function) -> int:
    """Positional and keyword-only parameters, without self or cls."""
    positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if positional[:1] in (["self"], ["cls"]):
        positional = positional[1:]
    return len(positional) + len(function.args.kwonlyargs)


def wide_functions(src: Path) -> list[dict[str, Any]]:
    """Functions outside the command line with nine or more parameters, widest first."""
    wide = []
    for path in sources(src):
        relative = path.relative_to(src)
        if room_of(relative) == "cli":
            continue
        for name, function in functions_with_names(tree_of(path)):
            count = n_parameters(function)
            if count >= WIDE and function.name != "__init__":
                wide.append({"file": str(relative), "line": function.lineno, "function": name, "parameters": count})
    return sorted(wide, key=lambda entry: (-entry["parameters"], entry["file"], entry["line"]))


def imported_paths(node: ast.Import | ast.ImportFrom, package: list[str]) -> list[list[str]]:
    """Dotted paths, split, that a statement in a module of `package` names: the module, and what is taken from it."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".") for alias in node.names]
    base = node.module.split(".") if node.module else []
    if node.level:
        base = package[: len(package) - node.level + 1] + base
    return [[*base, alias.name] for alias in node.names]


def enters_privately(parts: list[str], room: str) -> bool:
    """Whether a dotted path leads to a private name of another room."""
    return len(parts) > 2 and parts[0] == PACKAGE and parts[1] != room and any(map(is_private, parts[2:]))


def private_imports(src: Path) -> list[dict[str, Any]]:
    """Statements that import a private module or name of another room."""
    doors = []
    for path in sources(src):
        relative = path.relative_to(src)
        package = [PACKAGE, *relative.parts[:-1]]
        for node in statements(tree_of(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                paths = imported_paths(node, package)
                names = sum(enters_privately(parts, room_of(relative)) for parts in paths)
                if names:
                    statement = ast.unparse(node)
                    doors.append({"file": str(relative), "line": node.lineno, "statement": statement, "names": names})
    return sorted(doors, key=lambda door: (door["file"], door["line"]))


def lines_of(path: Path) -> int:
    """Number of lines, as `wc -l` counts them."""
    return path.read_bytes().count(b"\n")


def vague_words(src: Path) -> tuple[int, dict[str, int]]:
    """Lines with one of the words as an identifier, and how many there are for each word."""
    lines: dict[str, set[tuple[Path, int]]] = {word: set() for word in WORDS}
    for path in sources(src):
        with tokenize.open(path) as file:
            text = file.read()
            if not any(word in text for word in WORDS):
                continue
            file.seek(0)
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.NAME and token.string in lines:
                    lines[token.string].add((path, token.start[0]))
    return len(set().union(*lines.values())), {word: len(places) for word, places in lines.items()}


def measure(src: Path) -> dict[str, Any]:
    """Everything that can be read off the source."""
    sizes = {str(path.relative_to(src)): lines_of(path) for path in sources(src)}
    total, words = vague_words(src)
    top = sorted(path.name for path in src.glob("*.py") if path.name != "__init__.py")
    return {
        "wide functions": wide_functions(src),
        "private imports": private_imports(src),
        "top-level modules": top,
        "files": len(sizes),
        "lines": sum(sizes.values()),
        "long files": {name: size for name, size in sizes.items() if size > LONG},
        "vague words": {"lines": total, **words},
    }


# ---------------------------------------------------------------------------------------------------------- the walks


class Importing(threading.local):
    """How many modules a thread is inside the import of."""

    depth = 0


class Tracer:
    """Notes the functions of a tree in the order of their first calls, outside of imports.

    Parameters
    ----------
    root : str
        Folder of the tree, with a separator at its end.

    Attributes
    ----------
    entered : list of (str, str)
        File, relative to the tree, and qualified name of each function.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.entered: list[tuple[str, str]] = []
        self.known: set[CodeType] = set()
        self.importing = Importing()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """The profile function."""
        code = frame.f_code
        if code.co_name == "<module>":
            self.importing.depth += (event == "call") - (event == "return")
            return
        if event != "call" or code in self.known or self.importing.depth:
            return
        self.known.add(code)
        if code.co_filename.startswith(self.root) and not code.co_name.startswith("<"):
            self.entered.append((code.co_filename[len(self.root) :], code.co_qualname))

    def follow(self, walk: Callable[[], object]) -> None:
        """Trace what `walk` does, in all its threads."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            walk()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


def _command_line() -> Callable[[], object]:
    from planted import datasets

    data = datasets.make_planted(400, 3, 2, random_state=0)
    datasets.write_table("data.csv", data.X, data.y)

    def walk() -> None:
        from planted.cli import main

        try:
            main(["fit", "data.csv", "--hidden", "2"])
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"planted fit ended with status {end.code}") from None

    return walk


def _classifier() -> Callable[[], object]:
    from planted import PlantedClassifier, datasets

    data = datasets.make_planted(
        4000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]], task="classification", random_state=0
    )
    return lambda: PlantedClassifier(2, "sigmoid", random_state=0).fit(data.X, data.y)


def _shared_filter() -> Callable[[], object]:
    from planted import PlantedConvRegressor, datasets

    data = datasets.make_planted_conv(1000, 4, 3, random_state=0)
    return lambda: PlantedConvRegressor(random_state=0).fit(data.X, data.y)


def _folder() -> Callable[[], object]:
    from planted import PlantedRegressor, datasets

    data = datasets.make_planted(400, 3, 2, random_state=0)
    folder = Path("data")
    folder.mkdir()
    datasets.write_table(folder / "a.parquet", data.X[:200], data.y[:200])
    datasets.write_table(folder / "b.parquet", data.X[200:], data.y[200:])
    return lambda: PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        "data"
    )


WALKS: dict[str, Callable[[], Callable[[], object]]] = dict(
    zip(RETURNS, (_command_line, _classifier, _shared_filter, _folder), strict=True)
)


def returns(rooms: list[str]) -> int:
    """Entries of rooms that were left before.

    >>> returns(["a", "a", "b", "a", "c", "b"])
    2
    """
    entries = [room for place, room in enumerate(rooms) if place == 0 or rooms[place - 1] != room]
    return len(entries) - len(set(entries))


def summary(entered: list[tuple[str, str]]) -> dict[str, Any]:
    """Files, functions and returns of a walk, and the walk itself."""
    return {
        "files": len({file for file, _ in entered}),
        "functions": len(entered),
        "returns": returns([room_of(Path(file)) for file, _ in entered]),
        "entered": [f"{file}: {name}" for file, name in entered],
    }


def run_walk(name: str, src: Path, out: Path) -> None:
    """Make one walk in this process, whose working folder may be written to, and write its summary to `out`."""
    import warnings

    import planted

    root = Path(planted.__file__).parent
    if root != src.resolve():
        raise SystemExit(f"planted was imported from {root}, not from {src}")
    warnings.simplefilter("ignore")
    walk = WALKS[name]()
    tracer = Tracer(f"{root}{os.sep}")
    tracer.follow(walk)
    out.write_text(json.dumps(summary(tracer.entered)))


def walks(src: Path) -> dict[str, dict[str, Any]]:
    """Summaries of all walks, one process after the other."""
    path = os.pathsep.join(part for part in (str(src.parent), os.environ.get("PYTHONPATH", "")) if part)
    results = {}
    for name in WALKS:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "walk.json"
            command = [sys.executable, str(Path(__file__).resolve()), "--src", str(src), "--walk", name, str(out)]
            done = subprocess.run(
                command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(f"the walk {name} failed:\n{done.stderr}")
            results[name] = json.loads(out.read_text())
    return results


# --------------------------------------------------------------------------------------------------------- the report


def counted(value: Any) -> int:
    """A number as it is, a list by its length."""
    return value if isinstance(value, int) else len(value)


def exceeded(measured: dict[str, Any]) -> list[str]:
    """Sentences about the limits that do not hold."""
    numbers = [(name, counted(measured[name]), limit) for name, limit in LIMITS.items()]
    walked = measured.get("walks", {})
    numbers += [(f"returns of {name}", walk["returns"], RETURNS[name]) for name, walk in walked.items()]
    return [f"{name}: {number:,} is more than {limit:,}" for name, number, limit in numbers if number > limit]


def print_table(measured: dict[str, Any], with_names: bool) -> None:
    """The numbers beside their limits, then the places behind them."""
    for name in ("wide functions", "private imports", "top-level modules", "files", "lines", "long files"):
        limit = f"(at most {LIMITS[name]:,})" if name in LIMITS else f"(asked {ASKED[name]:,})" if name in ASKED else ""
        if name == "private imports":
            limit += f", {sum(door['names'] for door in measured[name])} names"
        print(f"{name:<20}{counted(measured[name]):>8,}  {limit}".rstrip())
    words = dict(measured["vague words"])
    total = words.pop("lines")
    print(f"{'vague words':<20}{total:>8,}  lines: " + ", ".join(f"{word} {n}" for word, n in words.items()))
    if "walks" in measured:
        print(f"\n{'walk':<26}{'files':>7}{'functions':>11}{'returns':>9}  (at most, asked)")
        for name, walk in measured["walks"].items():
            limits = f"({RETURNS[name]}, {ASKED[name]})"
            print(f"{name:<26}{walk['files']:>7}{walk['functions']:>11}{walk['returns']:>9}  {limits}")
    if not with_names:
        return
    print(f"\nfunctions with {WIDE} or more parameters")
    for entry in measured["wide functions"]:
        print(f"  {entry['parameters']:>3}  {entry['file']}:{entry['line']}  {entry['function']}")
    print("\nprivate imports")
    for door in measured["private imports"]:
        print(f"  {door['file']}:{door['line']}  {door['statement']}")
    print("\ntop-level modules: " + ", ".join(measured["top-level modules"]))
    print(f"files of more than {LONG} lines: " + (", ".join(measured["long files"]) or "none"))


def main() -> int:
    """Measure, print, and compare with the limits when asked to."""
    parser = argparse.ArgumentParser(description="Measure the structure of a source tree of planted.")
    parser.add_argument("--src", type=Path, required=True, help="the package's folder, such as PATH/src/planted")
    parser.add_argument("--walks", action="store_true", help="also trace four fits (about a minute)")
    parser.add_argument("--json", action="store_true", help="print JSON, with the functions of every walk")
    parser.add_argument("--brief", action="store_true", help="numbers only, without the places behind them")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a limit is exceeded")
    parser.add_argument("--walk", nargs=2, metavar=("NAME", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    src = options.src.resolve()
    if not (src / "__init__.py").is_file():
        parser.error(f"no package at {src}")
    if options.walk:
        run_walk(options.walk[0], src, Path(options.walk[1]))
        return 0
    measured = measure(src)
    if options.walks:
        measured["walks"] = walks(src)
    if options.json:
        print(json.dumps(measured, indent=1))
    else:
        print_table(measured, not options.brief)
    problems = exceeded(measured)
    if options.check:
        for sentence in problems:
            print(sentence, file=sys.stderr)
    return int(bool(options.check and problems))


if __name__ == "__main__":
    sys.exit(main())
