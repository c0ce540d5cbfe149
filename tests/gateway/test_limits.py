"""Limits over HTTP: sizes, nesting, counts and rates; none depends on what others do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.gateway.limits import Buckets, Limits, TooMany, check_nesting

POST = {"actor": "ann", "target": "p1", "content": ""}


def send(site, body: bytes, *, chunks=0, path="posts"):
    """Send bytes, with their length told or in chunks."""
    headers = {"Content-Type": "application/json"}
    parts = (body[i : i + chunks] for i in range(0, len(body), chunks)) if chunks else body
    return site.http.post(f"/v1/spaces/talk/{path}", content=parts, headers=headers)


def padded(size: int) -> bytes:
    """A post of so many bytes."""
    body = json.dumps(POST).encode()
    return body + b" " * (size - len(body))


# --- sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [0, 7, 1000])
def test_a_request_may_be_as_large_as_the_limit_and_no_larger(new_site, chunks):
    """Whether or not it tells its length."""
    site = new_site(limits=Limits(body_bytes=2000))

    assert send(site, padded(2000), chunks=chunks).status_code == 202
    answer = send(site, padded(2001), chunks=chunks)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "a request has at most 2000 bytes"


@pytest.mark.parametrize("path", ["posts", "batches", "withdrawals"])
def test_every_address_that_reads_has_the_limit(new_site, path):
    """Not just the first one."""
    site = new_site(limits=Limits(body_bytes=2000))

    assert send(site, padded(2001), path=path).status_code == 413


# --- nesting and counts -------------------------------------------------------------------------------


def nested(depth: int) -> list:
    """Lists in lists."""
    made: list = []
    for _ in range(depth - 1):
        made = [made]
    return made


@pytest.mark.parametrize("field", ["content", "options"])
def test_json_may_be_nested_as_deep_as_the_limit_and_no_deeper(site, field):
    """32 deep, whatever it is made of."""
    wrap = (lambda made: made) if field == "content" else (lambda made: {"a": made})
    most = 32 if field == "content" else 31

    assert site.post(**{field: wrap(nested(most))}).status_code == 202
    answer = site.post(**{field: wrap(nested(most + 1))})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "a request's JSON is nested at most 32 deep, found more"


def test_a_replacement_has_the_same_limit(site):
    """Content and options."""
    receipt = site.receipt()

    assert site.ask(receipt, "PUT", json={"content": nested(33)}).status_code == 422
    assert site.ask(receipt, "PUT", json={"content": "", "options": {"a": nested(32)}}).status_code == 422
    assert site.ask(receipt, "PUT", json={"content": nested(32)}).status_code == 200


@given(
    st.recursive(
        st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
    )
)
def test_depth_is_the_longest_way_down(made):
    """As one would count it."""

    def depth(value) -> int:
        if not isinstance(value, list | dict):
            return 0
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)

    check_nesting(made, depth(made))
    if depth(made):
        with pytest.raises(ValueError, match="nested"):
            check_nesting(made, depth(made) - 1)


def test_a_batch_has_at_most_so_many_posts(new_site):
    """And at least one."""
    site = new_site(limits=Limits(batch_posts=3))

    def status(count: int) -> int:
        return site.http.post("/v1/spaces/talk/batches", json={"posts": [POST] * count}).status_code

    assert [status(count) for count in (0, 1, 3, 4, 1001)] == [422, 202, 202, 422, 422]


# --- rates -------------------------------------------------------------------------------------------


def test_a_token_that_asks_too_often_is_told_when_to_come_back(new_site):
    """429 with a time; others are not touched."""
    site = new_site(limits=Limits(rate_per_s=0.01, burst=3))
    mine, yours = site.as_("submit"), site.as_("submit")
    statuses = [site.post(headers=mine).status_code for _ in range(5)]
    refused = site.post(headers=mine)

    assert statuses == [202, 202, 202, 429, 429]
    assert 1 <= int(refused.headers["retry-after"]) <= 100
    assert refused.json()["detail"].startswith("this token asks too often")
    assert [site.post(headers=yours).status_code for _ in range(4)] == [202, 202, 202, 429]


def test_a_post_costs_the_same_alone_and_in_a_batch(new_site):
    """Nobody is quicker by sending many at once; a batch that is too large costs only its request."""
    site = new_site(limits=Limits(rate_per_s=0.001, burst=10, batch_posts=5))
    mine = site.as_("submit")

    def status(count: int) -> int:
        sent = {"posts": [POST] * count}
        return site.http.post("/v1/spaces/talk/batches", json=sent, headers=mine).status_code

    assert [status(count) for count in (4, 6, 5, 1)] == [202, 422, 202, 429]


def test_a_refused_token_spends_its_own_rate_too(new_site):
    """Asking for what one may not have is asking."""
    site = new_site(limits=Limits(rate_per_s=0.001, burst=2))
    mine = site.as_("submit")

    assert [site.http.get("/v1/tokens", headers=mine).status_code for _ in range(3)] == [403, 403, 429]


@given(
    mine=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 12)), min_size=1, max_size=20),
    others=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 12)), max_size=40),
)
def test_what_a_token_is_answered_depends_on_nobody_else(mine, others):
    """The same requests at the same moments get the same answers, whatever others ask in between."""

    def answers(asked) -> list[bool]:
        now, got = [0.0], []
        buckets = Buckets(Limits(rate_per_s=2, burst=10), now=lambda: now[0])
        for at, who, drops in sorted(asked, key=lambda each: (each[0], each[1])):
            now[0] = at
            try:
                buckets.take(who, drops)
            except TooMany as refusal:
                got.append((who, refusal.wait_s))
            else:
                got.append((who, 0))
        return [what for who, what in got if who == "mine"]

    alone = [(at, "mine", drops) for at, drops in mine]
    crowd = [(at, f"other {n % 3}", drops) for n, (at, drops) in enumerate(others)]

    assert answers(alone) == answers(alone + crowd)


@given(st.integers(1, 100), st.floats(0.1, 100), st.integers(1, 300))
def test_whoever_waits_as_long_as_told_gets_in(burst, rate, drops):
    """The time in the refusal is enough, also for a request that is larger than the bucket."""
    now = [0.0]
    buckets = Buckets(Limits(rate_per_s=rate, burst=burst), now=lambda: now[0])
    buckets.take("me", burst)
    with pytest.raises(TooMany) as refusal:
        buckets.take("me", drops)
    now[0] += refusal.value.wait_s + 1e-6
    buckets.take("me", drops)
