"""Peer review: how often reviewers batch, and what that tells, by the appendix's method.

The paper's appendix on the estimation of batching statistics. *One person*: of the consecutive comments
of a reviewer on different papers, the share at most 5 minutes apart. *Different people*: of the pairs of
reviewers, the share with any two comments at most 5 minutes apart. The posterior among K suspects is
Bayes' rule with these two. The conference's comments were never public: a made-up conference with
its two rates stands in, and the reviewers of a software project where its history is given.

The two rates do not ask the same thing: the first is of two acts, the second of two people and of all
their acts, so that it depends on how long one looks. Beside them stand the rates of two acts taken at
random, one person's or two people's, and all of it again for stretches of four weeks.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from statistics import fmean

import numpy as np

from tarry.core.errors import NotPossible
from tarry.paper.finding import Finding, RunSettings, Table, TableRows, real_tables, tabled
from tarry.paper.posterior import (
    DIFFERENT,
    PRINTED_AT_TEN,
    PUBLISHED,
    SAME,
    SUSPECTS,
    TEN,
    WINDOW,
    suspects_chart,
)
from tarry.readers.columns import Columns
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.batching import close_actor_share, measure_batching, posteriors
from tarry.study.figures import number, percent
from tarry.study.practice import MICROSECONDS
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import EventTable, event_table, table_of

__all__ = ["TITLE", "Rates", "find", "measure_rates"]

TITLE = "Peer review: how often reviewers batch, and what that tells"

SHOWN = (2, 3, 5, 10, 20, 30, 50)  # suspects in the table
PERIOD = 28 * 86_400 * MICROSECONDS  # about as long as the discussion of papers
YEAR = 365 * 86_400 * MICROSECONDS

REAL = "code_review_a"
# Reviewers of pull requests: neither bots nor those who wrote what is reviewed.
REVIEWERS = {"is_pull": True, "is_target_author": False, "is_bot": False}
# Tuned to the paper's two rates: many reviewers with six comments each, short sessions, a deadline.
CONFERENCE = replace(RECIPES["review"], actors=1_000, targets=625, acts=1.6, bursts=0.65, rush=8.0)
MADE_UP = "made-up conference"


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How often acts come within the window.

    >>> Rates(same=0.301, different=0.0066, pair_same=0.01, pair_different=0.001).same
    0.301
    """

    same: float  # of one person's consecutive acts on different targets
    different: float  # of pairs of people: with any two acts so close
    pair_same: float  # of pairs of acts on different targets, one person's
    pair_different: float  # of pairs of acts on different targets, two people's


def find(settings: RunSettings) -> Finding:
    """Rates and posteriors of the made-up conference, and of the reviewers that are given.

    >>> find(RunSettings()).says[0].partition(":")[0]
    "A made-up conference (6,000 comments of 1,000 people, made to have the paper's two rates)"
    """
    made = synthesize(CONFERENCE, settings.seed)
    tables, notes = {MADE_UP: event_table(actor=made.actor, target=made.target, time=made.time)}, []
    for name, columns in real_tables(settings, REAL).items():
        table = _reviewers(columns)
        if REVIEWERS.keys() & set(columns.frame.columns):
            notes.append(_counted(name, table, columns))
        tables[name] = table.keep(table.time > table.time.max() - YEAR) if settings.tiny else table
    measured: dict[str, Rates] = {}
    for name, table in settings.steps(tables.items()):
        measured[name] = measure_rates(table)
        if (mean := _mean_rates(table)) is not None:
            measured[f"{name}, four weeks"] = mean
    return Finding(
        name="peer_review",
        title=TITLE,
        says=[*_says(tables, measured), *notes],
        tables={"rates": _rates_table(measured), "posteriors": _posterior_table(measured)},
        charts={
            "posteriors": suspects_chart(_lines(measured, SUSPECTS), "sure, after two acts together", SHOWN)
        },
    )


def measure_rates(table: EventTable, window: int = WINDOW) -> Rates:
    """The appendix's two rates, and those of two acts; the window is in microseconds.

    >>> table = event_table(actor=["a", "a", "b", "b"], target=[1, 2, 3, 4], time=[0, 5, 9, 99])
    >>> measure_rates(table, window=5)
    Rates(same=0.5, different=1.0, pair_same=0.5, pair_different=0.25)
    """
    same, different = measure_batching(table, window).rate, close_actor_share(table, window)
    if same is None or different is None:
        raise NotPossible(
            "rates need two people, one of whom acts on two targets: give a history with more events"
        )
    truth = Truth(table=table, window=window)
    one_person = table.person_pairs
    # Seen at arrival and cut at the window, what is claimed wrongly is exactly two people's.
    close = cutoff_attack(truth, table.time, [window])[0].counts
    others = truth.candidate_pairs - one_person
    return Rates(
        same=same,
        different=float(different),
        pair_same=truth.linked_pairs / one_person,
        pair_different=close.false_positives / others if others else 0.0,
    )


def _mean_rates(table: EventTable) -> Rates | None:
    """The mean over stretches of four weeks; None where there are not two of them."""
    first, last = int(table.time.min()), int(table.time.max())
    stretches = []
    for start in range(first, last - PERIOD, PERIOD):
        with suppress(NotPossible):  # hardly anybody was there
            stretches.append(measure_rates(table.between(start, start + PERIOD)))
    if len(stretches) < 2:
        return None
    names = [field.name for field in fields(Rates)]
    return Rates(**{name: fmean(getattr(rates, name) for rates in stretches) for name in names})


def _reviewers(columns: Columns) -> EventTable:
    """One row for each act of publishing by somebody who reviews."""
    table = table_of(columns)
    kept = np.ones(len(columns), dtype=np.bool_)
    for name, value in REVIEWERS.items():
        if name in columns.frame.columns:
            kept &= (columns.frame[name] == value).fill_null(value=False).to_numpy()
    return table.keep(kept[table.row]).collapse()


# --- sentences and tables -------------------------------------------------------------------------------


def _sure(same: float, different: float) -> float | None:
    """The posterior among ten, where the rates have one."""
    return posteriors(same, different, [TEN])[0].batched if same > 0 and different < 1 else None


def _counted(name: str, table: EventTable, columns: Columns) -> str:
    """Why another script finds another figure."""
    return (
        f"Of {name}, {number(len(table))} acts from {number(len(columns))} rows count here: those of "
        "reviewers of pull requests, neither bots nor authors of what is reviewed, each once. The figure "
        "of posterior is another, because there all rows but those of bots count."
    )


def _says(tables: dict[str, EventTable], measured: dict[str, Rates]) -> Iterator[str]:
    for name, table in tables.items():
        rates = measured[name]
        subject, how = (
            (f"A {name}", ", made to have the paper's two rates") if name == MADE_UP else (name, "")
        )
        yield (
            f"{subject} ({number(len(table))} comments of {number(table.actors)} people{how}): consecutive "
            f"comments of one person are within 5 minutes in {percent(rates.same)} of the cases, pairs of "
            f"people ever in {percent(rates.different)}; among {TEN} suspects that gives "
            f"{percent(_sure(rates.same, rates.different))} (the paper's conference: {percent(SAME)}, "
            f"{percent(DIFFERENT)}, {percent(PRINTED_AT_TEN)})."
        )
        if (mean := measured.get(f"{name}, four weeks")) is not None:
            yield (
                f"Measured over stretches of four weeks, the rates of {name} are on average "
                f"{percent(mean.same)} and {percent(mean.different)}, and the posterior among {TEN} "
                f"{percent(_sure(mean.same, mean.different))}: how long one looks decides the second rate, "
                "because people who were there at different times are never close. The posterior of two "
                f"acts at random is {percent(_sure(mean.pair_same, mean.pair_different))} so, and "
                f"{percent(_sure(rates.pair_same, rates.pair_different))} over all of it."
            )
    one = measured[MADE_UP]
    yield (
        "The first rate is of two acts, the second of two people: for two acts at random the made-up "
        f"conference has {percent(one.pair_same)} and {percent(one.pair_different)}, which gives "
        f"{percent(_sure(one.pair_same, one.pair_different))} among {TEN} in place of "
        f"{percent(_sure(one.same, one.different))}."
    )


@tabled(
    "Rates of acting within 5 minutes",
    *("history", "one person", "different people", f"posterior, {TEN} suspects"),
    *("two acts, one person's", "two acts, two people's"),
    f"posterior of two acts, {TEN} suspects",
)
def _rates_table(measured: dict[str, Rates]) -> TableRows:
    yield [PUBLISHED, SAME, DIFFERENT, _sure(SAME, DIFFERENT), None, None, None]
    yield from (
        [
            name,
            *(one.same, one.different, _sure(one.same, one.different)),
            *(one.pair_same, one.pair_different, _sure(one.pair_same, one.pair_different)),
        ]
        for name, one in measured.items()
    )


def _lines(measured: dict[str, Rates], suspects: Sequence[int]) -> dict[str, list[float]]:
    """How sure a batched pair makes an observer, by the appendix's rates."""
    rates = {PUBLISHED: (SAME, DIFFERENT)} | {
        name: (one.same, one.different) for name, one in measured.items()
    }
    return {
        name: [one.batched for one in posteriors(same, different, suspects)]
        for name, (same, different) in rates.items()
        if same > 0 and different < 1
    }


def _posterior_table(measured: dict[str, Rates]) -> Table:
    return Table(
        title="After two acts within 5 minutes: one person's",
        header=("history", *(f"{suspects} suspects" for suspects in SHOWN)),
        rows=[[name, *sure] for name, sure in _lines(measured, SHOWN).items()],
    )
