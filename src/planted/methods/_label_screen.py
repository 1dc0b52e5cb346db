r"""Which activations may be behind labels? Quick fits of one width show those that are clearly behind.

Log-odds of every activation have the same width, which is more than most networks need, so that none is behind for its
width; it is doubled where that pays. A mean of k neurons is no special case of a mean of k + 1: means are fitted at
every width up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from planted.methods._label_contest import Contest, Tried
from planted.methods._labels import LabelProblem
from planted.numerics.deadline import passed

_WIDTH = 3

Fit = Callable[[LabelProblem, int], Tried]
"""From a kind of network and its width to a network that was fitted."""


def screened(contest: Contest, kinds: Sequence[LabelProblem], widths: Sequence[int], fit: Fit) -> list[Tried]:
    """The best network of each kind, in their order, while there is time for them.

    >>> from dataclasses import replace
    >>> from planted.datasets import make_planted
    >>> from planted.methods._label_kinds import label_kinds
    >>> from planted.methods._label_quick import quick_fit
    >>> data = make_planted(900, 2, 1, activation="sigmoid", weights=[[3.0, 0]], task="classification", random_state=0)
    >>> contest = Contest.of(LabelProblem.of(data.X, data.y, 1, "sigmoid"))
    >>> kinds = label_kinds(contest.part, ("mean", "logit"), intercept=True)
    >>> def fit(kind, width):
    ...     asked = replace(kind, n_hidden=width)
    ...     return contest.tried(asked, quick_fit(asked))
    >>> [one.asked.n_hidden for one in screened(contest, kinds, [1, 2], fit)]
    [1, 1, 2, 2, 2]
    """

    def best(kind: LabelProblem, below: int, width: int, *before: Tried) -> Tried:
        """The best network of a kind of one width, or for means of all from one to the other."""
        own = [k for k in widths if (below < k <= width if kind.link == "mean" else k == width)]
        entries = [*before, *(fit(kind, k) for k in own)]
        return reduce(lambda first, other: other if contest.pays(other, first) else first, entries)

    width = min(max(_WIDTH, widths[0]), widths[-1])
    made: list[Tried] = []
    for kind in kinds:
        if made and passed():
            break
        made.append(best(kind, 0, width))
    while width < widths[-1] and not passed():
        place, twice = made.index(leader(contest, made)), min(2 * width, widths[-1])
        wider = best(kinds[place], width, twice, made[place])
        if wider is made[place]:
            break
        made = [best(kind, width, twice, one) for kind, one in zip(kinds, made, strict=False)]
        width = twice
    return made


def leader(contest: Contest, made: Sequence[Tried]) -> Tried:
    """The one that makes rows held out likeliest."""
    return min(made, key=lambda one: contest.mean(one.losses))
