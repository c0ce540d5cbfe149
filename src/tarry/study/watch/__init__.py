"""The long watch: are these two names one person, for an observer who adds up over months?

Each person's targets are dealt out to two names. A policy sees the person, an observer sees names and
releases alone, and looks for each name's other one among all names of the history.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from types import MappingProxyType
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.core.ledger import LedgerLine, linking_cost, pseudonym_ledger
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.study.baselines.plain import Nothing
from tarry.study.figures import percent, seconds
from tarry.study.practice import Instant, Observer, Practice
from tarry.study.replay import label
from tarry.study.runs import Progress
from tarry.study.table import EventTable
from tarry.study.watch.findings import ATTACKS, Growth, Tally, WatchFinding, interval_below, joined
from tarry.study.watch.pseudonyms import LEAST_ACTS, MOST_QUERIES, WEEK, Pseudonyms, Split
from tarry.study.watch.ranking import Sight, rank

__all__ = ["DATES", "NOTIFIED", "TENURE", "Watch", "WatchQuestion", "ledger_posterior", "watch"]

#: What is known where times are cut to the day, and to the month.
DATES, TENURE = "dates only", "tenure only"
NOTIFIED = Instant("notified")
_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_MONTH = 31 * _DAY
#: Beside the window, and what each practice moves two acts apart by.
_LADDER = (_HOUR, 4 * _HOUR, 12 * _HOUR, _DAY, 3 * _DAY)
#: On dates: those below a day all say the same day, and differ in how much that counts.
_DATE_WIDTHS = (_HOUR, 4 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 3 * _DAY)
#: Whoever sees moments may look at hours or dates alone, and at who acts in each: grids, and their widths.
_COARSER = {_HOUR: (_HOUR, 4 * _HOUR, 12 * _HOUR), _DAY: (_HOUR, 12 * _HOUR, _DAY, 3 * _DAY)}
#: Every act counts, or acts that follow another one of the same name within an hour count as that one.
_PAUSES = (0, _HOUR)
_NEAR = 1.15  # widths nearer than this, as a factor, tell the same


@dataclass(frozen=True, kw_only=True)
class WatchQuestion:
    """What a long watch looks at. Doing nothing, dates and tenure are always among what is measured.

    >>> WatchQuestion(splits=0)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the number of splits must be at least 1, not 0
    """

    practices: Sequence[Practice] = ()
    observer: Observer = NOTIFIED
    window: int = 300_000_000  # microseconds: acts of one person at most this far apart are batched
    splits: int = 3  # how often targets are dealt out at random; by time it is done once
    draws: int = 1  # how often practices that draw are replayed
    seed: int = 0
    least_acts: int = LEAST_ACTS  # of a candidate
    most_queries: int = MOST_QUERIES  # of one split

    def __post_init__(self) -> None:
        numbers = {
            "splits": self.splits,
            "draws": self.draws,
            "acts of a candidate": self.least_acts,
            "queries": self.most_queries,
            "microseconds of the window": self.window,
        }
        for what, number in numbers.items():
            if number < 1:
                raise BadInput(f"the number of {what} must be at least 1, not {number}")
        names = [practice.name for practice in self.practices]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadInput(f"the practice {twice[0]!r} is given twice", "give it once")


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Everything that a long watch has found.

    >>> Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=()).chance
    0.3333333333333333
    """

    people: int
    candidates: float  # names with enough acts: the mean over the splits
    queries: int  # over all splits
    window_s: float
    findings: tuple[WatchFinding, ...]
    notes: tuple[str, ...]

    @property
    def chance(self) -> float:
        """How often a blind guess is right."""
        return 1 / max(1.0, self.candidates - 1)

    def of(self, practice: str, split: str = "random", attack: str = "likelihood") -> WatchFinding:
        """One of the findings."""
        return next(
            finding
            for finding in self.findings
            if (finding.practice, finding.split, finding.attack) == (practice, split, attack)
        )

    @property
    def sentences(self) -> list[str]:
        """What an operator needs to know, for each practice."""
        dates = {step.least: step for step in self.of(DATES).by_sessions}
        practices = dict.fromkeys(finding.practice for finding in self.findings)
        sentences = []
        for practice in practices:
            if practice not in {DATES, TENURE}:
                found = self.of(practice)
                step = _middle(found.by_sessions)
                sentences += [_sentence(practice, step, dates[step.least]), *_beyond(found)]
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """As plain values.

        >>> watch = Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=())
        >>> watch.as_dict()["queries"]
        4
        """
        return {
            "people": self.people,
            "candidates": self.candidates,
            "queries": self.queries,
            "chance": self.chance,
            "window_s": self.window_s,
            "findings": [finding.as_dict() for finding in self.findings],
            "sentences": self.sentences if self.findings else [],
            "notes": list(self.notes),
        }


def _sentence(practice: str, step: Growth, dates: Growth) -> str:
    pairs = "batched pair" if step.text == "1" else "batched pairs"
    return (
        f"{practice}: after {step.text} {pairs} an observer finds the other name first {step.first.text} "
        f"of the time; by dates alone {dates.first.text}."
    )


def _beyond(found: WatchFinding) -> list[str]:
    """Why more may be found than the ledger of a policy tells, with the figures of this history."""
    if found.ledger is None:
        return []
    sentence = (
        f"{found.practice}: by its ledger alone an observer could be {percent(found.ledger)} sure of the "
        f"right name; the name found first is right {percent(found.first.mean)} of the time."
    )
    if found.alone is not None and found.reach_s is not None:
        if found.first.mean > found.ledger:
            sentence += " That breaks no promise."
        sentence += (
            " The ledger compares with somebody else who acts within "
            f"{seconds(found.reach_s)} of every batch that the two names share, and in "
            f"{percent(found.alone)} of the searches with such a batch there is nobody else."
        )
    return [sentence]


def _middle(steps: Sequence[Growth]) -> Growth:
    """The step of the middle query among those that share a session at all."""
    sharing = [step for step in steps if step.least] or steps
    behind = np.cumsum([step.queries for step in sharing])
    return sharing[int(np.searchsorted(behind, behind[-1] / 2))]


def watch(table: EventTable, question: WatchQuestion, progress: Progress | None = None) -> Watch:
    """Look for everybody's other name under every practice.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import Recipe
    >>> from tarry.study.table import event_table
    >>> made = synthesize(Recipe(events=2_000, actors=40, bots=0), seed=1)
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> found = watch(table, WatchQuestion(splits=1))
    >>> found.of("nothing").first.mean > 10 * found.chance
    True
    """
    run = _Run(table, question, progress)
    findings: list[WatchFinding] = []
    notes = [note for practice in question.practices for note in practice.notes(table)]
    for kind, splits in run.splits.items():
        found: dict[str, Tally] = {}
        for name, tally in run.tallies(splits):
            found[name] = tally
            ledger = run.ledger(name, splits)
            findings.extend(
                tally.finding(practice=name, split=kind, attack=attack, **ledger) for attack in ATTACKS
            )
        notes.extend(run.weaknesses(kind, found))
    names = [one for splits in run.splits.values() for one in splits]
    return Watch(
        people=table.actors,
        candidates=float(np.mean([len(one.candidates) for one in names])),
        queries=sum(len(one.queries) for one in names),
        window_s=question.window / 1e6,
        findings=tuple(findings),
        notes=tuple(notes),
    )


class _Run:
    """What several steps of one watch share."""

    def __init__(self, table: EventTable, question: WatchQuestion, progress: Progress | None) -> None:
        self.table, self.question, self._progress = table, question, progress
        splits = [*(Split("random", number) for number in range(question.splits)), Split("time")]
        self.splits: dict[str, list[Pseudonyms]] = {}
        for split in splits:
            names = Pseudonyms(
                table=table,
                sides=split.sides(table, question.seed),
                least=question.least_acts,
                most=question.most_queries,
                seed=question.seed + split.number,
            )
            if len(names.queries):
                self.splits.setdefault(split.kind, []).append(names)
        if "random" not in self.splits:
            raise NotPossible(
                f"nobody in this history has two names with at least {question.least_acts} acts each: "
                "give a longer history, or ask for fewer acts"
            )
        rng = np.random.default_rng([question.seed, 0x68616C66])
        self._halves = rng.permutation(table.actors) % 2
        self._practices = {practice.name: practice for practice in (Nothing(), *question.practices)}
        self._shown = {name: self._replays(practice) for name, practice in self._practices.items()}
        self.widths = self._ladder()
        shown = sum(map(len, self._shown.values())) + 2
        self._done, self._all = (
            0,
            shown * sum(len(names.queries) for splits in self.splits.values() for names in splits),
        )

    def _replays(self, practice: Practice) -> list[IntArray]:
        draws = self.question.draws if practice.draws else 1
        history, seed = self.table.history, self.question.seed
        return [
            self.question.observer.see(practice.show(history, Seeded(seed, draw))) for draw in range(draws)
        ]

    def _ladder(self) -> tuple[int, ...]:
        """One ladder for everybody: the observer of nothing may look as widely as that of any policy.

        Two uniform delays on a stretch differ by a triangle of that half base; other laws get the
        triangle of the same variance.
        """
        window = self.question.window
        spreads = [
            window + int(np.sqrt(12 * (seen[0] - self.table.time).var())) for seen in self._shown.values()
        ]
        widths = [window]
        for width in sorted(min(WEEK, width) for width in (*_LADDER, *spreads) if width > window):
            if width > _NEAR * widths[-1]:
                widths.append(width)
        return tuple(widths)

    def tallies(self, splits: Sequence[Pseudonyms]) -> Iterator[tuple[str, Tally]]:
        """What is found under every practice, and by dates and by tenure."""
        for name, replays in self._shown.items():
            yield name, self._tally(splits, replays, self.widths, coarser=_COARSER)
        days = self.table.time // _DAY * _DAY
        yield DATES, self._tally(splits, [days], _DATE_WIDTHS)
        # Months of equal length: those next to each other are just out of reach of the first width.
        months = self.table.time.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64) * _MONTH
        yield TENURE, self._tally(splits, [months], (_MONTH, 3 * _MONTH), cell=_MONTH)

    def _tally(
        self,
        splits: Sequence[Pseudonyms],
        replays: Sequence[IntArray],
        widths: tuple[int, ...],
        cell: int = WEEK,
        coarser: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
    ) -> Tally:
        tallies = []
        for names in splits:
            sessions, weeks = names.shared_sessions(self.question.window), names.shared_weeks()
            people = names.queries // 2
            for seen in replays:
                sights = [
                    Sight(names=names, seen=seen, widths=widths, pause=pause, cell=cell)
                    for pause in _PAUSES
                ]
                sights += [
                    Sight(names=names, seen=seen, widths=among, pause=_HOUR, cell=cell, grid=grid)
                    for grid, among in coarser.items()
                ]
                tallies.append(
                    Tally.of(
                        rank(sights, self._tell),
                        ways=[way for sight in sights for way in sight.ways],
                        people=people,
                        halves=self._halves[people],
                        shared=np.stack([sessions, weeks], axis=1),
                    )
                )
        return joined(tallies)

    def _tell(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._all)

    def ledger(self, name: str, splits: Sequence[Pseudonyms]) -> dict[str, float | None]:
        """How sure one could be by the ledger alone, for a policy with labels, and who else there is."""
        policy = self._practices[name].policy if name in self._practices else None
        if policy is None or policy.labels == "none":
            return {}
        reach = max(policy.gaps) + policy.window
        company = [names.company(self.question.window, int(reach * 1_000_000)) for names in splits]
        sharing = np.concatenate([each[each >= 0] for each in company])
        return {
            "ledger": float(np.mean([ledger_posterior(policy, names) for names in splits])),
            "reach_s": float(reach),
            "alone": float((sharing == 0).mean()) if len(sharing) else None,
        }

    def weaknesses(self, kind: str, found: dict[str, Tally]) -> Iterator[str]:
        """Where less sight has found more: an observer of nothing could add the delays himself."""
        best = found["nothing"].best()
        for name in self._shown:
            replays = len(self._shown[name])
            seen = found[name].best()
            people = found["nothing"].people
            if replays > 1:  # by split, then by draw, then by query
                seen = _mean_over_draws(seen, [len(names.queries) for names in self.splits[kind]], replays)
            if interval_below(best, seen, people, looks=(len(self._shown) - 1) * len(self.splits)):
                yield (
                    f"split by {kind}: more is found under {name} than under nothing, so the attack is too "
                    "weak here; trust neither figure"
                )


def _mean_over_draws(values: "np.ndarray[Any, Any]", queries: Sequence[int], draws: int) -> Any:
    means, at = [], 0
    for count in queries:
        means.append(values[at : at + draws * count].reshape(draws, count).mean(axis=0))
        at += draws * count
    return np.concatenate(means)


def ledger_posterior(policy: Policy, names: Pseudonyms) -> float:
    """How sure the ledger alone would let somebody be of the right name, on average over the queries.

    Before anything is seen, every candidate is equally likely; then the odds of the right one move by what
    the two names have spent, and by no more. This compares two stories about one person, and not that
    person with everybody else: `watch` may well find more.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 4 + ["b"], target=[1, 2, 1, 2, 1], time=[0, 5, 900, 905, 50])
    >>> names = Pseudonyms(table=table, sides=table.target - 1, least=1)
    >>> round(ledger_posterior(Policy(epsilon="1", gap="11m"), names), 3)
    0.881
    """
    table, claim = names.table, promise(policy)
    labelled = label(policy, table.history)
    named = History(actor=table.actor_rank, target=names.names, time=table.time)
    lines = pseudonym_ledger(
        claim, named, labelled.arrival, labelled.batched, policy.window_ticks, rule=policy.labels
    )
    nothing = LedgerLine(0, claim.loss(0), beyond=False)
    wrong = max(0, len(names.candidates) - 2)
    surplus = 0.0 if claim.season is None else float(claim.season.delta)
    chances = []
    for query in names.queries.tolist():
        cost = linking_cost(*(lines.get((query // 2, name), nothing) for name in (query, query ^ 1)))
        chances.append(min(1.0, surplus + 1 / (1 + wrong * exp(-min(700.0, float(cost.nats))))))
    return float(np.mean(chances))
