"""`tarry store`: what looks after the store of a person or of a gateway."""

import json

import pytest

from contracts.operating import SLOW
from tarry.keep.store import place

BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
WORDS = "the words that I type"


@pytest.fixture
def bare(monkeypatch):
    """As if the package cryptography were not installed, until it is called."""
    with monkeypatch.context() as patch:
        patch.setattr("tarry.keep.home.find_spec", lambda _: None)
        patch.setattr("tarry.cli.space.find_spec", lambda _: None)
        yield patch.undo


def raw_bytes(folder) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_first_use_without_the_package_says_loudly_that_nothing_is_encrypted(quiet, bare):
    code, _, err = quiet.say("run", "--target", "p1", "--", "echo", WORDS)
    assert code == 0
    assert "WHAT WAITS LIES UNENCRYPTED in" in err
    assert "tarry store encrypt --own" in err
    assert quiet.say("run", "--target", "p1", "--", "echo")[2] == ""

    assert "WHAT WAITS LIES UNENCRYPTED in" in quiet.say("queue")[1]
    assert quiet.ask("queue")["encrypted"] is False
    assert WORDS.encode() in raw_bytes(quiet.home.state)


def test_ones_own_store_is_encrypted_and_no_old_byte_is_left(quiet, bare):
    told = quiet.say("run", "--target", "p1", "--", "echo", WORDS)
    bare()
    code, out, err = quiet.say("store", "encrypt", "--own")

    assert told[0] == code == 0
    assert (out, err) == ("encrypted: 1 posts wait in it\n", "")
    assert WORDS.encode() not in raw_bytes(quiet.home.state)
    assert "What waits is encrypted" in quiet.say("queue")[1]
    assert quiet.ask("queue")["posts"][0]["what"] == f"echo '{WORDS}'"
    assert quiet.say("store", "encrypt", "--own")[1] == "it was encrypted before\n"


def test_while_a_keeper_runs_ones_own_store_stays_as_it_is(quiet, bare):
    quiet.say("run", "--target", "p1", "--", "echo", WORDS)
    with quiet.home.keeping() as mine:
        assert mine
        assert quiet.refusal("store", "encrypt", "--own").startswith("tarry store: a keeper runs: end it")
    assert quiet.ask("queue")["encrypted"] is False


def test_without_the_package_a_gateway_makes_no_store_unless_it_is_told_to(operator, bare, tmp_path):
    policy = operator.file("policy.toml", SLOW)
    code, _, err = operator.say("space", "add", "talk", "--policy", policy)
    assert code == 2
    assert "contents would lie unencrypted" in err
    assert "give --unencrypted" in err
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]

    assert operator.say("space", "add", "talk", "--policy", policy, "--unencrypted")[0] == 0
    assert operator.ask("status")["encrypted"] is False
    assert "NOT ENCRYPTED: tarry store encrypt" in operator.tell("status")
    assert operator.say("space", "add", "wiki", "--policy", policy)[0] == 0  # it is known by now


def test_unencrypted_is_for_the_first_space(operator):
    operator.add_space()
    policy = operator.file("policy.toml", SLOW)
    code, _, err = operator.say("space", "add", "wiki", "--policy", policy, "--unencrypted")
    assert code == 2
    assert "--unencrypted is for the first space" in err


@BOTH
def test_a_gateways_store_is_encrypted(operator, bare):
    policy = operator.file("policy.toml", SLOW)
    operator.say("space", "add", "talk", "--policy", policy, "--unencrypted")
    bare()
    code, out, err = operator.say("store", "encrypt", "--json")

    assert (code, json.loads(out)["posts"]) == (0, 0)
    assert ("VACUUM FULL posts" in err) is operator.database.startswith("postgresql")
    assert operator.look(place).settings.is_encrypted
    assert operator.ask("status")["encrypted"] is True
    assert "contents  encrypted" in operator.tell("status")
