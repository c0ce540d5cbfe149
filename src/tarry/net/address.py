"""Addresses of servers, as an operator or a file gives them."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tarry.core.errors import BadInput

__all__ = ["Address", "read_address"]

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*\.?")


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server listens, and what is asked for there.

    >>> read_address("https://hooks.example.org/new?key=7")
    Address(tls=True, host='hooks.example.org', port=443, path='/new?key=7')
    """

    tls: bool  # https
    host: str  # a name, or an IP address without brackets
    port: int
    path: str  # with the query


def read_address(url: str, what: str = "the address") -> Address:
    """Check a URL that an operator gives.

    >>> read_address("ftp://example.org")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address begins with http:// or https://, found another
    """
    # Before it is taken apart: urlsplit removes line ends and tabs without a word.
    if not (url.isascii() and url.isprintable()) or " " in url:
        fix = "write other characters as percent codes"
        raise BadInput(what, "is printable ASCII without spaces", found="another character", fix=fix)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text may hold a password
        raise BadInput(what, "is a URL with a host and a port that can be", found="another") from None
    if parts.scheme not in {"http", "https"}:
        raise BadInput(what, "begins with http:// or https://", found="another")
    if "@" in parts.netloc:
        raise BadInput(what, "holds no user or password", found="one", fix="leave them out")
    if "#" in url:
        raise BadInput(what, "has no fragment", found="a #", fix="leave it out")
    if not _is_host(parts.netloc, host) or port == 0:
        raise BadInput(what, "has a host and a port that can be", found=repr(parts.netloc))
    query = f"?{parts.query}" if parts.query else ""
    tls = parts.scheme == "https"
    return Address(tls=tls, host=host, port=port or (443 if tls else 80), path=(parts.path or "/") + query)


def _is_host(written: str, host: str) -> bool:
    """Whether this host is one, and all that is written but for the port."""
    shown = f"[{host}]" if ":" in host else host
    if not re.fullmatch(rf"{re.escape(shown)}(:[0-9]*)?", written, re.IGNORECASE):
        return False
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        return ipaddress.IPv6Address(host).scope_id is None  # a scope would name this machine's parts
    except ValueError:
        return False
