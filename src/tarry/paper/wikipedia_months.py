"""The months of the Wikipedia experiment: a made-up one, real ones, and how they are split.

The made-up month has the statistics that the paper prints of its own month, which is gone.

Editors come in sessions and mostly go on with the page that they left last. A session either stays on
its page or is a tour over several; the gaps inside it are short. The days have a rhythm, editors are
unequally busy and pages unequally popular. Nothing else is in it: no news that makes many people act
at once, no quarrels, no bots.

What matches, on average over seeds (`tarry reproduce wikipedia` prints the comparison for its own): the
number of revisions exactly; the batched share between the paper's two figures (.20 in the text, .254 of
its test set); the 92 % of moves within 5 minutes to a point; the gaps in 10 % samples of users to a tenth
at the 10th, 25th, 50th and 75th percentile, though one month differs from the next by as much. Nothing
is published on the length of sessions and their pauses: they were chosen with the printed attack without
delay in view. How well an attack does after a delay was not aimed at.
"""

from dataclasses import dataclass

import numpy as np

from tarry.core.errors import NotPossible, require_possible
from tarry.core.lanes import BoolArray, IntArray
from tarry.paper.finding import RunSettings, people_of, real_tables
from tarry.paper.laws import FloatArray
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable, event_table

__all__ = ["DAYS", "EVENTS", "WIKIS", "Weeks", "real_weeks", "split_weeks", "wikipedia_month"]


#: Revisions in the paper's category, January 2022 (section Experiments, Wikipedia).
EVENTS = 13_430
#: Days in that month.
DAYS = 31

_STARTS_AT = 1_640_995_200 * MICROSECONDS  # 2022-01-01, 00:00 UTC
_HOUR = 3_600
_EDITORS = 4_500  # who might come; about two thirds do
_PAGES = 3_500  # likewise
_EVEN_TOP = 4.0  # ranks over which the busiest and the most popular are alike
_EDITOR_SKEW, _PAGE_SKEW = 0.6, 0.7  # exponents of the Zipf laws behind them
_TOURS = 0.13  # share of the sessions that go over several pages
_TOUR_ACTS = 4.5  # mean acts of a tour, two at least
_STAY_ACTS = 2.1  # mean acts of a session that stays
_MOVES = 0.8  # in a tour, how often the next act is on another page
_WANDERS = 0.055  # how often a session begins elsewhere than the editor's last one ended
_PAUSE = 28.0  # mean seconds between two acts of a session
# Sessions by hour of the day, in UTC: nine busy hours, because the topic's readers live in America.
_RHYTHM = np.where((np.arange(24) >= 14) & (np.arange(24) < 23), 1.0, 0.12)


def wikipedia_month(seed: int, events: int = EVENTS) -> EventTable:
    """A made-up month: the same one for the same seed.

    >>> table = wikipedia_month(seed=1, events=1_000)
    >>> len(table), int(np.ptp(table.time)) < 31 * 86_400 * MICROSECONDS
    (1000, True)
    """
    rng = np.random.default_rng(seed)
    tour, acts = _sessions(events, rng)
    editor = rng.choice(_EDITORS, len(tour), p=_zipf(_EDITORS, _EDITOR_SKEW))
    hour = rng.choice(24 * DAYS, len(tour), p=np.tile(_RHYTHM / _RHYTHM.sum(), DAYS) / DAYS)
    start = (hour + rng.random(len(tour))) * _HOUR
    order = np.lexsort((start, editor))  # each editor's sessions one after the other
    editor, start, tour, acts = editor[order], start[order], tour[order], acts[order]
    of_act = np.repeat(np.arange(len(acts)), acts)
    first = np.cumsum(acts) - acts
    passed = np.cumsum(rng.exponential(_PAUSE, events))
    # What would run over the end of the month is done at its beginning instead.
    second = (start[of_act] + passed - passed[first][of_act]).astype(np.int64) % (DAYS * 24 * _HOUR)
    return event_table(
        actor=editor[of_act],
        target=_pages(editor, tour[of_act], first, rng),
        time=_STARTS_AT + second * MICROSECONDS,
    )


def _sessions(events: int, rng: np.random.Generator) -> tuple[BoolArray, IntArray]:
    """Whether each session is a tour, and its acts: in sum exactly all of them."""
    tour = rng.random(events) < _TOURS
    stay, more = rng.geometric(1 / _STAY_ACTS, events), rng.geometric(1 / (_TOUR_ACTS - 1), events)
    ends = np.minimum(np.cumsum(np.where(tour, 1 + more, stay)), events)
    enough = int(np.searchsorted(ends, events)) + 1
    return tour[:enough], np.diff(ends[:enough], prepend=0)


def _pages(editor: IntArray, touring: BoolArray, first: IntArray, rng: np.random.Generator) -> IntArray:
    """The page of each act: the one before, or a new one on tours, at the very first and now and then."""
    new = touring & (rng.random(len(touring)) < _MOVES)
    new[first] = rng.random(len(first)) < _WANDERS
    new[first[np.flatnonzero(np.diff(editor, prepend=-1))]] = True
    drawn = rng.choice(_PAGES, int(new.sum()), p=_zipf(_PAGES, _PAGE_SKEW))
    return np.take(drawn, np.cumsum(new) - 1)


def _zipf(many: int, skew: float) -> FloatArray:
    heights = (np.arange(many) + _EVEN_TOP) ** -skew
    weights: FloatArray = heights / heights.sum()
    return weights


# --- real months, and one week of each to learn from ----------------------------------------------

#: Public histories of wikis that are long enough, by the names of their files.
WIKIS = ("wiki_webdocs_a", "wiki_month_a")

_DAY = 86_400 * MICROSECONDS
_MONTH = 32 * _DAY  # what is longer is no month
_SHORTEST = 14 * _DAY
_LEAST = 50  # events to learn from, or to replay: fewer say nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Weeks:
    """What is learned from, and what is replayed afterwards.

    >>> weeks = split_weeks(wikipedia_month(seed=1))
    >>> weeks.learn_days, weeks.replay_days, weeks.cut_from
    (7.0, 21.0, None)
    """

    learn: EventTable
    replay: EventTable
    learn_days: float  # how long the first part is
    replay_days: float  # and the second
    whole_days: float  # the span of the whole history
    cut_from: int | None  # microseconds: where its busiest four weeks begin; None: it was not cut


def split_weeks(table: EventTable) -> Weeks:
    """The first week and the last three of a month; of a longer history, of its busiest four weeks.

    A shorter one is cut at a quarter of its span.

    >>> weeks = split_weeks(wikipedia_month(seed=1))
    >>> [int(np.ptp(part.time)) // _DAY for part in (weeks.learn, weeks.replay)]
    [6, 20]
    """
    start, end = int(table.time.min()), int(table.time.max()) + 1
    whole, cut = end - start, None
    require_possible(
        whole >= _SHORTEST, f"the history spans {whole / _DAY:.1f} days: give one of at least two weeks"
    )
    if whole > _MONTH:
        daily = np.bincount((table.time - start) // _DAY)
        start += int(np.convolve(daily, np.ones(28, dtype=np.int64))[27:].argmax()) * _DAY
        cut, end = start, start + 28 * _DAY
    week = min(7 * _DAY, (end - start) // 4)
    weeks = Weeks(
        learn=table.between(start, start + week),
        replay=table.between(end - 3 * week, end),
        learn_days=week / _DAY,
        replay_days=3 * week / _DAY,
        whole_days=whole / _DAY,
        cut_from=cut,
    )
    require_possible(
        min(len(weeks.learn), len(weeks.replay)) >= _LEAST,
        f"{len(weeks.learn)} events to learn a gap from and {len(weeks.replay)} to replay are too few: "
        f"give a history with at least {_LEAST} of each",
    )
    return weeks


def real_weeks(settings: RunSettings) -> tuple[dict[str, Weeks], list[str]]:
    """The histories of wikis that were given and are fit, by name, and a sentence on what is not.

    Marked bots are left out, as in the paper.

    >>> real_weeks(RunSettings())
    ({}, [])
    """
    fit: dict[str, Weeks] = {}
    unfit: list[str] = []
    for name, columns in real_tables(settings, *WIKIS[: 1 if settings.tiny else None]).items():
        if columns.unreadable_count:
            unfit.append(f"{columns.unreadable_count} rows of {name} cannot be read.")
        try:
            fit[name] = split_weeks(people_of(columns))
        except NotPossible as reason:
            unfit.append(f"{name} is left out: {reason}.")
    return fit, unfit
