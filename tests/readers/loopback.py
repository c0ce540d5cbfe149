"""A server on a free port of this machine that answers as a test tells it, and keeps what it was asked."""

import contextlib
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

__all__ = ["Asked", "Loopback", "says"]


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


class _Conversation(BaseHTTPRequestHandler):
    """Reads one request and answers it."""

    def _answer(self):
        parts = urlsplit(self.path)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        assert len(pairs) == len(dict(pairs)), "a parameter is given twice"
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): text for name, text in self.headers.items()}
        asked = Asked(self.command, parts.path, dict(pairs), headers, body)
        self.server.loopback.asked.append(asked)
        answer = self.server.loopback.answer(asked)
        with contextlib.suppress(OSError):  # the other side may have hung up meanwhile
            if callable(answer):
                answer(self.wfile, self.server.loopback.stopping)
            else:
                self.wfile.write(answer)

    do_GET = do_POST = _answer  # noqa: N815 - the names that the standard library looks for

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        self.loopback.troubles += 1


class Loopback:
    """`answer` is a function of what was asked: bytes, or a function of the connection and of its end."""

    def __init__(self, answer, tls=None):
        self.answer, self.asked, self.troubles = answer, [], 0
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Conversation)
        self._server.loopback = self
        self.port = self._server.server_address[1]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/api.php"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
