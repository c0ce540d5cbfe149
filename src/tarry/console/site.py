"""The site: the gateway's API and the pages, as one app."""

from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console import board, receipt, sessions
from tarry.console.audit import page as audit
from tarry.console.desk import page as desk
from tarry.console.desk.figures import LedgerCount
from tarry.console.pages import MANUAL, STATIC, error_page, texts
from tarry.console.story import page as story
from tarry.console.workbench import page as workbench
from tarry.core.errors import TarryError
from tarry.gateway.app import create_app
from tarry.gateway.config import Config
from tarry.gateway.counters import Counters
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import HttpService, check_host
from tarry.gateway.limits import Limits
from tarry.gateway.problems import HANDLERS, refuse

__all__ = ["create_site", "with_pages"]

_Handler = Callable[[HttpService, Request], Awaitable[Response]]
_Tell = Callable[[str], None]


def create_site(
    gateway: Gateway,
    *,
    limits: Limits | None = None,
    config: Config | None = None,
    tell: _Tell | None = None,
    counters: Counters | None = None,
) -> Starlette:
    """The gateway's app with the pages beside its API; of the settings, what they say about the pages.

    Of several processes one alone answers for operators: sessions that were ended, and audits, are in it.

    >>> from tarry.gateway.testing import small_gateway
    >>> site = create_site(small_gateway(), config=Config(boards="talk, reviews"))
    >>> site.state.boards
    ['talk', 'reviews']
    >>> site.state.service.close()
    """
    app = create_app(gateway, limits=limits, tell=tell, counters=counters)
    app.state.of_one_process = ("/desk", "/audit")
    app.add_exception_handler(HTTPException, _refused)
    app.state.config = config or Config()
    names = [name.strip() for name in app.state.config.boards.split(",")]
    app.state.boards = [name for name in names if name and name != "none"]
    app.state.sessions, app.state.ledger_count = sessions.Sessions(), LedgerCount()
    audit.add_audits(app)
    app.router.routes += [STATIC, *MANUAL]
    app.router.routes.extend(
        Route(path, _guarded(path, handler, tell), methods=[method])
        for page in (story, board, receipt, workbench, desk, sessions, audit)
        for method, path, handler in page.ROUTES
    )
    return app


def with_pages(config: Config) -> Callable[..., Starlette]:
    """A function that builds the app of a gateway with the pages beside its API, for `tarry serve`.

    >>> from tarry.gateway.testing import small_gateway
    >>> with_pages(Config())(small_gateway()).state.service.close()
    """
    return partial(create_site, config=config)


def _guarded(path: str, handler: _Handler, tell: _Tell | None) -> Callable[[Request], Awaitable[Response]]:
    """Calls a handler; an error is a page: one sentence, and the way back."""

    async def endpoint(request: Request) -> Response:
        try:
            check_host(request, request.app.state.config.own_hosts)
            return await handler(request.app.state.service, request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except sessions.NotSignedIn:
            # A form that was lost on the way is not sent again, and an audit was another session's.
            is_kept = request.method == "GET" and "job" not in request.path_params
            then = request.url.path if is_kept else "/" + request.url.path.split("/")[1]
            return RedirectResponse(f"/desk/sign-in?then={quote(then)}", 303)
        except Exception as error:  # noqa: BLE001 - every error is a page, and none shows its inside
            refusal = refuse(error)
            if tell is not None and not isinstance(error, TarryError):
                tell(f"{path} broke: {type(error).__name__}")
            # The sentence of the refusal, not of the error: a database's names machines, users and files.
            sentence = msgspec.json.decode(refusal.body)["detail"]
            shown = error_page(request, refusal.status_code, sentence, _way_back(request, refusal))
            if (wait_s := refusal.headers.get("retry-after")) is not None:
                shown.headers["Retry-After"] = wait_s
            return shown

    return endpoint


async def _refused(request: Request, error: Exception) -> Response:
    """Where there is nothing: a page for who reads pages, JSON for programs, and for all below /v1."""
    answer = await HANDLERS[HTTPException](request, error)
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith("/v1/"):
        return answer
    try:
        check_host(request, request.app.state.config.own_hosts)
    except TarryError as stranger:
        answer = refuse(stranger)
    sentence = msgspec.json.decode(answer.body)["detail"]
    if answer.status_code == 404:
        sentence = texts()["common"]["nothing_here"]
    return error_page(request, answer.status_code, sentence)


def _way_back(request: Request, refusal: Response) -> str:
    """The page that leads on from an error."""
    path = request.url.path
    if path.split("/")[1] == "audit":
        job = request.path_params.get("job")
        return f"/audit/jobs/{job}" if job and refusal.status_code not in {403, 404} else "/audit"
    return path if request.method == "POST" else "/"
