"""The workbench: sliders for a policy, and what it costs, hides and promises. All of it is public.

The server draws everything, for the page and its script alike. The script moves what is drawn while a
slider is dragged, and asks here when the hand lets go.
"""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.console.pages import page, require, texts
from tarry.console.said import said
from tarry.console.workbench.charts import RANGES, START_S, Ranges, charts
from tarry.console.workbench.evening import DRAWS, PEOPLE, Evening, watch
from tarry.console.workbench.figures import (
    CUTOFFS,
    DIFFERENT,
    FIELDS,
    LAWS,
    SAME,
    START,
    Choices,
    Field,
    Figures,
    figures,
    read_choices,
)
from tarry.console.workbench.instrument import PRESETS, about, facts, share_words
from tarry.console.workbench.seasons import risen
from tarry.core.calibrate import power_bound
from tarry.core.errors import TarryError
from tarry.core.exact import format_duration
from tarry.core.laws.cosine import LEAST_BLOCKS
from tarry.core.plan import Point
from tarry.core.policy_file import write_policy
from tarry.gateway.http_service import HttpService
from tarry.gateway.problems import refuse
from tarry.study.figures import percent, seconds

__all__ = ["ROUTES", "PageTexts", "clock", "evening_texts", "figure_texts"]


T = TypeVar("T")
# One thread for all of it: somebody who moves sliders all day keeps no post waiting.
_AT_WORK = ThreadPoolExecutor(1, thread_name_prefix="workbench")
_MOST_WAITING = 40
_waiting: list[object] = []


@dataclass(frozen=True, kw_only=True)
class PageTexts:
    """Texts by the name of their place in the page.

    >>> PageTexts(sentences={"hold": "Nothing is held."}).tables
    {}
    """

    sentences: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)  # rows; the first cell is a heading
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)


async def _read(_: HttpService, request: Request) -> Response:
    values = await _work(partial(_page_values, request.query_params))
    return page(request, "workbench.html", values, status=422 if values["problem"] else 200)


async def _policy(_: HttpService, request: Request) -> Response:
    policy = await _work(lambda: write_policy(read_choices(request.query_params).policy))
    headers = {"Content-Disposition": 'attachment; filename="policy.toml"'}
    return Response(policy, media_type="application/toml", headers=headers)


async def _work(step: Callable[[], T]) -> T:
    """Do it beside the event loop, in turn."""
    require(len(_waiting) < _MOST_WAITING, 503, "workbench", "busy")
    _waiting.append(step)
    try:
        return await asyncio.get_running_loop().run_in_executor(_AT_WORK, step)
    finally:
        _waiting.pop()


async def _figures(_: HttpService, request: Request) -> Response:
    query = request.query_params
    try:
        content = await _work(lambda: _figures_json(read_choices(query), _ranges(query)))
    except TarryError as error:
        return refuse(error)
    # There is no secret in it that its length could tell, so that it may be compressed.
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, 5, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type="application/json", headers=headers)


def _page_values(query: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows; what was typed and cannot be stays in the form, to be put right."""
    try:
        choices = read_choices(query)
    except TarryError as error:
        law = query.get("law")
        choices = read_choices({"law": law}) if law in LAWS else START
        typed = {name: text[:40] for name, text in query.items() if name in FIELDS}
        fields = {**choices.fields, **typed}
        return _values(choices, _ranges(query)) | {"fields": fields, "problem": str(error)}
    return _values(choices, _ranges(query)) | {"fields": choices.fields, "problem": ""}


def _ranges(query: Mapping[str, str]) -> Ranges:
    """The axes that somebody has locked, as `axes=laws:3,evening:2`; what is nothing is left out."""
    parts = (part.partition(":") for part in query.get("axes", "")[:60].split(","))
    return {
        name: int(place)
        for name, _, place in parts
        if name in RANGES and place.isascii() and place.isdecimal() and len(place) < 3
    }


def _values(choices: Choices, ranges: Ranges) -> dict[str, Any]:
    """What the template shows."""
    numbers, evening = figures(choices.without_evening), watch(choices)
    return {
        "query": choices.query,
        "sliders": [
            {"field": field, "place": _place(field, choices.fields[field.name])}
            for field in choices.sliders
        ],
        "laws": LAWS,
        "unused": [name for name, field in FIELDS.items() if field not in choices.sliders],
        "cutoffs": CUTOFFS,
        "presets": {name: urlencode(chosen) for name, chosen in PRESETS.items()},
        "shown": figure_texts(numbers),
        "evening": evening_texts(choices, evening),
        "figures": _glance(choices),
        "charts": charts(figures(choices), ranges),
        "facts": msgspec.json.encode(facts(figures(choices)).as_json()).decode(),
        "acts": msgspec.json.encode(
            [(act.person, act.thread, act.lane, act.at_s) for act in evening.acts]
        ).decode(),
        "weight_counts": choices.weight_counts,
        "command": choices.command,
        "next_draw": choices.draw % DRAWS + 1,
    }


def _figures_json(choices: Choices, ranges: Ranges) -> bytes:
    """All that changes with the choices: facts for the script, pictures, sentences and tables."""
    numbers = figures(choices)
    shown, evening = figure_texts(numbers), evening_texts(choices, watch(choices))
    values: dict[str, Any] = {
        "query": choices.query,
        "fields": choices.fields,
        "places": {field.name: _place(field, choices.fields[field.name]) for field in choices.sliders},
        "facts": facts(numbers).as_json(),
        "charts": {name: picture.__html__() for name, picture in charts(numbers, ranges).items()},
        "figures": _glance(choices),
        "command": choices.command,
        "sentences": shown.sentences | evening.sentences,
        "tables": shown.tables | evening.tables,
        "lists": shown.lists,
    }
    return msgspec.json.encode(values)


def _glance(choices: Choices) -> dict[str, str]:
    """The strip: a few figures that stay in view."""
    known, none = facts(figures(choices)), texts()["workbench"]["strip"]["none"]
    _, mean, longest = known.waits["batched"]
    return {
        "mean": about(mean),
        "longest": about(longest),
        "alone": about(known.waits["unbatched"][1]),
        "right": share_words(known.delayed.person, none),
        "pair": share_words(known.delayed.pair, none),
        "spread": share_words(known.delayed.spread, none),
        "without": share_words(known.without.person, none),
    }


def _place(field: Field, text: str) -> int:
    """The stop of a slider nearest to a value."""
    value = field.read(text)
    distances = [abs(field.read(step) - value) for step in field.steps.split()]
    return distances.index(min(distances))


# --- sentences and tables ------------------------------------------------------------------------------


def figure_texts(numbers: Figures) -> PageTexts:
    """The charts in sentences and tables.

    >>> from tarry.console.workbench.figures import START
    >>> from tarry.console.workbench.figures import figures
    >>> figure_texts(figures(START)).tables["delays"][0]
    ['batched', '21m', '33m20s', '33m19s', '45m39s']
    """
    w: dict[str, Any] = texts()["workbench"]
    delays = {"batched": numbers.delays.batched, "unbatched": numbers.delays.unbatched}
    trades = _trades(numbers, w)
    return PageTexts(
        sentences=_sentences(numbers, w) | trades.sentences,
        tables=trades.tables
        | {
            "delays": [
                [w["delays"][name], *map(_length, (law.minimum, law.mean, law.median, law.maximum))]
                for name, law in delays.items()
            ],
            "laws": [
                [
                    w["laws"]["stretch"].format(
                        start=format_duration(one.start_s), end=format_duration(one.end_s)
                    ),
                    percent(one.batched),
                    percent(one.unbatched),
                ]
                for one in numbers.bins
            ],
            "odds": [[str(one.pairs), *_nats(one.older), *_nats(one.season)] for one in numbers.odds],
            "power": [[percent(one.error), *map(percent, one.bounds)] for one in numbers.power],
            "posterior": [
                [str(one.suspects), *map(percent, (one.before, one.together, one.apart, one.delayed))]
                for one in numbers.suspicions
            ],
        },
        lists={
            "promised": tuple(map(said, numbers.promise.promised)),
            "not_promised": tuple(map(said, numbers.promise.not_promised)),
        },
    )


def _sentences(numbers: Figures, w: dict[str, Any]) -> dict[str, str]:
    """By their places in the page; `w` are the texts of the workbench."""
    choices, batched = numbers.choices, numbers.delays.batched
    hold, is_held = format_duration(choices.policy.window), numbers.delays.hold_ticks > 0
    laws = "sentence_season" if choices.law == "season" else "sentence" if is_held else "sentence_no_hold"
    mass = f"{float(numbers.mass):.2g}"
    return {
        "hold": w["delays"]["hold" if is_held else "no_hold"].format(hold=hold),
        "laws": w["laws"][laws].format(
            first=_length(batched.minimum),
            middle=_length(batched.median),
            last=_length(batched.maximum),
            hold=hold,
            at_once=percent(numbers.at_once),
        ),
        **_odds_sentences(numbers, w["odds"]),
        "power": w["power"]["sentence"].format(
            power=percent(float(power_bound(choices.policy.epsilon, numbers.mass, Fraction(1, 100)))),
            mass=mass,
        ),
        "posterior": w["posterior"]["sentence"].format(
            suspects=numbers.chosen.suspects,
            before=percent(numbers.chosen.before),
            together=percent(numbers.chosen.together),
            apart=percent(numbers.chosen.apart),
            delayed=percent(numbers.chosen.delayed),
        ),
        "posterior_rates": w["posterior"]["rates"].format(
            same=percent(float(SAME)), different=percent(float(DIFFERENT)), mass=mass
        ),
    }


def _trades(numbers: Figures, w: dict[str, Any]) -> PageTexts:
    """The trade between both delays, which the law for one pair has and the one for a season has not."""
    if not numbers.frontier:
        return PageTexts()
    low, high, here = numbers.frontier[-1], numbers.frontier[0], numbers.delays
    sentence = w["weights"]["sentence_many" if len(numbers.frontier) > 1 else "sentence_one"].format(
        epsilon=numbers.choices.epsilon,
        weight=numbers.choices.weight,
        batched=_length(here.batched.mean),
        unbatched=_length(here.unbatched.mean),
        low_batched=_length(low.batched),
        high_unbatched=_length(low.unbatched),
        high_batched=_length(high.batched),
        low_unbatched=_length(high.unbatched),
    )
    rows = [
        [_weights(point), _length(point.batched), _length(point.unbatched)] for point in numbers.frontier
    ]
    return PageTexts(sentences={"weights": sentence}, tables={"weights": rows})


def _odds_sentences(numbers: Figures, w: dict[str, Any]) -> dict[str, str]:
    """What a season's pairs do to a suspicion, and between which two stories that is."""
    choices, policy = numbers.choices, numbers.choices.policy
    chosen = next(one for one in numbers.odds if one.pairs == choices.pairs)
    reach = policy.start_ticks(policy.gap) * policy.tick
    sentence = w["sentence" if chosen.season is not None else "sentence_short"].format(
        pairs=w["pair" if chosen.pairs == 1 else "pairs"].format(pairs=chosen.pairs),
        older=_nats(chosen.older)[1],
        season=_nats(chosen.season)[1],
        delta=choices.delta,
        longest=_length(numbers.delays.batched.maximum),
        least=_length(LEAST_BLOCKS * reach),
    )
    return {"odds": sentence, "odds_stories": w["stories"].format(reach=format_duration(reach))}


def _nats(epsilon: float | None) -> tuple[str, str]:
    """An epsilon, and what a suspicion of 1 % becomes under it."""
    return ("-", "-") if epsilon is None else (f"{epsilon:.2f}", percent(risen(epsilon)))


def _length(delay: Fraction | None) -> str:
    return seconds(float(delay or 0))


def _weights(point: Point) -> str:
    first, last = (f"{float(weight):g}" for weight in point.weights)
    stretch: str = texts()["workbench"]["weights"]["stretch"]
    return first if first == last else stretch.format(first=first, last=last)


def evening_texts(choices: Choices, evening: Evening) -> PageTexts:
    """The evening in sentences and tables, with the strip and the trade, whose figures it gives.

    >>> from tarry.console.workbench.evening import watch
    >>> from tarry.console.workbench.figures import START
    >>> evening_texts(START, watch(START)).sentences["glance"][:49]
    'Wait 33 min on average, 46 min at most; an observ'
    """
    w: dict[str, Any] = texts()["workbench"]
    glance, before, after = _glance(choices), evening.without, evening.delayed
    known = facts(figures(choices))
    some = after.person is not None
    return PageTexts(
        sentences={
            "glance": w["strip"]["sentence"].format(**glance),
            "frontier": w["frontier"]["sentence" if some else "sentence_none"].format(
                **glance, base=share_words(known.base, "")
            ),
            "evening": w["replay"]["sentence" if some else "sentence_none"].format(
                cutoff=choices.cutoff,
                draws=DRAWS,
                guesses=f"{after.guesses:.1f}",
                guesses_without=f"{before.guesses:.0f}",
                **glance,
            ),
        },
        tables={
            "frontier": [
                [trade.value, _length(Fraction(trade.wait_s)), percent(trade.right)]
                for trade in known.trades
            ],
            "evening": [
                [
                    w["replay"]["pseudonym"].format(person=PEOPLE[act.person], thread=act.thread + 1),
                    clock(act.at_s),
                    clock(release_s),
                ]
                for act, release_s in zip(evening.acts, evening.at_s, strict=True)
            ],
        },
    )


def clock(after_s: int) -> str:
    """The time on the clock so many seconds into the evening.

    >>> clock(90), clock(6 * 3600)
    ('19:01', 'day 2, 01:00')
    """
    days, second = divmod(START_S + after_s, 86_400)
    time = f"{second // 3600:02}:{second // 60 % 60:02}"
    day: str = texts()["workbench"]["replay"]["day"]
    return f"{day.format(day=days + 1)}, {time}" if days else time


ROUTES = [
    ("GET", "/workbench", _read),
    ("GET", "/workbench/figures.json", _figures),
    ("GET", "/workbench/policy.toml", _policy),
]
