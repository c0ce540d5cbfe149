"""The options of a mail, read."""

import pytest

from tarry.core.errors import BadInput
from tarry.net.address import is_here
from tarry.places.mail.outlet import read_letter

GOOD = {
    "server": "smtp://mail.example",
    "from": "ann@nym.example",
    "to": ["bob@example.org"],
    "subject": "",
}


@pytest.mark.parametrize(
    ("server", "host", "port", "tls", "local"),
    [
        ("smtp://mail.example", "mail.example", 587, False, False),
        ("smtps://mail.example/", "mail.example", 465, True, False),
        ("smtp://localhost:25", "localhost", 25, False, True),
        ("smtp://127.8.9.1:2525", "127.8.9.1", 2525, False, True),
        ("smtp://[::1]:25", "::1", 25, False, True),
        ("smtp://[2001:db8::1]", "2001:db8::1", 587, False, False),
        ("smtp://localhost.mail.example", "localhost.mail.example", 587, False, False),
        ("smtp://192.0.2.7", "192.0.2.7", 587, False, False),
    ],
)
def test_a_server_is_read(server, host, port, tls, local):
    """The URL tells the host, the port and whether the server is this machine itself."""
    letter = read_letter({**GOOD, "server": server})

    assert (letter.host, letter.port, letter.tls, is_here(letter.host)) == (host, port, tls, local)


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("ann@nym.example", "", "ann@nym.example"),
        ("<ann@nym.example>", "", "ann@nym.example"),
        ("Ann Other <ann@nym.example>", "Ann Other", "ann@nym.example"),
        ('"Other, Ann" <ann+x@nym.example>', "Other, Ann", "ann+x@nym.example"),
        ("Zoë <z@xn--bcher-kva.example>", "Zoë", "z@xn--bcher-kva.example"),
    ],
)
def test_an_address_is_read(text, name, address):
    """An address stands alone or behind a name."""
    sender = read_letter({**GOOD, "from": text}).sender

    assert (sender.display_name, sender.addr_spec) == (name, address)


@pytest.mark.parametrize("missing", ["server", "from", "to", "subject"])
def test_nothing_is_guessed(missing):
    """Every part of a letter has to be given."""
    with pytest.raises(BadInput):
        read_letter({name: value for name, value in GOOD.items() if name != missing})


def test_a_password_is_not_repeated():
    """A password in the URL is refused without being told again."""
    with pytest.raises(BadInput, match="holds a password") as told:
        read_letter({**GOOD, "server": "smtp://ann:s3same@mail.example", "password_file": "/secret"})
    assert "s3same" not in str(told.value)
