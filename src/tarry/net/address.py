"""Where a server is: an address that an operator or a person gives, checked before anybody uses it."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tarry.core.errors import BadInput

__all__ = ["HOST", "Address", "is_here", "read_address"]

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
#: The name of a machine, in ASCII.
HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*\.?")


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

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine."""
        return is_here(self.host)

    @property
    def server(self) -> str:
        """Host and port, as people write them.

        >>> read_address("https://Wiki.Example.:443/").server, read_address("http://[::1]:8332").server
        ('wiki.example', '[::1]:8332')
        """
        host = self.host.lower().rstrip(".")
        shown = f"[{host}]" if ":" in host else host
        return shown if self.port == (443 if self.tls else 80) else f"{shown}:{self.port}"

    @property
    def url(self) -> str:
        """One text for one place, however its address was written.

        >>> read_address("https://Wiki.Example.:443/w/api.php").url
        'https://wiki.example/w/api.php'
        """
        return f"{'https' if self.tls else 'http'}://{self.server}{self.path}"


def is_here(host: str) -> bool:
    """Whether a name or an IP address is this machine's own.

    >>> is_here("localhost"), is_here("127.0.0.2"), is_here("wiki.example")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_address(url: str, what: str = "the address", *, with_password: bool = False) -> Address:
    """Check a URL that somebody gives. No sentence shows more of it than its host: the rest may hold a key.

    Where passwords are sent, only this machine may be spoken to without encryption.

    >>> read_address("ftp://example.org")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address must begin with http:// or https://
    """
    # Before it is taken apart: urlsplit removes line ends and tabs without a word.
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise BadInput(
            f"{what} must be printable ASCII without spaces", "write other characters as percent codes"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text may hold a password
        raise BadInput(f"{what} is not a URL with a host and a port", "check its spelling") from None
    if parts.scheme not in {"http", "https"}:
        raise BadInput(f"{what} must begin with http:// or https://")
    if "@" in parts.netloc:
        raise BadInput(f"{what} must hold no user or password", "leave them out")
    if "#" in url:
        raise BadInput(f"{what} must have no fragment (#...)", "leave it out")
    if not _is_host(parts.netloc, host) or port == 0:
        raise BadInput(f"{what} must have a host and a port that can be, not {parts.netloc!r}")
    query = f"?{parts.query}" if parts.query else ""
    tls = parts.scheme == "https"
    if with_password and not (tls or is_here(host)):
        raise BadInput(f"{what} must begin with https://, not http://", "a password is sent there")
    return Address(tls=tls, host=host, port=port or (443 if tls else 80), path=(parts.path or "/") + query)


def _is_host(written: str, host: str) -> bool:
    """Whether this host is one, and all that is written but for the port."""
    shown = f"[{host}]" if ":" in host else host
    if not re.fullmatch(rf"{re.escape(shown)}(:[0-9]*)?", written, re.IGNORECASE):
        return False
    if ":" not in host:
        return HOST.fullmatch(host) is not None
    try:
        return ipaddress.IPv6Address(host).scope_id is None  # a scope would name this machine's parts
    except ValueError:
        return False
