"""What the Wikipedia experiment is run on: histories, one week of them to learn from, three to replay."""

from dataclasses import dataclass

import numpy as np

from tarry.core.errors import NotPossible
from tarry.paper.finding import Settings
from tarry.paper.given import given_tables
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable, table_of

__all__ = ["WIKIS", "Weeks", "real_weeks", "split_weeks"]

#: Public histories of wikis that are long enough, by the names of their files.
WIKIS = ("wiki_webdocs_a", "wiki_month_a")

_DAY = 86_400 * MICROSECONDS
_MONTH = 32 * _DAY  # what is longer is no month
_SHORTEST = 14 * _DAY
_LEAST = 50  # events to learn from, or to replay: fewer say nothing
_BOTS = {"is_bot", "bot"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Weeks:
    """What is learned from, and what is replayed afterwards.

    >>> from tarry.paper.months import wikipedia_month
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

    >>> from tarry.paper.months import wikipedia_month
    >>> weeks = split_weeks(wikipedia_month(seed=1))
    >>> [int(np.ptp(part.time)) // _DAY for part in (weeks.learn, weeks.replay)]
    [6, 20]
    """
    start, end = int(table.time.min()), int(table.time.max()) + 1
    whole, cut = end - start, None
    if end - start < _SHORTEST:
        raise NotPossible(f"the history spans {(end - start) / _DAY:.1f} days: two weeks are the least")
    if end - start > _MONTH:
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
    if min(len(weeks.learn), len(weeks.replay)) < _LEAST:
        raise NotPossible(
            f"{len(weeks.learn)} events to learn a gap from and {len(weeks.replay)} to replay are too few: "
            f"give a history with at least {_LEAST} of each"
        )
    return weeks


def real_weeks(settings: Settings) -> tuple[dict[str, Weeks], list[str]]:
    """The histories of wikis that were given and are fit, by name, and a sentence on what is not.

    Marked bots are left out, as in the paper.

    >>> real_weeks(Settings())
    ({}, [])
    """
    found: dict[str, Weeks] = {}
    unfit: list[str] = []
    for name, columns in given_tables(settings, *WIKIS[: 1 if settings.tiny else None]).items():
        if columns.unreadable_count:
            unfit.append(f"{columns.unreadable_count} rows of {name} cannot be read.")
        try:
            table = table_of(columns, bots=not _BOTS & set(columns.frame.columns))
            found[name] = split_weeks(table)
        except NotPossible as reason:
            unfit.append(f"{name} is left out: {reason}.")
    return found, unfit
