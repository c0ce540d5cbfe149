"""A webhook: each release is sent to one address, signed, as JSON in a POST.

The address and the secret are the operator's. Nothing of a post has a say in where it goes or in the
headers: target, content and options travel in the body, as data. The body is

    {"id": ..., "space": ..., "target": ..., "at": ..., "content": ..., "options": {...}}

with `content_base64` in place of `content` where the content is no text in UTF-8. Where the option
`content_type` says application/json, `content` is that JSON value, and the option is left out. `Tarry-Id`
repeats the id, and `Tarry-Signature` is `sha256=` and the HMAC-SHA256 of the body under the secret, in hex.
No header holds a time, and every try sends the same bytes.

At least once: an answer that is lost on its way leaves open whether the release has arrived, and it is sent
again. The receiver checks the signature and drops an id that it has seen.

An answer from 200 to 299 means it has arrived. 408, 425, 429, anything from 500 on, and no answer mean not
now; every other answer is for a person, and so is a redirect, which is never followed: the operator gives
the final address. What the receiver learns nevertheless: the address this machine connects from, and when.
"""

import hmac
import json
import ssl
from collections.abc import Mapping
from typing import Any, Self

from tarry.core.errors import BadInput
from tarry.keep.outlet import Delivery, Outlet, content_fields
from tarry.keep.posts import Release
from tarry.keep.store import moment
from tarry.net.address import read_address
from tarry.places.checks import check_timeout, never_taken
from tarry.places.http import PASSING, call, check_status

__all__ = ["Webhook", "verify_webhook"]

_LEAST_SECRET = 16
_LONGEST_S = 30
_MOST_OPTIONS, _MOST_OPTION_BYTES = 64, 16 << 10


class Webhook(Outlet):
    """Sends every release to one address. `timeout_s` bounds a try as a whole, from the name to the answer.

    The options of a post are handed on to the receiver: a JSON object of at most 64 names and 16 KiB.

    >>> hook = Webhook("https://forum.example/hooks/tarry", b"sixteen bytes or more", space="reviews")
    >>> hook.check({"mood": "glad"})
    >>> Webhook("https://forum.example#top", b"sixteen bytes or more")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a webhook must have no fragment (#...): leave it out
    """

    delivery: Delivery = "at least once"

    def __init__(
        self,
        url: str,
        secret: bytes,
        *,
        space: str = "",
        timeout_s: float = 10,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._address = read_address(url, "the address of a webhook")
        self._secret = _checked_secret(secret)
        check_timeout(timeout_s, _LONGEST_S, "a webhook")
        self._space, self._timeout_s = space, timeout_s
        # Made once: reading all the certificates that the system trusts takes long.
        self._tls = (tls or ssl.create_default_context()) if self._address.tls else None

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:
        """The secret of the space signs what is sent."""
        return cls(settings["url"], secret, space=space)

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that are no JSON object, or a large one."""
        if not _is_object(options):
            raise BadInput(f"options must be a JSON object, not {type(options).__name__}")
        if len(options) > _MOST_OPTIONS:
            raise BadInput(f"a post must have at most {_MOST_OPTIONS} options, not {len(options)}")
        try:
            size = len(_json(dict(options)))
        except (TypeError, ValueError, RecursionError):
            raise BadInput(
                "options cannot be written as JSON", "use texts, numbers, lists and objects"
            ) from None
        if size > _MOST_OPTION_BYTES:
            raise BadInput(f"options must be at most {_MOST_OPTION_BYTES} bytes of JSON, not {size}")

    @never_taken()
    def deliver(self, release: Release) -> None:
        """Send it, or raise why not."""
        self.check(release.options)
        body = _body(release, self._space)
        headers = {
            "User-Agent": "tarry",
            "Connection": "close",
            "Content-Type": "application/json",
            "Tarry-Id": release.id,
            "Tarry-Signature": _signature(self._secret, body),
        }
        response = call(
            self._address, headers, body, timeout_s=self._timeout_s, tls=self._tls, who="the webhook"
        )
        check_status(
            response, "the webhook", refused="look why, then retry or withdraw this", untaken=PASSING
        )


def verify_webhook(secret: bytes | str, body: bytes, signature: str) -> bool:
    """Whether a body that was received is signed with the secret: give it the `Tarry-Signature` header.

    A secret that is a text is in hex, as `tarry space secret` prints it. The body is taken as it came,
    before anything has parsed it. How long the answer takes does not tell how much of a wrong signature is
    right.

    >>> signature = "sha256=d2e273e40f97e239d2865bbc70ae76dfe867e7559253fe3589fb1cba55bd1134"
    >>> verify_webhook(b"sixteen bytes or more", b"{}", signature)
    True
    >>> verify_webhook(b"sixteen bytes or more", b"{} ", signature)
    False
    """
    right = _signature(_checked_secret(_from_hex(secret) if isinstance(secret, str) else secret), body)
    return hmac.compare_digest(right.encode(), signature.encode(errors="replace"))


def _body(release: Release, space: str) -> bytes:
    """The same JSON that a feed of the gateway shows, but for the position."""
    fields = {"id": release.id, "space": space, "target": release.target, "at": moment(release.at)}
    options = dict(release.options)
    if options.get("content_type") == "application/json":
        try:
            return _json(
                {
                    **fields,
                    "content": json.loads(release.content.decode()),
                    "options": {name: value for name, value in options.items() if name != "content_type"},
                }
            )
        except (ValueError, RecursionError):  # it is not what it says: the receiver gets it as it is
            pass
    return _json({**fields, **content_fields(release.content), "options": options})


def _json(fields: dict[str, Any]) -> bytes:
    """Plain ASCII, which is the same bytes whoever writes it."""
    return json.dumps(fields, allow_nan=False).encode()


def _signature(secret: bytes, body: bytes) -> str:
    return f"sha256={hmac.digest(secret, body, 'sha256').hex()}"


def _from_hex(secret: str) -> bytes:
    try:
        return bytes.fromhex(secret)
    except ValueError:
        raise BadInput(
            "the secret of a webhook must be bytes or hex", "tarry space secret prints it"
        ) from None


def _checked_secret(secret: Any) -> bytes:
    """A text is refused as well: how it becomes bytes is for the operator to say."""
    if not isinstance(secret, bytes) or len(secret) < _LEAST_SECRET:
        size = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
        raise BadInput(
            f"the secret of a webhook must have {_LEAST_SECRET} bytes or more, not {size}",
            "make one with secrets.token_bytes(32)",
        )
    return secret


def _is_object(options: Any) -> bool:
    return isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
