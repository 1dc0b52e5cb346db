"""How well a fitted estimator predicts, in numbers and in lines of text."""

from __future__ import annotations

import math
from typing import Any

from planted.names import count_of
from planted.pages import FIRST_ORDER, left_out

FITTED = "the rows of the fit"
"""What scores of rows that the network was fitted to are called."""
# Targets of which each has a line.
_TARGETS = 12
# Times the error of a constant, the mean or the classes' shares, from which on a negative share says nothing.
_FAR_WORSE = 3.0


def scores(estimator: Any) -> list[str]:
    """How well the network predicts rows that are left out, beside a linear function and the mean, in one line.

    Of several targets each has a line more.

    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(300, 2, 1, random_state=0)
    >>> scores(PlantedRegressor(1, activation="relu", random_state=0).fit(data.X, data.y))[0].split(":")[0]
    'explained...'
    """
    left = {name: f"{name} {_share(1 - score)}" for name, score in held_out(estimator).items()}
    if left and hasattr(estimator, "classes_"):
        return [f"explained deviance of rows left out one by one ({FIRST_ORDER}): {', '.join(left.values())}"]
    if left:
        facts = estimator.verdict_.facts
        if facts.n_hidden and not facts.refitted:
            left["this network"] += f" ({FIRST_ORDER})"
        rows = left_out(facts.refitted)
        return [f"explained variance (R²) of {rows}: {', '.join(left.values())}", *_each(estimator)]
    if hasattr(estimator, "classes_"):
        return []
    fit = f"explained variance (R²) of the rows of the fit: {_share(estimator.result_.relative_loss)}"
    return [fit, *_each(estimator)]


def held_out(estimator: Any) -> dict[str, float]:
    """R² of rows left out by what predicts them; empty where that was not measured.

    For labels it is the explained deviance, 1 − cross-entropy over that of the classes' shares.

    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(300, 2, 1, random_state=0)
    >>> names = held_out(PlantedRegressor(1, random_state=0).fit(data.X, data.y))
    >>> set(names) <= {"this network", "one linear function", "the mean"}
    True
    """
    names = {"network_loss": "this network", "linear_loss": "one linear function", "mean_loss": "the mean"}
    if hasattr(estimator, "classes_"):
        names |= {"linear_loss": estimator.verdict_.facts.linear_rival, "mean_loss": "the classes' shares"}
    losses = {words: getattr(estimator.verdict_.facts, name) for name, words in names.items()}
    if not math.isfinite(losses["this network"]):
        return {}
    return {words: 1 - float(loss) for words, loss in losses.items() if math.isfinite(loss)}


def target_scores(estimator: Any) -> dict[str, dict[str, float]]:
    """R² of each of several targets: of the rows of the fit, and of rows left out by what predicts them.

    Targets are called by their names, or "target 0", "target 1", … where they have none. Empty for one target.

    >>> import numpy as np
    >>> from planted import Network, PlantedRegressor, datasets
    >>> X = datasets.make_planted(300, 2, 1, noise=0.1, random_state=0).X
    >>> y = Network([[1.0, 2.0]], [[1.0], [0.1]]).predict(X) + np.random.default_rng(0).normal(0, 0.1, (300, 2))
    >>> est = PlantedRegressor(1, "relu", fit_bias=False, fit_intercept=False, random_state=0)
    >>> made = target_scores(est.fit(X, y, targets=["price", "size"]))
    >>> list(made), made["price"]["this network"] > 0.99 > made["size"]["this network"] > 0.5
    (['price', 'size'], True)
    """
    each = estimator.verdict_.facts.targets
    names = [str(name) for name in getattr(estimator, "target_names_", ())]
    if len({*names}) != len(each):
        names = [f"target {i}" for i in range(len(each))]
    words = {
        "fit": FITTED,
        "network": "this network",
        "linear": "one linear function",
        "mean": "the mean",
    }
    return {
        name: {
            called: 1 - getattr(losses, part) for part, called in words.items() if math.isfinite(getattr(losses, part))
        }
        for name, losses in zip(names, each, strict=True)
    }


def _each(estimator: Any) -> list[str]:
    """A line for each of several targets; of many the first ones, and how far the others reach."""
    lines, rest = [], []
    for place, (name, made) in enumerate(target_scores(estimator).items()):
        left = {called: score for called, score in made.items() if called != FITTED} or {"this network": made[FITTED]}
        if place < _TARGETS:
            lines.append(f"  of {name}: {', '.join(f'{called} {_share(1 - score)}' for called, score in left.items())}")
        else:
            rest.append(left["this network"])
    if rest:
        reach = f"this network {_share(1 - min(rest))} to {_share(1 - max(rest))}"
        lines.append(f"  of {count_of(len(rest), 'more target')}: {reach}")
    return lines


def _share(loss: float) -> str:
    """1 − loss with as many nines as it has; where it is far below zero, how many times as bad as a constant that is.

    >>> _share(0.25), _share(1e-7), _share(142.0)
    ('0.7500', '1 − 1.0e-07', 'below zero (142 times the error of a constant)')
    """
    if 0 <= loss < 1e-4:
        return "1" if loss < 1e-15 else f"1 − {loss:.1e}"
    return f"{1 - loss:.4f}" if loss <= _FAR_WORSE else f"below zero ({loss:.3g} times the error of a constant)"
