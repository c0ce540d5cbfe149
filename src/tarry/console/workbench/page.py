"""The workbench: sliders for a policy, and what it costs, hides and promises. All of it is public.

Sentences and tables say what the charts draw, for the page and its script alike.
"""

import asyncio
import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tarry.console.assets import texts
from tarry.console.pages import page
from tarry.console.workbench.evening import DRAWS, PEOPLE, Evening, Side, watch
from tarry.console.workbench.figures import (
    CUTOFFS,
    DIFFERENT,
    FIELDS,
    MASS,
    SAME,
    START,
    Choices,
    Field,
    Figures,
    figures,
    read_choices,
)
from tarry.core.bounds import power_bound
from tarry.core.errors import TarryError
from tarry.core.exact import format_duration
from tarry.core.plan import Delays, Point
from tarry.core.policy_file import write_policy
from tarry.gateway.problems import BadRequest, refuse
from tarry.study.figures import percent, seconds

__all__ = ["ROUTES", "START_S", "PageTexts", "clock", "evening_texts", "figure_texts"]


T = TypeVar("T")
# One thread for all of it: somebody who moves sliders all day keeps no post waiting.
_AT_WORK = ThreadPoolExecutor(1, thread_name_prefix="workbench")
_MOST_WAITING = 40
_waiting: list[object] = []
_SVG = "image/svg+xml"


@dataclass(frozen=True, kw_only=True)
class PageTexts:
    """Texts by the name of their place in the page.

    >>> PageTexts(sentences={"hold": "Nothing is held."}).tables
    {}
    """

    sentences: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)  # rows; the first cell is a heading
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)


async def _read(request: Request) -> Response:
    problem = ""
    try:
        choices = read_choices(request.query_params)
    except TarryError as error:
        choices, problem = START, str(error)
    values = await _work(partial(_values, choices))
    if problem:  # what was typed stays in the form, to be put right
        typed = {name: text[:40] for name, text in request.query_params.items() if name in FIELDS}
        values["fields"] |= typed
    return page(request, "workbench.html", {**values, "problem": problem}, status=422 if problem else 200)


async def _figures(request: Request) -> Response:
    return await _json(request, _figures_json)


async def _evening(request: Request) -> Response:
    return await _json(request, _evening_json)


async def _policy(request: Request) -> Response:
    policy = write_policy(read_choices(request.query_params).policy)
    headers = {"Content-Disposition": 'attachment; filename="policy.toml"'}
    return Response(policy, media_type="application/toml", headers=headers)


async def _picture(request: Request) -> Response:
    name, choices = request.path_params["name"], read_choices(request.query_params)
    if not _has_charts():
        raise BadRequest(404, texts()["workbench"]["needs_study"])
    is_dark = request.query_params.get("look") == "dark"
    return _packed(request, await _work(partial(_draw, name, choices, is_dark=is_dark)), _SVG)


async def _work(step: Callable[[], T]) -> T:
    """Do it beside the event loop, in turn."""
    if len(_waiting) >= _MOST_WAITING:
        raise BadRequest(503, texts()["workbench"]["busy"])
    _waiting.append(step)
    try:
        return await asyncio.get_running_loop().run_in_executor(_AT_WORK, step)
    finally:
        _waiting.pop()


async def _json(request: Request, make: Callable[[Choices], bytes]) -> Response:
    try:
        content = await _work(partial(make, read_choices(request.query_params)))
    except TarryError as error:
        return refuse(error)
    return _packed(request, content, "application/json")


def _packed(request: Request, content: bytes, kind: str) -> Response:
    """There is no secret in it that its length could tell, so that it may be compressed."""
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(content, media_type=kind, headers={"Vary": "Accept-Encoding"})
    headers = {"Vary": "Accept-Encoding", "Content-Encoding": "gzip"}
    return Response(gzip.compress(content, 5, mtime=0), media_type=kind, headers=headers)


def _values(choices: Choices) -> dict[str, Any]:
    """What the template shows."""
    return {
        "fields": dict(choices.fields),
        "query": choices.query,
        "sliders": [
            {"field": field, "place": _place(field, choices.fields[field.name])}
            for field in FIELDS.values()
        ],
        "cutoffs": CUTOFFS,
        "shown": figure_texts(figures(choices.without_evening)),
        "evening": evening_texts(choices, watch(choices)),
        "next_draw": choices.draw % 999 + 1,
        "has_charts": _has_charts(),
    }


def _figures_json(choices: Choices) -> bytes:
    numbers = figures(choices.without_evening)
    places = {name: _place(field, choices.fields[name]) for name, field in FIELDS.items()}
    chosen = {"query": choices.query, "fields": choices.fields, "places": places}
    charts: object = {}
    if _has_charts():
        from tarry.console.workbench.charts import live_charts  # noqa: PLC0415 - of another extra

        charts = live_charts(choices.without_evening)
    return _encoded({**chosen, "charts": charts}, figure_texts(numbers))


def _evening_json(choices: Choices) -> bytes:
    evening = watch(choices)
    replay = {
        "start_s": START_S,
        "people": PEOPLE,
        "acts": [{"person": act.person, "lane": act.lane} for act in evening.acts],
        "sides": {"without": _side(evening.without), "delayed": _side(evening.delayed)},
    }
    return _encoded(replay, evening_texts(choices, evening))


def _encoded(values: dict[str, Any], sentences: PageTexts) -> bytes:
    return msgspec.json.encode({**values, **asdict(sentences)})


def _side(side: Side) -> dict[str, Any]:
    guesses = [(guess.first, guess.second, guess.is_right) for guess in side.guesses]
    return {"at": side.at_s, "guesses": guesses}


def _draw(name: str, choices: Choices, *, is_dark: bool) -> bytes:
    from tarry.console.workbench.charts import PICTURES, picture  # noqa: PLC0415 - of another extra

    if name not in PICTURES:
        raise BadRequest(404, texts()["workbench"]["no_picture"])
    choices = choices if name.startswith("evening") else choices.without_evening
    return picture(name, choices, is_dark=is_dark).encode()


def _place(field: Field, text: str) -> int:
    """The stop of a slider nearest to a value."""
    value = field.read(text)
    distances = [abs(field.read(step) - value) for step in field.steps]
    return distances.index(min(distances))


def _has_charts() -> bool:
    """Whether the packages that draw are there: they come with another extra than the pages."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


# --- sentences and tables ------------------------------------------------------------------------------

#: The evening begins at seven.
START_S = 19 * 3600
_DAY_S = 86_400
_ONE_IN_A_HUNDRED = Fraction(1, 100)


def figure_texts(numbers: Figures) -> PageTexts:
    """The charts in sentences and tables.

    >>> from tarry.console.workbench.figures import START
    >>> from tarry.console.workbench.figures import figures
    >>> figure_texts(figures(START)).tables["delays"][0]
    ['batched', '21m', '33m20s', '33m19s', '45m39s']
    """
    return PageTexts(
        sentences={
            **_of_delays(numbers),
            **_of_frontier(numbers),
            **_of_power(numbers),
            **_of_posterior(numbers),
        },
        tables={
            "delays": [
                _row(_texts_of("delays")["batched"], numbers.delays.batched),
                _row(_texts_of("delays")["unbatched"], numbers.delays.unbatched),
            ],
            "laws": [
                [_stretch(one.start_s, one.end_s), percent(one.batched), percent(one.unbatched)]
                for one in numbers.bins
            ],
            "frontier": _frontier_table(numbers),
            "power": [[percent(one.error), *map(percent, one.bounds)] for one in numbers.power],
            "posterior": [
                [str(one.suspects), *map(percent, (one.before, one.together, one.apart, one.delayed))]
                for one in numbers.suspicions
            ],
        },
        lists={"promised": numbers.promise.promised, "not_promised": numbers.promise.not_promised},
    )


def evening_texts(choices: Choices, evening: Evening) -> PageTexts:
    """The replay in sentences and a table.

    >>> from tarry.console.workbench.evening import watch
    >>> from tarry.console.workbench.figures import START
    >>> evening_texts(START, watch(START)).sentences["replay_without"][-25:]
    'so that 60.0 % are right.'
    """
    sentences, without, delayed = _texts_of("replay"), evening.without, evening.delayed
    after = sentences["sentence_delayed"] if delayed.guesses else sentences["sentence_none"]
    usual = {"right": f"{evening.usual_right:.1f}", "wrong": f"{evening.usual_wrong:.1f}", "draws": DRAWS}
    return PageTexts(
        sentences={
            "replay_lead": sentences["lead"].format(cutoff=choices.cutoff),
            "replay_without": sentences["sentence_without"].format(**_counts(without)),
            "replay_delayed": after.format(**_counts(delayed), end=clock(delayed.end_s)),
            "replay_usual": sentences["sentence_usual"].format(**usual),
            "picture_without": sentences["picture_without"].format(**_counts(without)),
            "picture_delayed": sentences["picture_delayed"].format(**_counts(delayed)),
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
    days, second = divmod(START_S + after_s, _DAY_S)
    time = f"{second // 3600:02}:{second // 60 % 60:02}"
    day: str = _texts_of("replay")["day"]
    return f"{day.format(day=days + 1)}, {time}" if days else time


def _texts_of(part: str) -> dict[str, Any]:
    sentences: dict[str, Any] = texts()["workbench"][part]
    return sentences


def _row(name: str, delays: Delays) -> list[str]:
    values = (delays.minimum, delays.mean, delays.median, delays.maximum or Fraction(0))
    return [name, *(seconds(float(value)) for value in values)]


def _stretch(start_s: int, end_s: int) -> str:
    stretch: str = _texts_of("laws")["stretch"]
    return stretch.format(start=format_duration(start_s), end=format_duration(end_s))


def _of_delays(numbers: Figures) -> dict[str, str]:
    delays, hold = numbers.delays, format_duration(numbers.choices.policy.window)
    last = seconds(float(delays.batched.maximum or 0))
    first = seconds(float(delays.batched.minimum))
    held = _texts_of("delays")["hold" if delays.hold_ticks else "no_hold"].format(hold=hold)
    sentence = _texts_of("laws")["sentence" if delays.hold_ticks else "sentence_no_hold"]
    law = sentence.format(first=first, last=last, hold=hold, at_once=percent(numbers.at_once))
    return {"hold": held, "laws": law, "summary": _summary(numbers)}


def _summary(numbers: Figures) -> str:
    summary: str = texts()["workbench"]["summary"]
    return summary.format(
        batched=seconds(float(numbers.delays.batched.mean)),
        unbatched=seconds(float(numbers.delays.unbatched.mean)),
    )


def _of_frontier(numbers: Figures) -> dict[str, str]:
    points = numbers.frontier
    low, high = points[-1], points[0]
    sentence = _texts_of("frontier")["sentence_many" if len(points) > 1 else "sentence_one"]
    values = {
        "batched": numbers.delays.batched.mean,
        "unbatched": numbers.delays.unbatched.mean,
        "low_batched": low.batched,
        "high_unbatched": low.unbatched,
        "high_batched": high.batched,
        "low_unbatched": high.unbatched,
    }
    times = {name: seconds(float(value)) for name, value in values.items()}
    return {
        "frontier": sentence.format(epsilon=numbers.choices.epsilon, weight=numbers.choices.weight, **times)
    }


def _frontier_table(numbers: Figures) -> list[list[str]]:
    lines = {numbers.choices.epsilon: numbers.frontier, **numbers.neighbours}
    return [_point(epsilon, point) for epsilon, points in lines.items() for point in points]


def _point(epsilon: str, point: Point) -> list[str]:
    first, last = (f"{float(weight):g}" for weight in point.weights)
    weight = first if first == last else _texts_of("frontier")["weights"].format(first=first, last=last)
    return [epsilon, weight, seconds(float(point.batched)), seconds(float(point.unbatched))]


def _of_power(numbers: Figures) -> dict[str, str]:
    bound = float(power_bound(numbers.choices.policy.epsilon, MASS, _ONE_IN_A_HUNDRED))
    return {"power": _texts_of("power")["sentence"].format(power=percent(bound), mass=f"{float(MASS):g}")}


def _of_posterior(numbers: Figures) -> dict[str, str]:
    sentences, one = _texts_of("posterior"), numbers.chosen
    chances = {
        "before": percent(one.before),
        "together": percent(one.together),
        "apart": percent(one.apart),
        "delayed": percent(one.delayed),
    }
    rates = {"same": percent(float(SAME)), "different": percent(float(DIFFERENT))}
    return {
        "posterior": sentences["sentence"].format(suspects=one.suspects, **chances),
        "posterior_rates": sentences["rates"].format(**rates, mass=f"{float(MASS):g}"),
    }


def _counts(side: Side) -> dict[str, Any]:
    total = len(side.guesses)
    share = side.right / total if total else None
    return {"total": total, "right": side.right, "wrong": side.wrong, "precision": percent(share)}


ROUTES = [
    Route("/workbench", _read, methods=["GET"]),
    Route("/workbench/figures.json", _figures, methods=["GET"]),
    Route("/workbench/evening.json", _evening, methods=["GET"]),
    Route("/workbench/policy.toml", _policy, methods=["GET"]),
    Route("/workbench/{name}.svg", _picture, methods=["GET"]),
]
