"""`tarry repeat`: a parked act is handed in again as an act of this moment, and waits like any other."""

from pathlib import Path

import pytest

from contracts.shell import ALL_GONE


@pytest.fixture
def parked(quiet, tmp_path):
    """A command that failed because a file was missing."""
    told = quiet.ask("run", "--target", "x", "--", "cat", str(tmp_path / "missing"))
    quiet.pass_ticks(ALL_GONE)
    quiet.started.clear()
    return told


def test_a_parked_act_waits_again(quiet, parked, tmp_path):
    """It gets a new receipt and a moment in the future, a keeper is seen to, and then it leaves once."""
    (tmp_path / "missing").write_text("found")
    again = quiet.ask("repeat", parked["id"][:8])
    (post,) = quiet.ask("queue")["posts"]
    quiet.pass_ticks(1)
    soon = Path(again["output"]).exists()
    quiet.pass_ticks(ALL_GONE)

    assert (again["state"], again["keeper_started"], quiet.started) == ("waiting", True, [quiet.home])
    assert again["earliest_at"] > parked["latest_at"]
    assert post["id"] == again["id"] != parked["id"]
    assert not soon
    assert Path(again["output"]).read_text() == "found"
    assert quiet.ask("queue")["posts"] == []


def test_it_is_told_as_a_command_that_was_handed_in(quiet, parked):
    """The answer to a person is that of `tarry run`."""
    code, out, err = quiet.say("repeat", parked["receipt"])

    assert (code, err) == (0, "")
    assert [line.split("  ")[0] for line in out.splitlines()] == ["leaves", "prints to", "take back"]


def test_a_waiting_act_is_not_repeated(quiet):
    """Only what is parked can be repeated: a waiting act leaves by itself."""
    told = quiet.ask("run", "--target", "x", "--", "true")

    assert quiet.refusal("repeat", told["id"]) == (
        f"tarry repeat: {told['id'][:8]} is not parked, it waits: let it leave, or withdraw it"
    )
    assert [post["id"] for post in quiet.ask("queue")["posts"]] == [told["id"]]


def test_it_is_repeated_once(quiet, parked):
    """The parked act is gone once it waits again."""
    quiet.ask("repeat", parked["id"])

    assert "no waiting or parked post has the name" in quiet.refusal("repeat", parked["id"])
