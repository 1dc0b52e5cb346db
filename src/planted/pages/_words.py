"""What numbers, kinds and assumptions mean, in words."""

from __future__ import annotations

FIRST_ORDER = "to first order, without refits"
"""How the score of a row left out is computed, but for linear functions and the mean, where that is exact."""


def left_out(refitted: bool) -> str:
    """What rows held out are called where scores are of them.

    >>> left_out(refitted=True)
    'rows left out a tenth at a time'
    """
    return "rows left out a tenth at a time" if refitted else "rows left out one by one"


STATUS = {
    "recovered": "This is the network that made the data.",
    "estimated": "This network explains the data up to noise.",
    "ambiguous": "These rows do not determine the network.",
    "misfit": "This network does not explain the data.",
}

READ = {
    "recovered": "This is the network that the model is.",
    "estimated": "This network is close to the model.",
    "ambiguous": "This network is equal to the model, and so are others.",
    "misfit": "The model is not this network.",
}
"""Of models that were asked."""

KIND = {
    "global minimum": "No network of this kind has a lower loss.",
    "local minimum": "Every network close by has a higher loss. A lower one may exist elsewhere.",
    "saddle": "The loss falls in some direction: a descent can go on from here.",
    "not critical": "The loss still falls along its gradient: a descent has not ended here.",
    "undecided": "Second derivatives do not decide what kind of point this is.",
}

COLOUR = {
    "recovered": "#17703c",
    "global minimum": "#17703c",
    "estimated": "#1f5fbf",
    "local minimum": "#1f5fbf",
    "ambiguous": "#7a5200",
    "saddle": "#7a5200",
    "undecided": "#7a5200",
    "misfit": "#a4161a",
    "not critical": "#1f5fbf",
}
"""Of a verdict's badge in notebooks."""


ASSUMPTION = {
    "inputs are Gaussian": "The input columns look like draws of a normal distribution.",
    "inputs have mean zero and covariance I": "The input columns are centred, of variance one and uncorrelated.",
    "σ̂₄ ≠ 0": "The activation has a fourth-order part, which the losses f', G, F and L look at.",
    "σ̂₂ ≠ 0": "The activation has a second-order part, which tells how long and how correlated the weights are.",
    "μ(σ) is zero everywhere or nowhere": "The mean slope of the activation does not change sign with its scale.",
    "γ(σ) is zero everywhere or nowhere": "The mean curvature of the activation does not change sign with its scale.",
    "φ' and φ'' are bounded": "The activation is smooth, without kinks and without steep places.",
    "φ', φ'' and φ''' are bounded": "The activation is smooth to third order.",
    "outputs are positive": "All neurons add to the output; none subtracts.",
    "κ* is finite": "The largest and the least output weight are of comparable size.",
    "μ β_max ≤ c α_min": "The term that keeps neurons apart from zero is small enough.",
    "λ ≥ 4 max(μ β_max, α_max)": "The term that keeps neurons at length one is large enough.",
    "weights have full rank k ≤ d": "No neuron's weights are a combination of the others'.",
    "weights are orthogonal": "The neurons look in perpendicular directions.",
    "ρ(σ_k) > 0": "The activation bends enough for labels to tell the neurons' directions and lengths.",
    "every neuron has a third or fourth moment": "Averages of third or fourth order show every neuron.",
    "the first moment that there is grows or falls with a neuron's length": "Averages tell a neuron's length.",
    "n ≥ d poly(k, κ, log d, 1/ε)": "There are enough rows for the start by tensors; the constant is not known.",
    "d positive and d negative outputs (k ≥ 2d)": "There are enough neurons of both signs to fit every target.",
    "d outputs of one sign, none of the other (k ≥ d)": "There are enough neurons, all of one sign.",
    "n ≤ d(d+1)/2": "There are so few rows that quadratic neurons can fit all of them.",
    "fewer samples than parameters": "There are so few rows that many networks fit all of them.",
    "n ≥ C dk³ log² d": "There are enough rows for the guarantee; its constant is not known.",
    "n ≥ poly(d)": "There are enough rows for fourth-order averages; the constant is not known.",
    "patches are Gaussian": "The patches look like draws of a normal distribution.",
}


def meaning(assumption: str) -> str:
    """What an assumption means in words; empty where its name says it already.

    >>> meaning("weights are orthogonal")
    'The neurons look in perpendicular directions.'
    """
    return ASSUMPTION.get(assumption, "")


def question(status: str, reading: bool) -> str:
    """The question that a report answers.

    >>> question("saddle", reading=False)
    'What kind of point of the loss is this?'
    """
    if status in KIND:
        return "What kind of point of the loss is this?"
    return (
        "Which one-hidden-layer network is this model?"
        if reading
        else "Which one-hidden-layer network produced this data?"
    )
