"""`tarry space`: make spaces, pause them, and change their policies without breaking the old promise."""

import json

import pytest

from contracts.operating import FAST, SLOW
from contracts.shell import wait_until
from tarry.gateway.catalog import read_catalog
from tarry.gateway.database import read_key
from tarry.gateway.outlets import make_outlet
from tarry.keep.store import snapshot

BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
LONGER = SLOW.replace("1h", "2h")
COARSE = SLOW.replace("1m", "2m")
NEEDED = "the following arguments are required"


def listed(operator, name="talk"):
    return {space["name"]: space for space in operator.ask("space", "list")["spaces"]}[name]


def test_a_tick_that_is_not_small_against_the_window_is_noted(operator):
    coarse = operator.file("coarse.toml", COARSE)
    code, out, err = operator.say("space", "add", "talk", "--policy", coarse)

    assert (code, out.splitlines()[0]) == (0, "made the space talk")
    assert f"key       {operator.key}: keep a copy elsewhere" in out
    assert err.startswith("note: Acts between 10m and 12m apart may count as batched or not")


def test_a_tick_that_leaves_no_room_between_window_and_gap_is_refused(operator):
    hourly = operator.file("hourly.toml", SLOW.replace('"1m"', '"1h"'))

    assert "must be above the window (10m) in whole ticks of 1h too, not 1h" in operator.refusal(
        "space", "add", "talk", "--policy", hourly
    )
    assert not operator.key.exists()


@BOTH
def test_the_first_space_makes_database_and_key_and_a_second_joins(operator):
    assert operator.add_space() == {"space": "talk", "version": 1}
    key = operator.key.read_bytes()
    assert operator.key.stat().st_mode & 0o777 == 0o600
    operator.add_space(
        "reviews", SLOW, "--title", "All reviews", "--circle", "staff", "--adoption", "opt-in"
    )

    assert operator.key.read_bytes() == key
    assert listed(operator) == {
        "name": "talk",
        "title": "talk",
        "circle": "all",
        "outlet": {"kind": "feed"},
        "adoption": "everyone",
        "version": 1,
        "is_open": True,
        "has_ended": False,
        "resumes_at": None,
    }
    found = listed(operator, "reviews")
    assert (found["title"], found["circle"], found["adoption"]) == ("All reviews", "staff", "opt-in")
    table = operator.tell("space", "list").splitlines()
    assert [line.split()[0] for line in table] == ["space", "reviews", "talk"]


def test_content_is_encrypted(operator):
    operator.add_space()
    assert operator.look(snapshot).settings.sealed


def test_a_store_whose_key_is_gone_gets_no_other(operator):
    operator.add_space()
    operator.key.unlink()

    assert "there is no key file" in operator.refusal(
        "space", "add", "reviews", "--policy", operator.file("p.toml", SLOW)
    )
    assert not operator.key.exists()


def test_a_space_is_paused_and_opened(operator):
    operator.add_space()
    assert (
        operator.tell("space", "pause", "talk") == "talk takes nothing in; what waits leaves at its time\n"
    )
    assert not listed(operator)["is_open"]
    assert operator.tell("space", "list").splitlines()[1].endswith("paused")
    assert operator.ask("space", "open", "talk") == {"space": "talk", "is_open": True, "resumes_at": None}
    assert listed(operator)["is_open"]


@BOTH
def test_a_space_is_ended_and_then_removed(operator):
    """With a window of a tenth of a second no promise reaches further than a second or so."""
    for name in ("talk", "old"):
        operator.add_space(name, FAST)
    told = operator.tell("space", "end", "old")
    state = operator.tell("space", "list").splitlines()[1]

    def removed():
        code, out, err = operator.say("space", "remove", "old")
        assert code == 0 or "try again after" in err
        return out

    assert told.startswith("old has ended: it takes no more posts; what waits leaves at its time")
    assert state.endswith("ended")
    assert listed(operator, "old")["has_ended"]
    assert "'old' has ended: make a new one" in operator.refusal("space", "open", "old")
    assert wait_until(removed) == "old is removed: its feed, its policies and its tokens are gone\n"
    assert [space["name"] for space in operator.ask("space", "list")["spaces"]] == ["talk"]


@BOTH
def test_a_new_policy_pauses_admission_and_says_until_when(operator):
    operator.add_space()
    told = operator.ask("space", "policy", "talk", operator.file("longer.toml", LONGER))

    assert told["version"] == 2
    closed = operator.look(snapshot).closed
    assert 131 <= told["resumes_at"] / 60 - closed <= 133  # the gap, the window and a tick, from now on
    assert listed(operator)["resumes_at"] == told["resumes_at"]
    told = operator.tell("space", "policy", "talk", operator.file("again.toml", SLOW))
    assert told.startswith("talk has policy 3; it takes nothing in until 20")


def test_a_change_at_once_tells_what_it_costs(operator):
    operator.add_space()
    told = operator.ask("space", "policy", "talk", operator.file("l.toml", LONGER), "--accept-straddle")
    assert told["version"] == 2
    assert 0.3 < told["extra_nats"] < 1  # about the logarithm of the lengths' ratio
    assert not told["unbounded"]
    assert listed(operator)["resumes_at"] is None

    back = ("space", "policy", "talk", operator.file("s.toml", SLOW), "--accept-straddle", "--yes")
    out = operator.tell(*back)
    assert "each may lose more than was promised, without bound\nthe worst: " in out


def test_while_a_pause_goes_on_a_change_at_once_is_compared_with_what_was_admitted(operator):
    """Nothing came in under the policy that waits: not it, but the one before it still reaches on."""
    operator.add_space("talk", LONGER)
    shorter, middle = operator.file("s.toml", SLOW), operator.file("m.toml", SLOW.replace("1h", "90m"))
    operator.ask("space", "policy", "talk", shorter)  # waits
    told = operator.ask("space", "policy", "talk", middle, "--dry-run")

    assert told["unbounded"]  # from 2 h to 90 min; from 1 h to 90 min it would cost little
    assert told["version"] is None
    assert listed(operator)["version"] == 2


@BOTH
def test_a_dry_run_says_for_how_long_the_space_would_close(operator):
    operator.add_space()
    words = ("space", "policy", "talk", operator.file("longer.toml", LONGER))
    told = operator.ask(*words, "--dry-run")
    out = operator.tell(*words, "--dry-run")

    assert told["closed_s"] == 131 * 60  # the gap, the window and a tick
    assert out.startswith(
        "talk keeps the policy it has; the new one would close it for 2h11m:\nit would take"
    )
    assert (listed(operator)["version"], listed(operator)["resumes_at"]) == (1, None)
    assert 0 <= operator.ask(*words)["resumes_at"] - told["resumes_at"] <= 600  # a minute may have ended


def test_a_loss_without_bound_needs_a_second_word(operator):
    operator.add_space("talk", LONGER)
    words = ("space", "policy", "talk", operator.file("s.toml", SLOW), "--accept-straddle")

    assert "or add --yes (--dry-run shows more)" in operator.refusal(*words)
    assert listed(operator)["version"] == 1
    assert "(--accept-straddle):\nacts that straddle the change" in operator.tell(*words, "--dry-run")
    assert listed(operator)["version"] == 1
    told = operator.ask(*words, "--yes")
    assert (told["version"], told["unbounded"], told["extra_nats"]) == (2, True, None)
    assert json.dumps(told, allow_nan=False)
    assert "--yes does nothing alone: use it with --accept-straddle" in operator.refusal(
        *words[:4], "--yes"
    )


def test_a_space_that_is_opened_during_a_pause_says_when_it_takes_posts_in(operator):
    operator.add_space()
    at = operator.ask("space", "policy", "talk", operator.file("l.toml", LONGER))["resumes_at"]

    assert operator.tell("space", "open", "talk").startswith("talk takes posts in from 20")
    assert operator.ask("space", "open", "talk")["resumes_at"] == at


def test_title_and_outlet_are_set_later(operator):
    operator.add_space()
    told = operator.ask("space", "set", "talk", "--title", "Talk!", "--webhook", "http://127.0.0.1:1/in")
    assert told == {
        "space": "talk",
        "title": "Talk!",
        "outlet": {"kind": "webhook", "url": "http://127.0.0.1:1/in"},
    }
    operator.tell("space", "secret", "talk")
    assert (
        operator.tell("space", "set", "talk", "--feed")
        == "talk is called 'Talk!' and releases to its feed\n"
    )
    found = listed(operator)
    assert (found["title"], found["outlet"], found["is_open"]) == ("Talk!", {"kind": "feed"}, True)


@pytest.mark.parametrize(
    "words",
    [
        ("add", "more", "--policy", "{policy}"),
        ("secret", "talk"),
        ("together", "talk={policy}"),
    ],
)
def test_another_key_is_refused(operator, words):
    operator.add_space("talk", SLOW, "--webhook", "http://127.0.0.1:1/in")
    operator.key.write_bytes(bytes(32))
    words = [word.format(policy=operator.file("p.toml", SLOW)) for word in words]

    assert "this key is not the one that this store was begun with" in operator.refusal("space", *words)


def test_tick_window_and_labels_change_for_all_spaces_together(operator):
    operator.add_space()
    operator.add_space("reviews")
    coarse = operator.file("coarse.toml", COARSE)
    refusal = operator.refusal("space", "policy", "talk", coarse)
    assert (
        "this policy has tick 2m, window 10m, labels 'held', "
        "and its store tick 1m, window 10m, labels 'held': "
    ) in refusal
    assert refusal.endswith("all policies of a store must have the same tick, window and labels")
    both = ("space", "together", f"talk={coarse}", f"reviews={coarse}")
    assert "change only while every space is paused" in operator.refusal(*both)
    for name in ("talk", "reviews"):
        operator.tell("space", "pause", name)

    assert operator.ask(*both) == {"versions": {"talk": 2, "reviews": 2}}
    assert listed(operator)["version"] == 2
    operator.tell("space", "open", "talk")


def test_the_secret_of_a_webhook_is_what_signs_it(operator):
    operator.add_space("hook", SLOW, "--webhook", "http://127.0.0.1:1/in")
    secret = operator.tell("space", "secret", "hook").strip()
    hook = make_outlet(operator.look(read_catalog).space("hook"), read_key(operator.key))

    assert operator.ask("space", "secret", "hook") == {"space": "hook", "secret_hex": secret}
    assert hook._secret == bytes.fromhex(secret)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "--policy", "talk.toml"], f"{NEEDED}: NAME (see tarry space add --help)"),
        (
            ["add", "x", "y", "--policy", "talk.toml"],
            "unrecognized arguments: y (see tarry space add --help)",
        ),
        (["add", "x"], f"{NEEDED}: --policy (see tarry space add --help)"),
        (["list", "x"], "unrecognized arguments: x (see tarry space list --help)"),
        (["policy", "talk"], f"{NEEDED}: FILE (see tarry space policy --help)"),
        (["together"], f"{NEEDED}: NAME=FILE (see tarry space together --help)"),
        (["together", "a"], "'a' names no policy file: write NAME=FILE for every space"),
        (["pause", "nowhere"], "this gateway has no space 'nowhere': check its name"),
        (["open", "talk", "--title=x"], "unrecognized arguments: --title=x (see tarry space open --help)"),
        (
            ["pause", "talk", "--accept-straddle"],
            "unrecognized arguments: --accept-straddle (see tarry space",
        ),
        (["secret", "talk"], "space 'talk' releases to a feed, which has no signing secret: name a space"),
        (["secret", "none"], "this gateway has no space 'none': check its name"),
        (["add", "Talk", "--policy", "talk.toml"], "the name of a space must be 1 to 63 small letters"),
        (["add", "talk", "--policy", "talk.toml"], "space 'talk' already exists"),
        (["add", "x", "--policy", "talk.toml", "--webhook", "ftp://x"], "the address of a webhook"),
        (["add", "x", "--policy", "none.toml"], "the policy file 'none.toml' cannot be read (No such file"),
        (["set", "talk"], "nothing to change: use --title, or say where the space releases to"),
        (["set", "talk", "--title", ""], "the title of a space must have 1 to 200 characters"),
        (["set", "talk", "--feed", "--webhook", "http://x/"], "a space must release to one place"),
        (["set", "talk", "--circle=x"], "unrecognized arguments: --circle=x (see tarry space set --help)"),
        (
            ["pause", "talk", "--dry-run"],
            "unrecognized arguments: --dry-run (see tarry space pause --help)",
        ),
        (["remove", "talk"], "space 'talk' has not ended: run tarry space end talk first"),
        (["end", "nowhere"], "this gateway has no space 'nowhere': check its name"),
        (
            ["forget", "talk"],
            "there is no subcommand 'forget': use add, list, set, pause, open, end, remove,",
        ),
    ],
)
def test_what_is_wrong_gets_one_sentence(operator, words, sentence):
    operator.add_space()

    assert operator.refusal("space", *words).startswith(f"tarry space: {sentence}")


@pytest.mark.parametrize(
    "words", [("X!",), ("x", "--title", "\n"), ("x", "--circle", "?"), ("x", "--webhook", "ftp://x")]
)
def test_a_space_that_cannot_be_makes_nothing(operator, words):
    operator.refusal("space", "add", *words, "--policy", operator.file("p.toml", SLOW))

    assert [path.name for path in operator.folder.iterdir()] == ["p.toml"]


def test_a_wrong_policy_makes_nothing(operator):
    operator.refusal("space", "add", "talk", "--policy", operator.file("p.toml", "epsilon = 0"))

    assert [path.name for path in operator.folder.iterdir()] == ["p.toml"]


def test_a_database_that_cannot_be_made_is_named(operator, monkeypatch):
    monkeypatch.setenv("TARRY_DATABASE", "no/where.db")
    refusal = operator.refusal("space", "add", "talk", "--policy", operator.file("p.toml", SLOW))

    assert refusal.endswith("the store 'no/where.db' cannot be used: No such file or directory")


def test_without_a_space_it_says_how_to_make_one(operator):
    operator.tell("migrate")

    assert operator.tell("space", "list") == "there is no space yet: tarry space add makes one\n"
    assert operator.ask("space", "list") == {"spaces": []}


def test_a_gateway_that_nobody_has_named_lies_in_private_folders(operator, monkeypatch, tmp_path):
    """The folders are made; whoever has a database where it lay before is told what to set."""
    for name in ("TARRY_DATABASE", "TARRY_KEY_FILE"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("TARRY_HOME", str(tmp_path / "home"))
    made = operator.tell("space", "add", "talk", "--policy", operator.file("slow.toml", SLOW))

    assert f"database  {tmp_path}/home/gateway.db\n" in made
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700

    monkeypatch.chdir(tmp_path / "home")
    for name in ("gateway.db", "gateway.key"):
        (tmp_path / "home" / name).rename(f"tarry-{name}")
    _, out, err = operator.say("space", "list")
    assert "talk" in out
    assert err == (
        f"tarry: {tmp_path}/home/tarry-gateway.db is no default from 0.3.0 on: set TARRY_DATABASE="
        f"{tmp_path}/home/tarry-gateway.db and TARRY_KEY_FILE={tmp_path}/home/tarry-gateway.key\n"
    )
