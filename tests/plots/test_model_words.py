"""What axes and titles of a model's picture say."""

import numpy as np
import pytest

from planted import Network
from planted.estimators import SavedModel
from planted.networks import Signature
from planted.plots import _model as drawn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))


@pytest.fixture
def figure(monkeypatch):
    made = []
    monkeypatch.setattr(drawn, "save_figure", lambda figure, path: made.append(figure))
    return made


@pytest.mark.parametrize(
    ("bias", "sign", "inside", "added"),
    [
        (None, None, "weights · inputs", "added to output 1"),
        ([0.5], Signature(targets=("price", "rent")), "weights · inputs + bias", "added to rent"),
    ],
)
def test_the_axes_of_a_neuron_say_which_target_and_whether_there_is_a_bias(figure, bias, sign, inside, added):
    network = Network([[1.0, 0.5, 0.0]], [[0.1], [2.0]], "tanh", bias=bias)
    drawn.save_model("a.png", SavedModel(network, sign), X, network.predict(X) + RNG.standard_normal((60, 2)))
    axes = figure[0].axes
    assert (axes[1].get_xlabel(), axes[1].get_ylabel()) == (inside, added)
    below = [axis.get_xlabel() for axis in axes if "standard deviations of each target" in axis.get_xlabel()]
    assert len(below) == 3
    assert all(len(line) <= 40 for words in below for line in words.splitlines())


@pytest.mark.parametrize(
    ("classes", "link", "said"),
    [
        (("no", "yes"), "logit", "the log-odds of yes"),
        (("no", "yes"), "mean", "the probability of yes"),
        (("a", "b", "c"), "logit", "the log-odds of c"),
    ],
)
def test_what_a_neuron_adds_to_is_named_for_classes(classes, link, said):
    output = [1.0] if len(classes) == 2 else np.ones((3, 1))
    model = SavedModel(Network([[1.0]], output, "tanh"), Signature(task="classification", classes=classes, link=link))
    assert drawn._output(model, 0 if len(classes) == 2 else 2) == said


def test_a_picture_of_many_inputs_says_how_many_are_shown(figure):
    network, rows = Network(RNG.standard_normal((1, 30)), [1.0], "tanh"), RNG.standard_normal((60, 30))
    drawn.save_model("a.png", SavedModel(network, None), rows, network.predict(rows))
    assert figure[0].axes[0].get_title() == "weights per standard deviation, the largest 20 of 30 inputs"
