"""Handing posts in over HTTP."""

from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LONGEST = 60


def moment(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def test_a_post_is_answered_with_a_receipt_and_the_two_moments_it_may_appear_at(site):
    """202, a secret of 256 bits, and moments after now, the earlier one first."""
    answer = site.post()
    told = answer.json()

    assert answer.status_code == 202
    assert len(bytes.fromhex(told["receipt"])) == 32
    assert told["state"] == "waiting"
    assert site.now < moment(told["earliest_at"]) <= moment(told["latest_at"]) <= site.now + LONGEST


def test_a_post_appears_at_one_of_the_moments_it_was_told(site):
    """And not a tick earlier; alone, it is not batched, so it is the earlier one."""
    told = site.post().json()
    while not (items := site.feed()["items"]):
        site.pass_ticks(1)
        assert site.now < moment(told["latest_at"]) + 2

    assert items[0]["at"] in {told["earliest_at"], told["latest_at"]}
    assert moment(items[0]["at"]) <= site.now < moment(items[0]["at"]) + 2


def test_acts_on_two_targets_within_the_window_are_batched(site):
    """Both leave at the batched moment of their own, whatever it was."""
    receipts = [site.receipt(target=target) for target in ("p1", "p2")]
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        labels = {row["label"] for row in map(dict, transaction.all("not_done"))}

    assert labels == {1}
    assert all(site.ask(receipt).json()["release_at"] for receipt in receipts)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "I agree.",
        "\0\x1b[31m\u202e",
        "ß" * 1000,
        {},
        [],
        {"score": 3, "why": ["a", None, 1.5]},
        [10**30],
    ],
)
def test_content_comes_out_as_it_went_in(site, content):
    """Text and JSON alike."""
    site.receipt(content=content, options={"mood": {"glad": True}})
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert item["content"] == content
    assert item["options"] == {"mood": {"glad": True}}
    assert item["target"] == "p1"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ).filter(lambda made: isinstance(made, str | list | dict))
)
def test_any_json_comes_out_as_it_went_in(site, content):
    """Whatever it is, as long as it is not nested too deeply."""
    before = site.feed()["next"]
    site.receipt(content=content)
    site.pass_ticks(LONGEST)

    assert [item["content"] for item in site.feed(after=before)["items"]] == [content]


def test_nothing_of_the_actor_or_the_arrival_is_published(site):
    """A release has a position, a random id, a target, its moment, options and content, and that is all."""
    site.receipt("ann of the secret name", content="x")
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert set(item) == {"position", "id", "target", "at", "options", "content"}
    assert "ann of" not in str(item)
    assert len(bytes.fromhex(item["id"])) == 16


def test_a_batch_is_accepted_whole_and_answered_in_order(site):
    """A receipt for each post, and each receipt is that post's."""
    posts = [{"actor": "ann", "target": f"p{n}", "content": f"{n}"} for n in range(5)]
    answer = site.http.post("/v1/spaces/talk/batches", json={"posts": posts})
    receipts = [each["receipt"] for each in answer.json()["receipts"]]
    for number, receipt in enumerate(receipts):
        assert site.ask(receipt, "PUT", json={"content": f"{number}, again"}).status_code == 200
    site.pass_ticks(LONGEST)

    assert answer.status_code == 202
    shown = {item["target"]: item["content"] for item in site.feed()["items"]}
    assert shown == {f"p{n}": f"{n}, again" for n in range(5)}


@pytest.mark.parametrize(
    "bad",
    [{"depends_on": "no such"}, {"options": {"content_type": "x"}}, {"content": [[[[]]] * 2] * 2, "x": 1}],
)
def test_a_batch_with_one_bad_post_is_refused_whole(site, bad):
    """Nothing of it waits."""
    good = {"actor": "ann", "target": "p1", "content": "x"}
    answer = site.http.post("/v1/spaces/talk/batches", json={"posts": [good, {**good, **bad}, good]})

    assert answer.status_code == 422
    assert site.rows("not_done") == []


def test_a_post_waits_for_the_one_it_depends_on(site):
    """The second of two on one target is never shown first."""
    for number in range(10):
        first = site.receipt(content=f"{number} a")
        site.receipt(content=f"{number} b", depends_on=first)
    site.pass_ticks(LONGEST)
    shown = [item["content"] for item in site.feed()["items"]]

    assert len(shown) == 20
    assert all(shown.index(f"{n} a") < shown.index(f"{n} b") for n in range(10))


def test_a_post_may_depend_on_what_is_visible_by_its_public_id(site):
    """Anybody may answer a release, by its id, and nothing waits for anything."""
    site.receipt()
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert site.post("bob", depends_on=item["id"]).status_code == 202


def test_a_public_id_of_another_space_is_no_public_id_here(new_site):
    """Spaces do not know each other's releases."""
    site = new_site(spaces=("talk", "wiki"))
    site.receipt(space="wiki")
    site.pass_ticks(LONGEST)
    (item,) = site.feed("wiki")["items"]

    assert site.post(depends_on=item["id"]).status_code == 422


def test_whoever_says_that_more_will_come_is_batched_at_once(new_site):
    """Where labels are declared, the one moment is known at admission."""
    from tarry.core.policy import Policy

    site = new_site(policy=Policy(epsilon="1", gap="8s", window="3s", labels="declared"))
    told = site.post(more_to_come=True).json()

    assert told["release_at"] == told["earliest_at"] == told["latest_at"]
    assert moment(told["release_at"]) >= site.now + 8


def test_every_answer_to_an_author_has_one_length(site):
    """Or else an eavesdropper would see whether the moment is known, and what became of the post."""
    receipt = site.receipt()
    waiting = site.ask(receipt)
    site.pass_ticks(LONGEST)

    assert len(waiting.content) == len(site.ask(receipt).content)


def test_a_gateway_on_postgresql_takes_and_shows_the_same(new_site, postgres_server):
    """Odd names and content included."""
    from tarry.gateway.database import open_store

    site = new_site(store=open_store(postgres_server.new_schema()))
    content = {"a": "\0\u2028", "b": [10**30, 1e300]}
    site.receipt("änn%s'; DROP TABLE posts", "p\n1 %(id)s :name", content, options={"\0": "\0"})
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert (item["content"], item["options"]) == (content, {"\0": "\0"})
    assert item["target"] == "p\n1 %(id)s :name"
    site.gateway.store.close()
