"""Mini-batches: what a step is, that weights count, and that every row is seen."""

import jax
import numpy as np
import optax
import pytest

from planted import activations, datasets, objectives
from planted.numerics.precision import to_jax
from planted.rows import ArrayRows
from planted.solvers import MiniBatches, Monitor, descend


@pytest.fixture(scope="module")
def data():
    return datasets.make_planted(256, 3, 2, random_state=0)


def start(data):
    return {"weights": data.teacher.weights + 0.3, "output": data.teacher.output}


def run(loss, params, rule, steps):
    with jax.enable_x64(True):
        return descend(loss, params, rule, steps=steps, key=jax.random.key(0), monitor=Monitor(every=steps))


def test_steps_are_adam_on_consecutive_rows(data):
    batch, steps, rate = 64, 4, 0.05
    params = start(data)
    end = run(objectives.Squared(data.X, data.y), params, MiniBatches(batch, rate, steps), steps).params
    with jax.enable_x64(True):
        at, adam = to_jax(params), optax.adam(optax.cosine_decay_schedule(rate, steps))
        moments = adam.init(at)
        for step in range(steps):
            some = slice(step * batch, (step + 1) * batch)
            gradient = objectives.Squared(data.X[some], data.y[some]).gradient(jax.tree.map(np.asarray, at))
            update, moments = adam.update(to_jax(gradient), moments)
            at = optax.apply_updates(at, update)
    for name, value in at.items():
        np.testing.assert_allclose(end[name], value, rtol=1e-10, atol=1e-12)


def test_rows_of_weight_zero_do_not_count(data):
    wrong = np.where(np.arange(256) % 2, data.y, 1e3)
    weight = (np.arange(256) % 2).astype(float)
    loss = objectives.Squared(data.X, wrong, sample_weight=weight)
    right = objectives.Squared(data.X[1::2], data.y[1::2])
    ends = [
        run(loss, start(data), MiniBatches(2 * size, 0.02, 100), 100).params
        if weighted
        else run(right, start(data), MiniBatches(size, 0.02, 100), 100).params
        for weighted, size in ((True, 16), (False, 16))
    ]
    for name, value in ends[0].items():
        np.testing.assert_allclose(value, ends[1][name], rtol=1e-10, atol=1e-12)


def test_padding_is_never_taken_for_rows(data):
    rows = ArrayRows(data.X[:130], data.y[:130], block_size=128)
    assert rows.size >= 130 + 8
    with jax.enable_x64(True):
        loss = objectives.Squared.on(rows, activations.get("relu"))
        # A record that falls on nothing but padding would have no gradient, and end the run.
        end = descend(
            loss, start(data), MiniBatches(4, 0.01, 400), steps=400, key=jax.random.key(0), monitor=Monitor(every=1)
        )
    assert end.n_steps == 400
    assert min(end.history.gradient_norm) > 0
    assert loss.value(end.params) < 0.05 * loss.value(start(data))
