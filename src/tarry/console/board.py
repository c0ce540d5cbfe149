"""The board: a space's feed as a forum, and a form to post from, under another name on each thread.

A post is answered with its receipt (`receipt.py`), a page whose address is a secret.
"""

import secrets
from functools import lru_cache, partial
from hashlib import blake2b
from math import ceil
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import error_page, html, page, read_form, require, texts
from tarry.console.receipt import content_of
from tarry.console.workbench.instrument import about
from tarry.core.exact import exp_upper, format_duration
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.core.promise import promise
from tarry.gateway.catalog import Space
from tarry.gateway.feed import Feed, Threads
from tarry.gateway.gateway import Submission
from tarry.gateway.http_service import HttpService, query_number
from tarry.keep.keys import Keys
from tarry.keep.posts import Post

__all__ = ["ROUTES", "name_on"]


_MOST_TARGET = 200
_MOST_PAGE = 1_000_000


async def _read(service: HttpService, request: Request) -> Response:
    """The list of threads. Its first page is written once for all who read it."""
    space, number = service.space(request), query_number(request, "page", 1, _MOST_PAGE) or 1
    feed, threads = Feed(service.gateway.store, space.name), Threads(service.gateway.store, space.name)

    def write() -> bytes:
        last = feed.last_position()  # what is released from here on comes by itself
        values = {
            **_form(request, space),
            "threads": threads.newest((number - 1) * Threads.TOPS),
            "pages": _Pages(number, threads.count(), Threads.TOPS),
            "last": last,
            "most": Threads.TOPS,
            "spaces": [each for each in service.gateway.catalog.spaces.values() if each != space],
        }
        return bytes(page(request, "board.html", values).body)

    return html(await (service.shared(feed, "board", write) if number == 1 else service.call(write)))


async def _thread(service: HttpService, request: Request) -> Response:
    """One thread, oldest post first; without a page, its last one."""
    space, target = service.space(request), request.query_params.get("of", "")
    number = query_number(request, "page", 1, _MOST_PAGE)
    feed, threads = Feed(service.gateway.store, space.name), Threads(service.gateway.store, space.name)

    def write() -> Response:
        last, length = feed.last_position(), threads.length(target)
        require(length, 404, "board", "no_thread")
        pages = _Pages(number or -(-length // Threads.POSTS), length, Threads.POSTS)
        posts = threads.posts(target, (pages.number - 1) * Threads.POSTS)
        require(posts, 404, "board", "no_page")
        values = {"target": target, "posts": posts, "pages": pages, "last": last}
        return page(request, "thread.html", {**_form(request, space), **values})

    return await service.call(write)


async def _permalink(service: HttpService, request: Request) -> Response:
    """From the id of a post that has appeared to its place in its thread."""
    space = service.space(request)
    threads, public_id = Threads(service.gateway.store, space.name), request.path_params["post"]
    place = await service.call(partial(threads.place_of, public_id))
    if place is None:
        return error_page(request, 404, texts()["board"]["no_post"], f"/board/{space.name}")
    there = urlencode({"of": place[0], "page": place[1]})
    return RedirectResponse(f"/board/{space.name}/thread?{there}#p-{public_id}", 303)


class _Pages(NamedTuple):
    """Which page this is, and of how many things there are."""

    number: int
    things: int
    each: int

    @property
    def all(self) -> int:
        return max(1, -(-self.things // self.each))


def _form(request: Request, space: Space) -> dict[str, Any]:
    """What the form for a post needs, and the head of each page of a board."""
    policy = space.version.policy
    return {
        "space": space,
        "may_post": space.name in request.app.state.boards,
        "asks": policy.labels == "declared",
        "is_labelled": policy.labels != "none",
        "window": format_duration(policy.window),
        "waits": _waits(space.version.text),
    }


class _Waits(NamedTuple):
    """What a post waits on average and at most, in words."""

    alone: str
    alone_most: str
    batched: str
    batched_most: str


@lru_cache(64)
def _waits(policy_text: str) -> _Waits:
    delays = plan(read_policy(policy_text))
    endless = texts()["board"]["endless"]
    words = (
        endless if seconds is None else about(float(seconds))
        for each in (delays.unbatched, delays.batched)
        for seconds in (each.mean, each.maximum)
    )
    return _Waits(*words)


async def _promise(service: HttpService, request: Request) -> Response:
    space = service.space(request)
    promised = await service.call(partial(promise, space.version.policy))
    values = {"space": space, "promise": promised, "example": _example(space.version.policy)}
    return page(request, "promise.html", values)


def _example(policy: Policy) -> str:
    """The promise as somebody meets it: from an even bet to how sure an observer can be, rounded up."""
    loss = {"none": policy.epsilon, "follower": policy.share}.get(policy.labels, 2 * policy.share)
    factor = exp_upper(loss)
    words: str = texts()["board"]["example"][policy.labels]
    return words.format(
        window=format_duration(policy.window),
        reach=format_duration(policy.start_ticks(min(policy.gaps)) * policy.tick),
        sure=ceil(100 * factor / (1 + factor)),
        delta=f"{float(policy.delta):g}",
    )


async def _post(service: HttpService, request: Request) -> Response:
    space = service.space(request)
    require(space.name in request.app.state.boards, 403, "board", "closed")
    service.guest_rates.take(service.clients.name(request.scope))
    fields, actor = await read_form(request), _actor_of(request)
    target, content = fields.get("target", "").strip(), content_of(fields)
    require(0 < len(target) <= _MOST_TARGET, 422, "board", "too_long")
    asks = space.version.policy.labels == "declared"
    require(not asks or fields.get("more") in {"yes", "no"}, 422, "board", "no_answer")
    post = Post(
        actor=actor,
        target=target,
        outlet="",
        content=content,
        options={"by": name_on(service.gateway.keys, actor, space.name, target)},
        more_to_come=fields.get("more") == "yes",
    )
    (receipt,) = await service.admit(Submission(space=space.name, posts=[post]))
    said = f"?answer={fields['more']}" if asks else ""
    answer = RedirectResponse(f"/receipt/{receipt.secret}{said}", 303)
    # The browser keeps the key: no script can read it, and no other site can have it sent.
    answer.set_cookie(
        _COOKIE,
        actor,
        max_age=_YEAR_S,
        path="/board",
        httponly=True,
        samesite="strict",
        secure=request.app.state.config.https,
    )
    return answer


# --- who posts: a random key in a cookie, and another name on each thread ------------------------------

_COOKIE = "tarry_me"
_YEAR_S = 365 * 24 * 3600
_COLOURS = "amber ash azure coral copper dusk ebony fern flint frost hazel indigo ivory jade lilac moss"
_CREATURES = "badger crane finch fox hare heron ibis lark lynx mole newt otter owl quail seal wren"


def _actor_of(request: Request) -> str:
    """The key that a browser has, or a new one."""
    key = request.cookies.get(_COOKIE, "")
    return key if len(key) == 64 and set(key) <= set("0123456789abcdef") else secrets.token_hex(32)


def name_on(keys: Keys, actor: str, space: str, target: str) -> str:
    """The pseudonym of somebody on one thread: a keyed hash, so that no two threads can be matched.

    >>> name_on(Keys(bytes(32)), "a" * 64, "talk", "cats") == name_on(
    ...     Keys(bytes(32)), "a" * 64, "talk", "dogs"
    ... )
    False
    """
    key = keys.secret("names on the board")
    message = b"".join(len(part).to_bytes(8) + part for part in map(str.encode, (actor, space, target)))
    number = int.from_bytes(blake2b(message, key=key, digest_size=8).digest())
    colour, creature = _COLOURS.split()[number % 16], _CREATURES.split()[number // 16 % 16]
    return f"{colour} {creature} {number // 256 % 10_000:04d}"


ROUTES = [
    ("GET", "/board/{space}", _read),
    ("POST", "/board/{space}", _post),
    ("GET", "/board/{space}/promise", _promise),
    ("GET", "/board/{space}/thread", _thread),
    ("GET", "/board/{space}/post/{post}", _permalink),
]
