"""How many programs a fit compiles: counted, not timed."""

import subprocess
import sys

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
PlantedRegressor(5, 'relu', fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y)
print(len(count))
PlantedRegressor(random_state=0).fit(data.X, data.y)
print(len(count))
count.clear()
PlantedRegressor(5, 'relu', fit_bias=False, fit_intercept=False, random_state=0).fit(data.X[:3217], data.y[:3217])
print(len(count))
from planted import PlantedConvRegressor
patches = datasets.make_planted_conv(1000, 4, 3, random_state=0)
count.clear()
PlantedConvRegressor(random_state=0).fit(patches.X, patches.y)
print(len(count))
"""


def test_few_programs_are_compiled():
    """Of a fit with everything known, of that and one with nothing known, of another number of rows, of a filter."""
    run = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    known, unknown, other_rows, shared_filter = map(int, run.stdout.split())
    assert known <= 12
    assert unknown <= 20
    assert other_rows <= 2
    assert shared_filter <= 12
