"""`tarry token`: shown once, listed without its secret, revoked for good."""

import pytest

from tarry.gateway.catalog import find_token, read_catalog

NEEDED = "the following arguments are required"


def found(operator, token):
    return find_token(operator.look(read_catalog), token)


@pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
def test_a_token_is_made_listed_and_revoked(operator):
    operator.add_space()
    made = operator.ask(
        "token", "add", "the forum", "--scope", "submit", "--scope", "operate", "--space", "talk"
    )
    record = found(operator, made["token"])
    assert (record.name, record.scopes, record.spaces) == ("the forum", {"submit", "operate"}, {"talk"})

    told = operator.ask("token", "list")
    plain = {"id": made["id"], "name": "the forum", "scopes": ["operate", "submit"], "spaces": ["talk"]}
    assert told == {"tokens": [plain]}
    table = operator.tell("token", "list")
    assert made["token"] not in table
    assert made["id"] in table

    assert operator.ask("token", "revoke", made["id"]) == {"id": made["id"], "revoked": True}
    assert found(operator, made["token"]) is None
    assert operator.tell("token", "list") == "there is no token\n"
    assert "no token in use has the id" in operator.refusal("token", "revoke", made["id"])


def test_for_a_person_it_is_printed_on_a_line_of_its_own(operator):
    operator.add_space()
    lines = operator.tell("token", "add", "me", "--scope", "admin").splitlines()

    assert found(operator, lines[1].split()[1]).scopes == {"admin"}
    assert lines[2] == "keep it: it cannot be shown again"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "--scope", "submit"], f"{NEEDED}: NAME (see tarry token add --help)"),
        (["add", "me"], f"{NEEDED}: --scope (see tarry token add --help)"),
        (["add", "me", "--scope", "all"], "argument --scope: invalid choice: 'all'"),
        (
            ["add", "me", "--scope", "submit", "--space", "none"],
            "this gateway has no space 'none': check its name",
        ),
        (
            ["add", "a\nb", "--scope", "submit"],
            "the name of a token must have 1 to 100 characters on one line",
        ),
        (["list", "x"], "unrecognized arguments: x (see tarry token list --help)"),
        (
            ["list", "--scope=submit"],
            "unrecognized arguments: --scope=submit (see tarry token list --help)",
        ),
        (["revoke"], f"{NEEDED}: ID (see tarry token revoke --help)"),
    ],
)
def test_what_is_wrong_gets_one_sentence(operator, words, sentence):
    operator.add_space()

    assert operator.refusal("token", *words).startswith(f"tarry token: {sentence}")
