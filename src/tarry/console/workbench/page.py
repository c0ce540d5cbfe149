"""The workbench: sliders for a policy, and what it costs, hides and promises. All of it is public.

Sentences and tables say what the charts draw, for the page and its script alike.
"""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.console.pages import page, require, texts
from tarry.console.workbench.evening import DRAWS, PEOPLE, Evening, Side, watch
from tarry.console.workbench.figures import (
    CUTOFFS,
    DIFFERENT,
    FIELDS,
    LAWS,
    MASS,
    SAME,
    START,
    Choices,
    Field,
    Figures,
    figures,
    read_choices,
)
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

__all__ = ["ROUTES", "START_S", "PageTexts", "clock", "evening_texts", "figure_texts"]


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


async def _picture(_: HttpService, request: Request) -> Response:
    require(_has_charts(), 404, "workbench", "needs_study")
    drawn = await _work(partial(_draw, request.path_params["name"], request.query_params))
    return _packed(request, drawn, "image/svg+xml")


async def _work(step: Callable[[], T]) -> T:
    """Do it beside the event loop, in turn."""
    require(len(_waiting) < _MOST_WAITING, 503, "workbench", "busy")
    _waiting.append(step)
    try:
        return await asyncio.get_running_loop().run_in_executor(_AT_WORK, step)
    finally:
        _waiting.pop()


async def _json(make: Callable[[Choices], bytes], _: HttpService, request: Request) -> Response:
    try:
        content = await _work(lambda: make(read_choices(request.query_params)))
    except TarryError as error:
        return refuse(error)
    return _packed(request, content, "application/json")


def _packed(request: Request, content: bytes, kind: str) -> Response:
    """There is no secret in it that its length could tell, so that it may be compressed."""
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, 5, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=kind, headers=headers)


def _page_values(query: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows; what was typed and cannot be stays in the form, to be put right."""
    try:
        choices = read_choices(query)
    except TarryError as error:
        law = query.get("law")
        choices = read_choices({"law": law}) if law in LAWS else START
        typed = {name: text[:40] for name, text in query.items() if name in FIELDS}
        return _values(choices) | {"fields": {**choices.fields, **typed}, "problem": str(error)}
    return _values(choices) | {"fields": choices.fields, "problem": ""}


def _values(choices: Choices) -> dict[str, Any]:
    """What the template shows."""
    return {
        "query": choices.query,
        "sliders": [
            {"field": field, "place": _place(field, choices.fields[field.name])}
            for field in choices.sliders
        ],
        "laws": LAWS,
        "unused": [name for name, field in FIELDS.items() if field not in choices.sliders],
        "cutoffs": CUTOFFS,
        "shown": figure_texts(figures(choices.without_evening)),
        "evening": evening_texts(choices, watch(choices)),
        "next_draw": choices.draw % 999 + 1,
        "has_charts": _has_charts(),
    }


def _figures_json(choices: Choices) -> bytes:
    charts: object = {}
    if _has_charts():
        from tarry.console.workbench.charts import live_charts  # noqa: PLC0415 - of another extra

        charts = live_charts(choices.without_evening)
    values: dict[str, Any] = {
        "query": choices.query,
        "fields": choices.fields,
        "places": {field.name: _place(field, choices.fields[field.name]) for field in choices.sliders},
        "charts": charts,
    }
    return msgspec.json.encode({**values, **asdict(figure_texts(figures(choices.without_evening)))})


def _evening_json(choices: Choices) -> bytes:
    evening = watch(choices)
    sides = {"without": evening.without, "delayed": evening.delayed}
    values = {
        "start_s": START_S,
        "people": PEOPLE,
        "acts": [{"person": act.person, "lane": act.lane} for act in evening.acts],
        "sides": {name: {"at": side.at_s, "guesses": side.guesses} for name, side in sides.items()},
    }
    return msgspec.json.encode({**values, **asdict(evening_texts(choices, evening))})


def _draw(name: str, query: Mapping[str, str]) -> bytes:
    from tarry.console.workbench.charts import PICTURES, picture  # noqa: PLC0415 - of another extra

    choices = read_choices(query)
    has_picture = name in PICTURES and (name != "frontier" or choices.law == "pair")
    require(has_picture, 404, "workbench", "no_picture")
    choices = choices if name.startswith("evening") else choices.without_evening
    return picture(name, choices, is_dark=query.get("look") == "dark").encode()


def _place(field: Field, text: str) -> int:
    """The stop of a slider nearest to a value."""
    value = field.read(text)
    distances = [abs(field.read(step) - value) for step in field.steps.split()]
    return distances.index(min(distances))


def _has_charts() -> bool:
    """Whether the packages that draw are there: they come with another extra than the pages."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


# --- sentences and tables ------------------------------------------------------------------------------

#: The evening begins at seven.
START_S = 19 * 3600


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
        lists={"promised": numbers.promise.promised, "not_promised": numbers.promise.not_promised},
    )


def _sentences(numbers: Figures, w: dict[str, Any]) -> dict[str, str]:
    """By their places in the page; `w` are the texts of the workbench."""
    choices, batched, unbatched = numbers.choices, numbers.delays.batched, numbers.delays.unbatched
    hold, is_held = format_duration(choices.policy.window), numbers.delays.hold_ticks > 0
    laws = "sentence_season" if choices.law == "season" else "sentence" if is_held else "sentence_no_hold"
    mass = f"{float(MASS):g}"
    return {
        "hold": w["delays"]["hold" if is_held else "no_hold"].format(hold=hold),
        "laws": w["laws"][laws].format(
            first=_length(batched.minimum),
            middle=_length(batched.median),
            last=_length(batched.maximum),
            hold=hold,
            at_once=percent(numbers.at_once),
        ),
        "summary": w["summary"].format(batched=_length(batched.mean), unbatched=_length(unbatched.mean)),
        **_odds_sentences(numbers, w["odds"]),
        "power": w["power"]["sentence"].format(
            power=percent(float(power_bound(choices.policy.epsilon, MASS, Fraction(1, 100)))), mass=mass
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
    lines = {numbers.choices.epsilon: numbers.frontier, **numbers.neighbours}
    sentence = w["frontier"]["sentence_many" if len(numbers.frontier) > 1 else "sentence_one"].format(
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
        [epsilon, _weights(point), _length(point.batched), _length(point.unbatched)]
        for epsilon, points in lines.items()
        for point in points
    ]
    return PageTexts(sentences={"frontier": sentence}, tables={"frontier": rows})


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
    stretch: str = texts()["workbench"]["frontier"]["weights"]
    return first if first == last else stretch.format(first=first, last=last)


def evening_texts(choices: Choices, evening: Evening) -> PageTexts:
    """The replay in sentences and a table.

    >>> from tarry.console.workbench.evening import watch
    >>> from tarry.console.workbench.figures import START
    >>> evening_texts(START, watch(START)).sentences["replay_without"][-25:]
    'so that 60.0 % are right.'
    """
    sentences, delayed = texts()["workbench"]["replay"], evening.delayed
    before, after = _counts(evening.without), _counts(delayed)
    sentence = sentences["sentence_delayed"] if delayed.guesses else sentences["sentence_none"]
    return PageTexts(
        sentences={
            "replay_lead": sentences["lead"].format(cutoff=choices.cutoff),
            "replay_without": sentences["sentence_without"].format(**before),
            "replay_delayed": sentence.format(**after, end=clock(delayed.end_s)),
            "replay_usual": sentences["sentence_usual"].format(
                right=f"{evening.usual_right:.1f}", wrong=f"{evening.usual_wrong:.1f}", draws=DRAWS
            ),
            "picture_without": sentences["picture_without"].format(**before),
            "picture_delayed": sentences["picture_delayed"].format(**after),
        },
        tables={
            "replay": [
                [
                    sentences["pseudonym"].format(person=PEOPLE[act.person], thread=act.thread + 1),
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
    days, second = divmod(START_S + after_s, 86_400)
    time = f"{second // 3600:02}:{second // 60 % 60:02}"
    day: str = texts()["workbench"]["replay"]["day"]
    return f"{day.format(day=days + 1)}, {time}" if days else time


def _counts(side: Side) -> dict[str, Any]:
    total = len(side.guesses)
    share = side.right / total if total else None
    return {"total": total, "right": side.right, "wrong": side.wrong, "precision": percent(share)}


ROUTES = [
    ("GET", "/workbench", _read),
    ("GET", "/workbench/figures.json", partial(_json, _figures_json)),
    ("GET", "/workbench/evening.json", partial(_json, _evening_json)),
    ("GET", "/workbench/policy.toml", _policy),
    ("GET", "/workbench/{name}.svg", _picture),
]
