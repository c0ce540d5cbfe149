"""Forms: read within limits, and only from our own pages."""

from urllib.parse import parse_qs

from starlette.requests import Request

from tarry.console.pages import same_origin
from tarry.console.texts import texts
from tarry.gateway.http_service import read_body
from tarry.gateway.problems import BadRequest

__all__ = ["check_origin", "read_form"]

_MOST_BYTES = 128 << 10
_MOST_FIELDS = 50


def check_origin(request: Request) -> None:
    """Refuse a form that another site has sent.

    >>> check_origin(Request({"type": "http", "headers": [(b"sec-fetch-site", b"same-origin")]}))
    """
    if not same_origin(request):
        raise BadRequest(403, texts()["board"]["elsewhere"])


async def read_form(request: Request, most: int = _MOST_BYTES) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    check_origin(request)
    limits = request.app.state.service.limits
    sent = await read_body(request, most, limits.body_s, too_large="this form holds too much")
    try:
        fields = parse_qs(
            sent.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise BadRequest(400, "this form cannot be read") from None
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}
