"""The audit itself, as the commands do it; what was found is written into the folder at hand."""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tarry.console.audit.look import check_unpacked
from tarry.console.audit.summary import summary
from tarry.core.policy_file import read_policy, write_policy
from tarry.readers.files import read_history
from tarry.study.audit import Report, audit
from tarry.study.question import Question
from tarry.study.replay import replay

__all__ = ["work"]

_UNPACKED = 1 << 30
# Charts of before and after are made while the report is written.
_STAGES = {"replaying": "writing"}

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
    check_unpacked(path, _UNPACKED)
    columns = read_history(
        path,
        actor=choices["actor"],
        target=choices["target"],
        time=choices["time"],
        time_unit=choices["unit"],
    )

    def hear(stage: str, done: int, total: int) -> None:
        path.unlink(missing_ok=True)  # all of it is read now
        tell({"stage": _STAGES.get(stage, stage)} | ({"done": done, "all": total} if done else {}))

    report = audit(columns, _question(choices), progress=hear)
    tell({"stage": "writing"})
    _write(report)
    return summary(report, choices)


def _question(choices: Mapping[str, Any]) -> Question:
    policies = [replay(read_policy(text), name) for name, text in choices["policies"].items()]
    return Question(
        window=choices["window"],
        cutoffs=choices["cutoffs"],
        stretch=choices["is_usual"],
        epsilons=choices["epsilons"],
        without_bots=choices["without_bots"],
        collapse=choices["collapse"],
        busy_limit=choices["busy"],
        compared=[*choices["habits"], *policies],
    )


def _write(report: Report) -> None:
    Path("report.html").write_text(report.html(), encoding="utf-8")
    if report.comparison is not None:
        Path("comparison.html").write_text(report.comparison.html(), encoding="utf-8")
    figures = json.dumps(report.as_dict(), indent=2, default=_plain)
    Path("figures.json").write_text(figures + "\n", encoding="utf-8")
    if report.advice is not None and report.advice.best is not None:
        Path("policy.toml").write_text(write_policy(report.advice.best.policy), encoding="utf-8")


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
