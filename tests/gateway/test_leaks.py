"""Nothing betrays arrival: two inputs that end in the same releases look the same, byte for byte.

Compared at every tick: all public addresses with their headers, the stream of events, metrics, what
operators see, what the log says, and what another author with a token is answered. What is random is the
same on both sides. `test_leaks_found.py` shows that the same comparison finds what leaks.
"""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.aimed import Wanted
from contracts.asgi import call
from contracts.watching import POLICY, START, Town, Transcript, differences, live
from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.policy import Policy
from tarry.gateway.limits import Limits


@pytest.fixture(autouse=True, scope="module", params=[1, 2], ids=["one process", "two processes"])
def processes(request):
    """The same of a server with one process, and with two that answer by turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contracts.watching.Town", partial(Town, processes=request.param))
        yield


HOLD = POLICY.hold_ticks
LAST = POLICY.mechanism().pair.batched.maximum
PROBE = Wanted(name="of the prober", actor="the prober", target="paper 9", at=12)


def post(*posts: Wanted, **more):
    """Hand posts in, which are accepted."""

    async def done(town: Town) -> None:
        assert (await town.post(*posts, **more)).status == 202

    return done


def step(act, *arguments, **more):
    """Anything else that somebody does."""

    async def done(town: Town) -> None:
        await act(town, *arguments, **more)

    return done


async def probe(town: Town, turn: int) -> None:
    """Another author posts, asks for the post, and tries what is not allowed; every answer is noted."""
    mine = Wanted(name=f"probe {turn}", actor="the prober", target=f"paper {turn}", at=town.tick + 9)
    town.note("probe posts", await town.post(mine, by="probe"))
    town.note("probe repeats", await town.post(mine, by="probe", key=f"key {turn}".replace(" ", "-")))
    town.note("probe asks", await town.ask("GET", mine))
    town.note("probe guesses", await town.ask("GET", Wanted(name="nobody's")))
    bad = Wanted(name=f"bad {turn}", actor="the prober", more={"depends_on": "0" * 32})
    town.note("probe depends on a guess", await town.post(bad, by="probe"))
    town.note("probe posts elsewhere", await town.post(bad, by="probe", space="nowhere"))


PROBES = [(tick, step(probe, tick)) for tick in (1, 4, 7)]


def seen(*steps, **more) -> Transcript:
    """What a town shows that lives through these steps, with the prober in it."""
    return live([*PROBES, *steps], **more)


def texts(transcript: Transcript, space: str = "talk") -> list[tuple[str, str]]:
    """What the feed held in the end: content and moment."""
    items = json.loads(transcript[max(transcript)[0], f"GET /v1/spaces/{space}/feed"].content)["items"]
    return [(item["content"], item["at"]) for item in items]


A, B, C = (Wanted(name=n, actor="ann", target=f"paper {n}", at=12) for n in "abc")


def later(one: Wanted, **change) -> Wanted:
    """The same post with something changed that nobody may see."""
    return Wanted(**{**vars(one), **change})


SAME_RELEASES = {
    "another order in one tick": (
        [(2, post(A)), (2, post(B))],
        [(2, post(B)), (2, post(A))],
    ),
    "at other ticks": (
        [(1, post(A)), (2, post(B)), (3, post(C))],
        [(3, post(A)), (1, post(B)), (2, post(C))],
    ),
    "one person or three": (
        [(2, post(A)), (2, post(B)), (2, post(C))],
        [(2, post(A)), (2, post(later(B, actor="bob"))), (2, post(later(C, actor="cem")))],
    ),
    "in one batch or one by one": (
        [(2, post(A, B, C))],
        [(1, post(B)), (2, post(A)), (3, post(C))],
    ),
    "batched or not, drawn accordingly": (
        [(2, post(later(A, batched=True))), (3, post(later(B, batched=True)))],
        [(1, post(A)), (2, post(later(B, actor="bob")))],
    ),
    "with more announced or not": (
        [(2, post(later(A, more={"more_to_come": True})))],
        [(2, post(A))],
    ),
    "with a withdrawn post or without": (
        [(1, post(later(B, at=5 + HOLD))), (2, post(A)), (3, step(lambda t: t.ask("DELETE", B)))],
        [(2, post(A))],
    ),
    "withdrawn and posted again, or posted once": (
        [(1, post(later(B, target=A.target))), (2, step(lambda t: t.ask("DELETE", B))), (4, post(A))],
        [(1, post(A))],
    ),
    "with content replaced or not": (
        [
            (2, post(later(A, more={"content": "a first thought"}))),
            (4, step(lambda t: t.ask("PUT", A, {"content": "a"}))),
        ],
        [(3, post(A))],
    ),
    "after another post of one's own or by itself": (
        [(1, post(later(B, at=10))), (2, post(later(A, target=B.target, more={"depends_on": B.receipt})))],
        [(2, post(later(B, at=10))), (3, post(later(A, target=B.target)))],
    ),
    "with a post that is parked in the end": (
        [(1, post(Wanted(name="poison", at=9), space="desk")), (3, post(A))],
        [(3, post(Wanted(name="poison", actor="bob", at=9), space="desk")), (2, post(A))],
    ),
    "beside the open post of one's own account or of nobody": (
        [(8, post(Wanted(name="o", actor="open"), space="choice")), (3, post(later(A, actor="open")))],
        [(8, post(Wanted(name="o", actor="open"), space="choice")), (2, post(A))],
    ),
    "with authors who keep asking or not": (
        [(2, post(A)), *((t, step(lambda town: town.ask("GET", A))) for t in range(3, 20))],
        [(1, post(A))],
    ),
}


@pytest.mark.parametrize(("one", "other"), SAME_RELEASES.values(), ids=SAME_RELEASES)
def test_the_same_releases_look_the_same(one, other):
    """Whatever differs before the release, nobody sees a difference."""
    first, second = seen(*one), seen(*other)

    assert differences(first, second) == []
    assert ("a", "2026-01-01T00:00:12Z") in texts(first)


async def refused(town: Town) -> None:
    """Requests that come to nothing."""
    for body in ({"actor": "ann"}, {**A.body, "surprise": 1}, {**A.body, "options": {"content_type": "x"}}):
        answer = await call(town.app, "POST", "/v1/spaces/talk/posts", body=body, headers=town.by("noisy"))
        assert answer.status == 422
    answer = await call(town.app, "POST", "/v1/spaces/talk/posts", body=b"[" * 99, headers=town.by("noisy"))
    assert answer.status in {400, 422}
    for token in ("tarry_" + "0" * 64, "", "x"):
        who = {"Authorization": f"Bearer {token}"}
        answer = await call(town.app, "POST", "/v1/spaces/talk/posts", body=A.body, headers=who)
        assert answer.status == 401
    bad = Wanted(name="bad", more={"depends_on": "f" * 64})
    assert (await town.post(bad, by="noisy")).status == 422


async def repeated(town: Town) -> None:
    """The same request again, and the same key for another one."""
    mine, other = Wanted(name="mine", actor="noisy", at=town.tick + 9), Wanted(name="other", actor="noisy")
    first = await town.post(mine, space="desk", by="noisy", key="a-key")
    again = await town.post(mine, space="desk", by="noisy", key="a-key")
    assert (first.status, first.content) == (202, again.content)
    assert (await town.post(other, space="desk", by="noisy", key="a-key")).status == 409


async def too_many(town: Town) -> None:
    """One token asks until it is stopped."""
    for _ in range(500):
        found = await call(town.app, "GET", "/metrics", headers=town.by("noisy"))
        if found.status == 429:
            return
    raise AssertionError("nobody was stopped")


LIMITS = Limits(rate_per_s=0.001, burst=150)


def loud_or_not(noise):
    """A post by itself, and one amid noise."""
    return [(2, post(A))], [(1, step(noise)), (2, post(A)), (4, step(noise))]


@pytest.mark.parametrize("noise", [refused, repeated, too_many])
def test_what_comes_to_nothing_is_seen_by_nobody(noise):
    """Refusals, failed logins, repetitions and a token's limit change nothing for anybody else."""
    quiet, loud = (seen(*steps, limits=LIMITS) for steps in loud_or_not(noise))

    assert differences(quiet, loud) == []


def test_ids_from_keys_of_ones_own_are_as_good():
    """With an idempotency key the receipt follows from it: two arrivals of one request look the same."""
    first = seen((1, post(A, key="k-1")), (2, post(B, key="k-2")))
    second = seen((3, post(B, key="k-2")), (3, post(later(A), key="k-1")))

    assert differences(first, second) == []
    assert {text for text, _ in texts(first)} >= {"a", "b"}


def test_the_post_of_an_open_account_is_its_own_arrival():
    """Excluded, and why: who has opted out leaves at once, so another arrival is another release."""
    first, second = (seen((t, post(Wanted(name="o", actor="open"), space="choice"))) for t in (8, 9))

    assert texts(first, "choice") == [("o", "2026-01-01T00:00:08Z")]
    assert {what for _, what in differences(first, second)} == {
        f"GET /v1/spaces/choice/feed{rest}" for rest in ("", ".atom")
    } | {"metrics", "operator /metrics"}


async def lengths(town: Town) -> None:
    """Hand posts in whose moment is known at once, and ones whose moment is not."""
    for space, batched in (("talk", False), ("desk", True)):
        one, *two = (Wanted(name=f"{n} {batched}", target=n, at=12, batched=batched) for n in "def")
        for name, posts in (("one", [one]), ("two", two)):
            told = await town.post(*posts, space=space)
            known = [each["release_at"] for each in told.json().get("receipts", [told.json()])]
            assert all(known) is not batched
            town.note(f"{name} {batched}", len(told.content))


def test_the_length_of_an_answer_tells_nothing():
    """An eavesdropper sees lengths: whether a moment is known at once is not among them."""
    seen = live([(2, step(lengths))], ticks=3)

    assert seen[2, "one False"] == seen[2, "one True"] == 256
    assert seen[2, "two False"] == seen[2, "two True"] == 512


# --- any neighbours -----------------------------------------------------------------------------------


@st.composite
def neighbours(draw):
    """Posts with their releases, and two ways in which they may have arrived."""
    count = draw(st.integers(1, 6))
    quick = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    ends = [
        draw(
            st.integers(5 + HOLD, 4 + HOLD + START)
            if fast
            else st.integers(5 + HOLD + START, 2 + HOLD + LAST)
        )
        for fast in quick
    ]
    targets = draw(st.lists(st.sampled_from("xyz"), min_size=count, max_size=count))
    return [_arrivals(draw, quick, ends, targets, run) for run in (1, 2)]


def _arrivals(draw, quick, ends, targets, run):
    """One way: by whom, when, in which order and in which requests. The quick ones are nobody else's."""
    actors = [f"q{run}{n}" if fast else draw(st.sampled_from("abc")) for n, fast in enumerate(quick)]
    times = [draw(st.integers(max(1, end - HOLD - LAST), 5)) for end in ends]
    history = History(actor=actors, target=targets, time=[time * 1_000_000 for time in times])
    labels = label_events("held", history, np.array(times), POLICY.window_ticks)
    posts = [
        Wanted(name=f"n{n}", actor=a, target=t, at=end, batched=bool(b) and draw(st.booleans()))
        for n, (a, t, end, b) in enumerate(zip(actors, targets, ends, labels, strict=True))
    ]
    order = draw(st.permutations(range(len(posts))))
    steps, batch = [], []
    for n in sorted(order, key=lambda n: times[n]):
        if batch and (times[n] != batch[-1][0] or draw(st.booleans())):
            steps.append((batch[0][0], post(*(each for _, each in batch))))
            batch = []
        batch.append((times[n], posts[n]))
    steps.append((batch[0][0], post(*(each for _, each in batch))))
    return steps, {(each.name, each.at) for each in posts}


@settings(max_examples=15)
@given(ways=neighbours())
def test_any_two_ways_to_the_same_releases_look_the_same(ways):
    """Whoever posts what, when, in which order and in which requests: only the releases are seen."""
    (one, releases), (other, _) = ways
    first, second = live(one, ticks=22), live(other, ticks=22)

    assert differences(first, second) == []
    assert {(text, int(at[17:19])) for text, at in texts(first)} == releases


# --- the operator's hours -----------------------------------------------------------------------------

HOURLY = Policy(epsilon="2", gap="4m", window="2m", tick="1m")


def hourly(first: int) -> Transcript:
    """A post that arrives before or after an hour ends, and leaves at one and the same tick."""
    return live([(first, post(later(A, at=70)))], ticks=75, policy=HOURLY)


def test_the_operator_learns_the_hour_when_it_is_over():
    """Admissions are told by the hour, once it is over and its arrivals are erased; and nothing else."""
    before, after = hourly(59), hourly(61)
    found = differences(before, after)

    assert {what for _, what in found} == {"metrics", "operator /metrics", "status"}
    # What waited when the hour ended is told then, and how many came when their arrivals are erased.
    assert min(found) == (61, "status")
    told, window = min(tick for tick, what in found if what == "metrics"), HOURLY.window_ticks
    assert 60 + 2 * window < told <= 60 + 3 * window  # at a public moment
    assert differences(after, hourly(62)) == []


def test_the_ledger_is_told_as_it_stood_when_the_hour_ended():
    """How many accounts were ever batched does not move when arrivals are erased."""
    one, other = ([(1, post(A)), (tick, post(B))] for tick in (3, 4))

    assert differences(seen(*one), seen(*other)) == []
