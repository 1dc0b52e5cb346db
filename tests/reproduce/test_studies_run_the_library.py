"""Studies test the library: none differentiates, steps or minimises by itself, and each enters what it is about."""

import ast
from pathlib import Path

import pytest

import planted.reproduce

FOLDER = Path(planted.reproduce.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))

DERIVATIVES = {"grad", "value_and_grad", "jvp", "vjp", "jacfwd", "jacrev", "jacobian", "hessian", "linearize"}
LOOPS = {"scan", "fori_loop", "while_loop", "associative_scan"}
STEPS = {"apply_updates", "traced_value_and_gradient", "value_and_gradient", "gradient", "hvp"}
LIBRARIES = {"scipy.optimize", "sklearn.linear_model", "optimistix", "jaxopt"}

# Newton's method for a logistic curve through counts of successes: a measurement, of no network.
MEASURES = {"_fit_logistic"}


def names(tree):
    """Names that a module calls or reads, without those inside listed measurements, and modules that it imports."""
    nodes, used, modules = [tree], set(), set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef) and node.name in MEASURES:
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            used |= {alias.name for alias in node.names}
    return used, modules


def violations(tree):
    used, modules = names(tree)
    return used & (DERIVATIVES | LOOPS | STEPS), modules & LIBRARIES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_study_has_a_loss_or_a_descent_of_its_own(path):
    assert violations(ast.parse(path.read_text())) == (set(), set())


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("jax.grad(loss)(params)", {"grad"}),
        ("from jax import value_and_grad", {"value_and_grad"}),
        ("lax.scan(step, start, None, 100)", {"scan"}),
        ("weights - rate * loss.gradient(weights)", {"gradient"}),
        ("def _fit_logistic(): jax.grad(f)", set()),
    ],
)
def test_the_walk_sees_a_derivative_and_a_loop(code, seen):
    assert violations(ast.parse(code))[0] == seen


def test_the_walk_sees_an_optimiser():
    assert violations(ast.parse("from scipy.optimize import minimize"))[1] == {"scipy.optimize"}


@pytest.mark.parametrize(
    ("paper", "packages"),
    [
        ("fu2018", {"objectives", "solvers", "starts", "datasets", "certificates"}),
        ("soltanolkotabi2017", {"objectives", "solvers", "certificates", "datasets"}),
        ("gao2018", {"objectives", "solvers", "datasets", "inputs"}),
        ("du2017", {"objectives", "solvers", "starts"}),
        ("ge2017", {"objectives", "solvers", "starts"}),
    ],
)
def test_every_paper_enters_the_library(paper, packages):
    modules = set().union(*(names(ast.parse(path.read_text()))[1] for path in (FOLDER / paper).rglob("*.py")))
    entered = {module.split(".")[1] for module in modules if module.startswith("planted.")}
    assert packages <= entered
