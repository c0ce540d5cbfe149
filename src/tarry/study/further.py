"""What an audit adds to its measures: a recommendation, a comparison, and a policy before and after."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tarry.core.errors import TarryError
from tarry.study.advice import Advice
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.tried import TriedPolicy

if TYPE_CHECKING:  # it is made with these functions
    from tarry.study.audit import Report

__all__ = ["Measuring", "advising_options", "looked_for", "with_more"]

#: Measures what a question asks; the text names the stage.
Measuring = Callable[[Question, str], "Report"]

# Of a comparison, in seconds: as fine as those of the recommendation, so that figures agree.
_COMPARED = tuple(second << doublings for doublings in range(17) for second in (2, 3))
# Of the curves before and after.
_ROUND = (
    *(2, 5, 10, 20, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(3600 * hours for hours in (1, 2, 4, 8, 16)),
    *(86_400 * days for days in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
)


def with_more(
    report: "Report", advising: Callable[[Question], Advice], whole: Measuring, later: Measuring
) -> "Report":
    """A report with what else was asked: the recommendation, a comparison, before and after.

    What is recommended is measured on the `later` part of the history, which it was not learned on.

    >>> with_more.__name__
    'with_more'
    """
    question = report.question
    if asked := looked_for(question):
        claims = f"claims are about {asked} alone; everybody is delayed"
        report = replace(report, remarks=(*report.remarks, claims))
    if question.recommend:
        try:
            report = replace(report, advice=_for_everybody(advising(question), asked))
        except TarryError as error:  # the audit stands without it
            report = replace(report, no_advice=str(error))
    if question.compared:
        report = _compared(report, whole, later)
    if report.advice is not None and report.advice.best is not None and question.before_after:
        report = replace(report, after=_after(report.advice.best, report, later))
    return report


def looked_for(question: Question) -> str:
    """Whom claims are about, where not about everybody: how many, for no name is in a report.

    >>> looked_for(Question(suspects=["ann", "bob"], among=["paper 1"]))
    'acts on 1 named target by 2 named actors'
    """
    people = "" if question.suspects is None else _named(question.suspects, "actor")
    targets = "" if question.among is None else f"acts on {_named(question.among, 'target')}"
    return f"{targets} by {people}" if people and targets else people or targets


def _named(names: Sequence[str], what: str) -> str:
    count = len(set(names))
    return f"{count:,} named {what}{'' if count == 1 else 's'}"


def _for_everybody(advice: Advice, asked: str) -> Advice:
    """A recommendation looks at claims about everybody, and says so where others are asked for."""
    if not asked:
        return advice
    words = (
        f"All this is measured on everybody, not on {asked} alone: somebody who looks among few is right "
        "more often, before and after."
    )
    return replace(advice, further=(*advice.further, words))


def advising_options(question: Question) -> dict[str, Any]:
    """How a question wants its recommendation made.

    >>> advising_options(Question(seed=7))["seed"]
    7
    """
    return {
        "window": Fraction(question.window, MICROSECONDS),
        "epsilons": question.epsilons,
        "watcher": question.observers[0] if question.observers else "notified",
        "seed": question.seed,
        "draws": question.advice_draws,
        "limits": question.limits,
    }


def _compared(report: "Report", whole: Measuring, later: Measuring) -> "Report":
    """With everything side by side, or why that is not possible.

    A recommendation is measured on the part of the history that it was not learned on; so are the others.
    """
    best = None if report.advice is None else report.advice.best
    recommended = [] if best is None else [replay(best.policy, "recommended")]
    try:
        question = Question(
            practices=["nothing", *recommended, *report.question.compared],
            observers=["notified", "archive"],
            window=report.question.window,
            cutoffs=[second * MICROSECONDS for second in _COMPARED],
            seed=report.question.seed,
            draws=report.question.advice_draws,
            stretch=True,
            different=False,
        )
        sides = (whole if best is None else later)(question, "comparing")
    except TarryError as error:  # likewise
        return replace(report, no_comparison=str(error))
    return replace(report, comparison=sides)


def _after(best: TriedPolicy, report: "Report", later: Measuring) -> "Report":
    """The recommended policy beside doing nothing, under the attacks and observers of the question.

    On the part it was not learned on, at cutoffs fine enough for a curve and long enough for the delays.
    """
    question = report.question
    reach = question.window / MICROSECONDS + best.longest_s
    beyond = next((place for place, second in enumerate(_ROUND) if second >= reach), len(_ROUND))
    shown = replace(
        question,
        practices=[baseline("nothing"), replay(best.policy, "recommended")],
        cutoffs=[second * MICROSECONDS for second in _ROUND[: beyond + 1]],
        draws=question.advice_draws,
        recommend=False,
        compared=(),
        different=False,
    )
    return later(shown, "replaying")
