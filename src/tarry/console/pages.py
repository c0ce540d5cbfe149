"""What every page is made of: sentences, templates, style sheets and scripts, headers, and forms.

Sentences are in `texts/<language>/`, a file for each page, never with markup: a translation is a folder
of the same files. Style sheets and scripts have an address that changes with their content, so that they
may be kept for ever; all of them share one mark, because scripts import each other by relative names.
"""

import gzip
import tomllib
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.gateway.http_service import read_body
from tarry.gateway.problems import BadRequest

__all__ = [
    "LANGUAGES",
    "MANUAL",
    "STATIC",
    "check_origin",
    "error_page",
    "html",
    "page",
    "read_form",
    "require",
    "static_url",
    "texts",
]

LANGUAGES = ("en",)


@cache
def texts(language: str = "en") -> dict[str, Any]:
    """The texts of a language, by page and name.

    >>> texts()["common"]["name"]
    'tarry'
    """
    folder = files("tarry.console").joinpath("texts", language)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }


def require(fact: object, status: int, page: str, name: str, **values: object) -> None:
    """Refuse a request unless something is so; the sentence is one of the texts, with its places filled.

    >>> require(2 > 1, 409, "audit", "not_ready")
    >>> require(1 > 2, 429, "audit", "too_many", most=10)
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: 10 audits are here already: delete one, or wait until their \
hour is over
    """
    if not fact:
        raise BadRequest(status, texts()[page][name].format(**values))


# --- pages and forms ----------------------------------------------------------------------------------

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_MOST_FORM_BYTES = 128 << 10
_MOST_FIELDS = 50


@cache
def _templates() -> Environment:
    from tarry.console.said import said  # noqa: PLC0415 - it needs the texts

    environment = Environment(
        loader=PackageLoader("tarry.console"),
        autoescape=True,
        undefined=StrictUndefined,  # a missing text is a mistake, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["said"] = said
    return environment


def page(
    request: Request, template: str, values: dict[str, Any] | None = None, *, status: int = 200
) -> Response:
    """A page from a template. Content is always escaped: nobody's post can bring markup along."""
    config = getattr(request.app.state, "config", None)  # one's own page has none
    source = "none" if config is None else config.source
    names = {
        "t": texts(),
        "static": static_url,
        "here": request.url.path,
        "has_manual": config is not None and bool(_manual(_MANUAL_FOLDER)),
        "source": "" if source == "none" else source,
        **(values or {}),
    }
    return html(_templates().get_template(template).render(names), status)


def html(content: str | bytes, status: int = 200) -> Response:
    """A page that is written already, with the headers that every page has.

    >>> html("<p>Hello.</p>").headers["content-type"]
    'text/html; charset=utf-8'
    """
    return HTMLResponse(content, status, headers={"Content-Security-Policy": _POLICY})


def error_page(request: Request, status: int, sentence: str, back: str = "/") -> Response:
    """A page that says, in one sentence, why something did not work."""
    return page(request, "error.html", {"sentence": sentence, "back": back}, status=status)


def check_origin(request: Request) -> None:
    """Refuse a form that another site has sent.

    >>> check_origin(Request({"type": "http", "headers": [(b"sec-fetch-site", b"same-origin")]}))
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_ours = site in {"same-origin", "none"}  # browsers tell
    if site is None:
        is_ours = origin is not None and origin.partition("://")[2] == request.headers.get("host")
    require(is_ours, 403, "board", "elsewhere")


async def read_form(
    request: Request, most: int = _MOST_FORM_BYTES, *, within_s: float | None = None
) -> dict[str, str]:
    """The fields of a form, the last of each name; it must come within the service's time, or this one."""
    check_origin(request)
    wait_s = request.app.state.service.limits.body_s if within_s is None else within_s
    sent = await read_body(request, most, wait_s, too_large=texts()["common"]["form_too_large"])
    try:
        fields = parse_qs(
            sent.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise BadRequest(400, texts()["common"]["form_unreadable"]) from None
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


# --- style sheets and scripts -------------------------------------------------------------------------

_KINDS = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
}


class _StaticFile(NamedTuple):
    content: bytes
    packed: bytes
    kind: str

    @classmethod
    def read(cls, file: Traversable) -> "_StaticFile":
        content = file.read_bytes()
        return cls(content, gzip.compress(content, 9, mtime=0), _KINDS[file.name.rpartition(".")[2]])


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(file.name for file in files("tarry.console").joinpath("static").iterdir()))


@cache
def _mark() -> str:
    digest = sha256()
    for name in _names():
        digest.update(_read(name).content)
    return digest.hexdigest()[:12]


@cache
def _read(name: str) -> _StaticFile:
    return _StaticFile.read(files("tarry.console").joinpath("static", name))


def static_url(name: str) -> str:
    """The address of a file.

    >>> static_url("style.css").startswith("/static/")
    True
    """
    if name not in _names():
        raise LookupError(name)
    return f"/static/{_mark()}/{name}"


def _serve(request: Request) -> Response:
    name, mark = request.path_params["name"], request.path_params["mark"]
    if mark != _mark() or name not in _names():
        raise HTTPException(404)
    return _send(request, _read(name), {"Cache-Control": "public, max-age=31536000, immutable"})


def _send(request: Request, file: _StaticFile, headers: dict[str, str]) -> Response:
    headers = {**headers, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.kind, headers=headers)


STATIC = Route("/static/{mark}/{name}", _serve, methods=["GET"])


# --- the documentation --------------------------------------------------------------------------------


#: Where scripts/docs puts the site that it builds.
_MANUAL_FOLDER = Path(__file__).parent / "manual"


@cache
def _manual(folder: Path) -> dict[str, _StaticFile]:
    """The files of the site by their addresses; none: it was not built."""
    return {
        file.relative_to(folder).as_posix(): _StaticFile.read(file)
        for file in folder.rglob("*")
        if file.is_file()
    }


def _serve_manual(request: Request) -> Response:
    """A file of the documentation, with the content policy that every page has."""
    manual = _manual(_MANUAL_FOLDER)
    if not manual:
        return error_page(request, 404, texts()["common"]["no_manual"])
    file = manual.get(request.path_params["path"] or "index.html")
    if file is None:
        raise HTTPException(404)
    return _send(request, file, {"Cache-Control": "no-cache", "Content-Security-Policy": _POLICY})


MANUAL = (
    Route("/docs", lambda _: RedirectResponse("/docs/"), methods=["GET"]),
    Route("/docs/{path:path}", _serve_manual, methods=["GET"]),
)
