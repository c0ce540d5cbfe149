"""The board: a space's feed as a forum, and a form to post from, under another name on each thread."""

import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console.assets import texts
from tarry.console.pages import html, page, read_form
from tarry.core.entropy import Seeded
from tarry.core.exact import format_duration
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.gateway.catalog import Space
from tarry.gateway.feed import Feed, FeedItem, FeedOutlet
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.problems import BadRequest
from tarry.keep.keys import Keys
from tarry.keep.posts import Post, Release

if TYPE_CHECKING:
    from tarry.gateway.http_service import HttpService

__all__ = ["EVENING", "ROUTES", "fill_with_an_evening", "name_on"]


_SHOWN, _MOST_SHOWN = 300, 3 << 20  # releases, and bytes of JSON that they would be at most
_MOST_TARGET, _MOST_CONTENT = 200, 20_000


class _Thread(NamedTuple):
    """The posts on one target, oldest first."""

    target: str
    posts: list[FeedItem]


async def _first(request: Request) -> Response:
    book = request.app.state.service.gateway.catalog
    boards = [name for name in request.app.state.settings.boards if name in book.spaces]
    return RedirectResponse(f"/board/{(boards or list(book.spaces))[0]}", 303)


async def _read(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    feed = Feed(service.gateway.store, space.name)

    def write() -> bytes:
        items = feed.latest(_SHOWN, _MOST_SHOWN)
        return bytes(page(request, "board.html", _values(request, space, items)).body)

    return html(await service.shared(feed, "board", write))


async def _promise(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    promised = await service.call(partial(promise, space.version.policy))
    return page(request, "promise.html", {"space": space, "promise": promised})


async def _post(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    if space.name not in request.app.state.settings.boards:
        raise BadRequest(403, texts()["board"]["closed"])
    service.guest_rates.take(service.clients.name(request.scope))
    fields, actor = await read_form(request), _actor_of(request)
    target, content = fields.get("target", "").strip(), fields.get("content", "").strip()
    if not (0 < len(target) <= _MOST_TARGET and 0 < len(content) <= _MOST_CONTENT):
        raise BadRequest(422, texts()["board"]["too_long"])
    post = Post(
        actor=actor,
        target=target,
        outlet="",
        content=content.encode(),
        options={"by": name_on(service.gateway.keys, actor, space.name, target)},
        more_to_come=fields.get("more") == "yes",
    )
    (receipt,) = await service.group_commit.admit(Submission(space=space.name, posts=[post]))
    answer = RedirectResponse(f"/receipt/{receipt.secret}", 303)
    _remember(answer, actor, is_https=request.app.state.settings.is_https)
    return answer


def _values(request: Request, space: Space, items: list[FeedItem]) -> dict[str, Any]:
    policy = space.version.policy
    return {
        "space": space,
        "threads": _threads(items),
        "last": items[0].position if items else 0,
        "may_post": space.name in request.app.state.settings.boards,
        "asks": policy.labels == "declared",
        "window": format_duration(policy.window),
        "spaces": [
            each for each in request.app.state.service.gateway.catalog.spaces.values() if each != space
        ],
    }


def _threads(items: list[FeedItem]) -> list[_Thread]:
    """The thread with the newest release first; inside one, in the order of release."""
    threads: dict[str, list[FeedItem]] = {}
    for item in items:
        threads.setdefault(item.target, []).insert(0, item)
    return [_Thread(target, posts) for target, posts in threads.items()]


# --- who posts: a random key in a cookie, and another name on each thread ------------------------------

_COOKIE = "tarry_me"
_YEAR_S = 365 * 24 * 3600
_COLOURS = "amber ash azure coral copper dusk ebony fern flint frost hazel indigo ivory jade lilac moss"
_CREATURES = "badger crane finch fox hare heron ibis lark lynx mole newt otter owl quail seal wren"


def _actor_of(request: Request) -> str:
    """The key that a browser has, or a new one."""
    key = request.cookies.get(_COOKIE, "")
    return key if len(key) == 64 and set(key) <= set("0123456789abcdef") else secrets.token_hex(32)


def _remember(response: Response, actor: str, *, is_https: bool) -> None:
    """Have the browser keep the key: no script can read it, and no other site can have it sent."""
    response.set_cookie(
        _COOKIE, actor, max_age=_YEAR_S, path="/board", httponly=True, samesite="strict", secure=is_https
    )


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


# --- a demonstration: posts that have appeared already, each after a random delay of its own ------------

#: Who says what where, in the order in which they sat down to write. Acts of one person come in batches.
EVENING: tuple[tuple[str, str, str], ...] = (
    ("mira", "Paper 12: counting birds by ear", "The method is sound, and the data is a joy to read."),
    ("mira", "Paper 31: a cheaper tide gauge", "I could not find how the gauge was calibrated in winter."),
    ("odd", "Paper 12: counting birds by ear", "Section 3 needs a control without microphones."),
    ("tom", "Paper 7: sleep and chess", "Forty players are few. Is there a reason not to ask the league?"),
    ("tom", "Paper 31: a cheaper tide gauge", "Winter is in the appendix, page 19. It could come earlier."),
    ("tom", "Paper 12: counting birds by ear", "A control was done in the pilot; they should say so."),
    ("ines", "Paper 7: sleep and chess", "The effect halves without the three strongest players."),
    ("ines", "Paper 44: maps for the blind", "This is the best paper in my pile. Accept."),
    ("odd", "Paper 44: maps for the blind", "I would like to touch one before I say more."),
    ("odd", "Paper 7: sleep and chess", "Then the title promises too much."),
    ("mira", "Paper 44: maps for the blind", "There is a sample in the office, third drawer."),
    ("lev", "Paper 31: a cheaper tide gauge", "Cheaper by how much? The table mixes currencies."),
    ("lev", "Paper 12: counting birds by ear", "Fine with me, after the control is mentioned."),
    ("ines", "Paper 31: a cheaper tide gauge", "Euros throughout, says the author's reply. Good enough."),
)
_MINUTES = (0, 2, 9, 15, 17, 18, 26, 28, 39, 41, 52, 63, 64, 75)
_BACK_S = 3 * 3600


def fill_with_an_evening(gateway: Gateway, space: str, *, seed: int = 1) -> int:
    """Write a made-up evening to a feed that is empty, delayed by the space's policy; the number of posts.

    Nobody ever sent these posts: they are drawn, and written straight to the feed.

    >>> from tarry.gateway.testing import small_gateway
    >>> fill_with_an_evening(small_gateway(), "talk")
    14
    """
    with gateway.store.transaction("closing") as transaction:
        last = transaction.one("last_position", space=space)
        if last is not None and last["position"]:
            return 0
        now = gateway.vault.now(transaction) // 1_000_000
        policy = gateway.catalog.space(space).version.policy
        releases = _released(gateway, space, _ticks(policy, now - _BACK_S, seed), policy.tick)
        FeedOutlet(space).record(transaction, releases)
    return len(releases)


def _ticks(policy: Policy, start_s: int, seed: int) -> Sequence[int]:
    """When each post of the evening is released."""
    history = History(
        actor=[actor for actor, _, _ in EVENING],
        target=[target for _, target, _ in EVENING],
        time=[start_s + 60 * minutes for minutes in _MINUTES],
        unit=Fraction(1),
    )
    planned = plan_release(policy, history, Seeded(seed))
    return [int(tick) for tick in planned.release]


def _released(gateway: Gateway, space: str, ticks: Sequence[int], tick: Fraction) -> list[Release]:
    """In the order of release; posts of one tick by their text, so that nothing tells who wrote first."""
    order = sorted(range(len(EVENING)), key=lambda n: (ticks[n], EVENING[n][2]))
    return [
        Release(
            id=gateway.keys.public_id(-1 - n),
            target=target,
            content=text.encode(),
            options={"by": name_on(gateway.keys, actor, space, target)},
            at=ticks[n] * tick,
        )
        for n, (actor, target, text) in ((n, EVENING[n]) for n in order)
    ]


ROUTES = [
    Route("/", _first, methods=["GET"]),
    Route("/board/{space}", _read, methods=["GET"]),
    Route("/board/{space}", _post, methods=["POST"]),
    Route("/board/{space}/promise", _promise, methods=["GET"]),
]
