"""Neurons that one family's network lends another: families that look alike, and kinks that smooth neurons stand for.

Families that look alike are told apart by little, and a descent with kinks ends early. What one of them has found is
therefore where others begin, before their widths are settled and, where inputs are many, again with the parts that are
left in the end: there a look in the span of a few neurons is all that a family may have had, and next to parts that go
away again neurons fit the noise as well.
"""

from __future__ import annotations

import math

from planted.activations import Activation
from planted.methods._comparison import INDIFFERENT, Entry
from planted.methods._families import Family
from planted.methods._sizes import Sizes
from planted.numerics.deadline import passed


class Lending(Sizes):
    """Candidates that begin from the neurons of others."""

    def borrow(self, family: Family, others: list[Family]) -> None:
        """Neurons at the width of others that look alike, from theirs, and fewer ones from there.

        A descent may end early where neurons are joined, as those with one kink do.
        """
        for other in others:
            lent, mine = self.simplest_of(other), self.simplest_of(family)
            better = lent.width < mine.width or (lent.width == mine.width and self.loss(lent) < self.loss(mine))
            kinked = family.representative.homogeneity == 1 and _may_be_kinks(other.representative)
            alike = kinked or (family.shape == other.shape and family.name != other.name and lent.width < mine.width)
            if not alike or not better or passed():
                continue
            for fold in range(len(self.table.folds)):
                self.path(family, fold).borrow(self.path(other, fold), lent.width)
            self.forget(family, lent.width)
            entry = self.wide(family, lent.width)
            if not kinked and self.ties(entry, self.best_of(family)):
                self.narrow(family)

    def lent(self, finalists: list[Entry]) -> list[Entry]:
        """The finalists, and where inputs are many those of the same parts that begin from their neurons."""
        made = list(finalists)
        for entry in finalists:
            if entry.family is None or self.exact(entry) or not self.path(entry.family, 0).directed:
                continue
            for family in self.question.families(self.d):
                beginning = None if passed() else self.begun(entry, family)
                if beginning is not None and beginning not in made:
                    made.append(beginning)
        return made

    def begun(self, lender: Entry, family: Family) -> Entry | None:
        """The candidate of a family with the parts of another one, begun from its neurons if that is better.

        None if the family does not look alike, or has no such member.
        """
        assert lender.family is not None
        assert lender.member is not None
        own, place, free = lender.family, lender.family.members.index(lender.member), lender.free
        kinked = family.representative.homogeneity == 1 and bends_once(own.representative)
        alike = family.shape == own.shape and family.name != own.name
        if not (kinked or alike) or place >= len(family.members):
            return None
        member = family.members[place]
        if not self.question.admits(member.activation, lender.width, free):
            return None
        scale = member.scale / lender.member.scale
        scale *= 1.0 if kinked else family.near_scale / own.near_scale
        fits = [
            self.path(family, fold).descended(member, free, scale * fitted.hidden)
            for fold, fitted in enumerate(lender.fits)
        ]
        known = self.entries.get((member.activation, lender.width, free))
        if known is None:
            return self.entered(family, member, free, fits)
        better = [one if one.loss < other.loss else other for one, other in zip(fits, known.fits, strict=True)]
        if better != known.fits:
            # Rows to fit are a part of all, in which kinks end elsewhere.
            self.on_all(known)
            known.refit(better)
        return known

    def is_limit(self, kinked: Entry, smooth: Entry) -> bool:
        """Whether neurons with a kink, to which smooth ones come as they become steep, are as likely on all rows.

        Rows held out say less here. Where a kink lies is known up to an error, and a smooth neuron that is bent over
        the length of that error explains them better than one with the kink in a wrong place.
        """
        if kinked.member is None or smooth.member is None or self.exact(smooth) or passed():
            return False
        sharp, bent = kinked.member.activation, smooth.member.activation
        if sharp.homogeneity != 1 or not bends_once(bent) or (kinked.width, kinked.free) != (smooth.width, smooth.free):
            return False
        return self.count * math.log(self.on_all(kinked).loss / self.on_all(smooth).loss) <= INDIFFERENT


def _may_be_kinks(activation: Activation) -> bool:
    """Whether neurons look like ones with a kink where their weights are steep, or have several themselves."""
    return bends_once(activation) or len(activation.kinks) > 1


def bends_once(activation: Activation) -> bool:
    """Whether a smooth neuron with steep weights has one kink."""
    return bool(activation.centred_parity == "even" and activation.tilt and activation.homogeneity is None)
