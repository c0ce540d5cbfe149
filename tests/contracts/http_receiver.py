"""A real HTTP server on a free port of this machine that keeps every byte it was sent."""

import contextlib
import threading
from dataclasses import dataclass
from email import message_from_bytes
from socketserver import StreamRequestHandler, ThreadingTCPServer

__all__ = ["HttpReceiver", "Received", "says"]

DEADLINE_S = 30


@dataclass(frozen=True)
class Received:
    """One request."""

    head: bytes  # the request line and the headers
    body: bytes

    @property
    def line(self):
        """What was asked for."""
        return self.head.split(b"\r\n")[0].decode()

    @property
    def headers(self):
        """The headers as they stand."""
        return message_from_bytes(self.head.partition(b"\r\n")[2])


def says(status, reason="", *headers, body=b""):
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class _Conversation(StreamRequestHandler):
    """Reads one request and has it answered."""

    timeout = DEADLINE_S

    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        receiver = self.server.receiver
        answer = receiver.answer
        length = int(message_from_bytes(head.partition(b"\r\n")[2])["Content-Length"] or 0)
        received = Received(head, self.rfile.read(length if receiver.listens else 0))
        receiver.received.append(received)
        with contextlib.suppress(OSError):  # the other side may have hung up meanwhile
            receiver.respond(received, answer, self.wfile)

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()


class _Server(ThreadingTCPServer):
    """Quiet where a client breaks off: that is what is tested."""

    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request, client_address):
        self.receiver.stumble()


class HttpReceiver:
    """`answer` is what it says: bytes, or a function of the connection's file and the event of its end."""

    def __init__(self, tls=None):
        self.answer, self.listens = says(204, "No Content"), True
        self.received, self.troubles = [], 0
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Conversation)
        self._server.receiver = self
        self.port = self._server.server_address[1]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def respond(self, received, answer, file):
        """Say to one request what was the answer when it came in."""
        if callable(answer):
            answer(file, self.stopping)
        else:
            file.write(answer)

    def stumble(self):
        """Count a request that could not be read or answered."""
        self.troubles += 1

    def stop(self):
        """Listen no more."""
        self.stopping.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
