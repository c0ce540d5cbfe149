"""What an audit adds to its measures: a recommendation, a comparison, and a policy before and after."""

from collections.abc import Callable
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

__all__ = ["Measuring", "advising_options", "with_more"]

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
    if question.recommend:
        try:
            report = replace(report, advice=advising(question))
        except TarryError as error:  # the audit stands without it
            report = replace(report, no_advice=str(error))
    if question.compared:
        report = _compared(report, whole, later)
    if report.advice is not None and report.advice.best is not None and question.before_after:
        report = replace(report, after=_after(report.advice.best, report, later))
    return report


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
