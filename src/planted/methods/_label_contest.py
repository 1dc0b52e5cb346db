"""Label networks that are compared: what the rows fitted cost, and what the same rows held out say, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from planted.methods._label_penalty import separated
from planted.methods._label_search import searched_rows
from planted.methods._label_split import effective_rows, held_out, keyed_rows, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.networks import Network

STANDARD_ERRORS = 2.0
"""Of a paired difference: what is more is clear."""
_MOST_ROWS = 20_000
DEAREST = 7.0
"""A row held out costs at most so much: a few that a network is sure of and wrong about decide nothing."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A network that was compared: losses (n,) of rows fitted, with the price of its numbers, and of others (t,)."""

    asked: LabelProblem
    network: Network
    fitted: np.ndarray
    cost: float
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class Contest:
    """Rows of a problem to fit, and about a third of them to hold out, the same whatever the key.

    Attributes
    ----------
    problem : LabelProblem
        All rows.
    part : LabelProblem
        Those to fit, at most 20,000 or 60 a number of the network asked for.
    test : array
        Places of those held out.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(900, 2, 1, activation="sigmoid", weights=[[3.0, 0]], task="classification", random_state=0)
    >>> contest = Contest.of(LabelProblem.of(data.X, data.y, 1, "sigmoid"))
    >>> right, wrong = (contest.tried(contest.part, net) for net in (data.teacher, Network([[0, 1]], [1], "sigmoid")))
    >>> contest.behind(wrong, right), contest.apart(wrong, right) > 2, right.cost < wrong.cost
    (True, True, True)
    """

    problem: LabelProblem
    part: LabelProblem
    test: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, problem: LabelProblem) -> Contest:
        """The rows of a problem in memory, divided."""
        survey, keys = keyed_rows(problem.survey, problem.class_weight, _MOST_ROWS)
        problem = problem if survey is problem.survey else problem.on(survey)
        train, test = held_out(survey.y, keys)
        part = problem.on(survey.part(train))
        few = searched_rows(replace(part, search_rows=_MOST_ROWS, key=np.zeros_like(problem.key)))
        return cls(problem, problem.on(few), test)

    @property
    def price(self) -> float:
        """log(n)/(2n), n the rows, of which those whose weights contain a factor of their class count as fewer."""
        rows = effective_rows(self.part.survey, self.problem.class_weight)
        return float(np.log(max(rows, 1.0)) / (2 * rows))

    def mean(self, losses: np.ndarray) -> float:
        """Of the rows held out, by weight."""
        return float(np.average(losses, weights=self._weight))

    def error(self, losses: np.ndarray) -> float:
        """The standard error of that mean."""
        return standard_error(losses, self._weight, self._factor(self.problem.survey.y[self.test]))

    def tried(self, asked: LabelProblem, network: Network, certain: bool = False) -> Tried:
        """A network with its cost and its losses.

        Rows fitted cost nothing where it tells them apart without error, or is `certain` to without its penalty: in the
        limit of long weights they are as likely as can be, whatever the penalty that keeps weights finite takes.
        """
        survey, part = self.problem.survey, self.part.survey
        fitted, rest = (
            cross_entropies(class_probabilities(network, X, asked.link), y)
            for X, y in ((part.X, part.y), (survey.X[self.test], survey.y[self.test]))
        )
        fitted = (0.0 if certain or separated(asked, network) else 1.0) * fitted + self.price * asked.unknowns
        return Tried(asked, network, fitted, float(np.average(fitted, weights=part.weight)), np.minimum(rest, DEAREST))

    def pays(self, one: Tried, best: Tried) -> bool:
        """Whether a network with no fewer numbers than the best one takes its place.

        Rows held out prefer it by more than two standard errors of the paired difference; or they do not speak against
        it by more than one, and the likelihood of the rows fitted pays log(n)/2 for every number more (Schwarz 1978).
        It also has to be better there than the classes' shares. Neurons that make rows held out no likelier than one
        linear function are not needed, even if they have fewer numbers.
        """
        gain, error = self.mean(best.losses - one.losses), self.error(best.losses - one.losses)
        taken = gain > STANDARD_ERRORS * error or self.likelier(one, best)
        needed = gain > 0 or not one.asked.n_hidden or best.asked.n_hidden > 0
        return taken and needed and not self.lost(one)

    def likelier(self, one: Tried, best: Tried) -> bool:
        """Whether the likelihood of the rows fitted pays for a network's numbers, and rows held out allow it."""
        return self.apart(one, best) < 1.0 and one.cost < best.cost

    def lost(self, one: Tried) -> bool:
        """Whether rows held out prefer the shares that the classes have in the rows fitted."""
        return self.mean(one.losses) >= self.mean(self.losses_of_shares())

    def apart(self, one: Tried, best: Tried) -> float:
        """By how many standard errors of the difference rows held out are less likely than by the best one."""
        gap = one.losses - best.losses
        away, error = self.mean(gap), self.error(gap)
        return away / error if error else float(np.sign(away)) * np.inf if away else 0.0

    def behind(self, one: Tried, best: Tried) -> bool:
        """Whether rows held out are less likely than by the best one, by more than two standard errors.

        Or rows fitted are, the price of numbers included, and those held out are not likelier.
        """
        away, part = self.apart(one, best), self.part.survey
        chance = standard_error(one.fitted - best.fitted, part.weight, self._factor(part.y))
        dearer = one.cost - best.cost > STANDARD_ERRORS * chance
        return away > STANDARD_ERRORS or (away > 0 and dearer)

    @property
    def _weight(self) -> np.ndarray | None:
        weight = self.problem.survey.weight
        return None if weight is None else weight[self.test]

    def losses_of_shares(self) -> np.ndarray:
        """Losses (t,) of the classes' shares in the rows fitted."""
        shares = np.broadcast_to(self.part.shares, (len(self.test), self.problem.n_classes))
        return cross_entropies(shares, self.problem.survey.y[self.test])

    def _factor(self, y: np.ndarray) -> np.ndarray:
        """The factor (n,) of the class of each row."""
        factors = self.problem.class_weight
        return np.ones(len(y)) if factors is None else np.asarray(factors)[y.astype(int)]
