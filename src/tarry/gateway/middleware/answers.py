"""The answers to held calls: the same for every framework.

All of it is for the author alone. An announced release is a proof of authorship, so nothing here may be
cached or shared.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from urllib.parse import parse_qs

from tarry.core.errors import TarryError
from tarry.gateway.middleware.held import HeldCall, Hold
from tarry.keep.errors import NoSuchPost, Paused, TooLate, Unavailable
from tarry.keep.posts import Status
from tarry.keep.store import moment

__all__ = [
    "MOST_FORM_BYTES",
    "RECEIPT_HEADER",
    "RECEIPT_PATH",
    "SIGN_IN",
    "WITHDRAW_PATH",
    "HeldAnswer",
    "about_receipt",
    "admit",
    "refusal",
    "withdraw_by_form",
]

#: Where a receipt is read (GET) and its call withdrawn (DELETE).
RECEIPT_PATH = "/_tarry/receipt"
#: The header of the receipt. In an address it would end up in logs.
RECEIPT_HEADER = "Tarry-Receipt"
#: Where the page sends a receipt, in a form, to withdraw a call (POST).
WITHDRAW_PATH = "/_tarry/withdraw"
MOST_FORM_BYTES = 4096
#: The refusal of a call without a user.
SIGN_IN = "only the calls of people who are signed in are held: sign in first"
_STATUS: dict[type[TarryError], int] = {NoSuchPost: 404, TooLate: 409, Paused: 409, Unavailable: 503}
_PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Vary": "Accept"}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>{text}</body></html>
"""


@dataclass(frozen=True, kw_only=True)
class HeldAnswer:
    """An answer, to be sent in a framework's own way.

    >>> refusal(404, "no post has this receipt").headers["Cache-Control"]
    'no-store'
    """

    status: int
    headers: Mapping[str, str]  # with the content type
    body: bytes


def admit(
    hold: Hold,
    call: HeldCall,
    target: str,
    *,
    html: bool = False,
    fields: Mapping[str, str] | None = None,
) -> HeldAnswer:
    """Hold a call, or refuse it. `fields` go into the form of the page, beside the receipt.

    >>> from types import SimpleNamespace
    >>> def admit_nothing(call, target):
    ...     raise Paused("nothing is accepted at the moment: try again later")
    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"", user="17")
    >>> admit(SimpleNamespace(admit=admit_nothing), call, "/posts").status
    409
    """
    try:
        receipt = hold.admit(call, target)
    except TarryError as error:
        return _refused(error, html=html)
    if not html:
        return _json(202, {"receipt": receipt.secret, **_status_fields(receipt.status)})
    sentences = [
        f"It will appear {_when(receipt.status)}. Only you know this.",
        f"Until then you can take it back, here or with its receipt: {receipt.secret}",
    ]
    hidden = {**(fields or {}), "receipt": receipt.secret}
    return _page(202, "Accepted", sentences, _form(hold, hidden) + _back(hold))


def about_receipt(hold: Hold, method: str, secret: str | None) -> HeldAnswer:
    """The status of a held call, or its withdrawal.

    >>> about_receipt(None, "POST", None).status
    405
    """
    if method not in {"GET", "DELETE"}:
        return refusal(
            405, "a receipt is read with GET, and its call withdrawn with DELETE: use one of them"
        )
    try:
        if not secret:
            raise NoSuchPost
        status = hold.gate.withdraw(secret) if method == "DELETE" else hold.gate.status(secret)
    except TarryError as error:
        return _refused(error, html=False)
    return _json(200, _status_fields(status))


def withdraw_by_form(hold: Hold, method: str, body: bytes) -> HeldAnswer:
    """Withdraw a call whose receipt is in a form.

    >>> withdraw_by_form(None, "GET", b"").status
    405
    """
    if method != "POST":
        return refusal(405, "a call is withdrawn with POST: use the form", html=True)
    try:
        fields = parse_qs(body.decode(), max_num_fields=10) if len(body) <= MOST_FORM_BYTES else {}
    except ValueError:
        fields = {}
    try:
        if "receipt" not in fields:
            raise NoSuchPost
        hold.gate.withdraw(fields["receipt"][0].strip())
    except TarryError as error:
        return _refused(error, html=True)
    return _page(200, "Taken back", ["It will not appear."], _back(hold))


def refusal(status: int, sentence: str, *, html: bool = False) -> HeldAnswer:
    """A refusal with its reason.

    >>> refusal(403, "this call comes from another site").body
    b'{"status": 403, "detail": "this call comes from another site"}'
    """
    if html:
        return _page(status, "Not accepted", [sentence])
    return _json(status, {"status": status, "detail": sentence}, "application/problem+json")


def _refused(error: TarryError, *, html: bool) -> HeldAnswer:
    return refusal(_STATUS.get(type(error), 422), str(error), html=html)


def _status_fields(status: Status) -> dict[str, str | bool | None]:
    """The author may know all of it."""
    problem = {"problem": status.problem} if status.problem else {}
    in_between = {"in_between": True} if status.in_between else {}
    return {"state": status.state, **status.moments, **in_between, **problem}


def _when(status: Status) -> str:
    if status.between is None:
        return "soon"
    earliest, latest = map(_clock_time, status.between)
    if status.release_at is not None:
        return f"at {latest}"
    if status.in_between:
        return f"between {earliest} and {latest}; your other posts decide, then you see the moment"
    return f"at {earliest} or at {latest}; which of them, your other posts decide"


def _clock_time(at: Fraction) -> str:
    """For people: to the second, and not before it appears."""
    return moment(math.ceil(at)).replace("T", " ").replace("Z", " UTC")


def _form(hold: Hold, hidden: Mapping[str, str]) -> str:
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in hidden.items()
    )
    action = escape(hold.settings.address.path + WITHDRAW_PATH)
    return f'<form method="post" action="{action}">{fields}<button>Take it back</button></form>'


def _back(hold: Hold) -> str:
    return f'<p><a href="{escape(hold.settings.address.path)}/">Back to the site</a></p>'


def _json(status: int, fields: Mapping[str, object], kind: str = "application/json") -> HeldAnswer:
    return _padded(status, {"Content-Type": kind, **_PRIVATE}, json.dumps(fields), 1024)


def _page(status: int, title: str, sentences: list[str], more: str = "") -> HeldAnswer:
    """`more` is HTML already."""
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences) + more
    # Without a referrer a browser calls the origin of a form "null": the site would refuse its own page.
    headers = {"Content-Type": "text/html; charset=utf-8", **_PRIVATE, "Referrer-Policy": "same-origin"}
    return _padded(status, headers, _PAGE.format(title=escape(title), text=text), 4096)


def _padded(status: int, headers: Mapping[str, str], text: str, size: int) -> HeldAnswer:
    """An answer about a held call is of one length, so that an eavesdropper sees no more."""
    body = text.encode()
    return HeldAnswer(status=status, headers=headers, body=body.ljust(size) if status < 300 else body)
