"""The people whom claims are about, by parts, and the interval over samples of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.exact_sums import ONE, shares_in_parts, total
from tarry.study.parts.asking import Program
from tarry.study.parts.attempt import Attempt, OfCase
from tarry.study.parts.engine import Looked
from tarry.study.parts.ledger import LedgerSums, slice_counts
from tarry.study.parts.partial import TOP, Partial
from tarry.study.parts.view import PartEvents, View, firsts
from tarry.study.person import (
    CONFIDENCES,
    LEAST_CLAIMED,
    SIZES,
    Calls,
    People,
    SizeOfActivity,
    claims_about,
    own_pairs,
)
from tarry.study.resampling import Resample, claims_drawn, interval_over, people_drawn, resamples
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = ["Called", "Resampled", "people_called"]


@dataclass(frozen=True, kw_only=True)
class Called(OfCase):
    """The people whom claims at a cutoff are about.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> Called(case=case, farthest=-1).before
    14
    """

    def look(self, view: View) -> Looked:
        """One row for each person of a part: acts, own pairs, and other claims about their acts."""
        reach = self.case.reach(self.farthest)
        people = np.concatenate(
            [
                self._people(view, view.about(reach), 1),
                self._people(view, view.about(reach, halo=True), -1),
            ]
        )
        return Looked(partial=Partial(), rows={"people": people})

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """How many people are called, and how the right claims are spread over them."""
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        begin = firsts(rows[:, 0])
        if not len(begin):
            return Partial()
        acts, own, others = np.add.reduceat(rows[:, 1:], begin).T
        # Claims about an act are met from it, so one about two acts of a person is met twice.
        claims = others - own
        about = claims > 0
        sums = {
            "called": int((own > 0).sum()),
            "own": total(own),
            "about": int(about.sum()),
            "right": total(shares_in_parts(own[about], claims[about])),
        }
        for number, (least, most) in enumerate(SIZES):
            inside = (acts >= least) & (acts <= (most or acts.max()))
            sums[f"people{number}"] = int(inside.sum())
            sums[f"called{number}"] = int((inside & (own > 0)).sum())
        return Partial(sums=sums, tops={"own": tuple(np.sort(own)[::-1][:TOP].tolist())})

    def calls(self, people: int, partial: Partial) -> Calls:
        """As `calls_at` has them."""
        sums, top = partial.sums, partial.tops.get("own", ())
        right = sums.get("own", 0)
        return Calls(
            cutoff=self.farthest,
            people=people,
            called=sums.get("called", 0),
            top_share=top[0] / right if right else None,
            top_ten_share=sum(top) / right if right else None,
            mean_right=sums["right"] / (sums["about"] * ONE) if sums.get("about") else None,
            sizes=tuple(
                SizeOfActivity(
                    least=least,
                    most=most,
                    people=sums.get(f"people{number}", 0),
                    called=sums.get(f"called{number}", 0),
                )
                for number, (least, most) in enumerate(SIZES)
            ),
        )

    def _people(self, view: View, events: PartEvents, sign: int) -> IntArray:
        table = events.table
        seen = self.case.observed(view, *events).seen
        begin = firsts(table.actor)
        if not len(begin):
            return np.zeros((0, 4), dtype=np.int64)
        acts = np.diff(np.append(begin, len(table)))
        counts = (acts, own_pairs(table, seen, self.farthest), claims_about(table, seen, self.farthest))
        return np.stack([table.actor[begin], *(sign * count for count in counts)], axis=1)


@dataclass(frozen=True, kw_only=True)
class Resampled(OfCase):
    """Claims at a cutoff in samples of people.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> Resampled(case=case, farthest=60, samples=40).before
    74
    """

    samples: int

    def look(self, view: View) -> Looked:
        """The claims of each sample; and one row for each person of a part, with their own pairs."""
        reach = self.case.reach(self.farthest)

        def claims(table: EventTable, rows: BoolArray) -> Mapping[str, int]:
            seen = self.case.observed(view, table, rows).seen
            return {
                f"claims{sample}": count
                for sample, count in enumerate(claims_drawn(table, seen, self.farthest, self.samples))
            }

        people = np.concatenate(
            [self._own(view, view.about(reach), 1), self._own(view, view.about(reach, halo=True), -1)]
        )
        return Looked(partial=Partial(sums=slice_counts(view, reach, claims)), rows={"people": people})

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """Who is drawn how often, and the right claims about them."""
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        begin = firsts(rows[:, 0])
        if not len(begin):
            return Partial()
        own = np.add.reduceat(rows[:, 1], begin)
        sums = {"people": len(begin), "called": int((own > 0).sum())}
        drawn = people_drawn(rows[begin, 0], own, self.samples)
        for sample, (people, right, inside) in enumerate(drawn):
            sums |= {f"people{sample}": people, f"right{sample}": right, f"inside{sample}": inside}
        return Partial(sums=sums)

    def interval(self, partial: Partial) -> tuple[float, float] | None:
        """As `right_interval` has it."""
        sums = partial.sums
        if sums.get("called", 0) < LEAST_CLAIMED:
            return None
        names = ("people", "right", "inside", "claims")
        drawn = [
            Resample(**{name: sums[f"{name}{sample}"] for name in names}) for sample in range(self.samples)
        ]
        return interval_over(drawn, sums["people"])

    def _own(self, view: View, events: PartEvents, sign: int) -> IntArray:
        table = events.table
        if not len(table):
            return np.zeros((0, 2), dtype=np.int64)
        own = own_pairs(table, self.case.observed(view, *events).seen, self.farthest)
        return np.stack([table.people, sign * own], axis=1)


# --- programs -------------------------------------------------------------------------------------


def people_called(
    case: Attempt, totals: LedgerSums, best: Score | None, longest: Sequence[Score | None]
) -> Program[People]:
    """Whom claims are about, at the longest cutoff of each confidence, and how sure the best ones are.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> [one, other] = next(people_called(case, LedgerSums(sums={"events": 7}), None, [None, None]))
    >>> one.farthest
    -1
    """
    if not longest:
        return People(best=best)
    asks = [Called(case=case, farthest=-1 if one is None else one.cutoff) for one in longest]
    drawn = [
        Resampled(case=case, farthest=one.cutoff, samples=resamples(totals.events))
        for one in (best,)
        if one is not None
    ]
    partials = yield [*asks, *drawn]
    calls = {
        confidence: ask.calls(totals.people, partial)
        for confidence, ask, partial in zip(CONFIDENCES, asks, partials, strict=False)
    }
    interval = drawn[0].interval(partials[-1]) if drawn else None
    return People(best=best, interval=interval, calls=calls)
