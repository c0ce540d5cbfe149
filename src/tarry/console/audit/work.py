"""The audit itself, as the commands do it: read, measure, recommend, compare, write down."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tarry.console.audit.look import check_unpacked
from tarry.console.audit.summary import summary
from tarry.core.durations import parse_duration
from tarry.core.errors import TarryError
from tarry.core.policy_file import read_policy, write_policy
from tarry.readers.columns import Columns
from tarry.readers.files import read_history
from tarry.study.advice import Advice, advise, split
from tarry.study.answer import audit_answer
from tarry.study.audit import Audit, Progress, Question, audit
from tarry.study.baselines import baseline
from tarry.study.compare import compare
from tarry.study.observer import observer
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.replay import replay
from tarry.study.report import report_html
from tarry.study.report.after import replay_advice
from tarry.study.table import EventTable, table_of

__all__ = ["work"]

_UNPACKED = 1 << 30
_DRAWS = 3  # one alone could be lucky
#: Of a comparison, in seconds: as fine as those of the recommendation, so that figures agree.
_CUTOFFS = tuple(second << doublings for doublings in range(17) for second in (2, 3))

Tell = Callable[[dict[str, Any]], None]


def work(path: Path, choices: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    r"""Audit a file and write what was found into the folder at hand; the answer is what a page shows.

    The file is gone as soon as it was read.

    >>> from tempfile import TemporaryDirectory
    >>> from tarry.console.audit.choices import USUAL, read_choices
    >>> form = {**USUAL, "actor": "user", "target": "page", "time": "at"}
    >>> choices = read_choices(form, ["user", "page", "at"], {})
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.csv"
    ...     _ = path.write_text("user,page,at\nann,p1,1700000000\n")
    ...     work(path, choices, [].append)
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: a history needs at least 2 events to have pairs, and 1 is left of 1 ...
    """
    tell({"stage": "reading"})
    columns, table = _read(path, choices)
    path.unlink()
    asked = _question(choices)
    tell({"stage": "measuring"})
    found = audit(table, asked, progress=_progress(tell, "measuring"))
    tell({"stage": "advising"})
    advice = _advice(table, choices, _progress(tell, "advising"))
    tell({"stage": "comparing"})
    compared = _compare(table, choices, advice, _progress(tell, "comparing"))
    tell({"stage": "writing"})
    _write(table, asked, found, advice, choices)
    _write_more(columns, found, advice, compared, choices)
    return summary(columns, found, advice, compared, choices)


def _read(path: Path, choices: Mapping[str, Any]) -> tuple[Columns, EventTable]:
    check_unpacked(path, _UNPACKED)
    columns = read_history(
        path,
        actor=choices["actor"],
        target=choices["target"],
        time=choices["time"],
        time_unit=choices["unit"],
    )
    table = table_of(
        columns,
        bots=not choices["without_bots"],
        collapse=choices["collapse"],
        most=choices["busy"],
    )
    return columns, table


def _question(choices: Mapping[str, Any]) -> Question:
    return Question(
        practices=[baseline("nothing")],
        window=_micros(choices["window"]),
        cutoffs=[_micros(cutoff) for cutoff in choices["cutoffs"]],
        stretch=choices["is_usual"],
    )


def _advice(table: EventTable, choices: Mapping[str, Any], progress: Progress) -> Advice | str:
    """The recommendation, or why there is none."""
    try:
        return advise(
            table,
            window=choices["window"],
            epsilons=choices["epsilons"],
            draws=_DRAWS,
            progress=progress,
        )
    except TarryError as error:  # the audit stands without it
        return str(error)


def _compare(
    table: EventTable, choices: Mapping[str, Any], advice: Advice | str, progress: Progress
) -> tuple[Audit, Question] | str | None:
    """Everything side by side, where anything is to be compared; or why that is not possible.

    A recommendation is measured on the part of the history that it was not learned on; so are the others.
    """
    others: list[Practice] = [baseline(habit) for habit in choices["habits"]]
    others += [replay(read_policy(text), name) for name, text in choices["policies"].items()]
    if not others:
        return None
    best = advice.best if isinstance(advice, Advice) else None
    own = [] if best is None else [replay(best.policy, "recommended")]
    asked = Question(
        practices=[baseline("nothing"), *own, *others],
        observers=[observer("notified"), observer("archive")],
        window=_micros(choices["window"]),
        cutoffs=[second * MICROSECONDS for second in _CUTOFFS],
        draws=_DRAWS,
        stretch=True,
    )
    try:
        part = table if best is None else split(table)[1]
        return audit(part, asked, different=False, progress=progress), asked
    except TarryError as error:  # likewise
        return str(error)


def _write(
    table: EventTable, asked: Question, found: Audit, advice: Advice | str, choices: Mapping[str, Any]
) -> None:
    after = replay_advice(table, advice, replace(asked, draws=_DRAWS))
    stamp = _stamp(asked, choices, f"1; for the recommendation {_DRAWS}")
    page = report_html(found, advice, after=after, practices=asked.practices, stamp=stamp)
    Path("report.html").write_text(page, encoding="utf-8")


def _write_more(
    columns: Columns,
    found: Audit,
    advice: Advice | str,
    compared: tuple[Audit, Question] | str | None,
    choices: Mapping[str, Any],
) -> None:
    figures: dict[str, Any] = {"unreadable": columns.unreadable_count, **audit_answer(found, advice)}
    if isinstance(compared, tuple):
        sides, asked = compared
        figures["comparison"] = [asdict(line) for line in compare(sides)]
        stamp = _stamp(asked, choices, str(_DRAWS))
        page = report_html(sides, practices=asked.practices, stamp=stamp)
        Path("comparison.html").write_text(page, encoding="utf-8")
    told = json.dumps(figures, indent=2, default=_plain)
    Path("figures.json").write_text(told + "\n", encoding="utf-8")
    if isinstance(advice, Advice) and advice.best is not None:
        Path("policy.toml").write_text(write_policy(advice.best.policy), encoding="utf-8")


def _stamp(asked: Question, choices: Mapping[str, Any], draws: str) -> dict[str, str]:
    """What one needs to make a report again: no file, no machine, no hour."""
    filters = {
        "without bots": choices["without_bots"],
        "same events once": choices["collapse"],
        f"at most {choices['busy']} events of an actor": choices["busy"] is not None,
    }
    return {
        "tarry": version("tarry"),
        "seed": str(asked.seed),
        "draws": draws,
        "practices": "; ".join(one.name for one in asked.practices),
        "observers": "; ".join(one.name for one in asked.observers),
        "attacks": "; ".join(one.name for one in asked.attacks),
        "window": choices["window"],
        "cutoffs": ", ".join(choices["cutoffs"]) if len(asked.practices) == 1 else "2s to 54h, and on",
        "filters": ", ".join(words for words, given in filters.items() if given) or "none",
    }


def _progress(tell: Tell, stage: str) -> Progress:
    def told(done: int, total: int) -> None:
        tell({"stage": stage, "done": done, "all": total})

    return told


def _micros(text: str) -> int:
    return int(parse_duration(text) * MICROSECONDS)


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
