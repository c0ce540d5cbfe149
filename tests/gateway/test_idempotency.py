"""The same request with the same key is accepted once and answered alike, whichever server hears it."""

import threading

import pytest

from tarry.gateway.database import open_store

LONGEST = 60
KEY = {"Idempotency-Key": "a1"}
BATCH = {"posts": [{"actor": "ann", "target": f"p{n}", "content": f"{n}"} for n in range(3)]}


def test_the_same_request_with_the_same_key_is_one_post(site):
    """And the answer is the same, byte for byte, as long as the label is not known."""
    answers = [site.post(headers=KEY) for _ in range(3)]
    site.pass_ticks(2)
    answers.append(site.post(headers=KEY))

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert len(site.rows("not_done")) == 1


def test_without_a_key_it_is_another_post(site):
    """Nobody guesses that it was meant once."""
    assert site.receipt() != site.receipt()
    assert len(site.rows("not_done")) == 2


def test_a_batch_with_a_key_is_one_batch(site):
    """All its receipts, in order."""
    answers = [site.http.post("/v1/spaces/talk/batches", json=BATCH, headers=KEY) for _ in range(2)]
    receipts = [each["receipt"] for each in answers[0].json()["receipts"]]

    assert answers[0].content == answers[1].content
    assert len(set(receipts)) == 3
    assert len(site.rows("not_done")) == 3


def test_after_erasure_the_answer_is_the_release_time_alone(site):
    """The same receipt, and nothing that is not in the feed."""
    first = site.post(headers=KEY).json()
    site.pass_ticks(LONGEST)
    again = site.post(headers=KEY).json()
    (item,) = site.feed()["items"]

    assert site.rows("snapshot")[0]["oldest"] is None
    assert again["receipt"] == first["receipt"]
    assert again["state"] == "released"
    assert {again["release_at"], again["earliest_at"], again["latest_at"]} == {item["at"]}


def test_seven_days_later_the_key_is_new_again(site):
    """The stated time is over, nothing of the old request is kept."""
    first = site.post(headers=KEY).json()
    site.pass_ticks(LONGEST)
    site.clock.sleep(8 * 86_400)
    site.close()
    again = site.post(headers=KEY).json()

    assert again["receipt"] == first["receipt"]
    assert again["state"] == "waiting"


@pytest.mark.parametrize(
    "other",
    [
        {"content": "I disagree."},
        {"target": "p2"},
        {"actor": "bob"},
        {"options": {"a": 1}},
        {"more_to_come": True},
    ],
)
def test_the_same_key_with_another_body_is_refused(site, other):
    """409, before and after the release, and nothing is changed."""
    site.post(headers=KEY)
    for ticks in (0, LONGEST):
        site.pass_ticks(ticks)
        answer = site.post(**{"headers": KEY, **other})
        assert answer.status_code == 409
        assert "idempotency key was used for another request" in answer.json()["detail"]
    assert [item["content"] for item in site.feed()["items"]] == ["I agree."]


def test_the_same_request_written_differently_is_the_same(site):
    """Spaces and the order of fields mean nothing in JSON."""
    bodies = [
        b'{"actor":"ann","target":"p1","content":{"a":1,"b":2}}',
        b'{ "content": {"b": 2, "a": 1}, "target": "p1",\n "actor": "\\u0061nn", "options": {} }',
    ]
    headers = {**KEY, "Content-Type": "application/json"}
    answers = [site.http.post("/v1/spaces/talk/posts", content=body, headers=headers) for body in bodies]

    assert answers[0].status_code == 202
    assert answers[0].content == answers[1].content


def test_a_key_is_of_one_token_space_and_address(new_site):
    """Elsewhere it is another request."""
    site = new_site(spaces=("talk", "wiki"))
    others = {**site.as_("submit"), **KEY}
    mine = site.receipt(headers=KEY)
    there = site.receipt(headers=KEY, space="wiki")
    theirs = site.receipt(headers=others)
    other = site.post(content="something else", headers={**site.as_("submit"), **KEY})

    assert len({mine, there, theirs}) == 3
    assert other.status_code == 202
    assert len(site.rows("not_done")) == 4


def test_a_withdrawn_request_that_comes_again_stays_withdrawn(site):
    """The retry of a lost answer does not undo what its author has decided since."""
    receipt = site.receipt(headers=KEY)
    site.ask(receipt, "DELETE")
    again = site.post(headers=KEY)

    assert again.json()["state"] == "withdrawn"
    assert again.json()["receipt"] == receipt
    site.pass_ticks(LONGEST)
    assert site.feed()["items"] == []


def test_a_replaced_request_that_comes_again_does_not_undo_the_replacement(site):
    """It is known by what it said first."""
    receipt = site.receipt(headers=KEY)
    site.ask(receipt, "PUT", json={"content": "better"})

    assert site.post(headers=KEY).json()["receipt"] == receipt
    site.pass_ticks(LONGEST)
    assert [item["content"] for item in site.feed()["items"]] == ["better"]


def test_a_refused_request_leaves_its_key_free(site):
    """Nothing was accepted under it."""
    assert site.post(headers=KEY, depends_on="f" * 64).status_code == 422
    assert site.post(headers=KEY).status_code == 202


def test_what_depends_on_another_is_answered_alike_too(site):
    """The moments are those behind its parent, both times."""
    first = site.receipt(content="a")
    answers = [site.post(content="b", depends_on=first, headers=KEY) for _ in range(2)]

    assert answers[0].status_code == 202
    assert answers[0].content == answers[1].content


def test_a_request_that_was_accepted_is_answered_though_its_space_is_closed_now(site):
    """The author of a lost answer gets the receipt while the space changes its policy."""
    from tarry.core.policy import Policy

    first = site.post(headers=KEY)
    site.change_policy(Policy(epsilon="0.5", gap="9s", window="3s"))

    assert site.post(headers=KEY).content == first.content
    assert site.post().status_code == 409


def test_so_it_is_though_an_operator_has_paused_it(site):
    """And a new request is not."""
    first = site.post(headers=KEY)
    site.http.post("/v1/spaces/talk/pause")

    assert site.post(headers=KEY).content == first.content
    assert site.post(headers={"Idempotency-Key": "a2"}).status_code == 409


@pytest.mark.parametrize(
    "key", ["", " ", "a b", "x" * 201, "é".encode(), b"\xff", b"a\tb", b"\x7f", "x" * 5000]
)
def test_an_odd_key_is_refused(site, key):
    """Nobody would know it again."""
    answer = site.post(headers={"Idempotency-Key": key})

    assert answer.status_code == 422
    assert site.rows("not_done") == []


def test_two_keys_are_refused(site):
    """Nobody knows which one is meant."""
    two = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]

    assert site.post(headers=two).status_code == 422


@pytest.mark.parametrize("key", ["x" * 200, "!~", "'; DROP TABLE posts; --".replace(" ", ""), "%00"])
def test_any_other_key_will_do(site, key):
    """Up to 200 printable characters."""
    named = {"Idempotency-Key": key}

    assert site.post(headers=named).content == site.post(headers=named).content


# --- two servers on one database ----------------------------------------------------------------------


def test_two_servers_that_hear_a_request_at_once_accept_it_once(new_site, postgres_server):
    """Each of many requests is sent to both at the same moment, alone and in batches."""
    dsn = postgres_server.new_schema()
    here = new_site(store=open_store(dsn))
    there = new_site(store=open_store(dsn), clock=here.clock)
    there.http.headers["Authorization"] = here.http.headers["Authorization"]
    there.gateway.refresh()
    answers = {}

    def work(site, name: str, ready) -> None:
        for number in range(25):
            headers = {"Idempotency-Key": f"k{number}"}
            ready.wait()
            if number % 2:
                answers[name, number] = site.post(target=f"p{number}", headers=headers)
            else:
                path = "/v1/spaces/talk/batches"
                answers[name, number] = site.http.post(path, json=BATCH, headers=headers)

    ready = threading.Barrier(4)
    who = [(here, "a"), (there, "b"), (here, "c"), (there, "d")]
    threads = [threading.Thread(target=work, args=(site, name, ready)) for site, name in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for number in range(25):
        told = {answers[name, number].content for name in "abcd"}
        assert {answers[name, number].status_code for name in "abcd"} == {202}
        assert len(told) == 1
    assert len(here.rows("not_done")) == 12 + 13 * 3
    for site in (here, there):
        site.gateway.store.close()
