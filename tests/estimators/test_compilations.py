"""How many programs a fit compiles: counted, not timed."""

import subprocess
import sys

import pytest

COUNT = """
import logging
import jax
jax.config.update("jax_log_compiles", True)
count = []
class Counter(logging.Handler):
    def emit(self, record):
        if record.getMessage().startswith("Finished XLA compilation"):
            count.append(1)
for name in ("jax._src.dispatch", "jax._src.interpreters.pxla", "jax._src.compiler"):
    logging.getLogger(name).addHandler(Counter())
    logging.getLogger(name).propagate = False
jax.jit(lambda x: x + 1)(1.0)
assert count, "compilations are not seen"
from planted import PlantedRegressor, datasets
data = datasets.make_planted(5000, 10, 5, weights="gaussian", output="mixed", random_state=0)
count.clear()
{}
print(len(count))
"""


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("PlantedRegressor(5, random_state=0).fit(data.X, data.y)", 12),
        ("PlantedRegressor(random_state=0).fit(data.X, data.y)", 20),
        (
            "PlantedRegressor(5, random_state=0).fit(data.X, data.y); count.clear()\n"
            "PlantedRegressor(5, random_state=0).fit(data.X[:3217], data.y[:3217])",
            2,
        ),
    ],
    ids=["default", "unknown width", "another number of rows"],
)
def test_few_programs_are_compiled(code, most):
    run = subprocess.run([sys.executable, "-c", COUNT.format(code)], capture_output=True, text=True, check=True)
    assert int(run.stdout) <= most
