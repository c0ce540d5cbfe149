"""`tarry store`: what looks after the store of a person or of a gateway."""

import json

import pytest

from contracts.operating import SLOW
from contracts.shell import ALL_GONE
from tarry.gateway.database import open_store, read_key
from tarry.keep.store import snapshot

BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
WORDS = "the words that I type"
NEEDED = "the following arguments are required"


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
    assert quiet.say("store", "encrypt", "--own")[1] == "it was already encrypted\n"


def test_while_a_keeper_runs_ones_own_store_stays_as_it_is(quiet, bare):
    quiet.say("run", "--target", "p1", "--", "echo", WORDS)
    with quiet.home.keeping() as mine:
        assert mine
        assert quiet.refusal("store", "encrypt", "--own").startswith(
            "tarry store: a keeper is running: stop it"
        )
    assert quiet.ask("queue")["encrypted"] is False


def test_without_the_package_a_gateway_makes_no_store_unless_it_is_told_to(operator, bare, tmp_path):
    policy = operator.file("policy.toml", SLOW)
    code, _, err = operator.say("space", "add", "talk", "--policy", policy)
    assert code == 2
    assert "contents would lie unencrypted" in err
    assert "or use --unencrypted" in err
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]

    assert operator.say("space", "add", "talk", "--policy", policy, "--unencrypted")[0] == 0
    assert operator.ask("status")["encrypted"] is False
    assert "NOT ENCRYPTED: use tarry store encrypt" in operator.tell("status")
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
    assert ("VACUUM FULL" in err) is operator.database.startswith("postgresql")
    assert operator.look(snapshot).settings.is_encrypted
    assert operator.ask("status")["encrypted"] is True
    assert "contents  encrypted" in operator.tell("status")


# --- another key --------------------------------------------------------------------------------------


def test_ones_own_store_gets_another_key(quiet):
    told = quiet.ask("run", "--target", "p1", "--", "echo", WORDS)
    before = quiet.home.key_path.read_bytes()
    assert "the last arrivals are not erased yet" in quiet.refusal("store", "rekey", "--own")
    assert [path.name for path in quiet.home.config.glob("key*")] == ["key"]
    quiet.ask("withdraw", told["id"])
    quiet.pass_ticks(ALL_GONE)
    quiet.ask("store", "rekey", "--own")

    names = sorted(path.name for path in quiet.home.config.glob("key*"))
    assert names == ["key", "key.old"]
    assert (quiet.home.config / "key.old").read_bytes() == before != quiet.home.key_path.read_bytes()
    assert quiet.home.key_path.stat().st_mode & 0o777 == 0o600
    told = quiet.ask("run", "--target", "p1", "--", "echo", WORDS)
    assert [post["id"] for post in quiet.ask("queue")["posts"]] == [told["id"]]


@BOTH
def test_a_gateway_gets_another_key_and_goes_on(operator):
    operator.add_space()
    before = read_key(operator.key).fingerprint
    code, _, err = operator.say("store", "rekey")

    assert (code, read_key(operator.key).fingerprint == before) == (0, False)
    assert ("VACUUM FULL" in err) is operator.database.startswith("postgresql")
    assert operator.say("space", "add", "wiki", "--policy", operator.file("p.toml", SLOW))[0] == 0
    assert "key.old' already exists, an earlier key" in operator.refusal("store", "rekey")
    assert not operator.key.with_name("key.new").exists()


def test_whoever_was_cut_off_before_the_new_key_was_in_its_place_goes_on(operator, monkeypatch):
    operator.add_space()
    with monkeypatch.context() as patch:
        patch.setattr("tarry.cli.store.swap_key", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert operator.say("store", "rekey")[0] == 130
    refused = operator.refusal("space", "add", "wiki", "--policy", operator.file("p.toml", SLOW))

    assert "or run tarry store rekey again, if it was cut off" in refused
    new = operator.key.with_name("key.new").read_bytes()
    operator.ask("store", "rekey")
    assert operator.key.read_bytes() == new
    assert operator.say("space", "add", "wiki", "--policy", operator.file("p.toml", SLOW))[0] == 0


# --- forgetting ---------------------------------------------------------------------------------------


def test_what_is_known_of_one_account_is_erased_on_request(operator, tmp_path):
    """Its counts and its choice, in all spaces of its circle; nobody else's."""
    operator.add_space("talk", SLOW, "--adoption", "opt-out")
    keys = read_key(operator.key)
    accounts = {name: keys.account(keys.actor(f"all/{name}")) for name in ("ann", "bob")}
    store = open_store(operator.database)
    with store.transaction("closing") as transaction:
        for account in accounts.values():
            transaction.tell("charge", account=account, period="talk 1", batched=3)
            transaction.tell("adopt_delays", account=account, first_tick=1, delayed=0)
    store.close()
    asked = ("store", "forget", "ann", "--space", "talk")
    assert "this account's choice about delays is in force" in operator.refusal(*asked)
    assert operator.tell(*asked, "--at-once") == "forgotten\n"

    raw = raw_bytes(tmp_path)
    assert {name: account in raw for name, account in accounts.items()} == {"ann": False, "bob": True}
    assert operator.ask(*asked)["complete"] is True


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["forget", "--space", "talk"], f"{NEEDED}: ACCOUNT (see tarry store forget --help)"),
        (["forget", "ann"], f"{NEEDED}: --space (see tarry store forget --help)"),
        (
            ["forget", "ann", "--space", "talk", "--own"],
            "unrecognized arguments: --own (see tarry store forget",
        ),
        (["encrypt", "ann"], "unrecognized arguments: ann (see tarry store encrypt --help)"),
        (["encrypt", "--at-once"], "unrecognized arguments: --at-once (see tarry store encrypt --help)"),
        (["forget", "ann", "--space", "nowhere"], "has no space 'nowhere'"),
    ],
)
def test_what_makes_no_sense_is_told(operator, words, why):
    operator.add_space()
    assert why in operator.refusal("store", *words)
