"""A real SMTP server on a free port of this machine that keeps every byte it was sent."""

import time
from dataclasses import dataclass, field
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

__all__ = ["MailServer"]


@dataclass
class Received:
    """One mail that was taken."""

    sender: str
    recipients: list[str]
    raw: bytes
    at_ns: int  # the machine's clock

    @property
    def message(self):
        """The mail, parsed."""
        return message_from_bytes(self.raw, policy=policy.default)

    @property
    def text(self):
        """What it says, with the line ends of a text."""
        return self.message.get_content().replace("\r\n", "\n")


class _Wire(SMTP):
    """Keeps the bytes of each connection."""

    def connection_made(self, transport):
        if self.transport is None:
            self.event_handler.wires.append(bytearray())
        super().connection_made(transport)

    def data_received(self, data):
        self.event_handler.wires[-1] += data
        super().data_received(data)


class _Controller(Controller):
    """Listens on whatever port is free."""

    def factory(self):
        return _Wire(self.handler, **self.SMTP_kwargs)

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@dataclass
class MailServer:
    """`answers` replaces what it would say: to MAIL, to the end of DATA, or to RCPT of one address."""

    answers: dict[str, str] = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    wires: list[bytearray] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    password: bytes = b""

    def __enter__(self):
        if self.password:
            self.settings |= {"authenticator": self._login, "auth_require_tls": False}
        named = {"hostname": "127.0.0.1", "server_hostname": "mail.example"}
        self._controller = _Controller(self, port=0, **named, **self.settings)
        self._controller.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Listen no more."""
        if self._controller is not None:
            self._controller.stop()
        self._controller, self._port = None, self.port

    @property
    def port(self):
        """Where it listens, or has listened."""
        return self._port if self._controller is None else self._controller.port

    @property
    def conversations(self):
        """All that clients said, a conversation each; the server's own first look is none."""
        return [bytes(wire) for wire in self.wires if wire]

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        return self.answers.get("MAIL", "250 OK")

    async def handle_RCPT(self, server, session, envelope, address, options):
        envelope.rcpt_tos.append(address)
        return self.answers.get(address, "250 OK")

    async def handle_DATA(self, server, session, envelope):
        if answer := self.answers.get("DATA"):
            return answer
        taken = Received(
            envelope.mail_from, list(envelope.rcpt_tos), envelope.original_content, time.time_ns()
        )
        self.received.append(taken)
        return "250 OK"

    def _login(self, server, session, envelope, mechanism, auth_data):
        self.logins.append((auth_data.login, auth_data.password))
        return AuthResult(success=auth_data.password == self.password, handled=False)
