"""The workbench: sliders for a policy, and what it costs, hides and promises. All of it is public."""

import asyncio
import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tarry.console.evening import PEOPLE, Side, watch
from tarry.console.pages import page
from tarry.console.texts import texts
from tarry.console.workbench_choices import CUTOFFS, FIELDS, START, Choices, Field, read_choices
from tarry.console.workbench_figures import figures
from tarry.console.workbench_words import START_S, Shown, words_of_evening, words_of_figures
from tarry.core.errors import TarryError
from tarry.core.policy_file import write_policy
from tarry.gateway.problems import BadRequest, refuse

__all__ = ["ROUTES"]

T = TypeVar("T")
# One thread for all of it: somebody who moves sliders all day keeps no post waiting.
_AT_WORK = ThreadPoolExecutor(1, thread_name_prefix="workbench")
_MOST_WAITING = 40
_waiting: list[object] = []
_SVG = "image/svg+xml"


async def _read(request: Request) -> Response:
    problem = ""
    try:
        choices = read_choices(request.query_params)
    except TarryError as error:
        choices, problem = START, str(error)
    told = await _work(partial(_values, choices))
    if problem:  # what was typed stays in the form, to be put right
        told["fields"] |= {name: text[:40] for name, text in request.query_params.items() if name in FIELDS}
    return page(request, "workbench.html", {**told, "problem": problem}, status=422 if problem else 200)


async def _figures(request: Request) -> Response:
    return await _json(request, _figures_json)


async def _evening(request: Request) -> Response:
    return await _json(request, _evening_json)


async def _policy(request: Request) -> Response:
    told = write_policy(read_choices(request.query_params).policy)
    headers = {"Content-Disposition": 'attachment; filename="policy.toml"'}
    return Response(told, media_type="application/toml", headers=headers)


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
        told = await _work(partial(make, read_choices(request.query_params)))
    except TarryError as error:
        return refuse(error)
    return _packed(request, told, "application/json")


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
            {"field": field, "place": _place(field, getattr(choices, field.name))}
            for field in FIELDS.values()
        ],
        "cutoffs": CUTOFFS,
        "shown": words_of_figures(figures(choices.without_evening)),
        "evening": words_of_evening(choices, watch(choices)),
        "next_draw": choices.draw % 999 + 1,
        "has_charts": _has_charts(),
    }


def _figures_json(choices: Choices) -> bytes:
    found = figures(choices.without_evening)
    places = {name: _place(field, getattr(choices, name)) for name, field in FIELDS.items()}
    told = {"query": choices.query, "fields": choices.fields, "places": places}
    charts: object = {}
    if _has_charts():
        from tarry.console.workbench_charts import live_charts  # noqa: PLC0415 - of another extra

        charts = live_charts(choices.without_evening)
    return _encoded({**told, "charts": charts}, words_of_figures(found))


def _evening_json(choices: Choices) -> bytes:
    seen = watch(choices)
    told = {
        "start_s": START_S,
        "people": PEOPLE,
        "acts": [{"person": act.person, "lane": act.lane} for act in seen.acts],
        "sides": {"without": _side(seen.without), "delayed": _side(seen.delayed)},
    }
    return _encoded(told, words_of_evening(choices, seen))


def _encoded(told: dict[str, Any], shown: Shown) -> bytes:
    return msgspec.json.encode({**told, **asdict(shown)})


def _side(side: Side) -> dict[str, Any]:
    guesses = [(guess.first, guess.second, guess.is_right) for guess in side.guesses]
    return {"at": side.at_s, "guesses": guesses}


def _draw(name: str, choices: Choices, *, is_dark: bool) -> bytes:
    from tarry.console.workbench_charts import PICTURES, picture  # noqa: PLC0415 - of another extra

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


ROUTES = [
    Route("/workbench", _read, methods=["GET"]),
    Route("/workbench/figures.json", _figures, methods=["GET"]),
    Route("/workbench/evening.json", _evening, methods=["GET"]),
    Route("/workbench/policy.toml", _policy, methods=["GET"]),
    Route("/workbench/{name}.svg", _picture, methods=["GET"]),
]
