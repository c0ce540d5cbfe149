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
import smtplib
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.outlets.letter import Letter, read_letter
from tarry.keep.posts import Release

__all__ = ["Mail"]

_EHLO = "[127.0.0.1]"  # this machine's name is nobody's business


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
                "the password_file of a mail", "is there", found=f"no file {letter.password_file}"
            )

    def deliver(self, release: Release) -> None:
        """Send it, or tell why not."""
        try:
            letter = read_letter(release.options)
            message = _message(letter, release)
            password = _password(letter)
        except (ValueError, MessageError) as error:
            raise Refused(str(error)) from error
        with _told(), self._session(letter) as session:
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
            if not letter.tls and not letter.local:
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
def _told() -> Iterator[None]:
    """Whatever goes wrong in a session is either for a person or for a later try."""
    try:
        yield
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error if isinstance(error.smtp_error, bytes) else str(error.smtp_error).encode()
        words = " ".join(said.decode("utf-8", "replace").split())[:500]
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
    try:
        text = release.content.decode()
    except UnicodeDecodeError:
        raise Refused("the content of a mail is text in UTF-8: this is not") from None
    # Pure ASCII on the way: what is sent does not hang on what the server can take.
    message.set_content(text, charset="utf-8", cte="quoted-printable")
    return message.as_bytes()


def _password(letter: Letter) -> str:
    if letter.password_file is None:
        return ""
    try:
        return letter.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise Refused(f"the password_file of a mail cannot be read: {error.strerror}") from error
