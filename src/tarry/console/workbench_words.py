"""The workbench in words: sentences and tables that say what the charts draw, for page and script alike."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tarry.console.evening import DRAWS, PEOPLE, Evening, Side
from tarry.console.texts import texts
from tarry.console.workbench_choices import Choices
from tarry.console.workbench_figures import DIFFERENT, MASS, SAME, Figures
from tarry.core.bounds import power_bound
from tarry.core.durations import format_duration
from tarry.core.plan import Delays, Point
from tarry.study.figures import percent, seconds

__all__ = ["START_S", "Shown", "clock", "words_of_evening", "words_of_figures"]

#: The evening begins at seven.
START_S = 19 * 3600
_DAY_S = 86_400
_ONE_IN_A_HUNDRED = Fraction(1, 100)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Texts by the name of their place in the page.

    >>> Shown(sentences={"hold": "Nothing is held."}).tables
    {}
    """

    sentences: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)  # rows; the first cell is a heading
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)


def words_of_figures(found: Figures) -> Shown:
    """What the charts show.

    >>> from tarry.console.workbench_choices import START
    >>> from tarry.console.workbench_figures import figures
    >>> words_of_figures(figures(START)).tables["delays"][0]
    ['batched', '21m', '33m20s', '33m19s', '45m39s']
    """
    return Shown(
        sentences={
            **_of_delays(found),
            **_of_frontier(found),
            **_of_power(found),
            **_of_posterior(found),
        },
        tables={
            "delays": [
                _row(_t("delays")["batched"], found.delays.batched),
                _row(_t("delays")["unbatched"], found.delays.unbatched),
            ],
            "laws": [
                [_stretch(one.start_s, one.end_s), percent(one.batched), percent(one.unbatched)]
                for one in found.bins
            ],
            "frontier": _frontier_table(found),
            "power": [[percent(one.error), *map(percent, one.bounds)] for one in found.power],
            "posterior": [
                [str(one.suspects), *map(percent, (one.before, one.together, one.apart, one.delayed))]
                for one in found.suspicions
            ],
        },
        lists={"promised": found.promise.promised, "not_promised": found.promise.not_promised},
    )


def words_of_evening(choices: Choices, evening: Evening) -> Shown:
    """What the replay shows.

    >>> from tarry.console.evening import watch
    >>> from tarry.console.workbench_choices import START
    >>> words_of_evening(START, watch(START)).sentences["replay_without"][-25:]
    'so that 60.0 % are right.'
    """
    told, without, delayed = _t("replay"), evening.without, evening.delayed
    after = told["sentence_delayed"] if delayed.guesses else told["sentence_none"]
    usual = {"right": f"{evening.usual_right:.1f}", "wrong": f"{evening.usual_wrong:.1f}", "draws": DRAWS}
    return Shown(
        sentences={
            "replay_lead": told["lead"].format(cutoff=choices.cutoff),
            "replay_without": told["sentence_without"].format(**_counts(without)),
            "replay_delayed": after.format(**_counts(delayed), end=clock(delayed.end_s)),
            "replay_usual": told["sentence_usual"].format(**usual),
            "picture_without": told["picture_without"].format(**_counts(without)),
            "picture_delayed": told["picture_delayed"].format(**_counts(delayed)),
        },
        tables={
            "replay": [
                [
                    told["pseudonym"].format(person=PEOPLE[act.person], thread=act.thread + 1),
                    clock(act.at_s),
                    clock(release_s),
                ]
                for act, release_s in zip(evening.acts, delayed.at_s, strict=True)
            ]
        },
    )


def clock(after_s: int) -> str:
    """The time on the clock so many seconds into the evening.

    >>> clock(90), clock(6 * 3600)
    ('19:01', 'day 2, 01:00')
    """
    days, second = divmod(START_S + after_s, _DAY_S)
    time = f"{second // 3600:02}:{second // 60 % 60:02}"
    day: str = _t("replay")["day"]
    return f"{day.format(day=days + 1)}, {time}" if days else time


def _t(part: str) -> dict[str, Any]:
    told: dict[str, Any] = texts()["workbench"][part]
    return told


def _row(name: str, delays: Delays) -> list[str]:
    values = (delays.minimum, delays.mean, delays.median, delays.maximum or Fraction(0))
    return [name, *(seconds(float(value)) for value in values)]


def _stretch(start_s: int, end_s: int) -> str:
    told: str = _t("laws")["stretch"]
    return told.format(start=format_duration(start_s), end=format_duration(end_s))


def _of_delays(found: Figures) -> dict[str, str]:
    delays, hold = found.delays, format_duration(found.choices.policy.window)
    last = seconds(float(delays.batched.maximum or 0))
    first = seconds(float(delays.batched.minimum))
    held = _t("delays")["hold" if delays.hold_ticks else "no_hold"].format(hold=hold)
    told = _t("laws")["sentence" if delays.hold_ticks else "sentence_no_hold"]
    law = told.format(first=first, last=last, hold=hold, at_once=percent(found.at_once))
    return {"hold": held, "laws": law, "summary": _summary(found)}


def _summary(found: Figures) -> str:
    told: str = texts()["workbench"]["summary"]
    return told.format(
        batched=seconds(float(found.delays.batched.mean)),
        unbatched=seconds(float(found.delays.unbatched.mean)),
    )


def _of_frontier(found: Figures) -> dict[str, str]:
    points = found.frontier
    low, high = points[-1], points[0]
    told = _t("frontier")["sentence_many" if len(points) > 1 else "sentence_one"]
    values = {
        "batched": found.delays.batched.mean,
        "unbatched": found.delays.unbatched.mean,
        "low_batched": low.batched,
        "high_unbatched": low.unbatched,
        "high_batched": high.batched,
        "low_unbatched": high.unbatched,
    }
    times = {name: seconds(float(value)) for name, value in values.items()}
    return {"frontier": told.format(epsilon=found.choices.epsilon, weight=found.choices.weight, **times)}


def _frontier_table(found: Figures) -> list[list[str]]:
    lines = {found.choices.epsilon: found.frontier, **found.neighbours}
    return [_point(epsilon, point) for epsilon, points in lines.items() for point in points]


def _point(epsilon: str, point: Point) -> list[str]:
    first, last = (f"{float(weight):g}" for weight in point.weights)
    weight = first if first == last else _t("frontier")["weights"].format(first=first, last=last)
    return [epsilon, weight, seconds(float(point.batched)), seconds(float(point.unbatched))]


def _of_power(found: Figures) -> dict[str, str]:
    bound = float(power_bound(found.choices.policy.epsilon, MASS, _ONE_IN_A_HUNDRED))
    return {"power": _t("power")["sentence"].format(power=percent(bound), mass=f"{float(MASS):g}")}


def _of_posterior(found: Figures) -> dict[str, str]:
    told, one = _t("posterior"), found.chosen
    chances = {name: percent(getattr(one, name)) for name in ("before", "together", "apart", "delayed")}
    rates = {"same": percent(float(SAME)), "different": percent(float(DIFFERENT))}
    return {
        "posterior": told["sentence"].format(suspects=one.suspects, **chances),
        "posterior_rates": told["rates"].format(**rates, mass=f"{float(MASS):g}"),
    }


def _counts(side: Side) -> dict[str, Any]:
    total = len(side.guesses)
    share = side.right / total if total else None
    return {"total": total, "right": side.right, "wrong": side.wrong, "precision": percent(share)}
