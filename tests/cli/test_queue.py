"""`tarry queue`: what waits and what is parked, for its owner, and how much of the promise is spent."""

from contracts.shell import ALL_GONE
from tarry.keep.errors import LockedOut
from tarry.keep.outlets.command import Command


def test_before_first_use_nothing_waits(shell):
    """Looking costs nothing: no policy, key or store is made by it."""
    assert shell.say("queue") == (0, "nothing waits\n", "")
    assert shell.ask("queue") == {"posts": [], "keeper": False, "batched_acts": 0, "nats": 0}
    assert not shell.home.policy_path.exists()
    assert not shell.home.is_founded()


def test_a_table_tells_id_target_outlet_and_moment(quiet):
    """Each waiting act is one line, and a sentence says that nothing leaves without a keeper."""
    told = quiet.ask("run", "--target", "paper-3", "--", "true")
    _, out, _ = quiet.say("queue")
    head, line, rest = out.splitlines()

    assert head.split() == ["id", "target", "by", "leaves"]
    assert line.split()[:3] == [told["id"][:8], "paper-3", "command"]
    assert rest == "no keeper runs: nothing leaves until one does (tarry keeper)"


def test_with_a_keeper_nothing_is_complained_of(quiet):
    """Where a keeper runs, the table stands alone."""
    quiet.ask("run", "--target", "x", "--", "true")
    with quiet.home.keeping():
        _, out, _ = quiet.say("queue")
        told = quiet.ask("queue")

    assert len(out.splitlines()) == 2
    assert told["keeper"] is True


def test_the_json_tells_no_arrival(quiet):
    """A post is its id, state, target, outlet, moments and problem: nothing of when it came."""
    told = quiet.ask("run", "--target", "x", "--", "true")
    (post,) = quiet.ask("queue")["posts"]

    assert post == {
        "id": told["id"],
        "state": "waiting",
        "target": "x",
        "outlet": "command",
        "earliest_at": told["earliest_at"],
        "latest_at": told["latest_at"],
        "problem": None,
    }


def test_what_is_parked_says_why(quiet):
    """A parked act stays in the table, with its problem below; it needs no keeper."""
    told = quiet.ask("run", "--target", "x", "--", "sh", "-c", "exit 3")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")
    _, line, problem = out.splitlines()

    assert line.split() == [told["id"][:8], "x", "command", "parked"]
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


def test_a_target_does_not_speak_to_the_terminal(quiet):
    """What a terminal would obey is shown as a question mark."""
    quiet.ask("run", "--target", "a\033[31mred", "--", "true")

    assert "a?[31mred" in quiet.say("queue")[1]


def test_an_account_that_cannot_get_in_is_told_and_its_act_can_be_taken_back(quiet, monkeypatch):
    """It waits, later and later; it is not parked, so there is nothing to repeat; withdrawing works."""

    def locked(*_):
        raise LockedOut("the wiki refuses this account's login")

    monkeypatch.setattr(Command, "deliver", locked)
    told = quiet.ask("run", "--target", "x", "--", "true")
    quiet.pass_ticks(ALL_GONE)
    _, out, _ = quiet.say("queue")
    (post,) = quiet.ask("queue")["posts"]

    assert f"{told['id'][:8]}: the wiki refuses this account's login" in out.splitlines()
    assert (post["state"], post["problem"]) == ("waiting", "the wiki refuses this account's login")
    assert post["earliest_at"] > told["latest_at"]
    assert "is parked, found" in quiet.refusal("repeat", told["id"])
    assert quiet.ask("withdraw", told["id"])["state"] == "withdrawn"
    assert quiet.ask("queue")["posts"] == []
