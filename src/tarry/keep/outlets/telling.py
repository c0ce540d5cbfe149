"""How a release is told in JSON, the same by every outlet: its moment and its content."""

import base64
from datetime import UTC, datetime, timedelta
from fractions import Fraction

__all__ = ["told_content", "told_moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def told_moment(at: Fraction) -> str:
    """ISO 8601 in UTC; of a tick between microseconds, the one before it.

    >>> told_moment(Fraction(1_767_225_601))
    '2026-01-01T00:00:01Z'
    """
    moment = _EPOCH + timedelta(microseconds=int(at * 1_000_000))
    return moment.isoformat().replace("+00:00", "Z")


def told_content(content: bytes) -> dict[str, str]:
    """Text as `content`, and bytes that are no text, under another name, in base64.

    >>> told_content(b"I agree."), told_content(bytes([255, 0]))
    ({'content': 'I agree.'}, {'content_base64': '/wA='})
    """
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode()}
