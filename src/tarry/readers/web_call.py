"""One question to a server over HTTP, and what a person is told when there is no answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from tarry.core.errors import BadInput, NotPossible
from tarry.net.address import Address
from tarry.net.http_call import Answer, Kind, NoAnswer, call
from tarry.readers.faults import clip

__all__ = ["Question", "ask_once", "split_address"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked for, and how long and how much may be answered. Its text shows no secret.

    >>> Question(who="the node", address="http://127.0.0.1:8332/", headers={"Authorization": "Basic eDp5"})
    Question(method='GET', who='the node')
    """

    method: str = "GET"
    who: str  # what sentences call the server
    address: str = field(repr=False)  # with the query, which may hold a key
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout_s: float = field(default=60.0, repr=False)
    most: int = field(default=64 << 20, repr=False)  # bytes of an answer


def split_address(address: str, what: str = "the address") -> SplitResult:
    """Check the address of a server that a person gives; no sentence shows more of it than its host.

    >>> split_address("https://wiki.example.org/w/api.php").path
    '/w/api.php'
    >>> split_address("ftp://wiki.example.org")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address must begin with http:// or https://, found another beginning
    """
    # Before it is taken apart: urlsplit removes line ends and tabs without a word.
    if not (address.isascii() and address.isprintable()) or " " in address:
        fix = "write other characters as percent codes"
        raise BadInput(what, "must be printable ASCII without spaces", found="another character", fix=fix)
    try:
        parts = urlsplit(address)
        sound = bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:  # its text may hold a password
        raise BadInput(what, "must be a URL with a host and a port that can be", found="another") from None
    if parts.scheme not in {"http", "https"}:
        raise BadInput(what, "must begin with http:// or https://", found="another beginning")
    if "@" in parts.netloc:
        raise BadInput(what, "must hold no user or password", found="one", fix="leave them out")
    if not sound:
        raise BadInput(what, "must have a host and a port that can be", found=repr(clip(parts.netloc)))
    return parts


def ask_once(question: Question) -> Answer:
    """Ask, and give up when there is no whole answer in time.

    Certificates are checked against what the system trusts.

    >>> ask_once(Question(who="the node", address="http://127.0.0.1:9/"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the node cannot be reached (Connection refused): is the address right?
    """
    parts = split_address(question.address)
    try:
        return call(
            _address(parts),
            question.headers,
            question.body,
            timeout_s=question.timeout_s,
            method=question.method,
            who=question.who,
            most=question.most,
        )
    except NoAnswer as error:  # what caused it may hold what the server said
        raise NotPossible(_sentence(question, error)) from None


def _address(parts: SplitResult) -> Address:
    tls = parts.scheme == "https"
    return Address(
        tls=tls,
        host=parts.hostname or "",
        port=parts.port or (443 if tls else 80),
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )


def _sentence(question: Question, error: NoAnswer) -> str:
    told = clip(error.reason, 80)
    says: dict[Kind, str] = {
        "timeout": f"did not answer within {question.timeout_s:g} seconds: try later",
        "hung up": "hung up before its answer was whole: try again",
        "half an answer": "hung up before its answer was whole: try again",
        "unreachable": f"cannot be reached ({told}): is the address right?",
        "certificate": f"has a certificate that this machine does not trust ({told})",
        "too long": f"answered more than {question.most} bytes: ask for less at once",
        "not HTTP": "answered something that is not HTTP: is the address right?",
    }
    return f"{question.who} {says[error.kind]}"
