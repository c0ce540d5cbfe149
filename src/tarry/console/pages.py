"""Pages: templates, texts and the headers that every page has."""

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.console.sessions import NotSignedIn
from tarry.console.static_files import static_url
from tarry.console.texts import texts
from tarry.core.errors import TarryError
from tarry.gateway.http_service import check_host
from tarry.gateway.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["error_page", "guarded", "html", "page", "same_origin"]

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("tarry.console"),
        autoescape=True,
        undefined=StrictUndefined,  # a missing text is a mistake, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(
    request: Request,
    template: str,
    values: dict[str, Any] | None = None,
    *,
    status: int = 200,
    policy: dict[str, str] | None = None,
) -> Response:
    """A page from a template. Content is always escaped: nobody's post can bring markup along."""
    told = {"t": texts(), "static": static_url, "here": request.url.path, **(values or {})}
    return html(_templates().get_template(template).render(told), status, policy)


def html(content: str | bytes, status: int = 200, policy: dict[str, str] | None = None) -> Response:
    """A page that is written already, with the headers that every page has.

    >>> html("<p>Hello.</p>").headers["content-type"]
    'text/html; charset=utf-8'
    """
    allowed = "; ".join(f"{name} {value}" for name, value in {**_POLICY, **(policy or {})}.items())
    return HTMLResponse(content, status, headers={"Content-Security-Policy": allowed})


def error_page(request: Request, status: int, sentence: str, back: str = "/") -> Response:
    """A page that says, in one sentence, why something did not work."""
    return page(request, "error.html", {"sentence": sentence, "back": back}, status=status)


def guarded(route: Route) -> Route:
    """The same route, whose errors are pages: one sentence, and the way back."""
    inner: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def endpoint(request: Request) -> Response:
        try:
            check_host(request, request.app.state.settings.hosts)
            return await inner(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except NotSignedIn:
            return RedirectResponse(f"/desk/sign-in?then={quote(_way_back(request))}", 303)
        except Exception as error:  # noqa: BLE001 - every error is a page, and none shows its inside
            refusal = refuse(error)
            tell = getattr(request.app.state, "tell", None)
            if tell is not None and not isinstance(error, TarryError):
                tell(f"{route.path} broke: {type(error).__name__}")
            # Its own words, and not the error's: what a database says names machines, users and files.
            sentence = msgspec.json.decode(refusal.body)["detail"]
            back = request.url.path if request.method == "POST" else "/"
            return error_page(request, refusal.status_code, sentence, back)

    return Route(route.path, endpoint, methods=[*(route.methods or ())])


def _way_back(request: Request) -> str:
    """Where somebody goes on after signing in: a form that was lost on the way is not sent again."""
    path = request.url.path
    return path if request.method == "GET" else "/" + path.split("/")[1]


def same_origin(request: Request) -> bool:
    """Whether a form was sent by one of our own pages: browsers tell."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")
