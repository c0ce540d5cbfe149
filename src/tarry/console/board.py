"""The board: a space's feed as a forum, and a form to post from, under another name on each thread.

A post is answered with its receipt, a page whose address is a secret: it says when the post appears, and
its author can change it there, or withdraw it.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import error_page, html, page, read_form, require, texts
from tarry.core.entropy import Seeded
from tarry.core.exact import format_duration
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.promise import promise
from tarry.gateway.feed import Feed, FeedItem, FeedOutlet
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.http_service import HttpService
from tarry.gateway.routes.posts import status_out
from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.keys import Keys
from tarry.keep.posts import Post, Release, Status
from tarry.keep.store import MICROS, moment

__all__ = ["EVENING", "ROUTES", "fill_with_an_evening", "name_on"]


_SHOWN, _MOST_SHOWN = 300, 3 << 20  # releases, and bytes of JSON that they would be at most
_MOST_TARGET, _MOST_CONTENT = 200, 20_000


async def _read(service: HttpService, request: Request) -> Response:
    space = service.space(request)
    feed = Feed(service.gateway.store, space.name)

    def write() -> bytes:
        items = feed.latest(_SHOWN, _MOST_SHOWN)
        values = {
            "space": space,
            "threads": _threads(items),
            "last": items[0].position if items else 0,
            "may_post": space.name in request.app.state.boards,
            "asks": space.version.policy.labels == "declared",
            "window": format_duration(space.version.policy.window),
            "spaces": [each for each in service.gateway.catalog.spaces.values() if each != space],
        }
        return bytes(page(request, "board.html", values).body)

    return html(await service.shared(feed, "board", write))


async def _promise(service: HttpService, request: Request) -> Response:
    space = service.space(request)
    promised = await service.call(partial(promise, space.version.policy))
    return page(request, "promise.html", {"space": space, "promise": promised})


async def _post(service: HttpService, request: Request) -> Response:
    space = service.space(request)
    require(space.name in request.app.state.boards, 403, "board", "closed")
    service.guest_rates.take(service.clients.name(request.scope))
    fields, actor = await read_form(request), _actor_of(request)
    target, content = fields.get("target", "").strip(), _content(fields)
    require(0 < len(target) <= _MOST_TARGET, 422, "board", "too_long")
    post = Post(
        actor=actor,
        target=target,
        outlet="",
        content=content,
        options={"by": name_on(service.gateway.keys, actor, space.name, target)},
        more_to_come=fields.get("more") == "yes",
    )
    (receipt,) = await service.admit(Submission(space=space.name, posts=[post]))
    answer = RedirectResponse(f"/receipt/{receipt.secret}", 303)
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


def _content(fields: Mapping[str, str]) -> bytes:
    text = fields.get("content", "").strip()
    require(0 < len(text) <= _MOST_CONTENT, 422, "board", "too_long")
    return text.encode()


def _threads(items: list[FeedItem]) -> dict[str, list[FeedItem]]:
    """By target, the thread with the newest release first; inside one, in the order of release."""
    threads: dict[str, list[FeedItem]] = {}
    for item in items:
        threads.setdefault(item.target, []).insert(0, item)
    return threads


# --- the receipt of a post ------------------------------------------------------------------------------


async def _read_receipt(service: HttpService, request: Request) -> Response:
    secret, receipts = request.path_params["secret"], service.gateway.receipts
    try:
        status = await service.call(partial(receipts.status, secret))
        space, content = await service.call(partial(receipts.reading, secret))
        can_be_filled = await service.call(partial(receipts.can_be_filled, secret))
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    now = Fraction(service.gateway.clock.read().wall, MICROS)
    due = _due(status)
    values = {
        "secret": secret,
        "status": status_out(status),
        "due": None if due is None else moment(due),
        "is_late": due is not None and due <= now,
        "space": space,
        "content": None if content is None else content.decode(errors="replace"),
        "can_be_filled": can_be_filled,
        "is_changed": "changed" in request.query_params,
    }
    return page(request, "receipt.html", values)


def _due(status: Status) -> Fraction | None:
    """From when on it would be wrong to say that the post appears then."""
    if status.state != "waiting" or status.between is None:
        return None
    return status.between[1 if status.in_between else 0]


async def _edit(service: HttpService, request: Request) -> Response:
    secret, fields = await _form_of_receipt(service, request)
    change = partial(service.gateway.replace, secret, _content(fields), None, {})
    return await _then(service, request, change, f"/receipt/{secret}?changed")


async def _withdraw(service: HttpService, request: Request) -> Response:
    secret, _ = await _form_of_receipt(service, request)
    take_back = partial(service.gateway.receipts.withdraw, secret)
    return await _then(service, request, take_back, f"/receipt/{secret}")


async def _form_of_receipt(service: HttpService, request: Request) -> tuple[str, dict[str, str]]:
    """The secret of a receipt, which must be one before anything is read, and the form that was sent."""
    secret: str = request.path_params["secret"]
    await service.call(partial(service.gateway.receipts.status, secret))
    return secret, await read_form(request)


async def _then(
    service: HttpService, request: Request, change: Callable[[], object], there: str
) -> Response:
    try:
        await service.change(change)
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    except TooLate as late:
        return error_page(request, 409, str(late), f"/receipt/{request.path_params['secret']}")
    return RedirectResponse(there, 303)


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
        start_s = gateway.vault.now(transaction) // 1_000_000 - _BACK_S
        policy = gateway.catalog.space(space).version.policy
        history = History(
            actor=[actor for actor, _, _ in EVENING],
            target=[target for _, target, _ in EVENING],
            time=[start_s + 60 * minutes for minutes in _MINUTES],
            unit=Fraction(1),
        )
        ticks = [int(tick) for tick in plan_release(policy, history, Seeded(seed)).release]
        FeedOutlet(space).record(transaction, _released(gateway, space, ticks, policy.tick))
    return len(EVENING)


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
    ("GET", "/board/{space}", _read),
    ("POST", "/board/{space}", _post),
    ("GET", "/board/{space}/promise", _promise),
    ("GET", "/receipt/{secret}", _read_receipt),
    ("POST", "/receipt/{secret}/edit", _edit),
    ("POST", "/receipt/{secret}/withdraw", _withdraw),
]
