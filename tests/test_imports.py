"""Nothing imports against the arrow, nothing heavy loads at `import planted`, and no global setting changes."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import planted

ROOT = Path(planted.__file__).parent

# A module may import from its own layer and from those above it in this list.
LAYERS = [
    {"names", "numerics"},
    {"activations", "networks"},
    {"inputs", "rows"},
    {"datasets"},
    {"starts"},
    {"objectives"},
    {"solvers"},
    {"pages"},
    {"certificates"},
    {"methods"},
    {"estimators"},
    {"reading"},
    {"bench", "plots"},
    {"reproduce"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def is_type_checking(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imported(name, top_level_only=False):
    """Modules of the package that `name` imports, in functions too unless `top_level_only`."""
    nodes, found = [ast.parse(MODULES[name].read_text())], set()
    while nodes:
        node = nodes.pop()
        if is_type_checking(node) or (top_level_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {target for target in found if target in MODULES} - {name, "planted"}


def test_the_walk_sees_imports():
    assert "planted.rows._memory" in imported("planted.rows")
    assert {"planted.activations", "planted.networks"} <= imported("planted.objectives._landscape")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "planted"])
def test_nothing_imports_against_the_arrow(name):
    own = name.split(".")[1]
    assert own in RANK, f"{own} has no place in the order of imports; give it one"
    for target in imported(name):
        other = target.split(".")[1]
        assert RANK[other] <= RANK[own], f"{name} imports {target}, which comes after it"


def test_no_cycles():
    graph = {name: imported(name, top_level_only=True) for name in MODULES}
    done = set()

    def visit(name, trail):
        assert name not in trail, f"import cycle: {' → '.join([*trail, name])}"
        if name in done:
            return
        for target in graph[name]:
            # A package that re-exports its own modules is no cycle.
            if not target.startswith(name + ".") and not name.startswith(target + "."):
                visit(target, [*trail, name])
        done.add(name)

    for name in graph:
        visit(name, [])


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_planted_is_light():
    heavy = {"jax", "numpy", "scipy", "sklearn", "matplotlib", "polars", "optax"}
    assert run(f"import sys, planted, planted.names; print({heavy!r} & set(sys.modules))") == "set()"


def test_an_estimator_loads_jax_and_the_base_of_scikit_learn_alone():
    code = """
import sys
import jax, jax.flatten_util, jax.numpy, sklearn.base
before = set(sys.modules)
from planted import PlantedRegressor
packages = {".".join(name.split(".")[:2]) for name in set(sys.modules) - before}
print(sorted(name for name in packages if name.split(".")[0] != "planted"))
"""
    # Checks of arguments, which no estimator of scikit-learn does without.
    assert set(ast.literal_eval(run(code))) <= {"sklearn.utils", "jax._src"}


def test_importing_everything_and_computing_change_no_jax_setting():
    everything = [name for name in MODULES if "cli" not in name.split(".") and not name.endswith("__main__")]
    code = f"""
import importlib, jax
before = dict(jax.config.values)
def changed():
    return {{key for key, value in jax.config.values.items() if before[key] != value}} or "same"
for name in {everything!r}:
    importlib.import_module(name)
print(changed())
import jax.numpy as jnp, planted
print(jnp.zeros(1).dtype)
data = planted.datasets.make_planted(50, 3, 2, random_state=0)
planted.objectives.Squared(data.X, data.y).hessian(data.teacher.weights)
print(changed())
"""
    assert run(code).split() == ["same", "float32", "same"]


def test_names_load_on_first_use():
    assert planted.Network is __import__("planted.networks").networks.Network
    assert "match" in dir(planted)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = planted.nothing
