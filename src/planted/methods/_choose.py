r"""Which kind of network? Activation, width and parts that a caller leaves open, chosen by rows held out.

1. A constant and a linear function are the first candidates. One that explains held-out rows to rounding is chosen.
2. Every family of activations (:mod:`planted.methods._families`) is fitted with a few neurons and all parts free. One
   that explains held-out rows to rounding ends the comparison; otherwise those that are far behind drop out, and all
   but three shapes: families that look much the same stay or go together. Where the table is small, all of it is fitted
   first: a network that explains every row, with few numbers, ends the comparison too
   (:mod:`planted.methods._small_table`).
3. Families that are left become wider while held-out rows gain by it, and narrower while they lose nothing.
4. Of a family's candidates whose held-out loss ties with the lowest one, that with the fewest numbers wins: its squared
   residuals exceed the others' by at most one standard error of the mean difference, or by what the numbers that it
   does without have to bring, (ln n − 2)/n of the loss each.
5. Its parts (biases, intercept, linear part) go one after the other, and its relatives in the family are tried, by the
   same rule; a part also stays if an F-test on all rows says that it is there.
6. Of many inputs, winners lend their neurons to families that look alike (:mod:`planted.methods._lending`). Those that
   tie up to two standard errors, and neurons with a kink that are as likely as steep smooth ones, are fitted to all
   rows and compared by their likelihood there; of those that are as likely, one with doubtful residuals gives way.
7. One that explains every row gives way to neurons with one kink that do so with fewer numbers
   (:mod:`planted.methods._plain_kinks`).
8. A candidate whose residuals show structure gives way to one whose residuals show none and whose numbers pay.
9. A linear function that predicts rows left out not clearly better than their mean gives way to it: the verdict would
   say so.

All of it is spared where few rows confirm the network of fewest parts (:mod:`planted.methods._plainest`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from planted.activations import Activation
from planted.methods._baselines import LeftOut
from planted.methods._choice import Candidate, Choice
from planted.methods._comparison import INDIFFERENT, STANDARD_ERRORS, Entry
from planted.methods._facts import EXACT, HELD_OUT_FLOOR, LEVEL
from planted.methods._families import Family
from planted.methods._observations import observations
from planted.methods._plain_kinks import PlainKinks
from planted.methods._plainest import plainest
from planted.methods._problem import Free, Problem
from planted.methods._question import Question
from planted.methods._reason import reason_of
from planted.methods._screen_rows import MANY_INPUTS
from planted.methods._sizes import ATTEMPTS, BEHIND, ERRORS, FIRST_WIDTH, LESS, WIDER
from planted.methods._small_table import explaining
from planted.methods._wider import wider_network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.precision import float64

# Families that are compared at every width are of so many shapes.
_MOST_SHAPES = 3
# Rows an input weight of the first networks; where inputs are many so many of them, and no more neurons than these.
_SPARE, _SPARE_OF_MANY, _FIRST_OF_MANY = 10, 2, 3
_PART_LEVEL = 0.01
# The share of a linear function's loss up to which the best family's neurons tell where others lie.
_TELLING = 0.25
# Standard errors up to which finalists tie.
_FINAL_ERRORS = 2.0
# Why a network is not chosen that a linear function ties with.
_NEEDLESS = "no neuron is needed"
# A smaller p-value of the residual test gives way to another finalist that is as likely.
_DOUBTFUL = 0.05
# Apart from the keys of the paths, which are numbered.
_ON_ALL_ROWS = 10**6


@float64
def choose(problem: Problem, question: Question) -> Choice:
    """Compare candidates on the problem's sample; see the module.

    Parameters
    ----------
    problem : Problem
        Its own activation, width and parts play no part.
    question : Question
        What is open.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(1000, 3, 2, activation="tanh", output="mixed", random_state=0)
    >>> choose(Problem.of(data.X, data.y, 1), Question()).chosen.name
    '2 tanh neurons'
    """
    return plainest(problem, question) or _Contest(problem, question).choice()


class _Contest(PlainKinks):
    def choice(self) -> Choice:
        question = self.question
        if question.n_hidden is None:
            for free in question.parts(self.d):
                if not free.bias and (free.intercept or free.skip):
                    self.linear(free)
        finalists = self.linear_finalists()
        if not any(self.exact(entry) for entry in finalists):
            alive = self.explaining_all() or self.compare_families()
            wide = self.wider(alive) if alive else None
            if wide is not None:
                return wide
            for family in self.sized(alive) if alive else ():
                best = self.on_more_rows(self.simplest_of(family))
                finalists.append(best if passed() else self.pruned(best))
        chosen = self.plain_kinks(self.settled(self.lent(finalists)))
        if question.n_hidden is None and not passed():
            chosen = self.without_structure(chosen)
        return self.table_of(self.better_than_the_mean(chosen))

    def linear_finalists(self) -> list[Entry]:
        """Of a constant and linear functions those that lack nothing, by an F-test on all rows."""
        entries = sorted(self.entries.values(), key=lambda entry: entry.numbers)
        losses = [self.table.linear(entry.free, self.table.whole)[0] for entry in entries]
        made = []
        for entry, loss in zip(entries, losses, strict=True):
            missing = entries[-1].numbers - entry.numbers
            p_value = self.needed(loss, losses[-1], missing, entries[-1].numbers)
            if self.exact(entry) or p_value >= _PART_LEVEL:
                made.append(entry)
            else:
                entry.why = f"a part is missed (p = {p_value:.1g}, level {_PART_LEVEL:g})"
        return made

    def explaining_all(self) -> list[Family]:
        """The family of a network that explains every row of a small table, if there is one and folds confirm it."""
        if self.question.n_hidden is not None:
            return []
        families, key = self.question.families(self.d), random.fold_in(self.key, _ON_ALL_ROWS)
        explained = explaining(self.table, families, self.question.allowed, key)
        if explained is None:
            return []
        family, fitted = explained
        for fold in range(len(self.table.folds)):
            self.path(family, fold).begin(fitted.hidden)
        return [family] if self.exact(self.wide(family, fitted.width)) else []

    def compare_families(self) -> list[Family]:
        """Fit every family at a first width; those that are not far behind.

        None where the rows to fit determine no neuron: it would explain them by chance.
        """
        given = self.question.n_hidden
        alive: list[Family] = []
        for family in self.question.families(self.d):
            if passed() and alive:
                break
            path = self.path(family, 0)
            if given is None and not path.determined:
                continue
            few = path.n_inputs < MANY_INPUTS
            spare, first = (_SPARE, FIRST_WIDTH) if few else (_SPARE_OF_MANY, _FIRST_OF_MANY)
            width = given or max(1, min(first, self.most(family), len(path.fold[0]) // (spare * path.n_inputs)))
            if self.spanned(family, width):
                continue
            if given is not None and not path.directed and width not in path.fits:
                for fold in range(len(self.table.folds)):
                    self.path(family, fold).fresh(max(given, min(math.ceil(WIDER * given), self.most(family))))
            if self.hopeless(family, width) and not self.hopeful(family, width):
                continue
            alive.append(family)
            entry = self.wide(family, width)
            if not self.exact(entry) and any(fit.loss <= EXACT for fit in entry.fits):
                entry = self.again(family, width, ATTEMPTS)
            if self.exact(entry):
                # A smooth neuron with steep weights is a kink: where it explains all, one that has a kink may as well.
                kinked = alive[0] if alive[0].name == "relu" and not family.representative.homogeneity else family
                retried = kinked is not family and self.exact(self.again(kinked, width, ATTEMPTS))
                alive = [kinked if retried else family]
                break
        return self.near_best(alive) if alive else []

    def wider(self, alive: list[Family]) -> Choice | None:
        """The answer of the width search, where the best candidate cannot be doubled at a bearable cost."""
        leader = min((self.best_of(family) for family in alive), key=self.loss)
        assert leader.family is not None
        double, bearable = 2 * leader.width, self.most(leader.family)
        if self.question.n_hidden is not None or self.exact(leader):
            return None
        if not bearable < double <= self.path(leader.family, 0).widest:
            return None
        made = wider_network(self.problem, self.question, self.loss(leader))
        # Held-out losses of other rows are not comparable unless one is far wider, or explains them.
        if made is None or (made.n_hidden <= leader.width and made.loss > HELD_OUT_FLOOR):
            return None
        table = self.table_of(leader)
        others = tuple(
            replace(one, chosen=False, why="" if one.chosen else one.why, beside=LESS) for one in table.candidates
        )
        words = "wider than the comparison of all candidates could afford; " * (made.n_hidden > bearable)
        reason = f"{words}found by the width search, it explains its held-out rows far better"
        return replace(table, candidates=(*others, made), reason=reason, network=None)

    def sized(self, alive: list[Family]) -> list[Family]:
        """Families at the widths that rows held out ask for; those that are left."""
        if self.question.n_hidden is None:
            for family in alive:
                self.narrow(family)
                self.widen(family)
            for family in alive:
                self.borrow(family, alive)
        return self.near_best(self.with_a_kink(alive))

    def with_a_kink(self, alive: list[Family]) -> list[Family]:
        """The families, with neurons of one kink that begin from those of several kinks which explain all.

        Of several kinks one may be all that the rows show.
        """
        explaining = [family for family in alive if self.exact(self.best_of(family))]
        kinked = self.question.families(self.d)[0]
        if not explaining or kinked in alive or not any(entry.family == kinked for entry in self.entries.values()):
            return alive
        self.borrow(kinked, explaining)
        return [kinked, *alive]

    def hopeful(self, family: Family, width: int) -> bool:
        """Whether a family that began from the neurons of the best one is not far behind from a start of its own."""
        best = min((entry for entry in self.entries.values() if entry.family), key=self.loss)
        assert best.family is not None
        if family.near != best.family.name or passed():
            return False
        self.path(family, 0).retry(width, math.ceil(WIDER * width), ATTEMPTS)
        self.dropped.pop()
        return not self.hopeless(family, width)

    def spanned(self, family: Family, width: int) -> bool:
        """Whether a family of many inputs is no better than the best one in the span of that one's neurons.

        Otherwise it begins there, unless the best one explains little itself.
        """
        fits = [entry for entry in self.entries.values() if entry.fits and entry.fits[0].shape.centred]
        linear = self.table.linear(Free(intercept=True, skip=True), self.table.folds[0])[1]
        best = min(fits, key=self.loss, default=None)
        if best is None or self.path(family, 0).n_inputs < MANY_INPUTS or len(self.table.folds) > 1:
            return False
        path, leader = self.path(family, 0), best.fits[0]
        if self.loss(best) > _TELLING * float(self.share @ linear):
            return False
        hidden, squares = path.glimpse(leader, width)
        if self.behind(family, width, squares):
            return True
        if float(self.share @ (squares - best.squares)) >= 0:
            lie = f"no better where the neurons of {leader.shape.activation.name} lie"
            self.drop(family, width, squares, lie)
            return True
        path.begin(hidden)
        return False

    def hopeless(self, family: Family, width: int) -> bool:
        """Whether the first fold tells already that a family is far behind; it is noted then."""
        return self.behind(family, width, self.path(family, 0).at(width).squares)

    def near_best(self, alive: list[Family]) -> list[Family]:
        """Families whose best candidate is not far behind the best of all."""
        best = {family.name: self.best_of(family) for family in alive}
        leader = min(best.values(), key=self.loss)
        if self.exact(leader):
            return [family for family in alive if self.exact(best[family.name])]
        close = []
        for family in alive:
            mean, error = self.excess(best[family.name], leader)
            if mean <= ERRORS * error or self.loss(best[family.name]) <= BEHIND * self.loss(leader):
                close.append(family)
        ordered = sorted(close, key=lambda family: self.loss(best[family.name]))
        shapes = list(dict.fromkeys(family.shape for family in ordered))[:_MOST_SHAPES]
        front = [family for family in ordered if family.shape in shapes]
        # Kinks stop descents early: relu may be near the best one for all that it has reached.
        return front + [family for family in close if family.name == "relu" and family not in front]

    def pruned(self, full: Entry) -> Entry:
        """Members and parts that are simpler, at the same width."""
        assert full.family is not None
        question, family, width = self.question, full.family, full.width
        whole = self.on_all(full).loss
        options = [
            (self.numbers(member.activation, width, free), place, member, free)
            for free in question.parts(self.d)
            for place, member in enumerate(family.members)
            if question.admits(member.activation, width, free)
        ]
        for _, _, member, free in sorted(options, key=lambda option: option[:2]):
            if passed():
                break
            if member.activation == full.member.activation and free == full.free:  # type: ignore[union-attr]
                return full
            if self.plainly_less(family, member, width, free):
                continue
            entry = self.entry(family, member, width, free)
            if not self.ties(entry, full):
                entry.why = LESS
                continue
            mean, error = self.excess(entry, full)
            # Where rows are few for their numbers an F-test finds parts that rows held out are the worse for.
            if self.exact(entry) or mean < -_FINAL_ERRORS * error:
                return entry
            p_value = self.needed(self.on_all(entry).loss, whole, full.numbers - entry.numbers, full.numbers)
            if p_value >= _PART_LEVEL:
                return entry
            entry.why = f"a part is missed (p = {p_value:.1g}, level {_PART_LEVEL:g})"
        return full

    # Structure.

    def without_structure(self, chosen: Entry) -> Entry:
        """The chosen one, or the simplest whose residuals show no structure and that pays for its numbers.

        Many numbers hide structure, and explain held-out rows a little better by chance.
        """
        if not self.structured(chosen):
            return chosen
        enough = {id(entry): self.loss(chosen) - self.price(chosen, entry) for entry in self.entries.values()}
        better = [entry for entry in self.entries.values() if self.loss(entry) < enough[id(entry)]]
        for entry in sorted(better, key=lambda entry: entry.numbers):
            if not self.structured(entry):
                chosen.why = f"residuals have structure (p = {chosen.p_value:.1g}, level {LEVEL:g})"
                return entry
        for entry in self.entries.values():
            # Whether a linear function is enough is not known where it leaves structure.
            entry.why = "" if entry.why == _NEEDLESS else entry.why
        return chosen

    def better_than_the_mean(self, chosen: Entry) -> Entry:
        """The chosen one, or the constant for a linear function that predicts rows left out not clearly better."""
        constant = self.entries.get((None, 0, Free(False, True, False)))
        if constant is None or chosen.family is not None or not chosen.free.skip or self.exact(chosen):
            return chosen
        data = observations(self.problem.survey)
        left = LeftOut.of(data, self.problem.survey.n_rows if self.problem.in_chunks else data.number)
        for looked in (left, left.more(chosen.numbers)):
            if looked is None:
                continue
            linear, mean = looked.linear(), looked.mean()
            if looked.better(linear, mean, chosen.numbers - self.m) or looked.slopes_tell(linear, mean):
                return chosen
        chosen.why = "not clearly better than the mean on rows left out"
        return constant

    def settled(self, finalists: list[Entry]) -> Entry:
        """A linear function that ties with the best one or is no worse than what would be taken, or the likeliest."""
        best = min(finalists, key=self.loss)
        # More numbers than the best one has are no reason to be worse by more than one standard error.
        errors = {id(entry): _FINAL_ERRORS if entry.numbers <= best.numbers else 1.0 for entry in finalists}
        tying = [e for e in finalists if self.ties(e, best, errors[id(e)]) or self.is_limit(e, best)]
        plain = [entry for entry in tying if entry.family is None]
        less: list[Entry] = []
        if plain or self.exact(best) or len(tying) == 1 or passed():
            chosen = self.simplest(plain or tying)
        else:
            chosen, less = self.likeliest(tying)
        no_worse = [entry for entry in finalists if entry.family is None and self.as_good(entry, chosen)]
        if no_worse:
            chosen = self.simplest(no_worse)
        for entry in tying if chosen.family is None else less:
            why = "less likely on all rows" if chosen.family else _NEEDLESS * (entry.family is not None)
            entry.why = entry.why or why
        return chosen

    def likeliest(self, tying: list[Entry]) -> tuple[Entry, list[Entry]]:
        """The likeliest of them, fitted to all rows, and those that are less likely.

        Likelihoods are Gaussian with the price that the Bayesian information criterion asks for a number.
        """
        prices = {id(entry): self.criterion(entry) for entry in tying}
        enough = min(prices.values()) + INDIFFERENT
        likely = [entry for entry in tying if prices[id(entry)] <= enough]
        chosen = self.fewest([entry for entry in likely if self.p_value(entry) >= _DOUBTFUL] or likely)
        return chosen, [entry for entry in tying if prices[id(entry)] > enough]

    def criterion(self, entry: Entry) -> float:
        """−2 log-likelihood on all rows, and ln(rows) a number; of rounding any is as likely."""
        loss = self.on_all(entry).loss
        return self.count * math.log(max(loss, EXACT)) + entry.numbers * math.log(self.count)

    # What is said.

    def table_of(self, chosen: Entry) -> Choice:
        made = {id(entry): self.candidate(act, entry, chosen) for (act, _, _), entry in self.entries.items()}
        as_well, alike = (
            {id(made[id(e)]) for e in self.entries.values() if e.why != LESS and self.ties(e, chosen, errors)}
            for errors in (STANDARD_ERRORS, _FINAL_ERRORS)
        )
        others = [one for one in made.values() if not one.chosen]
        reason = reason_of(
            made[id(chosen)], others, lambda other: id(other) in as_well, exact=self.exact(chosen),
            unclear=lambda other: id(other) in alike,
        )  # fmt: skip
        return Choice((*made.values(), *self.dropped), reason, self.network(chosen), passed())

    def candidate(self, act: Activation | None, entry: Entry, chosen: Entry) -> Candidate:
        """What is said of an entry beside the chosen one."""
        own = entry is chosen
        numbers = (entry.numbers, self.loss(entry), self.error(entry))
        beside = "" if own else self.beside(entry, chosen)
        return Candidate(act, entry.width, entry.free, *numbers, own, "chosen" if own else entry.why, beside=beside)
