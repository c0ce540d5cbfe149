"""Signing in and out with an operator's token. The token is not kept: a cookie names it, and its end.

The cookie is signed, so any server of the gateway accepts it, and names the token by its hash, which is
looked up at every request: revoking a token ends its sessions. A session that was signed out of is refused
by the server that heard it, whichever of its processes is asked; another server lets it run out, unless the
token is revoked.
"""

import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import check_origin, page, read_form, require, texts
from tarry.core.errors import TarryError
from tarry.gateway.catalog import Scope, Token, find_token
from tarry.gateway.http_service import HttpService
from tarry.gateway.limits import Limits, RateLimiter, TooManyRequests
from tarry.gateway.problems import Forbidden

__all__ = [
    "ROUTES",
    "NotSignedIn",
    "Session",
    "Sessions",
    "begin",
    "check_csrf",
    "end",
    "local_path",
    "signed_in",
]


_COOKIE = "tarry_desk"
_LONGEST_S = 12 * 3600
_SKEW_S = 60  # by which the clocks of two servers may differ
_WRONG = Limits(rate_per_s=0.2, burst=10)


class NotSignedIn(TarryError):
    """Nobody is signed in here.

    >>> print(NotSignedIn())
    sign in first
    """

    def __init__(self) -> None:
        super().__init__("sign in first")


@dataclass(frozen=True, kw_only=True)
class Session:
    """Who is signed in.

    >>> token = Token(id="ab", hash=b"", name="", scopes=frozenset({"operate"}), spaces=frozenset({"talk"}))
    >>> session = Session(token=token, csrf="x")
    >>> session.may("operate"), session.may("operate", "wiki"), session.may_everywhere("operate")
    (True, False, False)
    """

    token: Token
    csrf: str  # in every form, so that no other site can send one

    def may(self, scope: Scope, space: str | None = None) -> bool:
        """Whether this is allowed to them in a space; without one: in any one."""
        if space is None and self.token.spaces:
            return self.token.allows(scope, min(self.token.spaces))
        return self.token.allows(scope, space)

    def may_everywhere(self, scope: Scope) -> bool:
        """Whether this is allowed to them for the gateway as a whole: tokens, and sums over all spaces."""
        return self.token.allows(scope)


class Sessions:
    """What one process remembers of sessions: those that were ended, and how often somebody failed.

    >>> sessions = Sessions()
    >>> for _ in range(10):
    ...     sessions.fail("a client")
    >>> sessions.fail("another one")
    >>> sessions.fail("a client")
    Traceback (most recent call last):
    tarry.gateway.limits.TooManyRequests: too many wrong tokens came from your network address: try again \
in 5 s
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._wrong = RateLimiter(_WRONG, now, reason=texts()["desk"]["too_many"])
        self._ended: dict[str, int] = {}  # until when each would have lasted

    def fail(self, client: str) -> None:
        """Count a wrong token of a client; refuse where there were many.

        Only failures count, and they stop nobody who has a right one: 256 random bits are not guessed, and
        whoever tries shall not lock operators out. Neither successes nor others' failures change anything.
        """
        self._wrong.take(client)

    def end(self, claim: str) -> None:
        """Remember that a session is over, for as long as its cookie would be good."""
        now = time.time()
        self._ended = {each: expiry for each, expiry in self._ended.items() if expiry > now}
        self._ended[claim] = _expiry(claim)

    def has_ended(self, claim: str) -> bool:
        """Whether somebody has signed out of this session here."""
        return claim in self._ended


def begin(request: Request, response: Response, token: Token) -> None:
    """Have the browser keep a session.

    >>> from tarry.console.site import create_site
    >>> from tarry.gateway.testing import new_token, small_gateway
    >>> gateway = small_gateway()
    >>> new_token(gateway, "operate").startswith("tarry_")
    True
    >>> site, (token,), response = create_site(gateway), gateway.catalog.tokens.values(), Response()
    >>> begin(Request({"type": "http", "headers": [], "app": site}), response, token)
    >>> response.headers["set-cookie"].partition("; ")[2]
    'HttpOnly; Max-Age=43200; Path=/; SameSite=strict'
    >>> site.state.service.close()
    """
    claim = f"{token.hash.hex()}.{int(time.time()) + _LONGEST_S}.{secrets.token_hex(16)}"
    response.set_cookie(
        _name(request),
        f"{claim}.{_signature(request, 'session', claim)}",
        max_age=_LONGEST_S,
        httponly=True,
        samesite="strict",
        secure=request.app.state.config.https,
    )


def end(request: Request, response: Response) -> None:
    """Have the browser forget it, and this server as well.

    >>> from tarry.console.site import create_site
    >>> from tarry.gateway.testing import small_gateway
    >>> site, response = create_site(small_gateway()), Response()
    >>> end(Request({"type": "http", "headers": [], "app": site}), response)
    >>> "Max-Age=0" in response.headers["set-cookie"]
    True
    >>> site.state.service.close()
    """
    if (claim := _claim(request)) is not None:
        request.app.state.sessions.end(claim)
    response.delete_cookie(
        _name(request), httponly=True, samesite="strict", secure=request.app.state.config.https
    )


def signed_in(request: Request, scope: Scope = "operate") -> Session:
    """The session of a request, if its token has the scope.

    >>> from tarry.console.site import create_site
    >>> from tarry.gateway.testing import small_gateway
    >>> site = create_site(small_gateway())
    >>> site.state.service.close()
    >>> signed_in(Request({"type": "http", "headers": [(b"cookie", b"tarry_desk=x.1.y.z")], "app": site}))
    Traceback (most recent call last):
    tarry.console.sessions.NotSignedIn: sign in first
    """
    claim = _claim(request)
    if claim is None or request.app.state.sessions.has_ended(claim):
        raise NotSignedIn
    token = request.app.state.service.gateway.catalog.tokens.get(bytes.fromhex(claim.partition(".")[0]))
    if token is None or not 0 < _expiry(claim) - time.time() <= _LONGEST_S + _SKEW_S:
        raise NotSignedIn
    session = Session(token=token, csrf=_signature(request, "form", claim))
    if not session.may(scope):
        raise Forbidden(scope)
    return session


def check_csrf(session: Session, fields: Mapping[str, str]) -> None:
    """Refuse a form that was not made for this session.

    >>> token = Token(id="ab", hash=b"", name="", scopes=frozenset({"operate"}), spaces=frozenset())
    >>> check_csrf(Session(token=token, csrf="x"), {"csrf": "x"})
    >>> check_csrf(Session(token=token, csrf="x"), {})
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: this form is too old or not yours: load the page again
    """
    is_theirs = hmac.compare_digest(fields.get("csrf", "").encode(), session.csrf.encode())
    require(is_theirs, 403, "desk", "not_yours")


def _name(request: Request) -> str:
    """With this prefix browsers take the cookie from this host alone, and not from a neighbour of it."""
    return f"__Host-{_COOKIE}" if request.app.state.config.https else _COOKIE


def _claim(request: Request) -> str | None:
    """What the cookie claims, if we signed it: the token's hash, its expiry, and a random number."""
    claim, _, signature = request.cookies.get(_name(request), "").rpartition(".")
    is_ours = hmac.compare_digest(signature.encode(), _signature(request, "session", claim).encode())
    return claim if is_ours else None


def _expiry(claim: str) -> int:
    return int(claim.split(".")[1])


def _signature(request: Request, purpose: str, claim: str) -> str:
    key = request.app.state.service.gateway.keys.secret(f"{purpose}s of the desk")
    return blake2b(claim.encode(), key=key, digest_size=32).hexdigest()


# --- the page where operators sign in, and the way out --------------------------------------------------

_HOME = "/desk"
#: What may come after signing in: a plain path. "//host", "/\host", "?", "%" and ".." are all not in it.
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)+", re.ASCII)
_LONGEST_PATH = 200
_MOST_BYTES = 8 << 10  # of what anybody may send


def local_path(text: str) -> str:
    r"""The path, if it is one of this site; if not, the desk's.

    >>> local_path("/audit"), local_path("//evil.example"), local_path("/\\evil.example")
    ('/audit', '/desk', '/desk')
    """
    is_plain = len(text) <= _LONGEST_PATH and _PATH.fullmatch(text)
    return text if is_plain and not text.startswith("/desk/sign-") else _HOME


async def _show_form(_: HttpService, request: Request) -> Response:
    then = local_path(request.query_params.get("then", ""))
    try:
        signed_in(request)
    except TarryError:
        return _form(request, then)
    return RedirectResponse(then, 303)


async def _sign_in(service: HttpService, request: Request) -> Response:
    fields = await read_form(request, _MOST_BYTES)
    then = local_path(fields.get("then", ""))
    secret = fields.get("token", "").strip()
    await service.learn_token(request, secret)
    token = find_token(service.gateway.catalog, secret)
    if token is not None and {"operate", "admin"} & token.scopes:
        answer = RedirectResponse(then, 303)
        begin(request, answer, token)
        return answer
    try:
        request.app.state.sessions.fail(service.clients.name(request.scope))
    except TooManyRequests as error:
        form = _form(request, then, str(error), status=429)
        form.headers["Retry-After"] = str(error.wait_s)
        return form
    return _form(request, then, texts()["desk"]["wrong" if token is None else "not_enough"], status=403)


async def _sign_out(_: HttpService, request: Request) -> Response:
    check_origin(request)
    answer = RedirectResponse("/desk/sign-in", 303)
    try:
        session = signed_in(request)
    except NotSignedIn:  # it is over already
        return answer
    check_csrf(session, await read_form(request))
    end(request, answer)
    return answer


def _form(request: Request, then: str, problem: str = "", *, status: int = 200) -> Response:
    """The form. Whatever was typed before is not in it."""
    return page(request, "sign_in.html", {"then": then, "problem": problem}, status=status)


ROUTES = [
    ("GET", "/desk/sign-in", _show_form),
    ("POST", "/desk/sign-in", _sign_in),
    ("POST", "/desk/sign-out", _sign_out),
]
