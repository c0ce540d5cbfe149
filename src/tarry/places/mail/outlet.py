"""Mail by SMTP, written at the release.

Its Date is the tick, its Message-ID is random and the same at every try, and no header tells of this
machine, this program or an arrival.

At least once: a connection that breaks after the last dot leaves open whether the server has taken the
mail, and the next try sends it again under the same Message-ID. A mail goes to all of its recipients or to
none: if one is refused, nothing is sent and the post is parked.

What the receiver learns nevertheless: the server writes the address this machine connects from, and when,
into its `Received` line, so two pseudonyms that send from one address, or log in as one user, are linked
without any clock. The name in EHLO is the same for everybody. The connection is encrypted and the server's
certificate checked, unless the server is on this machine.
"""

import contextlib
import re
import smtplib
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.net.address import HOST, is_here
from tarry.places.checks import check_options, is_one_line, read_path, read_utf8

__all__ = ["Letter", "Mail", "read_letter"]

_EHLO = "[127.0.0.1]"  # this machine's name is nobody's business
_KNOWN = {"server", "from", "to", "subject", "password_file"}
_PORTS = {"smtp": 587, "smtps": 465}
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]{1,253}")
_MAILBOX = re.compile(r'"?(?P<name>[^<>"]*)"?\s*<(?P<within>[^<>]*)>|(?P<alone>[^<>]*)')
_MOST_RECIPIENTS, _MOST_TEXT = 100, 900
_SERVERS = "use smtp://host:port or smtps://host:port, with user@ before the host or without"


@dataclass(frozen=True)
class Letter:
    """Where a mail goes, by what server, and how it is headed.

    >>> letter = {"from": "a@example.org", "to": ["b@example.org"], "subject": "Hello"}
    >>> read_letter({**letter, "server": "smtp://mail.example.org"}).port
    587
    """

    tls: bool  # from the first byte
    host: str
    port: int
    user: str | None
    password_file: Path | None
    sender: Address
    to: tuple[Address, ...]
    subject: str


def read_letter(options: Mapping[str, Any]) -> Letter:
    """Check the options of a mail.

    >>> letter = {"server": "smtp://localhost:25", "from": "a@example.org", "to": ["b@example.org"]}
    >>> read_letter({**letter, "subject": "Hello" + chr(10) + "Bcc: c@example.org"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the subject of a mail must be one line of at most 900 characters
    """
    check_options(options, _KNOWN, "a mail")
    to = options.get("to")
    if not isinstance(to, list | tuple) or not 0 < len(to) <= _MOST_RECIPIENTS:
        many = f"{len(to)}" if isinstance(to, list | tuple) else "something else"
        raise BadInput(f"a mail must have a list of 1 to {_MOST_RECIPIENTS} recipients, not {many}")
    file = read_path(options.get("password_file"), "password_file")
    tls, host, port, user = _server(options.get("server"))
    if (user is None) != (file is None):
        has, lacks = (
            ("a user", "a password_file") if file is None else ("a password_file", "a user in its server")
        )
        raise BadInput(f"the mail has {has} but no {lacks[2:]}", "give both, or none")
    return Letter(
        tls,
        host,
        port,
        user,
        file,
        _address(options.get("from"), "the sender of a mail"),
        tuple(_address(each, "a recipient of a mail") for each in to),
        _one_line(options.get("subject"), "the subject of a mail"),
    )


class Mail(Outlet):
    """Sends plain text, the content of the post, to the server that the post names.

    Options: `server` (smtp://user@host:port, or smtps:// for encryption from the first byte), `from`, `to`
    (a list), `subject`, and `password_file` where there is a user. A server below smtp:// has to offer
    STARTTLS; only one on this machine is spoken to in the clear.

    >>> letter = {"server": "smtp://localhost:25", "from": "a@example.org", "to": ["b@example.org"]}
    >>> Mail().check({**letter, "subject": "Hello"})
    """

    delivery: Delivery = "at least once"

    def __init__(self, *, timeout_s: float = 30, tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        self._timeout_s = timeout_s
        self._tls = tls or ssl.create_default_context

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what no server takes, and what would not be one mail."""
        letter = read_letter(options)
        if letter.password_file is not None and not letter.password_file.is_file():
            raise BadInput(
                f"there is no password_file {str(letter.password_file)!r}", "write it, or give another"
            )

    def deliver(self, release: Release) -> None:
        """Send it, or raise why not."""
        try:
            letter = read_letter(release.options)
            message = _message(letter, release)
            password = _password(letter)
        except (ValueError, MessageError) as error:
            raise Refused(str(error)) from error
        with _troubles(), self._session(letter) as session:
            if letter.user is not None:
                session.login(letter.user, password)
            _send(session, letter, message)

    @contextlib.contextmanager
    def _session(self, letter: Letter) -> Iterator[smtplib.SMTP]:
        host, port, wait = letter.host, letter.port, self._timeout_s
        session = (
            smtplib.SMTP_SSL(host, port, _EHLO, timeout=wait, context=self._tls())
            if letter.tls
            else smtplib.SMTP(host, port, _EHLO, timeout=wait)
        )
        try:
            if not letter.tls and not is_here(letter.host):
                session.starttls(context=self._tls())
            yield session
            with contextlib.suppress(OSError, smtplib.SMTPException):  # the mail is away
                session.quit()
        finally:
            session.close()


def _send(session: smtplib.SMTP, letter: Letter, message: bytes) -> None:
    """One mail to all or to nobody: nothing leaves before every recipient is taken."""
    session.ehlo_or_helo_if_needed()
    _expect(session.mail(letter.sender.addr_spec))
    for address in letter.to:
        _expect(session.rcpt(address.addr_spec), f"{address.addr_spec}: ")
    _expect(_hand_over(session, message))


def _hand_over(session: smtplib.SMTP, message: bytes) -> tuple[int, bytes]:
    """Once the mail itself is on its way only a clear answer tells that it was not taken."""
    try:
        answer = session.data(message)
    except smtplib.SMTPDataError:  # the server did not want to hear it
        raise
    except OSError as error:  # as which smtplib tells everything else
        raise Unreachable(f"the mail server hung up: {error}", sent=True) from error
    if not 200 <= answer[0] < 600:
        raise Unreachable("the mail server answered something that is not SMTP", sent=True)
    return answer


def _expect(answer: tuple[int, bytes], about: str = "") -> None:
    code, words = answer
    if not 200 <= code < 300:
        raise smtplib.SMTPResponseException(code, about.encode() + words)


@contextlib.contextmanager
def _troubles() -> Iterator[None]:
    """Whatever goes wrong in a session is either for a person or for a later try."""
    try:
        yield
    except smtplib.SMTPResponseException as error:
        answer = error.smtp_error if isinstance(error.smtp_error, bytes) else str(error.smtp_error).encode()
        words = " ".join(answer.decode("utf-8", "replace").split())[:500]
        trouble = Refused if 500 <= error.smtp_code < 600 else Unreachable
        raise trouble(f"the mail server answered {error.smtp_code}: {words}") from error
    except smtplib.SMTPServerDisconnected as error:
        raise Unreachable(f"the mail server hung up: {error}") from error
    except smtplib.SMTPException as error:
        raise Refused(f"the mail server does not offer what is needed: {error}") from error
    except OSError as error:
        raise Unreachable(f"the mail server cannot be reached: {error}") from error
    except ValueError as error:  # a name or password that cannot be written in SMTP
        raise Refused(f"the mail cannot be sent: {error}") from error


def _message(letter: Letter, release: Release) -> bytes:
    """The bytes of the mail: they follow from the release alone."""
    message = EmailMessage(policy=SMTP)
    message["From"] = letter.sender
    message["To"] = letter.to
    message["Subject"] = letter.subject
    message["Date"] = datetime.fromtimestamp(int(release.at), UTC)
    message["Message-ID"] = f"<{release.id}@{letter.sender.domain}>"
    message.set_content(
        read_utf8(release.content, "the content of a mail"),
        charset="utf-8",
        cte="quoted-printable",  # pure ASCII: what is sent does not hang on what the server can take
    )
    return message.as_bytes()


def _password(letter: Letter) -> str:
    if letter.password_file is None:
        return ""
    try:
        return letter.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise Refused(
            f"password_file cannot be read ({error.strerror}): check its path and rights"
        ) from error


def _server(url: Any) -> tuple[bool, str, int, str | None]:
    """Whether encrypted from the start, host, port, user."""
    try:
        parts = urlsplit(_one_line(url, "the server of a mail"))
        host, port = parts.hostname or "", parts.port
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"the mail server is not a URL ({error})", _SERVERS) from None
    user = None if parts.username is None else unquote(parts.username)
    if parts.scheme not in _PORTS or parts.path.strip("/") or parts.query or parts.fragment or port == 0:
        raise BadInput("the mail server must be an SMTP address", _SERVERS)
    if parts.password is not None:
        raise BadInput(
            "the address of the mail server holds a password",
            "put it into a file of your own and give its path as password_file",
        )
    if not HOST.fullmatch(host) and ":" not in host:
        raise BadInput(f"the mail server must have a host in ASCII, not {host!r}")
    if user is not None and not (user and user.isascii() and user.isprintable()):
        raise BadInput("the user of the mail server must be written in ASCII")
    return parts.scheme == "smtps", host, port or _PORTS[parts.scheme], user


_WRITTEN = "write it as Ann <ann@example.org>"


def _address(text: Any, what: str) -> Address:
    """`ann@example.org` or `Ann <ann@example.org>`."""
    mailbox = _MAILBOX.fullmatch(_one_line(text, what).strip())
    spec = (mailbox["within"] or mailbox["alone"] or "") if mailbox else ""
    if mailbox is None or not _ADDRESS.fullmatch(spec):
        raise BadInput(f"{what} must be one address in ASCII, not {text!r}", _WRITTEN)
    try:
        return Address((mailbox["name"] or "").strip(), addr_spec=spec)
    except (ValueError, MessageError, IndexError):
        raise BadInput(f"{what} is not well formed: {text!r}", _WRITTEN) from None


def _one_line(text: Any, what: str) -> str:
    """A header of its own making would be a letter of somebody else's."""
    if not isinstance(text, str) or len(text) > _MOST_TEXT or not is_one_line(text):
        raise BadInput(f"{what} must be one line of at most {_MOST_TEXT} characters")
    return text
