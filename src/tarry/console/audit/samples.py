"""Sample histories that anybody may look at: made up, audited once, and shipped with what was found.

Nothing is computed for whoever has no token. docs/generate_samples.py makes the files.
"""

import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tarry.console.audit.shown import FILES, chosen_policy_file, result_values, sent_file
from tarry.console.pages import page, require
from tarry.console.sessions import signed_in
from tarry.core.errors import TarryError
from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES", "SAMPLES", "sample_answer", "sample_file"]

#: By their names in the address, in the order of the page.
SAMPLES = ("forum", "review", "wiki")
_FILES = {**FILES, "history": ("history.csv", "text/csv; charset=utf-8", "history.csv")}


@cache
def sample_file(name: str, stored: str) -> bytes | None:
    """A file of a sample; None if it has none of this name.

    >>> sample_file("forum", "nothing.html") is None
    True
    """
    file = files("tarry.console.audit").joinpath("samples", name, f"{stored}.gz")
    return gzip.decompress(file.read_bytes()) if file.is_file() else None


@cache
def sample_answer(name: str) -> dict[str, Any]:
    """What the audit of a sample has found, as its page shows it.

    >>> sample_answer("forum")["window"]
    '5m'
    """
    return dict(json.loads(sample_file(name, "answer.json") or b"{}"))


async def _read(_: HttpService, request: Request) -> Response:
    name = _name(request)
    values = result_values(request, sample_answer(name), f"/audit/samples/{name}") | {
        "name": name,
        "files": [each for each, (stored, *_) in _FILES.items() if sample_file(name, stored)],
        "may_use": _may_use(request),
    }
    return page(request, "audit_sample.html", values)


async def _file(_: HttpService, request: Request) -> Response:
    name, file = _name(request), request.path_params["file"]
    if file == "policy":
        return chosen_policy_file(request, sample_answer(name))
    stored, kind, saved_as = _FILES.get(file, ("", "", ""))
    content = sample_file(name, stored)
    require(content is not None, 404, "audit", "no_such_file")
    return sent_file(request, content or b"", kind, saved_as, f"/audit/samples/{name}")


def _may_use(request: Request) -> bool:
    """Whether somebody is signed in who may give a policy of it to a space."""
    try:
        return signed_in(request).may("spaces")
    except TarryError:
        return False


def _name(request: Request) -> str:
    name: str = request.path_params["sample"]
    require(name in SAMPLES, 404, "audit", "no_such_sample")
    return name


ROUTES = [
    ("GET", "/audit/samples/{sample}", _read),
    ("GET", "/audit/samples/{sample}/{file}", _file),
]
