"""The audit: one history, read, measured, attacked, and what a delay would change; all in one report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.core.errors import TarryError
from tarry.core.exact import json_number
from tarry.study.advice import Advice
from tarry.study.batching import Measures, Posterior, measure, posteriors
from tarry.study.frames import report_frame
from tarry.study.further import advising_options, with_more
from tarry.study.headline import headlines, sizes
from tarry.study.learning import split
from tarry.study.memory import check_file, check_memory, work_of
from tarry.study.person import Yardsticks, yardsticks
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.recommend import advise
from tarry.study.replay import replay
from tarry.study.runs import AttackRun, Cost, Line, Progress, compare, run_attacks
from tarry.study.source import Source, SourceAccount, read_source
from tarry.study.table import EventTable
from tarry.study.watch import NOTIFIED, Watch, WatchQuestion, watch

if TYPE_CHECKING:  # a chart library is slow to load, and not always asked for
    import altair as alt
    import polars as pl

    from tarry.study.parts.resources import Resources

__all__ = ["SUSPECTS", "Question", "Report", "Stages", "audit"]

#: How many people might have done it, in tables of posteriors.
SUSPECTS = (2, 5, 10, 20, 50)
#: Is told (stage, done, all): "measuring", "advising", "comparing", "replaying" or "watching".
Stages = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """All that was measured. No name of an actor or target is in it.

    It prints as a summary, in a notebook too; `to_frame` has its tables and `charts` its charts.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing", "jitter:24h"]))
    >>> report.linked_pairs, report.promises
    (1, {'nothing': 'none', 'jitter:1d': 'delta 0.0035'})
    """

    question: Question
    measures: Measures
    linked_pairs: int
    candidate_pairs: int
    runs: Sequence[AttackRun]
    costs: Sequence[Cost]
    promises: Mapping[str, str]  # by practice, in a few words
    yardsticks: Mapping[str, Yardsticks]  # by practice: how often pairs are one person's anyway
    stranded: Mapping[str, int]  # by practice: events it would have kept for ever
    reading: SourceAccount
    remarks: Sequence[str] = ()  # what was left out, what could not be done, and what one should know
    advice: Advice | None = None  # the recommendation
    no_advice: str = ""  # why there is none, where one was asked for
    after: "Report | None" = None  # the recommended policy beside doing nothing
    comparison: "Report | None" = None  # other practices beside them, on the part it was not learned on
    watch: Watch | None = None  # who is whose other name, for somebody who adds up over months
    no_watch: str = ""  # why it is not known, where it was asked for
    no_comparison: str = ""  # why there is none, where one was asked for

    @property
    def notes(self) -> list[str]:
        """What one should know, beginning with the rows that could not be read."""
        return [note for note in (self.reading.sentence, *self.remarks) if note]

    @property
    def lines(self) -> list[Line]:
        """What each practice costs and buys, against each observer and attack."""
        return compare(self.runs, self.costs, self.yardsticks)

    @property
    def headlines(self) -> list[str]:
        """How often claims are right about the person, before and after, in sentences."""
        return headlines(self.lines, self.runs, self.yardsticks)

    @property
    def recommendation(self) -> list[str]:
        """Which policy to take and why, or why none, in sentences; nothing where nobody asked."""
        if self.no_advice:
            return [f"No recommendation: {self.no_advice}."]
        return [] if self.advice is None else self.advice.words

    @property
    def posteriors(self) -> list[Posterior]:
        """How sure two acts together make an observer; nothing where the rates are not known."""
        same, different = self.measures.batching.rate, self.measures.different
        if not same or different is None or different >= 1:
            return []
        return posteriors(same, float(different), SUSPECTS)

    def __repr__(self) -> str:
        """In one line; the figures themselves are far too many."""
        m = self.measures
        practices = ", ".join(repr(practice.name) for practice in self.question.practices)
        return f"<Report of {m.events:,} events by {m.actors:,} actors, practices [{practices}]>"

    def __str__(self) -> str:
        """The sizes, the headlines and the recommendation.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[1_700_000_000_000_000] * 2)
        >>> print(audit(table, Question(practices=[])))
        2 events by 1 actors on 2 targets, 2023-11-14 to 2023-11-14
        1 linked pairs among 1 pairs on different targets
        """
        told = [*sizes(self.measures, self.linked_pairs, self.candidate_pairs), *self.headlines]
        return "\n".join([*told, *self.recommendation])

    def _repr_html_(self) -> str:
        """The same for a notebook, with a small table; no script, and nothing is loaded."""
        from tarry.study.report.summary import summary_html  # noqa: PLC0415 - as in html

        return summary_html(self)

    @property
    def charts(self) -> dict[str, "alt.LayerChart"]:
        """Every chart that there are figures for, by name; a notebook draws them.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> list(audit(table, Question(practices=[])).charts)
        ['gaps', 'rates']
        """
        from tarry.study.charts import audit_charts  # noqa: PLC0415 - as in html

        return audit_charts(self)

    def to_frame(self, name: str) -> "pl.DataFrame":
        """A table as a polars frame: lines, scores, people, activity, costs, yardsticks, choices, ...

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> audit(table, Question(practices=["nothing"])).to_frame("lines")["right_person"].to_list()
        [1.0]
        """
        return report_frame(self, name)

    def to_json(self) -> str:
        """Everything as JSON: what `tarry audit --json` prints.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> json.loads(audit(table, Question(practices=[])).to_json())["events"]
        2
        """
        return json.dumps(self.as_dict(), indent=2, default=json_number)

    def runs_of(self, policy: str, attack: str, observer: str) -> list[AttackRun]:
        """The runs of one practice under one attack, draw after draw."""
        key = (policy, attack, observer)
        return [run for run in self.runs if (run.policy, run.attack, run.observer) == key]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, as `tarry audit --json` prints it.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> audit(table, Question(practices=["nothing"])).as_dict()["linked_pairs"]
        1
        """
        m = self.measures
        compared = (
            {}
            if self.comparison is None
            else {"comparison": [line.as_dict() for line in self.comparison.lines]}
        )
        return {
            "unreadable": self.reading.unreadable_count,
            "events": m.events,
            "actors": m.actors,
            "targets": m.targets,
            "window_s": m.window / 1e6,
            "batched_share": m.batching.batched_share,
            "batching_rate": m.batching.rate,
            "moves": m.batching.moves,
            "moves_within": m.batching.moves_within,
            "different_rate": None if m.different is None else float(m.different),
            "in_batch_gaps_s": m.in_batch_gaps_s,
            "null_gaps_s": m.null_gaps_s,
            "actor_rates": m.actor_rates,
            "posteriors": [vars(posterior) for posterior in self.posteriors],
            "linked_pairs": self.linked_pairs,
            "candidate_pairs": self.candidate_pairs,
            "yardsticks": {name: one.as_dict() for name, one in self.yardsticks.items()},
            "headlines": self.headlines,
            "attacks": [run.as_dict() for run in self.runs],
            "costs": [cost.as_dict() for cost in self.costs],
            "watch": (self.no_watch or None) if self.watch is None else self.watch.as_dict(),
            "notes": self.notes,
            "advice": (self.no_advice or None) if self.advice is None else self.advice.as_dict(),
            **compared,
        }

    def html(self) -> str:
        """The report as one HTML page that loads nothing from elsewhere.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> audit(table, Question(practices=["nothing"])).html()[:15]
        '<!doctype html>'
        """
        from tarry.study.report import report_html  # noqa: PLC0415 - charts are slow to load

        return report_html(self)


def audit(
    source: Source,
    question: Question | None = None,
    *,
    engine: "str | Resources" = "memory",
    progress: Stages | None = None,
) -> Report:
    """Read a history, measure how linkable its people are, and say what a delay would change.

    The source is a file, a frame of polars, pandas, DuckDB or Arrow, an `EventTable` or events of a reader;
    the question says which practices, observers and attacks, and how to read it. The same source and
    question give the same report. The engine is memory, stream (by parts, for a Parquet file that does not
    fit), spark (by parts, on many machines), auto, or `Resources` that say what it may take.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": ["ann", "ann", "bob"], "page": [1, 2, 3], "ts": [0, 60, 61]})
    >>> report = audit(frame, Question(practices=["nothing"], time_unit="s"))
    >>> report.linked_pairs, report.runs[0].scores[1].counts.precision
    (1, 0.5)
    """
    question = Question() if question is None else question
    if engine != "memory":
        return _by_engine(source, question, engine, progress)
    work = work_of(question)
    if isinstance(source, str | Path):
        check_file(source, work)
    reading, table = read_source(source, question)
    check_memory(len(table), 0, work)

    def whole(asked: Question, stage: str) -> Report:
        return _measured(table, asked, reading, _stage(progress, stage))

    def later(asked: Question, stage: str) -> Report:
        return _measured(split(table)[1], asked, reading, _stage(progress, stage))

    def advised(asked: Question) -> Advice:
        return advise(table, **advising_options(asked), progress=_stage(progress, "advising"))

    report = with_more(whole(question, "measuring"), advised, whole, later)
    return _watched(report, table, progress) if question.watch else report


def _by_engine(
    source: Source, question: Question, engine: "str | Resources", progress: Stages | None
) -> Report:
    """By the engine that is named, or that fits."""
    from tarry.study.parts.resources import Resources, events_of  # noqa: PLC0415 - it needs this file

    resources = Resources(engine=engine) if isinstance(engine, str) else engine
    chosen = resources.chosen(events_of(source))
    if chosen == "memory":
        return audit(source, question, progress=progress)
    if chosen == "spark":
        from tarry.study.parts.spark.engine import audit_on_spark  # noqa: PLC0415 - likewise

        master, remote = resources.spark_master, resources.spark_remote
        return audit_on_spark(source, question, master=master, remote=remote, progress=progress)
    from tarry.study.parts.stream import audit_streamed  # noqa: PLC0415 - likewise

    return audit_streamed(source, question, resources, progress)


def _measured(
    table: EventTable, question: Question, reading: SourceAccount, progress: Progress | None
) -> Report:
    measures = measure(table, question.window, different=question.different)
    attacked = run_attacks(table, question, progress)
    return Report(
        question=question,
        measures=measures,
        linked_pairs=attacked.truth.linked_pairs,
        candidate_pairs=attacked.truth.candidate_pairs,
        runs=tuple(attacked.runs),
        costs=tuple(attacked.costs),
        promises={practice.name: practice.promise(question.gap) for practice in question.practices},
        yardsticks=_yardsticks(attacked.truth.table, question),
        stranded={practice.name: practice.stranded(table.history) for practice in question.practices},
        reading=reading,
        remarks=tuple(dict.fromkeys([*table.notes, *attacked.notes])),
    )


def _yardsticks(table: EventTable, question: Question) -> dict[str, Yardsticks]:
    """For each practice: a batch looks like acts up to its gap and window apart, if it has a gap."""
    measured: dict[int, Yardsticks] = {}
    found = {}
    for practice in question.practices:
        gap = question.gap if practice.policy is None else min(practice.policy.gaps)
        reach = question.window + int(gap * MICROSECONDS)
        if reach not in measured:
            measured[reach] = yardsticks(table, question.window, reach)
        found[practice.name] = measured[reach]
    return found


def _watched(report: Report, table: EventTable, progress: Stages | None) -> Report:
    """With the long watch, on everything that was replayed and the recommended policy."""
    question, best = report.question, None if report.advice is None else report.advice.best
    asked = WatchQuestion(
        practices=[
            *(practice for practice in question.practices if practice.name != "nothing"),
            *([] if best is None else [replay(best.policy, "recommended")]),
        ],
        observer=question.observers[0] if question.observers else NOTIFIED,
        window=question.window,
        draws=question.draws,
        seed=question.seed,
    )
    try:
        return replace(report, watch=watch(table, asked, _stage(progress, "watching")))
    except TarryError as error:  # the audit stands without it
        return replace(report, no_watch=str(error))


def _stage(progress: Stages | None, stage: str) -> Progress | None:
    """Say that a stage begins, and who is told how far it is."""
    if progress is None:
        return None
    progress(stage, 0, 1)
    return lambda done, total: progress(stage, done, total)
