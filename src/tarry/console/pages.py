"""Pages and forms: templates, the headers that every page has, and forms read within limits."""

from functools import cache
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tarry.console.assets import static_url, texts
from tarry.gateway.http_service import read_body
from tarry.gateway.problems import BadRequest

__all__ = ["check_origin", "error_page", "html", "page", "read_form"]

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
_MOST_FORM_BYTES = 128 << 10
_MOST_FIELDS = 50


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
    names = {"t": texts(), "static": static_url, "here": request.url.path, **(values or {})}
    return html(_templates().get_template(template).render(names), status, policy)


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


def check_origin(request: Request) -> None:
    """Refuse a form that another site has sent.

    >>> check_origin(Request({"type": "http", "headers": [(b"sec-fetch-site", b"same-origin")]}))
    """
    if not _same_origin(request):
        raise BadRequest(403, texts()["board"]["elsewhere"])


async def read_form(request: Request, most: int = _MOST_FORM_BYTES) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    check_origin(request)
    limits = request.app.state.service.limits
    sent = await read_body(request, most, limits.body_s, too_large=texts()["common"]["form_too_large"])
    try:
        fields = parse_qs(
            sent.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise BadRequest(400, texts()["common"]["form_unreadable"]) from None
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


def _same_origin(request: Request) -> bool:
    """Whether a form was sent by one of our own pages: browsers tell."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")
