"""The site: the gateway's API and the pages, as one app, and what an operator chooses about the pages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console import board, receipt, sessions
from tarry.console.assets import STATIC, warm_up
from tarry.console.audit import page as audit
from tarry.console.desk import page as desk
from tarry.console.desk.figures import LedgerCount
from tarry.console.pages import error_page
from tarry.console.workbench import page as workbench
from tarry.core.errors import TarryError
from tarry.gateway.app import create_app
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import check_host
from tarry.gateway.limits import Limits
from tarry.gateway.problems import refuse

__all__ = ["ConsoleSettings", "console_settings", "create_site", "with_pages"]


@dataclass(frozen=True, kw_only=True)
class ConsoleSettings:
    """The choices, each with the cautious one as the default.

    >>> ConsoleSettings().boards
    ()
    """

    boards: tuple[str, ...] = ()  # spaces where anybody may post from the board, without a token
    hosts: frozenset[str] = frozenset()  # names by which browsers may reach them, beside localhost
    is_https: bool = False  # cookies are for encrypted connections only
    audit_bytes: int = 64 << 20  # of one upload
    audit_seconds: int = 120  # that an audit may take
    audit_memory_bytes: int = 4 << 30  # that it may use


def console_settings(config: Config) -> ConsoleSettings:
    """The part of a gateway's settings that is about the pages.

    >>> console_settings(Config(boards="talk, reviews")).boards
    ('talk', 'reviews')
    """
    names = [name.strip() for name in config.boards.split(",")]
    return ConsoleSettings(
        boards=tuple(name for name in names if name and name != "none"),
        is_https=config.https,
        hosts=config.own_hosts,
        audit_bytes=config.audit_bytes,
        audit_seconds=config.audit_seconds,
        audit_memory_bytes=config.audit_memory_bytes,
    )


def create_site(
    gateway: Gateway,
    *,
    limits: Limits | None = None,
    settings: ConsoleSettings | None = None,
    tell: Callable[[str], None] | None = None,
) -> Starlette:
    """The gateway's app with the pages beside its API.

    >>> from tarry.gateway.testing import small_gateway
    >>> site = create_site(small_gateway())
    >>> site.state.service.close()
    """
    app = create_app(gateway, limits=limits, tell=tell)
    app.state.settings = settings or ConsoleSettings()
    app.state.sessions, app.state.ledger_count = sessions.Sessions(), LedgerCount()
    audit.add_audits(app)
    app.router.routes.append(STATIC)
    pages = (board, receipt, workbench, desk, sessions, audit)
    app.router.routes.extend(_guarded(route, tell) for page in pages for route in page.ROUTES)
    return app


def with_pages(config: Config) -> Callable[..., Starlette]:
    """A function that builds the app of a gateway with the pages beside its API, for `tarry serve`.

    >>> from tarry.gateway.testing import small_gateway
    >>> with_pages(Config())(small_gateway()).state.service.close()
    """

    def make(
        gateway: Gateway, *, limits: Limits | None = None, tell: Callable[[str], None] | None = None
    ) -> Starlette:
        warm_up()
        return create_site(gateway, limits=limits, settings=console_settings(config), tell=tell)

    return make


def _guarded(route: Route, tell: Callable[[str], None] | None) -> Route:
    """The same route, whose errors are pages: one sentence, and the way back."""
    inner: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def endpoint(request: Request) -> Response:
        try:
            check_host(request, request.app.state.settings.hosts)
            return await inner(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except sessions.NotSignedIn:
            return RedirectResponse(f"/desk/sign-in?then={quote(_way_back(request))}", 303)
        except Exception as error:  # noqa: BLE001 - every error is a page, and none shows its inside
            refusal = refuse(error)
            if tell is not None and not isinstance(error, TarryError):
                tell(f"{route.path} broke: {type(error).__name__}")
            # The sentence of the refusal, not of the error: a database's names machines, users and files.
            sentence = msgspec.json.decode(refusal.body)["detail"]
            back = request.url.path if request.method == "POST" else "/"
            return error_page(request, refusal.status_code, sentence, back)

    return Route(route.path, endpoint, methods=[*(route.methods or ())])


def _way_back(request: Request) -> str:
    """The page to return to after signing in: a form that was lost on the way is not sent again."""
    path = request.url.path
    return path if request.method == "GET" else "/" + path.split("/")[1]
