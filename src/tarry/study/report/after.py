"""Before and after: the recommended policy beside doing nothing, under the attacks that were asked for."""

from dataclasses import replace

from tarry.study.advice import Advice, Choice, split
from tarry.study.audit import Audit, Progress, Question, audit
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.table import EventTable

__all__ = ["replay_advice"]

_ROUND = (
    *(2, 5, 10, 20, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(3600 * hours for hours in (1, 2, 4, 8, 16)),
    *(86_400 * days for days in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
)


def replay_advice(
    table: EventTable,
    advice: Advice | str | None,
    question: Question,
    *,
    progress: Progress | None = None,
) -> Audit | None:
    """Replay what was recommended on the part it was not learned on; None where nothing was.

    The cutoffs are fine enough for a curve, and long enough for the delays.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> replay_advice(table, "too few events", Question(practices=[])) is None
    True
    """
    if not isinstance(advice, Advice) or advice.best is None:
        return None
    _, late = split(table)
    asked = replace(
        question,
        practices=[baseline("nothing"), replay(advice.best.policy, "recommended")],
        cutoffs=_cutoffs(question.window, advice.best),
    )
    return audit(late, asked, different=False, progress=progress)


def _cutoffs(window: int, best: Choice) -> list[int]:
    """Round ones, until the last finds every linked pair."""
    reach = window / MICROSECONDS + best.longest_s
    beyond = next((place for place, second in enumerate(_ROUND) if second >= reach), len(_ROUND))
    return [second * MICROSECONDS for second in _ROUND[: beyond + 1]]
