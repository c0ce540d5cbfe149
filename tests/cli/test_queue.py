"""`tarry queue`: what waits and what is parked, for its owner, and how much of the promise is spent."""

import io
import re
import sys

from contracts.shell import ALL_GONE, SLOW
from tarry.cli.main import main
from tarry.core import plugins
from tarry.keep.errors import LockedOut, Unreachable
from tarry.places.command.outlet import CommandOutlet

#: Four acts, and all have left after 4 blocks of 7 ticks.
SEASON = """gap = "1h"
window = "10m"
tick = "10m"
law = "cosine"
blocks = 4
order = 4

[season]
acts = 4
epsilon = 3
delta = 0.01
"""


def test_before_first_use_nothing_waits(shell):
    """Looking costs nothing: no policy, key or store is made by it."""
    assert shell.say("queue") == (0, "nothing waits\n", "")
    assert shell.ask("queue") == {
        "posts": [],
        "keeper": False,
        "encrypted": None,
        "batched_acts": 0,
        "nats": 0,
        "beyond_promise": False,
    }
    assert not shell.home.policy_path.exists()
    assert not shell.home.is_founded()


def test_a_table_tells_id_target_outlet_and_moment(quiet):
    """Each waiting act is one line; sentences say that no keeper runs, and that it lies encrypted."""
    told = quiet.ask("run", "--target", "paper-3", "--", "true")
    _, out, _ = quiet.say("queue")
    head, line, outputs, encrypted, rest = out.splitlines()

    assert head.split() == ["id", "target", "by", "what", "leaves"]
    assert line.split()[:4] == [told["id"][:8], "paper-3", "command", "true"]
    assert re.search(r"\d\d:\d\d:\d\d [A-Z]{2,5}$|\d\d:\d\d:\d\d [+-]\d\d$", line)  # the zone is named
    assert outputs == f"what commands print lands in {quiet.home.outputs}"
    assert rest == "no keeper runs: nothing leaves until one does (tarry keeper)"
    assert encrypted == f"What waits is encrypted, with the key in {quiet.home.key_path}."


def test_an_act_whose_draws_are_not_told_leaves_in_between(quiet, monkeypatch):
    """Under a law that is not coupled: receipt and queue say so, in words and as JSON."""
    monkeypatch.setitem(plugins._OURS["law"], "loose", "contracts.keeping:loose")
    quiet.write_policy(SLOW + 'law = "loose"\n')
    _, receipt, _ = quiet.say("run", "--target", "paper-3", "--", "true")
    told = quiet.ask("run", "--target", "paper-4", "--", "true")
    _, table, _ = quiet.say("queue")
    posts = quiet.ask("queue")["posts"]

    assert receipt.startswith("leaves     between 20")
    assert table.count("  between 20") == 2
    assert (told["in_between"], told["release_at"]) == (True, None)
    assert [post["in_between"] for post in posts] == [True, True]


def test_with_a_keeper_nothing_is_complained_of(quiet):
    """Where a keeper runs, the table stands alone."""
    quiet.ask("run", "--target", "x", "--", "true")
    with quiet.home.keeping():
        _, out, _ = quiet.say("queue")
        told = quiet.ask("queue")

    assert len(out.splitlines()) == 4
    assert told["keeper"] is True


def test_the_json_tells_no_arrival(quiet):
    """A post is its id, state, target, outlet, what it is, moments and problem: nothing of when it came."""
    told = quiet.ask("run", "--target", "x", "--", "true")
    (post,) = quiet.ask("queue")["posts"]

    assert post == {
        "id": told["id"],
        "state": "waiting",
        "target": "x",
        "outlet": "command",
        "what": "true",
        "account": None,
        "output": told["output"],
        "earliest_at": told["earliest_at"],
        "latest_at": told["latest_at"],
        "problem": None,
        "holds_up": False,
    }


def test_what_is_parked_says_why(quiet):
    """A parked act stays in the table, with its problem below; it needs no keeper."""
    told = quiet.ask("run", "--target", "x", "--", "sh", "-c", "exit 3")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")
    _, line, problem, *_ = out.splitlines()

    assert line.split() == [told["id"][:8], "x", "command", "sh", "-c", "'exit", "3'", "parked"]
    assert problem == f"{told['id'][:8]}: the command ended with 3; what it printed is in {told['output']}"


def test_what_has_left_is_gone(quiet):
    """Released acts are not listed any more."""
    quiet.ask("run", "--target", "x", "--", "true")
    quiet.pass_ticks(ALL_GONE)

    assert quiet.say("queue") == (0, "nothing waits\n", "")


def test_a_spent_promise_is_told(quiet):
    """Once batched acts have cost more than a promise can bear, the queue says so."""
    for number in range(8):
        quiet.ask("run", "--target", f"paper-{number}", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")

    assert out.splitlines()[-1].startswith(
        "8 of your acts were batched and may have cost 4 nats in all: no"
    )
    assert quiet.ask("queue")["nats"] == 4


def test_a_season_is_told_from_its_first_batched_acts(quiet):
    """Of one's own season one sees how much is used: four acts are inside it, five are not."""
    quiet.write_policy(SEASON)
    for number in range(4):
        quiet.ask("run", "--target", f"paper-{number}", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    told = quiet.say("queue")[1].splitlines()[-1]

    assert told.startswith("4 of your acts were batched and may have cost ")
    assert told.endswith("nats in all: this is inside your season of 4 acts")
    answer = quiet.ask("queue")
    assert 0 < answer["nats"] <= 3
    assert not answer["beyond_promise"]

    quiet.ask("run", "--target", "paper-4", "--", "true")
    quiet.ask("run", "--target", "paper-5", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    assert quiet.say("queue")[1].splitlines()[-1].endswith("this is beyond your season of 4 acts")
    assert quiet.ask("queue")["beyond_promise"]


def test_a_target_does_not_speak_to_the_terminal(quiet):
    """What a terminal would obey is shown as a question mark."""
    quiet.ask("run", "--target", "a\033[31mred", "--", "true")

    assert "a?[31mred" in quiet.say("queue")[1]


def test_an_account_that_cannot_get_in_is_told_and_its_act_can_be_taken_back(quiet, monkeypatch):
    """It waits, later and later; it is not parked, so there is nothing to repeat; withdrawing works."""

    def locked(*_):
        raise LockedOut("the wiki refuses this account's login")

    monkeypatch.setattr(CommandOutlet, "deliver", locked)
    told = quiet.ask("run", "--target", "x", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")
    (post,) = quiet.ask("queue")["posts"]

    assert f"{told['id'][:8]}: the wiki refuses this account's login" in out.splitlines()
    assert (post["state"], post["problem"]) == ("waiting", "the wiki refuses this account's login")
    assert post["earliest_at"] > told["latest_at"]
    assert "is not parked, it waits" in quiet.refusal("repeat", told["id"])
    assert quiet.ask("withdraw", told["id"])["state"] == "withdrawn"
    assert quiet.ask("queue")["posts"] == []


def test_what_may_have_left_is_told_and_cannot_be_taken_back(quiet, monkeypatch):
    """How its delivery ended nobody knows, and that nobody gets in now does not show it."""
    troubles = [Unreachable("it hung up", sent=True)]

    def lost(*_):
        raise troubles.pop() if troubles else LockedOut("no way in")

    monkeypatch.setattr(CommandOutlet, "deliver", lost)
    monkeypatch.setattr(CommandOutlet, "delivery", "at least once")
    told = quiet.ask("run", "--target", "x", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")

    begun = "its delivery has begun, and how it ended is not known yet: it may have left, a later try shows"
    assert f"{told['id'][:8]}: {begun}" in out.splitlines()
    assert quiet.ask("queue")["posts"][0]["problem"] == begun
    assert "how its delivery ended is not known yet" in quiet.refusal("withdraw", told["id"])
    (held,) = [line for line in out.splitlines() if "is tried again" in line]
    assert held.startswith(f"{told['id'][:8]} is tried again: everything of yours")
    assert "withdraw" not in held


def test_what_holds_everything_up_is_told(quiet, monkeypatch):
    """In one's own store all that waits moves with it: the queue says which act it is."""
    monkeypatch.setattr(CommandOutlet, "deliver", lambda *_: (_ for _ in ()).throw(LockedOut("no way in")))
    for target in ("x", "y"):
        quiet.ask("run", "--target", target, "--", "true")
    quiet.pass_ticks(ALL_GONE)
    posts = quiet.ask("queue")["posts"]
    (holding,) = [post["id"] for post in posts if post["holds_up"]]
    last = quiet.say("queue")[1].splitlines()[-4]

    assert last.startswith(f"{holding[:8]} is tried again: everything of yours that waits has moved later")
    assert last.endswith("repair what is wrong, or tarry withdraw it")


def test_a_waiting_text_can_be_read_back(quiet, monkeypatch):
    """Byte for byte, whatever it holds; it waits as before."""
    content = "Dear chair,\r\n\tI agree. ☃\n".encode() + b"\xff"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    told = quiet.ask("run", "--target", "x", "--stdin", "--", "cat")
    with monkeypatch.context() as redirected:
        redirected.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
        assert main(["queue", "--show", told["id"][:6]]) == 0
        assert sys.stdout.buffer.getvalue() == content
    assert quiet.ask("queue")["posts"][0]["state"] == "waiting"


def test_a_parked_text_can_be_read_back_before_it_is_withdrawn(quiet, monkeypatch):
    """In JSON with all that its outlet was told."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("I agree. ☃".encode())))
    told = quiet.ask("run", "--target", "x", "--stdin", "--", "false")
    quiet.pass_ticks(ALL_GONE)
    shown = quiet.ask("queue", "--show", told["id"])

    assert (shown["state"], shown["target"], shown["what"]) == ("parked", "x", "false")
    assert shown["content"] == "I agree. ☃"
    assert shown["options"]["argv"] == ["false"]


def test_bytes_that_are_no_text_are_shown_in_base64(quiet, monkeypatch):
    """JSON has no other way."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    told = quiet.ask("run", "--target", "x", "--stdin", "--", "cat")

    assert quiet.ask("queue", "--show", told["id"])["content_base64"] == "/wA="


def test_a_text_does_not_speak_to_the_terminal(quiet, monkeypatch):
    """Shown on one, what it would obey is a question mark; lines and tabs stay."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\r\n\033[31mred\xff\n")))
    told = quiet.ask("run", "--target", "x", "--stdin", "--", "cat")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)

    assert quiet.say("queue", "--show", told["id"])[1] == "a\tb\n?[31mred\ufffd\n\n"


def test_without_content_there_is_nothing_to_show(quiet):
    """A sentence says so, beside the output."""
    told = quiet.ask("run", "--target", "x", "--", "true")

    assert quiet.say("queue", "--show", told["id"]) == (
        0, "", "it has no content: --json shows its options\n"
    )  # fmt: skip
    assert "no waiting or parked post has the name 'no-such-one'" in quiet.refusal(
        "queue", "--show", "no-such-one"
    )


def test_what_cannot_be_opened_is_listed_all_the_same(quiet, monkeypatch):
    """One row that somebody has changed must not hide the others; its text is gone, in one sentence."""
    told = quiet.ask("run", "--target", "x", "--", "true")
    monkeypatch.setattr("tarry.keep.store.Open.open", lambda *_: 1 / 0)
    monkeypatch.setattr("tarry.keep.keys.Sealed.open", lambda *_: 1 / 0)

    assert quiet.ask("queue")["posts"][0]["what"] == ""
    assert quiet.refusal("queue", "--show", told["id"]).startswith(
        "tarry queue: its content cannot be opened"
    )
