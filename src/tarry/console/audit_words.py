"""Words of the audit that are made of parts: how far one is, and readers' sentences without options."""

import re
from typing import TYPE_CHECKING

from tarry.console.texts import texts

if TYPE_CHECKING:
    from tarry.console.audit_jobs import Job

__all__ = ["for_pages", "stage_words"]

_STAGES = ("reading", "measuring", "advising", "comparing", "writing")
_OPTIONS = (
    (re.compile(r" with --(?:actor|target|time) NAME"), ""),
    (re.compile(r"\bgive --time (?!unit)"), "choose "),
    (re.compile(r"--time-unit"), "the unit of times"),
    (re.compile(r" \(--track\)"), ""),
)


def for_pages(sentence: str) -> str:
    """A sentence that was written for a shell, for those who have a form in front of them.

    >>> for_pages("found Float64: convert it, or name another column with --actor NAME")
    'found Float64: convert it, or name another column'
    """
    for pattern, instead in _OPTIONS:
        sentence = pattern.sub(instead, sentence)
    return sentence


def stage_words(job: "Job", place: int) -> tuple[str, float | None]:
    """How far a job is, in words, and which part of its step is done (None: nobody can tell).

    >>> from pathlib import Path
    >>> from tarry.console.audit_jobs import Job
    >>> stage_words(Job(id="", owner="", token="", folder=Path(), state="looking"), place=2)[0]
    'In the queue at place 2: others are before it'
    """
    told = texts()["audit"]
    if place:
        return told["waiting"].format(place=place), None
    if job.state == "looking":
        return told["looking"], None
    stage = job.told.get("stage", _STAGES[0])
    number = _STAGES.index(stage) + 1
    line = told["step"].format(number=number, all=len(_STAGES), what=told["stages"][stage])
    done, total = job.told.get("done"), job.told.get("all")
    return line, (done / total if done and total else None)
