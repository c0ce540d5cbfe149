"""The report in sentences: its sizes, and how often claims are right about the person."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from tarry.study.batching import Measures
from tarry.study.figures import days, number, percent, seconds, shown_names
from tarry.study.person import CONFIDENCES, Calls, Yardsticks
from tarry.study.runs import AttackRun, Line

__all__ = ["headlines", "raised_at", "replies", "sizes"]

#: A smaller rise is not worth a sentence.
_NOTABLE = 0.001
#: Of so many people ten have all.
_FEW = 10


def sizes(measures: Measures, linked: int, candidates: int) -> list[str]:
    """How much there is: events and people, and pairs.

    >>> from tarry.study.batching import measure
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[1_700_000_000_000_000] * 2)
    >>> print(sizes(measure(table, window=10), 1, 1)[0])
    2 events by 1 actors on 2 targets, 2023-11-14 to 2023-11-14
    """
    m = measures
    span = " to ".join(days(m.first, m.last))
    return [
        f"{m.events:,} events by {m.actors:,} actors on {m.targets:,} targets, {span}",
        f"{linked:,} linked pairs among {candidates:,} pairs on different targets",
    ]


def headlines(
    lines: Sequence[Line], runs: Sequence[AttackRun], measured_by: Mapping[str, Yardsticks]
) -> list[str]:
    """What people want to know, for the first observer and attack that claims whose acts they are.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> print(audit(table, Question(practices=["nothing"])).headlines[0])
    Claims that two acts are one person's are right 50.0 % of the time now. Of acts on one day 33.3 % are \
one person's anyway, of all pairs 33.3 %.
    """
    known = [line for line in lines if line.right_person is not None]
    if not known:
        return []
    threat = (known[0].observer, known[0].attack)
    here = {line.policy: line for line in known if (line.observer, line.attack) == threat}
    names = shown_names(list(here))
    now = here.get("nothing")
    sentences = [] if now is None else [_now(now, measured_by["nothing"])]
    for policy, line in here.items():
        if policy != "nothing":
            sentences.append(_with(line, names[policy], now, measured_by[policy]))
            sentences.extend(raised_at(runs, policy, names[policy], threat))
    calls = {
        run.policy: run.people.calls
        for run in runs
        if (run.observer, run.attack) == threat and run.people.calls
    }
    return [*sentences, *_called(calls, names), *_moved(here, names)]


def raised_at(runs: Sequence[AttackRun], policy: str, name: str, threat: tuple[str, str]) -> list[str]:
    """A warning where claims at one and the same cutoff are right more often than with nothing done.

    >>> raised_at([], "mine", "mine", ("notified", "cutoff"))
    []
    """
    shares = {
        practice: _right_by_cutoff(
            [run for run in runs if (run.policy, run.observer, run.attack) == (practice, *threat)]
        )
        for practice in ("nothing", policy)
    }
    raised = {
        cutoff: (share, shares["nothing"][cutoff])
        for cutoff, share in shares[policy].items()
        if cutoff in shares["nothing"] and share > shares["nothing"][cutoff] + _NOTABLE
    }
    if not raised:
        return []
    cutoff, (after, before) = max(raised.items(), key=lambda item: item[1][0] - item[1][1])
    sentence = (
        f"Careful: at a cutoff of {seconds(cutoff)} claims are right more often with {name} than without, "
        f"{percent(after)} against {percent(before)}."
    )
    return [sentence]


def replies(before: float | None, after: float | None) -> str:
    """The end of a sentence: how soon replies appear, where that is known.

    >>> replies(60.0, 660.0), replies(None, 660.0)
    (', and half of the replies appear within 11m instead of 1m', '')
    """
    if before is None or after is None:
        return ""
    return f", and half of the replies appear within {seconds(after)} instead of {seconds(before)}"


def _right_by_cutoff(runs: Sequence[AttackRun]) -> dict[float, float]:
    shares: dict[float, list[float]] = {}
    for run in runs:
        for score in run.scores:
            if score.right_person is not None:
                shares.setdefault(score.cutoff_s, []).append(score.right_person)
    return {cutoff: fmean(each) for cutoff, each in shares.items()}


def _now(line: Line, found: Yardsticks) -> str:
    right = f"Claims that two acts are one person's are right {line.right_words} of the time now."
    return f"{right} {_anyway(found)}"


def _with(line: Line, name: str, now: Line | None, found: Yardsticks) -> str:
    before = "" if now is None or now.right_person is None else f", {percent(now.right_person.mean)} now"
    share = found.reference.share
    anyway = (
        "" if share is None else f"; {_apart(found)} are one person's {percent(share)} of the time anyway"
    )
    return f"With {name} they are right {line.right_words} of the time{before}{anyway}."


def _anyway(found: Yardsticks) -> str:
    parts = {
        _apart(found): found.reference.share,
        "acts on one day": found.same_day.share,
        "all pairs": found.base.share,
    }
    first, *others = [f"of {what} {percent(share)}" for what, share in parts.items() if share is not None]
    return f"{first.capitalize()} are one person's anyway{''.join(f', {each}' for each in others)}."


def _apart(found: Yardsticks) -> str:
    return f"acts {seconds(found.window / 1e6)} to {seconds(found.reach / 1e6)} apart"


def _called(calls: Mapping[str, Mapping[float, Calls]], names: Mapping[str, str]) -> list[str]:
    """How many of the people whom claims may be about have at least one pair that can be called."""
    counts = {
        "Now" if policy == "nothing" else f"With {names[policy]}": [
            number(found[at].called) for at in CONFIDENCES
        ]
        for policy, found in calls.items()
    }
    if not counts:
        return []
    likely = next(iter(calls.values()))[min(CONFIDENCES)]
    first, *others = [(when, *each) for when, each in counts.items()]
    when, half, nearly = first
    sure, surer = (f"{100 * at:g} %" for at in CONFIDENCES)
    sentence = (
        f"{when} {half} of {number(likely.people)} people have a pair of acts that can be linked with "
        f"{sure} confidence, {nearly} with {surer}."
    )
    return [
        " ".join([sentence, *(f"{when} {half} and {nearly}." for when, half, nearly in others)]),
        *_most(likely, sure),
    ]


def _most(calls: Calls, sure: str) -> list[str]:
    """How much of it is about a few people, where more than a few are called."""
    if calls.called <= _FEW:
        return []
    sentence = (
        f"Of the pairs that can be linked with {sure} confidence one person has "
        f"{percent(calls.top_share)}, ten have {percent(calls.top_ten_share)}."
    )
    return [sentence]


def _moved(here: Mapping[str, Line], names: Mapping[str, str]) -> list[str]:
    """What each practice does to order and to reply times, where it moves anything."""
    before = here["nothing"].reply_s if "nothing" in here else None
    sentences = []
    for policy, line in here.items():
        if policy != "nothing" and line.mean_s and line.reordered is not None:
            order = (
                f"With {names[policy]} {percent(line.reordered)} of neighbours on one target change places"
            )
            sentences.append(f"{order}{replies(before, line.reply_s)}.")
    return sentences
