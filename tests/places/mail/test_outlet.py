"""Mail: what a real server receives is the release and nothing else."""

import socket
import ssl
import subprocess
import threading
from email.utils import parsedate_to_datetime
from fractions import Fraction

import pytest

from contracts.mail_server import MailServer
from tarry.keep.errors import Refused, Unreachable
from tarry.places.mail.outlet import Mail
from tarry.testing.outlets import OutletCase, OutletSuite, opened, release_of

LONG_S = 30


class MailWorld:
    """A mail server on this machine."""

    content = "Liebe Grüße\n.\nAnn".encode()

    def __init__(self, folder, **server):
        self.server = MailServer(**server).__enter__()
        self.outlet = Mail(timeout_s=LONG_S)
        self.options = {
            "server": f"smtp://127.0.0.1:{self.server.port}",
            "from": "Ann Other <ann@nym.example>",
            "to": ["bob@example.org", "Zoë <zoe@example.net>"],
            "subject": "Ein Gruß",
        }

    def sent(self):
        """All that was said to the server, a conversation each."""
        return self.server.conversations

    def close(self):
        """Stop the server."""
        self.server.stop()


def says(to, answer):
    """The server answers otherwise."""
    return lambda world: world.server.answers.update({to: answer})


class TestMail(OutletSuite):
    """Mail meets the contract of outlets."""

    case = OutletCase(
        world=MailWorld,
        undeliverable=[
            {"surprise": 1},
            {"server": None},
            {"server": "http://127.0.0.1"},
            {"server": "smtp://"},
            {"server": "smtp://127.0.0.1:0"},
            {"server": "smtp://127.0.0.1:99999"},
            {"server": "smtp://[::1"},
            {"server": "smtp://a..b"},
            {"server": f"smtp://{'a' * 64}.example"},
            {"server": "smtp://bücher.example"},
            {"server": "smtp://127.0.0.1/path"},
            {"server": "smtp://ann:secret@127.0.0.1"},
            {"server": "smtp://ann@127.0.0.1"},
            {"server": "smtp://%ff@127.0.0.1", "password_file": "/dev/null"},
            {"password_file": "/dev/null"},
            {"server": "smtp://ann@127.0.0.1", "password_file": "secret"},
            {"from": None},
            {"from": "ann"},
            {"from": "ann@nym.example\r\nBcc: eve@example.org"},
            {"from": "ann@nym.example, eve@example.org"},
            {"from": "a..b@nym.example"},
            {"from": "änn@nym.example"},
            {"from": 'Ann "Other <ann@nym.example>'},
            {"to": []},
            {"to": "bob@example.org"},
            {"to": ["bob@example.org\n"]},
            {"to": ["bob@example.org, eve@example.org"]},
            {"to": ["bob@example.org"] * 101},
            {"to": [7]},
            {"subject": None},
            {"subject": "Hello\nBcc: eve@example.org"},
            {"subject": "Hello\r"},
            {"subject": "Hello\u2028"},
            {"subject": "Hello\udc80"},
            {"subject": "o" * 901},
        ],
        troubles={
            "does not listen": (lambda world: world.server.stop(), Unreachable),
            "knows no such mailbox": (says("zoe@example.net", "550 no such mailbox"), Refused),
            "greylists": (says("zoe@example.net", "451 come back later"), Unreachable),
            "takes nothing from us": (says("MAIL", "553 go away"), Refused),
            "is full": (says("MAIL", "452 no room"), Unreachable),
            "takes us for spam": (says("DATA", "554 spam"), Refused),
            "is busy at the end": (says("DATA", "451 busy"), Unreachable),
        },
    )


@pytest.fixture
def world(tmp_path):
    """A mail server."""
    with opened(MailWorld, tmp_path / "world") as world:
        yield world


def test_the_mail_is_what_was_written(world):
    """Sender, recipients, subject and text arrive as they were given, with exactly these headers."""
    world.outlet.deliver(release_of(world))

    (mail,) = world.server.received
    assert (mail.sender, mail.recipients) == ("ann@nym.example", ["bob@example.org", "zoe@example.net"])
    assert mail.message["From"] == "Ann Other <ann@nym.example>"
    assert mail.message["To"] == "bob@example.org, Zoë <zoe@example.net>"
    assert mail.message["Subject"] == "Ein Gruß"
    assert mail.text == "Liebe Grüße\n.\nAnn\n"
    assert set(mail.message) == {"From", "To", "Subject", "Date", "Message-ID"} | {
        *("MIME-Version", "Content-Type", "Content-Transfer-Encoding")
    }
    assert mail.message.get_content_type() == "text/plain"
    assert mail.raw.isascii()


@pytest.mark.parametrize("at", [Fraction(1_767_225_660), Fraction(3_534_451_321, 2)])
def test_the_date_is_the_release_and_the_id_is_its_id(world, at):
    """The Date is the moment of the tick in UTC; the Message-ID is the release's at the sender's domain."""
    world.outlet.deliver(release_of(world, at=at))

    message = world.server.received[0].message
    assert message["Date"].endswith(" +0000")
    assert parsedate_to_datetime(message["Date"]).timestamp() == int(at)
    assert message["Message-ID"] == f"<{'5a' * 16}@nym.example>"


def test_every_try_has_the_same_message_id(world):
    """A second try, even with a later release, is known by its Message-ID."""
    world.outlet.deliver(release_of(world))
    world.outlet.deliver(release_of(world, at=Fraction(1_767_229_999), attempt=2))

    first, second = world.server.received
    assert first.message["Message-ID"] == second.message["Message-ID"]


def test_this_machine_is_not_named(world, monkeypatch):
    """The greeting is the same on every machine."""
    monkeypatch.setattr(socket, "getfqdn", lambda *_: "desk.of-ann.example")

    world.outlet.deliver(release_of(world))

    (said,) = world.sent()
    assert said.lower().startswith(b"ehlo [127.0.0.1]\r\n")
    assert b"desk.of-ann.example" not in said
    assert b"python" not in said.lower()


def test_one_refused_recipient_keeps_the_mail_from_all(world):
    """If one of the recipients is refused, nobody receives anything, and the server's words are told."""
    world.server.answers["bob@example.org"] = "250 OK"
    world.server.answers["zoe@example.net"] = "550 no such mailbox"

    with pytest.raises(Refused, match=r"answered 550: zoe@example.net: no such mailbox"):
        world.outlet.deliver(release_of(world))
    assert world.server.received == []


def test_content_that_is_no_text_is_refused(world):
    """A mail is text in UTF-8."""
    with pytest.raises(Refused, match="the content of a mail must be UTF-8 text"):
        world.outlet.deliver(release_of(world, content=b"\xff"))
    assert world.sent() == []


def test_long_lines_and_subjects_are_carried(world):
    """Lines of any length, long subjects and long domains arrive whole, in lines that SMTP allows."""
    text, subject = "x" * 5000 + "\n" + "ü" * 3000 + "\n", "ß" * 300
    sender = f"ann@{'sub-domain.' * 12}example"
    options = {**world.options, "subject": subject, "from": sender}

    world.outlet.check(options)
    world.outlet.deliver(release_of(world, content=text.encode(), options=options))

    (mail,) = world.server.received
    assert mail.text == text
    assert mail.message["Subject"] == subject
    assert mail.message["Message-ID"] == f"<{'5a' * 16}@{sender.partition('@')[2]}>"
    assert max(map(len, mail.raw.splitlines())) <= 998


# --- passwords and encryption --------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path):
    """A server that wants a password, and options that know it."""
    (tmp_path / "password").write_text("op3n s3same\n")
    world = MailWorld(tmp_path, password=b"op3n s3same")
    world.options["server"] = world.options["server"].replace("//", "//a%40n@")
    world.options["password_file"] = str(tmp_path / "password")
    yield world
    world.close()


def test_the_password_comes_from_its_file(locked):
    """The user of the URL logs in with the password of the file."""
    locked.outlet.check(locked.options)
    locked.outlet.deliver(release_of(locked))

    assert locked.server.logins == [(b"a@n", b"op3n s3same")]
    assert len(locked.server.received) == 1


def test_a_wrong_password_is_for_a_person(locked, tmp_path):
    """A login that the server refuses parks the post, and the password is not told."""
    (tmp_path / "password").write_text("wr0ng")

    with pytest.raises(Refused, match="the mail server answered 535") as told:
        locked.outlet.deliver(release_of(locked))
    assert "wr0ng" not in str(told.value)


@pytest.mark.parametrize("password", ["pässword", None])
def test_a_password_that_cannot_be_used_is_for_a_person(locked, tmp_path, password):
    """A password file that is gone, or holds what SMTP cannot say, parks the post."""
    if password is None:
        (tmp_path / "password").unlink()
        with pytest.raises(ValueError, match="there is no password_file"):
            locked.outlet.check(locked.options)
    else:
        (tmp_path / "password").write_text(password)

    with pytest.raises(Refused):
        locked.outlet.deliver(release_of(locked))


def test_a_server_without_logins_is_for_a_person(world, tmp_path):
    """A user at a server that knows no users parks the post."""
    (tmp_path / "password").write_text("x")
    world.options["server"] = world.options["server"].replace("//", "//ann@")
    world.options["password_file"] = str(tmp_path / "password")

    with pytest.raises(Refused, match="does not offer what is needed"):
        world.outlet.deliver(release_of(world))
    assert world.server.received == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for mail.example and this machine, with its key."""
    folder = tmp_path_factory.mktemp("certificate")
    asked = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key -out certificate -subj /CN=x"
    names = "subjectAltName=DNS:mail.example,IP:127.0.0.1"
    subprocess.run([*asked.split(), "-addext", names], check=True, capture_output=True, cwd=folder)
    return folder


@pytest.fixture
def server_side(certificate):
    """What the server proves itself with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate", certificate / "key")
    return context


@pytest.fixture
def elsewhere(monkeypatch):
    """The name mail.example leads here, and is no name of this machine."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: look_up("127.0.0.1" if host == "mail.example" else host, *rest, **more),
    )


def far(world):
    """The world's options, as if its server were another machine."""
    return {**world.options, "server": world.options["server"].replace("127.0.0.1", "mail.example")}


def trusting(certificate):
    """Mail that trusts this certificate and no other."""
    return Mail(
        timeout_s=LONG_S, tls=lambda: ssl.create_default_context(cafile=certificate / "certificate")
    )


def test_a_server_elsewhere_is_spoken_to_encrypted(tmp_path, certificate, server_side, elsewhere):
    """With a server on another machine nothing of the mail is said before STARTTLS."""
    world = MailWorld(tmp_path, settings={"tls_context": server_side, "require_starttls": True})
    try:
        trusting(certificate).deliver(release_of(world, options=far(world)))
    finally:
        world.close()

    (mail,) = world.server.received
    assert mail.message["Subject"] == "Ein Gruß"
    (said,) = world.sent()
    assert said.lower().startswith(b"ehlo [127.0.0.1]\r\nstarttls\r\n")


def test_a_server_elsewhere_without_encryption_gets_nothing(world, elsewhere):
    """A server on another machine that offers no STARTTLS is told nothing."""
    with pytest.raises(Refused, match="STARTTLS"):
        world.outlet.deliver(release_of(world, options=far(world)))
    assert world.server.received == []
    assert b"ann@nym.example" not in b"".join(world.sent())


def test_a_server_that_cannot_prove_its_name_gets_nothing(tmp_path, server_side, elsewhere):
    """A certificate that nobody vouches for ends the conversation; it is tried again later."""
    world = MailWorld(tmp_path, settings={"tls_context": server_side})
    try:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            world.outlet.deliver(release_of(world, options=far(world)))
    finally:
        world.close()

    assert world.server.received == []


def test_smtps_is_encrypted_from_the_first_byte(tmp_path, certificate, server_side):
    """Below smtps:// the whole conversation is encrypted, on this machine as well."""
    world = MailWorld(tmp_path, settings={"ssl_context": server_side})
    try:
        options = {**world.options, "server": world.options["server"].replace("smtp:", "smtps:")}
        trusting(certificate).deliver(release_of(world, options=options))
        with pytest.raises(Unreachable):  # spoken to in the clear, it does not answer
            Mail(timeout_s=0.5).deliver(release_of(world))
    finally:
        world.close()

    assert len(world.server.received) == 1


# --- trouble on the way --------------------------------------------------------------------------


class Rough:
    """A server that accepts a connection and is no help."""

    content = b"Hi"

    def __init__(self, listening):
        server = f"smtp://127.0.0.1:{listening.getsockname()[1]}"
        self.options = {"server": server, "from": "a@example.org", "to": ["b@example.org"], "subject": ""}


def test_a_silent_server_does_not_hold_the_worker():
    """A server that accepts and then says nothing is given up on after the timeout."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(Unreachable, match="timed out"),
    ):
        Mail(timeout_s=0.2).deliver(release_of(Rough(silent)))


def test_a_server_that_hangs_up_is_tried_again():
    """A connection that ends without a word is trouble of the moment."""

    def hang_up():
        rude.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as rude:
        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(Unreachable):
            Mail(timeout_s=LONG_S).deliver(release_of(Rough(rude)))
        thread.join(LONG_S)


def talk(listening, *answers):
    """Greet, and answer each line with the next of the answers; then hang up, or read on for the mail."""
    line, _ = listening.accept()
    line.settimeout(LONG_S)
    with line, line.makefile("rb") as heard:
        line.sendall(b"220 hello\r\n")
        for answer in answers:
            while answer.startswith(b"!") and heard.readline() != b".\r\n":
                pass  # the mail itself
            if not answer.startswith(b"!"):
                heard.readline()
            line.sendall(answer.removeprefix(b"!"))


@pytest.mark.parametrize(
    ("end", "sent"),
    [
        ([b"354 go on\r\n", b"!"], True),
        ([b"354 go on\r\n", b"!nonsense\r\n"], True),
        ([b"354 go on\r\n", b"!250" + b"x" * 9000], True),
        ([b"354 go on\r\n", b"!451 busy\r\n"], False),
        ([b"451 not now\r\n"], False),
    ],
    ids=["hangs up", "nonsense", "a line without end", "busy", "not wanted now"],
)
def test_after_the_last_dot_only_an_answer_says_that_it_was_not_taken(end, sent):
    """Whoever hangs up then may have sent it on; one that says "not now" has not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answers = [b"250 mail.example\r\n", b"250 ok\r\n", b"250 ok\r\n", *end]
        thread = threading.Thread(target=talk, args=(listening, *answers))
        thread.start()
        with pytest.raises(Unreachable) as trouble:
            Mail(timeout_s=LONG_S).deliver(release_of(Rough(listening)))
        thread.join(LONG_S)

    assert trouble.value.sent is sent


def test_a_server_that_is_not_there_has_no_mail(world):
    """Nobody listens: it may be changed."""
    world.server.stop()

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world))
    assert not trouble.value.sent
