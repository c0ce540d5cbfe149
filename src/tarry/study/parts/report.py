"""An audit by parts, from the first pass to the report, and what cannot be done by parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TypeVar

from tarry.core.errors import BadInput, NotPossible
from tarry.study.audit import Report, Stages
from tarry.study.further import advising_options, with_more
from tarry.study.parts.advice import AFTER_ALL, BEFORE_ALL, advise_by_parts, split_moments
from tarry.study.parts.asking import Program, drive
from tarry.study.parts.attempt import Attempt
from tarry.study.parts.claims import attacked
from tarry.study.parts.costs import Replayed, replayed
from tarry.study.parts.crop import Cropped
from tarry.study.parts.engine import Engine
from tarry.study.parts.ledger import LedgerSums, ledger
from tarry.study.parts.survey import Surveyed, survey
from tarry.study.parts.view import Setting
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.question import Question
from tarry.study.runs import AttackRun, reaching
from tarry.study.source import SourceAccount

__all__ = ["NO_DIFFERENT", "NO_WATCH", "audit_by_parts", "check_by_parts", "setting_of", "tried_on"]

T = TypeVar("T")


def audit_by_parts(engine: Engine, question: Question, progress: Stages | None = None) -> Report:
    """The report of a history that an engine has in slices; what cannot be done by parts is said in it.

    With the recommendation and the comparison, if they are asked for.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit_by_parts(InMemory(table=table, cuts=[5]), Question(practices=["nothing"]))
    >>> report.linked_pairs, report.runs[0].scores[1].counts.precision
    (1, 0.5)
    """
    check_by_parts(question)
    passed = _passes(progress)

    def measured(part: Engine, asked: Question, *, search: bool = True) -> Report:
        return _measured(part, asked, passed, search=search)

    def later(asked: Question, _: str) -> Report:
        first = split_moments(engine)[0]
        return measured(Cropped(engine=engine, start=first[1], end=AFTER_ALL), asked)

    return with_more(
        measured(engine, question),
        lambda asked: advise_by_parts(engine, partial(measured, search=False), **advising_options(asked)),
        lambda asked, _: measured(Cropped(engine=engine, start=BEFORE_ALL, end=AFTER_ALL), asked),
        later,
    )


def tried_on(engine: Engine, question: Question) -> Report:
    """All measures at the cutoffs of the question alone: how a recommendation tries policies.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> tried_on(InMemory(table=table), Question(practices=["nothing"])).runs[0].people.calls
    {}
    """
    return _measured(engine, question, _passes(None), search=False)


def _measured(engine: Engine, question: Question, passed: Callable[[], None], *, search: bool) -> Report:
    """All measures; with `search` the best cutoff is looked for among all of them."""
    [surveyed] = drive(engine, setting_of(question), [survey(setting_of(question))], passed)
    last = surveyed.measures.last
    question = replace(question, practices=[practice.ending(last) for practice in question.practices])
    setting = setting_of(question)
    reaches = {practice.name: _reach(question, practice) for practice in question.practices}
    draws = _draws(question)
    programs: list[Program[Replayed]] = [replayed(setting, practice, draw) for practice, draw in draws]
    sums, *answers = drive(
        engine, setting, [ledger(question.window, [*reaches.values()]), *programs], passed
    )
    seen = dict(zip(draws, answers, strict=True))
    runs, notes = _attacked(engine, question, sums, seen, passed, search=search)
    report = _report(question, surveyed, sums, runs, reaches)
    return replace(
        report,
        costs=tuple(each.cost for each in seen.values()),
        reading=engine.reading,
        remarks=tuple(dict.fromkeys([*engine.notes, *report.remarks, *notes])),
    )


def setting_of(question: Question) -> Setting:
    """What all asks have in common.

    >>> setting_of(Question(window="1m", seed=7)).seed
    7
    """
    return Setting(
        practices=tuple(question.practices),
        observers=tuple(question.observers),
        seed=question.seed,
        window=question.window,
        suspects=question.suspects,
        among=question.among,
    )


def _draws(question: Question) -> list[tuple[int, int]]:
    """Each draw of each practice, both by number."""
    return [
        (number, draw)
        for number, practice in enumerate(question.practices)
        for draw in range(question.draws if practice.draws else 1)
    ]


def _reach(question: Question, practice: Practice) -> int:
    gap = question.gap if practice.policy is None else min(practice.policy.gaps)
    return question.window + int(gap * MICROSECONDS)


def _attacked(
    engine: Engine,
    question: Question,
    sums: LedgerSums,
    seen: Mapping[tuple[int, int], Replayed],
    passed: Callable[[], None],
    *,
    search: bool,
) -> tuple[list[AttackRun], list[str]]:
    """Every attack on every draw through every observer's eyes; a note of each that is not possible."""
    setting = setting_of(question)
    programs, runs = [], []
    for (number, draw), watcher, method in product(seen, range(len(question.observers)), question.attacks):
        practice, observer = question.practices[number], question.observers[watcher]
        if not method.applies_to(practice, observer):
            continue
        moved, first = seen[number, draw].moved[watcher], seen[number, 0].moved[watcher]
        spread = 0 if moved is None else moved.spread
        case = Attempt(
            practice=number,
            draw=draw,
            observer=watcher,
            method=method,
            looks=practice.looks() or 0,
            spread=spread,
        )
        cutoffs = question.cutoffs if first is None else reaching(question, first.spread)
        unit = 1 if moved is None else moved.unit
        farthest = method.farthest(question.window, spread) if search else None
        programs.append(attacked(case, setting, cutoffs, sums, unit=unit, farthest=farthest))
        runs.append(
            AttackRun(
                attack=method.name,
                observer=observer.name,
                policy=practice.name,
                draw=draw,
                scores=(),
                seeks=method.seeks,
            )
        )
    answers = drive(engine, setting, [_if_possible(program) for program in programs], passed)
    done: list[AttackRun] = []
    notes: list[str] = []
    for run, answer in zip(runs, answers, strict=True):
        if isinstance(answer, NotPossible):  # the other runs stand without it
            notes.append(f"{run.policy}, seen by {run.observer}: {answer}")
        else:
            scores, people = answer
            done.append(replace(run, scores=tuple(scores), people=people))
    return done, notes


def _if_possible(program: Program[T]) -> Program[T | NotPossible]:
    """Its answer, or why there is none."""
    try:
        return (yield from program)
    except NotPossible as error:
        return error


def _report(
    question: Question,
    surveyed: Surveyed,
    sums: LedgerSums,
    runs: Sequence[AttackRun],
    reaches: Mapping[str, int],
) -> Report:
    practices = question.practices
    notes = [
        note
        for number, practice in enumerate(practices)
        for note in practice.notes_of(surveyed.remarkable(number))
    ]
    if question.different is None:
        notes.append(NO_DIFFERENT)
    return Report(
        question=question,
        measures=surveyed.measures,
        linked_pairs=sums.linked,
        candidate_pairs=sums.totals.candidates,
        runs=tuple(runs),
        costs=(),
        promises={practice.name: practice.promise(question.gap) for practice in practices},
        yardsticks={name: sums.yardsticks(question.window, reach) for name, reach in reaches.items()},
        stranded={practice.name: surveyed.stranded(number) for number, practice in enumerate(practices)},
        reading=SourceAccount(),
        remarks=tuple(notes),
        no_watch=NO_WATCH if question.watch else "",
    )


def _passes(progress: Stages | None) -> Callable[[], None]:
    """Count the passes, for a sign of progress."""
    done = 0

    def passed() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("measuring", done, done + 1)

    return passed


_MEMORY = "use the engine memory, on a shorter history if need be"
#: Of what is left out, beside which the audit stands.
NO_WATCH = f"the long watch cannot be done by parts of a history: {_MEMORY}"
NO_DIFFERENT = (
    "how often different people act close together cannot be counted by parts, and is left out: "
    "the engine memory counts it"
)


def check_by_parts(question: Question) -> None:
    """Refuse a question that cannot be answered by parts.

    >>> check_by_parts(Question(practices=["pool"]))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the practice pool looks at a whole history, and cannot be replayed by ...
    """
    if question.different:
        raise BadInput(
            "how often different people act close together (--different) cannot be counted by parts",
            _MEMORY,
        )
    for practice in (*question.practices, *question.compared):
        if practice.looks() is None:
            raise BadInput(
                f"the practice {practice.name} looks at a whole history, and cannot be replayed by parts",
                _MEMORY,
            )
    for method in question.attacks:
        if not method.by_parts:
            raise BadInput(f"the attack {method.name} cannot be done by parts of a history", _MEMORY)
