"""What a receipt allows, and that nothing else allows it."""

from datetime import datetime

import msgspec
import pytest

from tarry.core import plugins
from tarry.core.policy import Policy
from tarry.core.release import Draws
from tarry.gateway.bodies import ReceiptOut, StatusOut
from tarry.keep import admission
from tarry.keep.releaser import Releaser

LONGEST = 60
#: Ticks of a second until a delivery that failed is tried again, at most: five minutes, rounded up.
LONGEST_RETRY = 301


class LateTries:
    """An entropy by which the seventh try of a failing delivery is the last of `LONGEST` ticks."""

    def __init__(self, clock) -> None:
        self._clock, self._end, self._draws = clock, clock.wall + LONGEST * 1_000_000, 0

    def randbelow(self, n: int) -> int:
        """The least there is; the sixth leads to the last tick, and the next one far beyond it."""
        self._draws += 1
        if self._draws < 6:
            return 0
        return n - 1 if self._draws > 6 else max(0, min(n - 1, self._end - self._clock.wall - n))


def test_the_moment_is_known_once_the_window_has_passed(site):
    """Two moments first, one of them after the window, and the same one ever after."""
    told = site.post().json()
    site.pass_ticks(4)
    known = site.ask(told["receipt"]).json()

    assert known["release_at"] == known["earliest_at"] == known["latest_at"]
    assert known["release_at"] in {told["earliest_at"], told["latest_at"]}

    site.pass_ticks(LONGEST)

    assert site.ask(told["receipt"]).json() == {**known, "state": "released"}


@pytest.fixture
def loose_site(new_site, monkeypatch):
    """A gateway whose law is not coupled, and the draws that its posts make, one after the other."""
    monkeypatch.setitem(plugins._OURS["law"], "loose", "contracts.keeping:loose")
    draws = []
    monkeypatch.setattr(admission, "draw_pair", lambda *_: draws.pop(0))
    return new_site(policy=Policy(epsilon="1", gap="8s", window="3s", law="loose")), draws


def test_no_answer_tells_a_draw_before_the_label_is_decided(loose_site):
    """Posts of one tick, whatever they drew, are answered in the same bytes but for the receipt."""
    site, draws = loose_site
    drawn = [Draws(0, 11), Draws(15, 15), Draws(15, 11), Draws(4, 12)]
    draws += drawn
    posted = [site.post(f"author {number}", f"p{number}") for number in range(len(drawn))]
    receipts = [answer.json()["receipt"] for answer in posted]
    first = site.ask(receipts[0]).json()

    assert len({answer.text.replace(answer.json()["receipt"], "") for answer in posted}) == 1
    assert first == {
        "state": "waiting",
        "release_at": None,
        "earliest_at": posted[0].json()["earliest_at"],
        "latest_at": posted[0].json()["latest_at"],
        "in_between": True,
    }
    for _ in range(3):
        assert len({site.ask(each).content for each in receipts}) == 1
        assert len({site.ask(each, "PUT", json={"content": "I do not."}).content for each in receipts}) == 1
        site.pass_ticks(1)
    assert site.ask(receipts[3], "DELETE").json() == {**first, "state": "withdrawn"}

    site.pass_ticks(1)
    known = [site.ask(each).json() for each in receipts]
    moments = [datetime.fromisoformat(each["release_at"]).timestamp() for each in known]

    assert [at - moments[0] for at in moments] == [draws.unbatched for draws in drawn]
    assert known[0]["release_at"] == first["earliest_at"]
    assert known[1]["release_at"] == first["latest_at"]
    assert not any("in_between" in each for each in known)


def test_a_client_knows_that_a_post_leaves_in_between(loose_site):
    """It reads what the API says, with its receipt and without."""
    site, draws = loose_site
    draws.append(Draws(4, 12))
    told = site.post()

    assert msgspec.json.decode(told.content, type=ReceiptOut).in_between
    assert msgspec.json.decode(site.ask(told.json()["receipt"]).content, type=StatusOut).in_between


def test_asking_changes_nothing(site):
    """The same answer, byte for byte, however often."""
    receipt = site.receipt()

    assert site.ask(receipt).content == site.ask(receipt).content


def test_a_waiting_post_may_say_something_else(site):
    """Text becomes JSON and back; when it leaves stays as it was."""
    told = site.post(options={"mood": "glad"}).json()
    for content in ({"a": 1}, "text", ["b"]):
        answer = site.ask(told["receipt"], "PUT", json={"content": content})
        assert answer.status_code == 200
        assert answer.json() == {name: told[name] for name in answer.json()}
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert item["content"] == ["b"]
    assert item["options"] == {"mood": "glad"}


def test_a_replacement_may_bring_options_of_its_own(site):
    """They take the place of the old ones."""
    receipt = site.receipt(options={"mood": "glad"}, content=[1])
    site.ask(receipt, "PUT", json={"content": "x", "options": {"tone": 1}})
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert (item["content"], item["options"]) == ("x", {"tone": 1})


def test_a_withdrawn_post_never_appears(site):
    """And its receipt says so."""
    receipt = site.receipt()
    answer = site.ask(receipt, "DELETE")
    site.pass_ticks(LONGEST)

    assert answer.json()["state"] == "withdrawn"
    assert site.ask(receipt).json()["state"] == "withdrawn"
    assert site.feed()["items"] == []


def test_withdrawing_and_posting_again_gains_nothing(site):
    """The new post leaves when the old one would have."""
    told = site.post().json()
    site.ask(told["receipt"], "DELETE")
    again = site.post().json()

    assert again["receipt"] != told["receipt"]
    assert {**again, "receipt": ""} == {**told, "receipt": ""}


@pytest.mark.parametrize("state", ["released", "withdrawn"])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_what_is_gone_cannot_be_changed(site, state, method):
    """409, in one sentence."""
    receipt = site.receipt()
    if state == "withdrawn":
        site.ask(receipt, "DELETE")
    else:
        site.pass_ticks(LONGEST)
    more = {"json": {"content": "x"}} if method == "PUT" else {}
    answer = site.ask(receipt, method, **more)

    assert answer.status_code == 409
    assert answer.json()["detail"] == f"this post cannot be changed any more: it is {state}"


def test_a_parked_post_tells_its_author_only_that_it_is(new_site, broken):
    """Why is the operator's business."""
    from tarry.keep.errors import Refused

    broken.broken = Refused("the disk of the operator is full")
    site = new_site(outlets={"talk": broken})
    receipt = site.receipt()
    site.pass_ticks(LONGEST)
    answer = site.ask(receipt)

    assert answer.json()["state"] == "parked"
    assert "disk" not in answer.text


@pytest.mark.parametrize("late", [False, True])
def test_a_post_that_may_have_left_tells_its_author_so(new_site, broken, late):
    """It cannot be changed or taken back as if it had not; once that is known, nothing is said of it."""
    from tarry.keep.errors import Unreachable

    broken.broken = Unreachable("the receiver hung up", sent=True)
    site = new_site(outlets={"talk": broken})
    if late:
        site.releaser = Releaser(site.gateway.vault, LateTries(site.clock))
    receipt = site.receipt()
    before = site.ask(receipt)
    site.pass_ticks(LONGEST)
    answer = site.ask(receipt)

    assert "in_doubt" not in before.json()
    assert (answer.json()["state"], answer.json()["in_doubt"]) == ("waiting", True)
    assert len(answer.content) == len(before.content)
    for method, more in (("DELETE", {}), ("PUT", {"json": {"content": "other"}})):
        refused = site.ask(receipt, method, **more)
        assert refused.status_code == 409
        assert "how its delivery ended is not known yet" in refused.json()["detail"]

    broken.broken = None
    site.pass_ticks(LONGEST_RETRY)

    assert site.ask(receipt).json()["state"] == "released"
    assert "in_doubt" not in site.ask(receipt).json()


def test_seven_days_after_the_release_a_receipt_is_forgotten(site):
    """And says no more than one that never was."""
    receipt = site.receipt()
    site.pass_ticks(LONGEST)
    site.clock.sleep(8 * 86_400)
    site.close()

    assert site.ask(receipt).content == site.ask("f" * 64).content


METHODS = [("GET", {}), ("PUT", {"json": {"content": "x"}}), ("DELETE", {})]


@pytest.mark.parametrize(("method", "more"), METHODS)
def test_whatever_is_no_receipt_gets_the_same_404(site, method, more):
    """Unknown, garbage, none, two at once, a public id, a token, a near miss: the same bytes."""
    site.receipt()
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]
    mine = site.receipt("bob", "p2")
    near = mine[:-1] + ("0" if mine[-1] != "0" else "1")
    wrong = ["f" * 64, "garbage", "", "x" * 5000, "' OR 1=1 --", item["id"], site.token, near, mine[:63]]
    wrong += [mine + "0", "ÿ" * 64]
    headers = [[(b"Tarry-Receipt", each.encode("latin-1"))] for each in wrong]
    headers += [[], [(b"Tarry-Receipt", mine.encode())] * 2]
    answers = [site.http.request(method, "/v1/receipt", headers=each, **more) for each in headers]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({str(answer.headers) for answer in answers}) == 1
    assert site.ask(mine).json()["state"] == "waiting"


def test_who_has_no_receipt_gets_the_same_404_whatever_they_send(site):
    """Nothing of it is read: a body is work, and who sends it has shown nothing."""
    headers = {"Tarry-Receipt": "f" * 64, "Content-Type": "application/json"}
    bodies = [b'{"content": "good"}', b'{"content": 7}', b"x", b"[" * 900_000, b" " * (2 << 20)]
    answers = [site.http.put("/v1/receipt", content=body, headers=headers) for body in bodies]
    mine = site.ask(site.receipt(), "PUT", json={"content": 7})

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert mine.status_code == 422
