"""What a receipt allows, and that nothing else allows it."""

import pytest

LONGEST = 60


def test_the_moment_is_known_once_the_window_has_passed(site):
    """Two moments first, one of them after the window, and the same one ever after."""
    told = site.post().json()
    site.pass_ticks(4)
    known = site.ask(told["receipt"]).json()

    assert known["release_at"] == known["earliest_at"] == known["latest_at"]
    assert known["release_at"] in {told["earliest_at"], told["latest_at"]}

    site.pass_ticks(LONGEST)

    assert site.ask(told["receipt"]).json() == {**known, "state": "released"}


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


def test_a_post_that_may_have_left_tells_its_author_so(new_site, broken):
    """It cannot be changed or taken back as if it had not; once that is known, nothing is said of it."""
    from tarry.keep.errors import Unreachable

    broken.broken = Unreachable("the receiver hung up", sent=True)
    site = new_site(outlets={"talk": broken})
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
    site.pass_ticks(LONGEST)

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
