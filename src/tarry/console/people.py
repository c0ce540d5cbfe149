"""Who posts on a board: a random key in a cookie, and another name on each thread."""

import secrets
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import Response

from tarry.keep.keys import Keys

__all__ = ["actor_of", "name_on", "remember"]

_COOKIE = "tarry_me"
_YEAR_S = 365 * 24 * 3600
_COLOURS = [
    "amber",
    "ash",
    "azure",
    "coral",
    "copper",
    "dusk",
    "ebony",
    "fern",
    "flint",
    "frost",
    "hazel",
    "indigo",
    "ivory",
    "jade",
    "lilac",
    "moss",
]
_CREATURES = [
    "badger",
    "crane",
    "finch",
    "fox",
    "hare",
    "heron",
    "ibis",
    "lark",
    "lynx",
    "mole",
    "newt",
    "otter",
    "owl",
    "quail",
    "seal",
    "wren",
]


def actor_of(request: Request) -> str:
    """The key that a browser has, or a new one."""
    key = request.cookies.get(_COOKIE, "")
    return key if len(key) == 64 and set(key) <= set("0123456789abcdef") else secrets.token_hex(32)


def remember(response: Response, actor: str, *, is_https: bool) -> None:
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
    colour, creature = _COLOURS[number % 16], _CREATURES[number // 16 % 16]
    return f"{colour} {creature} {number // 256 % 10_000:04d}"
