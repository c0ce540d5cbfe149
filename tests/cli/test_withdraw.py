"""`tarry withdraw`: an act that has not left is taken back, by its receipt or a piece of its id."""

import pytest

from contracts.shell import ALL_GONE

NONE = "tarry withdraw: no waiting or parked post has the name "


@pytest.fixture
def told(quiet):
    """A waiting command."""
    return quiet.ask("run", "--target", "x", "--", "echo", "hello")


@pytest.mark.parametrize(
    "named",
    [lambda told: told["receipt"], lambda told: told["id"], lambda told: told["id"][:4]],
    ids=["receipt", "id", "piece of the id"],
)
def test_an_act_is_named_by_its_receipt_or_id(quiet, told, named):
    """The whole receipt, the whole id, or four characters of it: all name the act, which never leaves."""
    code, out, err = quiet.say("withdraw", named(told))
    quiet.pass_ticks(ALL_GONE)

    assert (code, out, err) == (0, f"withdrawn {told['id'][:8]}\n", "")
    assert quiet.ask("queue")["posts"] == []
    assert not quiet.home.outputs.exists()


def test_what_was_to_follow_is_told(quiet, told):
    """It leaves nevertheless, which its owner may not have meant."""
    after = quiet.ask("run", "--target", "x", "--after", told["id"], "--", "true")
    answer = quiet.ask("withdraw", told["id"])

    assert answer["behind"] == [
        {"id": after["id"], "note": "was to leave after it, and now leaves without it"}
    ]


def test_capital_letters_do_as_well(quiet, told):
    """An id is read in either case."""
    assert quiet.ask("withdraw", told["id"].upper()) == {
        "id": told["id"],
        "state": "withdrawn",
        "behind": [],
    }


@pytest.mark.parametrize("text", ["", "abc", "no-such-receipt", "\udcff\udcff", "ffff"])
def test_an_unknown_name_is_refused(quiet, told, text, monkeypatch):
    """What names no post, or is too short to, is told, and nothing is taken back."""
    text = text if not told["id"].startswith(text or " ") else "0000"

    assert quiet.refusal("withdraw", text) == (
        f"{NONE}{text!r}: use its receipt, or 4 or more characters of its id (tarry queue)"
    )
    assert len(quiet.ask("queue")["posts"]) == 1


def test_three_characters_are_too_few(quiet, told):
    """A name so short could soon be another's."""
    assert quiet.refusal("withdraw", told["id"][:3]).startswith(NONE)


def test_a_name_that_several_share_is_refused(quiet, monkeypatch):
    """Where two ids begin alike, more characters are needed; the whole id will do."""
    keys = iter([0x123412340000000A, 0x123412340000000C])
    with monkeypatch.context() as patches:
        patches.setattr("tarry.keep.admission.post_key", lambda _: next(keys))
        first, second = (quiet.ask("run", "--target", "x", "--", "true") for _ in range(2))
    shared = first["id"][:8]

    assert second["id"].startswith(shared)
    assert quiet.refusal("withdraw", shared) == (
        f"tarry withdraw: several posts have ids that begin with {shared!r}: "
        "use more characters (tarry queue)"
    )
    assert quiet.say("withdraw", first["id"])[0] == 0


def test_what_has_left_cannot_be_taken_back(quiet, told):
    """A released act is known no more by its receipt or its id; the answer does not repeat the receipt."""
    quiet.pass_ticks(ALL_GONE)
    refusal = quiet.refusal("withdraw", told["receipt"])

    assert refusal.startswith(f"{NONE}'{told['receipt'][:4]}...': use its receipt")
    assert told["receipt"] not in refusal


def test_what_is_parked_can_be_put_away(quiet):
    """A parked act that nobody wants to repeat is withdrawn like a waiting one."""
    told = quiet.ask("run", "--target", "x", "--", "false")
    quiet.pass_ticks(ALL_GONE)

    assert quiet.say("withdraw", told["id"])[0] == 0
    assert quiet.ask("queue")["posts"] == []


def test_handing_in_again_keeps_the_moment(quiet, told):
    """A new act on the same target leaves when the withdrawn one would have: nobody shops for delays."""
    quiet.ask("withdraw", told["id"])
    quiet.clock.sleep(60)
    again = quiet.ask("run", "--target", "x", "--", "echo", "better")
    moments = ("earliest_at", "latest_at")

    assert [again[name] for name in moments] == [told[name] for name in moments]


def test_before_first_use_there_is_nothing_to_take_back(shell):
    """An empty home is told as what it is, and no key is missed."""
    assert shell.refusal("withdraw", "abcd") == (
        f"tarry withdraw: there is no store in {shell.home.state} yet: tarry run makes one"
    )
