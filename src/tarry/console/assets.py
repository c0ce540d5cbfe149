"""What ships beside the code: the sentences of the pages, their style sheets and scripts.

Sentences are in `texts/<language>/`, a file for each page, never with markup: a translation is a folder
of the same files. Style sheets and scripts have an address that changes with their content, so that they
may be kept for ever; all of them share one mark, because scripts import each other by relative names.
"""

import contextlib
import gzip
import threading
import tomllib
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["LANGUAGES", "STATIC", "VEGA", "static_url", "texts", "warm_up"]


_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
#: The chart library: not a file of ours, but the bundle that the study's chart package carries.
VEGA = "vega.js"


class _StaticFile(NamedTuple):
    content: bytes
    packed: bytes
    kind: str


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(file.name for file in files("tarry.console").joinpath("static").iterdir()))


@cache
def _mark() -> str:
    try:
        digest = sha256(version("vl-convert-python").encode())
    except PackageNotFoundError:
        digest = sha256()
    for name in _names():
        digest.update(_read(name).content)
    return digest.hexdigest()[:12]


@cache
def _read(name: str) -> _StaticFile:
    if name == VEGA:
        import vl_convert  # noqa: PLC0415 - large, and only for pages with charts

        content = vl_convert.javascript_bundle().encode()  # type: ignore[call-arg]  # its stub asks too much
    else:
        content = files("tarry.console").joinpath("static", name).read_bytes()
    return _StaticFile(content, gzip.compress(content, 9, mtime=0), _KINDS[name.rpartition(".")[2]])


def static_url(name: str) -> str:
    """The address of a file.

    >>> static_url("style.css").startswith("/static/")
    True
    """
    if name != VEGA and name not in _names():
        raise LookupError(name)
    return f"/static/{_mark()}/{name}"


def warm_up() -> None:
    """Begin to put the chart library together before anybody asks: that takes seconds.

    >>> warm_up()
    """
    threading.Thread(target=_warm, name="chart library", daemon=True).start()


def _warm() -> None:
    with contextlib.suppress(ImportError):  # the pages do without it
        _read(VEGA)


def _serve(request: Request) -> Response:
    name, mark = request.path_params["name"], request.path_params["mark"]
    if mark != _mark() or (name != VEGA and name not in _names()):
        raise HTTPException(404)
    try:
        file = _read(name)
    except ImportError:
        raise HTTPException(404) from None
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.kind, headers=headers)


STATIC = Route("/static/{mark}/{name}", _serve, methods=["GET"])


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
