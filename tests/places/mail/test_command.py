"""`tarry mail`: a mail is read from standard input and waits with all that its server will need."""

import io
from pathlib import Path

import pytest

LETTER = ["--from", "nym@example.org", "--to", "chair@example.net", "--subject", "Paper 3 ☃"]
SERVER = ["--server", "smtp://localhost:2525"]


@pytest.fixture
def typed(quiet, monkeypatch):
    """A shell with a letter on its standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("I agree. ☃\n".encode())))
    return quiet


def options_of(shell, told):
    """What the store keeps for the mail outlet."""
    return shell.home.gate().options_of(int(told["id"], 16))


def test_a_mail_waits_for_its_moment(typed):
    """Addresses, subject and server are kept, and the sender, who is the pseudonym, is the target."""
    told = typed.ask("mail", *LETTER, "--to", "second@example.net", *SERVER)
    (post,) = typed.ask("queue")["posts"]

    assert (told["state"], told["output"], typed.started) == ("waiting", None, [typed.home])
    assert (post["target"], post["outlet"]) == ("nym@example.org", "mail")
    assert options_of(typed, told) == {
        "server": "smtp://localhost:2525",
        "from": "nym@example.org",
        "to": ["chair@example.net", "second@example.net"],
        "subject": "Paper 3 ☃",
    }


def test_a_person_is_told_when_it_leaves(typed):
    """The answer to a person has no place of an output: a mail prints nothing."""
    code, out, err = typed.say("mail", *LETTER, *SERVER)

    assert (code, err) == (0, "")
    assert [line.split("  ")[0] for line in out.splitlines()] == ["leaves", "take back"]


def test_the_target_can_be_named(typed):
    """--target says on whose account the mail is, whoever gets it."""
    typed.ask("mail", *LETTER, *SERVER, "--target", "paper-3")

    assert typed.ask("queue")["posts"][0]["target"] == "paper-3"


@pytest.mark.parametrize(
    "sender",
    ["nym@example.org", "Nym <nym@example.org>", '"A. Nym" <nym@example.org>', "<nym@example.org>"],
)
def test_a_pseudonym_is_one_target_however_it_signs(typed, sender):
    """The target is the bare address; the mail keeps the name."""
    told = typed.ask("mail", "--from", sender, *LETTER[2:], *SERVER)

    assert typed.ask("queue")["posts"][0]["target"] == "nym@example.org"
    assert options_of(typed, told)["from"] == sender


def test_the_server_may_stand_in_the_environment(typed, monkeypatch):
    """TARRY_SMTP is the server of everybody who does not name one."""
    monkeypatch.setenv("TARRY_SMTP", "smtps://mail.example.org")
    told = typed.ask("mail", *LETTER)

    assert options_of(typed, told)["server"] == "smtps://mail.example.org"


def test_a_password_file_is_found_from_anywhere(typed):
    """Its path is kept whole, and its content is not kept at all."""
    Path("secret").write_text("hunter2")
    told = typed.ask(
        "mail", *LETTER, "--server", "smtps://me@mail.example.org", "--password-file", "secret"
    )

    assert options_of(typed, told)["password_file"] == str(Path("secret").absolute())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (LETTER, "no mail server given: use --server smtp://..., or set TARRY_SMTP"),
        ([*LETTER[:4], *SERVER], "no subject given: use --subject TEXT, or --subject '' "),
        ([*LETTER, "--server", "nonsense"], "the mail server must be an SMTP address"),
        ([*LETTER[:2], *SERVER], "the following arguments are required: --to (see tarry mail --help)"),
        (
            ["--from", "x", *LETTER[2:], *SERVER],
            "the sender of a mail must be one address in ASCII, not",
        ),
        ([*LETTER, *SERVER, "--to", "a@b.c\nBcc: x@y.z"], "a recipient of a mail must be one line"),
        (
            [*LETTER, *SERVER, "--password-file", "nowhere"],
            "the mail has a password_file but no user in its server",
        ),
    ],
)
def test_a_mail_that_no_server_takes_is_refused(typed, words, sentence):
    """What is wrong with a letter is told in one sentence, and nothing waits."""
    assert typed.refusal("mail", *words).startswith(f"tarry mail: {sentence}")
    assert typed.ask("queue")["posts"] == []


def test_an_empty_mail_is_sent_only_if_it_is_meant(typed, monkeypatch):
    """A pipe that broke looks like an empty text."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    refused = typed.refusal("mail", *LETTER, *SERVER)
    told = typed.ask("mail", "--empty", *LETTER[:4], "--subject", "", *SERVER)

    assert refused == "tarry mail: the mail has no text: write it to standard input, or use --empty"
    assert options_of(typed, told)["subject"] == ""
