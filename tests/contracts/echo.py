"""A server at another port of this machine that writes down the cookies that it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HeardCookies", "hearing_cookies"]


@dataclass(frozen=True)
class HeardCookies:
    """Where it answers, and what it has heard of each page."""

    url: str
    cookies: list[str] = field(default_factory=list)


@contextmanager
def hearing_cookies() -> Iterator[HeardCookies]:
    """The server, for a while."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/favicon"):
                heard.cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        heard = HeardCookies(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield heard
        finally:
            server.shutdown()
            thread.join()
