"""The recommendation by parts: learned on stretches of a history, and measured on what came after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from tarry.core.exact import Duration, Number, parse_duration
from tarry.core.lanes import IntArray
from tarry.study.advice import Advice, Mix
from tarry.study.attack import attack
from tarry.study.audit import Report
from tarry.study.baselines import baseline
from tarry.study.learning import LEAST_EVENTS, PERCENTILES, Gaps, check_split, split_ranks
from tarry.study.limits import AdviceLimits
from tarry.study.parts.asking import BothWays, Program, Tallied, drive, select, tallied
from tarry.study.parts.attempt import Attempt
from tarry.study.parts.costs import replayed
from tarry.study.parts.crop import ArrivalMoments, Cropped, EventsBetween
from tarry.study.parts.engine import Engine, Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.people import Resampled
from tarry.study.parts.survey import Survey, observed_rank
from tarry.study.parts.view import Setting, View, firsts
from tarry.study.practice import MICROSECONDS, Observer
from tarry.study.question import EPSILONS, Question
from tarry.study.recommend import Learned, SplitMeasures, asked_of, learned_of, recommended
from tarry.study.replay import Replay
from tarry.study.runs import Progress
from tarry.study.tried import TriedPolicy

__all__ = [
    "AFTER_ALL",
    "BEFORE_ALL",
    "Around",
    "Late",
    "Measure",
    "SlicedSplit",
    "advise_by_parts",
    "split_moments",
]

#: Audits a stretch of a history, at the cutoffs of the question alone.
Measure = Callable[[Engine, Question], Report]
#: Before and after every moment.
BEFORE_ALL, AFTER_ALL = -(1 << 61), 1 << 61
_SAMPLES = 200  # of people, as `right_interval` draws them
_NO_MIX = (
    "A mix that delays as much was not tried beside it: that cannot be done by parts of a history, "
    "but by the engine memory."
)


def advise_by_parts(
    engine: Engine,
    measure: Measure,
    *,
    window: Duration = "5m",
    tick: Duration = "1s",
    epsilons: Sequence[Number] = EPSILONS,
    percentiles: Sequence[int] = PERCENTILES,
    share: Fraction = Fraction(1, 4),
    watcher: Observer | str = "notified",
    seed: int = 0,
    draws: int = 3,
    limits: AdviceLimits | None = None,
    progress: Progress | None = None,
) -> Advice:
    """As `advise`, from a history in slices; only the mix beside the recommended policy is not tried.

    >>> advise_by_parts.__name__
    'advise_by_parts'
    """
    reach = int(parse_duration(window, "the window") * MICROSECONDS)

    def tried(start: int, cut: int, events: int) -> SlicedSplit:
        early = Cropped(engine=engine, start=start, end=cut)
        [gaps] = drive(early, Setting(practices=(), window=reach), [_gaps(reach, percentiles)])
        learned = learned_of(gaps.learned(window=window, tick=tick, epsilons=epsilons))
        late = Cropped(engine=engine, start=cut, end=AFTER_ALL)
        return SlicedSplit(late_part=late, measure=measure, learned=learned, learned_on=events)

    advice = recommended(
        [partial(tried, *each) for each in split_moments(engine, share)],
        asked_of(window=window, watcher=watcher, seed=seed, draws=draws),
        AdviceLimits() if limits is None else limits,
        progress,
    )
    return advice if advice.best is None else replace(advice, further=(*advice.further, _NO_MIX))


def split_moments(engine: Engine, share: Fraction = Fraction(1, 4)) -> list[tuple[int, int, int]]:
    """Of each split where it begins, where its second part does, and the events of its first.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> split_moments(InMemory(table=table, cuts=[3]))
    [(0, 2, 2), (2, 4, 2), (4, 6, 2)]
    """
    [(events, places)] = drive(engine, Setting(practices=()), [_places(share)])
    stretches = [each for start, cut in places for each in ((start, cut), (cut, AFTER_ALL))]
    [counts] = drive(engine, Setting(practices=()), [_counts(stretches)])
    check_split(events, *counts[:2])
    sizes = zip(counts[::2], counts[1::2], strict=True)
    return [
        (*place, early)
        for place, (early, late) in zip(places, sizes, strict=True)
        if min(early, late) >= LEAST_EVENTS
    ]


def _places(share: Fraction) -> Program[tuple[int, list[tuple[int, int]]]]:
    ask = ArrivalMoments()
    [counts] = yield [ask]
    events = counts.tallies["time"].total if counts.tallies else 0
    ranks = split_ranks(events, share)
    check_split(events, ranks[0][1], events - ranks[0][1])
    places = sorted({rank for pair in ranks for rank in pair})
    values = yield from select(ask, counts, {"time": places})
    return events, [(values["time"][start], values["time"][cut]) for start, cut in ranks]


def _counts(stretches: Sequence[tuple[int, int]]) -> Program[list[int]]:
    [counts] = yield [EventsBetween(stretches=tuple(stretches))]
    return [counts.sums[str(number)] for number in range(len(stretches))]


def _gaps(window: int, percentiles: Sequence[int]) -> Program[Gaps]:
    """What policies are learned from, as `candidates` has it."""
    ask = Survey(window=window)
    [counts] = yield [ask]
    count = counts.tallies["null"].total
    ranks = {percent: observed_rank(count, percent) for percent in percentiles if count}
    values = yield from select(ask, counts, {"null": sorted(set(ranks.values()))})
    return Gaps(
        count=count,
        at={percent: values["null"][rank] for percent, rank in ranks.items()},
        batched_share=counts.sums["partners"] / counts.sums["events"],
    )


@dataclass(frozen=True, kw_only=True)
class SlicedSplit:
    """One split of a history in slices: what a recommendation asks of it.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> whole = InMemory(table=event_table(actor=["a", "b"], target=[1, 2], time=[0, 5]), cuts=[3])
    >>> late = Cropped(engine=whole, start=0, end=9)
    >>> SlicedSplit(late_part=late, measure=None, learned={}, learned_on=0).around(60)
    2
    """

    late_part: Cropped
    measure: Measure
    learned: Learned
    learned_on: int

    def measured(self, question: Question, progress: Progress | None) -> SplitMeasures:
        """What the question's practices did on the second part."""
        report = self.measure(self.late_part, question)
        if progress is not None:
            runs = 1 + (len(question.practices) - 1) * question.draws
            progress(runs, runs)
        return SplitMeasures(
            events=report.measures.events,
            actors=report.measures.actors,
            linked_pairs=report.linked_pairs,
            runs=report.runs,
            costs=report.costs,
            references={name: one.reference.share for name, one in report.yardsticks.items()},
        )

    def late(self, practice: Replay, seed: int, deadline: int) -> int:
        """Acts before the deadline that appear after it, in the first draw."""
        setting = Setting(practices=(practice,), seed=seed)
        ask = Late(looks=practice.looks(), deadline=deadline)
        counts: list[int] = drive(self.late_part, setting, [_late(ask)])
        return counts[0]

    def interval(self, watcher: Observer, cutoff: int) -> tuple[float, float] | None:
        """Of the share of right claims with nothing done, over samples of people."""
        setting = Setting(practices=(baseline("nothing"),), observers=(watcher,))
        ends: list[tuple[float, float] | None]
        ends = drive(self.late_part, setting, [_interval(setting, cutoff)])
        return ends[0]

    def around(self, span: int) -> int:
        """People active around a typical act, in a stretch of so many microseconds."""
        ask, setting = Around(span=max(span, 1)), Setting(practices=())
        people: list[int] = drive(self.late_part, setting, [_around(ask)])
        return people[0]

    def mix(self, question: Question, best: TriedPolicy) -> Mix | None:  # noqa: ARG002 - it needs all acts
        """None: a mix waits for others, wherever they are."""
        return None


def _interval(setting: Setting, cutoff: int) -> Program[tuple[float, float] | None]:
    seen = yield from replayed(setting, 0, 0)
    moved = seen.moved[0]
    spread = 0 if moved is None else moved.spread
    case = Attempt(practice=0, draw=0, observer=0, method=attack("cutoff"), looks=0, spread=spread)
    ask = Resampled(case=case, farthest=cutoff, samples=_SAMPLES)
    [counts] = yield [ask]
    return ask.interval(counts)


@dataclass(frozen=True, kw_only=True)
class Late(BothWays):
    """Acts up to a deadline that the first practice shows after it, in the first draw.

    >>> Late(looks=5, deadline=100).before
    5
    """

    looks: int  # microseconds
    deadline: int

    @property
    def sight(self) -> int:
        """As far as labels look."""
        return self.looks

    def look(self, view: View) -> Looked:
        """Count one part."""
        late = 0
        if view.own.any():
            release, time = view.shown(0, 0).release, view.table.time
            late = int((view.own & (time <= self.deadline) & (release > self.deadline)).sum())
        return Looked(partial=Partial(sums={"late": late}))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


def _late(ask: Late) -> Program[int]:
    [counts] = yield [ask]
    return counts.sums["late"]


@dataclass(frozen=True, kw_only=True)
class Around(Tallied):
    """How many people are active in the stretch of time of each act.

    >>> Around(span=60).before
    0
    """

    span: int  # microseconds
    before: int = 0
    after: int = 0

    def look(self, view: View) -> Looked:
        """One row for each stretch and person: how many acts."""
        own = view.mine
        stretch = own.time // self.span
        order = np.lexsort((own.actor, stretch))
        begin = firsts(stretch[order], own.actor[order])
        acts = np.diff(np.append(begin, len(own)))
        rows = np.stack([stretch[order][begin], own.actor[order][begin], acts], axis=1).astype(np.int64)
        return Looked(partial=Partial(), rows={"stretch": rows})

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """The people of each stretch, once for each of its acts."""
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        begin = firsts(rows[:, 0])
        if not len(begin):
            return Partial(tallies=tallied("people", rows[:, 0], self.opened))
        new = np.zeros(len(rows), dtype=np.int64)
        new[firsts(rows[:, 0], rows[:, 1])] = 1
        people, acts = np.add.reduceat(new, begin), np.add.reduceat(rows[:, 2], begin)
        return Partial(tallies=tallied("people", np.repeat(people, acts), self.opened))


def _around(ask: Around) -> Program[int]:
    [counts] = yield [ask]
    count = counts.tallies["people"].total
    if not count:
        return 0
    rank = observed_rank(count, 50)
    values = yield from select(ask, counts, {"people": [rank]})
    return values["people"][rank]
