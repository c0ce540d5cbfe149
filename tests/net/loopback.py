"""A server on a free port of this machine that answers as a test tells it, and keeps what it was asked."""

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from contracts.http_receiver import HttpReceiver

__all__ = ["Asked", "Loopback", "Pretended", "says"]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict
    headers: dict
    body: bytes

    @property
    def value(self):
        """The JSON in it."""
        return json.loads(self.body)


def says(value=None, status=200, body=None, **headers):
    """A whole answer: a value as JSON, or a body as it stands; `Retry_After` is the header Retry-After."""
    body = json.dumps(value).encode() if body is None else body
    lines = [f"HTTP/1.1 {status} Something", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Loopback(HttpReceiver):
    """`answer` is a function of what was asked: bytes, or a function of the connection and of its end."""

    def __init__(self, answer, tls=None):
        super().__init__(tls)
        self.answer, self.asked = answer, []

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/api.php"

    def respond(self, received, answer, file):
        """Ask the test."""
        method, target, _ = received.line.split(" ")
        parts = urlsplit(target)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        assert len(pairs) == len(dict(pairs)), "a parameter is given twice"
        headers = {name.lower(): text for name, text in received.headers.items()}
        asked = Asked(method, parts.path, dict(pairs), headers, received.body)
        self.asked.append(asked)
        super().respond(received, answer(asked), file)


@dataclass(kw_only=True)
class Pretended:
    """A server that pretends to be a real one: `tell` says what that would say."""

    before: list = field(default_factory=list)  # answers that come first

    def serve(self):
        """It, listening."""
        return Loopback(lambda asked: self.before.pop(0) if self.before else self.tell(asked))
