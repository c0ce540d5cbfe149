"""plan_release: the same as event by event, in any row order and split, and never too early."""

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.policies import SEASON_RULES, policy_with
from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.law import Law, Run
from tarry.core.mechanism import LawPair, shifted_pair
from tarry.core.plan import plan
from tarry.core.plan_release import Labelled, label_history, plan_release
from tarry.core.release import draw_pair, release_ticks
from tarry.core.verify import Size, verify

SECOND = 1_000_000
LABELS = ("held", "declared", "follower", "simultaneous")
GAPS = {  # p4 has the default gap of its own, in a track that has another
    "target_gaps": {"p1": "50s", "p2": "61s", "p4": "40s", "5": "45s"},
    "track_gaps": {"b": "35s", "c": "400s"},
}


def patient(ask):
    """A law of one's own: uniform delays, twice as long as they need be."""
    end = 2 * -(-ask.ratio * ask.start // (ask.ratio - 1))
    return LawPair(
        batched=Law((Run(ask.start, Fraction(0)), Run(end - ask.start, Fraction(1, end - ask.start)))),
        unbatched=Law((Run(end, Fraction(1, end)),)),
        start=ask.start,
    )


def lopsided(ask):
    """A law of one's own that promises nothing and whose draws cannot be shared between labels."""
    return LawPair(
        batched=Law((Run(ask.start, Fraction(0)), Run(2, Fraction(1, 8)), Run(3, Fraction(1, 4)))),
        unbatched=Law((Run(ask.start, Fraction(1, 2 * ask.start)), Run(1, Fraction(1, 2)))),
        start=ask.start,
    )


def halting(ask):
    """A law of one's own without an end, whose coins have a probability that ends: 3/8."""
    return shifted_pair(Law((), (Run(1, Fraction(2, 5)),), Fraction(5, 3)), ask.start)


def policy_of(law="zero-inflated-uniform", labels="held", **more):
    """A policy with a short gap."""
    window = {} if labels in ("simultaneous", "none") else {"window": "10s"}
    delta = {"delta": "0.05"} if labels == "none" else {}
    return policy_with(law, **{"epsilon": "2", "gap": "40s", "labels": labels, **window, **delta, **more})


def busy(n=150, seed=0, *, texts=True):
    """A history with ties, bursts, repeated events, tracks and declarations."""
    rng = np.random.default_rng(seed)
    actor, target = rng.integers(0, 12, n), rng.integers(0, 8, n)
    return History(
        actor=[f"actor {i}" for i in actor] if texts else actor,
        target=[f"p{i}" for i in target] if texts else target,
        time=rng.integers(0, 900, n) * SECOND // 3,
        track=np.array(["a", "b", "c"])[target % 3],
        declared=target == 3,
    )


def part(history, rows):
    """Some rows of a history, as a history."""
    return History(
        actor=history.actors[rows],
        target=history.targets[rows],
        time=history.times[rows],
        track=history.tracks[rows],
        declared=history.declarations[rows],
    )


def outcome(history, releases):
    """What became of each event, whatever the order of rows."""
    event = (history.actors, history.targets, history.times)
    fate = (releases.arrival, releases.batched, releases.release, releases.shuffle)
    return Counter(zip(*(column.tolist() for column in (*event, *fate)), strict=True))


LAWS = ("zero-inflated-uniform", "uniform", "exponential", "staircase")
EVERY_POLICY = [
    *((law, labels) for law in LAWS for labels in LABELS),
    *(("cosine", labels) for labels in SEASON_RULES),
    ("label-free", "none"),
    (lopsided, "held"),
    (lopsided, "follower"),
    (halting, "held"),
]


@pytest.mark.parametrize(("law", "labels"), EVERY_POLICY)
@pytest.mark.parametrize("texts", [True, False], ids=["texts", "numbers"])
def test_a_history_is_released_as_its_events_one_by_one(law, labels, texts):
    """Each event leaves when `draw_pair` and `release_ticks` say, given the event's own stream."""
    policy, history, source = policy_of(law, labels, **GAPS), busy(texts=texts), Seeded(5, draw=2)
    releases = plan_release(policy, history, source)
    alone = []
    for i, occurrence in enumerate(history.occurrences.tolist()):
        actor, target, time = history.actors[i].item(), history.targets[i].item(), int(history.times[i])
        draws = draw_pair(policy, target, history.tracks[i], source.stream(actor, target, time, occurrence))
        label, arrival = bool(releases.batched[i]), int(releases.arrival[i])
        alone.append(release_ticks(arrival, draws, batched=label, hold=policy.hold_ticks))

    assert releases.release.tolist() == alone
    assert labels == "none" or 0 < releases.batched.sum() < len(history)


@pytest.mark.parametrize("labels", LABELS)
def test_row_order_changes_nothing(labels):
    """Every event has the same label, release and place inside its tick in any order of rows."""
    policy, history = policy_of(labels=labels, **GAPS), busy()
    order = np.random.default_rng(1).permutation(len(history))
    shuffled = part(history, order)

    assert outcome(shuffled, plan_release(policy, shuffled, Seeded(5))) == outcome(
        history, plan_release(policy, history, Seeded(5))
    )


@settings(max_examples=50)
@given(st.data())
def test_row_order_and_split_change_nothing_in_any_small_history(data):
    """Shuffled and cut between people, a history has the same releases."""
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=10))
    actor, target, time = (np.array(column) for column in zip(*rows, strict=True))
    history = History(
        actor=actor,
        target=target,
        time=time * 4 * SECOND,
        track=target % 2,
        declared=np.zeros(len(rows), bool),
    )
    policy = policy_of(labels=data.draw(st.sampled_from(LABELS)), track_gaps={"1": "55s"})
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    cut = data.draw(st.integers(0, 4))
    parts = [part(history, order[side]) for side in (actor[order] < cut, actor[order] >= cut)]
    pieces = [outcome(piece, plan_release(policy, piece, Seeded(9))) for piece in parts if len(piece)]

    assert sum(pieces, Counter()) == outcome(history, plan_release(policy, history, Seeded(9)))


def test_a_history_of_many_chunks_is_released_as_its_parts():
    """Large histories are drawn in chunks, and where the chunks end makes no difference."""
    rng = np.random.default_rng(2)
    n = 70_000
    target = rng.integers(0, 50, n)
    history = History(
        actor=rng.integers(0, 20_000, n),
        target=target,
        time=np.arange(n) * SECOND,
        track=target % 3,
        declared=np.zeros(n, bool),
    )
    policy = policy_of(track_gaps={"1": "300s"})
    whole = plan_release(policy, history, Seeded(3))
    some = np.flatnonzero(history.actors < 500)

    assert (
        plan_release(policy, part(history, some), Seeded(3)).release.tolist()
        == whole.release[some].tolist()
    )


@pytest.mark.parametrize("other", [Seeded(6), Seeded(5, draw=1)], ids=["seed", "draw"])
def test_another_seed_or_draw_gives_other_releases(other):
    """Repeated simulations differ, by the seed or by the number of the draw."""
    policy, history = policy_of(), busy()
    here = plan_release(policy, history, Seeded(5)).release

    assert here.tolist() != plan_release(policy, history, other).release.tolist()


@pytest.mark.parametrize(("law", "labels"), EVERY_POLICY)
def test_nothing_leaves_before_its_hold_is_over(law, labels):
    """No event leaves before its label is known, nor a batched one before the start of its law."""
    policy, history = policy_of(law, labels, **GAPS), busy(2000)
    releases = plan_release(policy, history, Seeded(1))
    waited = releases.release - releases.arrival - policy.hold_ticks
    gaps = [policy.gap_for(*event) for event in zip(history.targets, history.tracks, strict=True)]
    starts = np.array([policy.start_ticks(gap) for gap in gaps])

    assert releases.arrival.tolist() == (-(-history.times // SECOND)).tolist()
    assert (waited >= 0).all()
    assert (waited[releases.batched] >= starts[releases.batched]).all()


def test_each_track_draws_from_the_laws_of_its_own_gap():
    """Delays of a fast and a slow track each fill the support of their own law, and no more."""
    policy = policy_of(labels="simultaneous", weight="1", track_gaps={"slow": "400s"})
    row = np.arange(4000)
    pair = row // 2
    track = np.where(pair % 2, "fast", "slow")
    late = row % 2 * (pair // 2 % 2)  # every other pair arrives at two moments
    history = History(actor=pair, target=row % 2, time=late * SECOND, track=track)
    releases = plan_release(policy, history, Seeded(8))
    waited = releases.release - releases.arrival
    for name, gap in (("fast", Fraction(40)), ("slow", Fraction(400))):
        end = policy.mechanism(gap).pair.batched.maximum
        for label in (True, False):
            mine = waited[(track == name) & (releases.batched == label)]

            assert len(mine) > 200
            assert (gap if label else 0) <= mine.min() < gap * Fraction(11, 10)
            assert end * Fraction(95, 100) < mine.max() <= end


def chain(parents):
    """One event a second, each waiting for its parent."""
    n = len(parents)
    return History(actor=range(n), target=range(n), time=np.arange(n) * SECOND, parent=parents)


@settings(max_examples=50)
@given(st.data())
def test_an_event_waits_for_its_parents_all_the_way_up(data):
    """Each release is the maximum over the chain of parents, in any order of rows."""
    n = data.draw(st.integers(1, 12))
    above = [data.draw(st.integers(-1, i - 1)) for i in range(n)]
    order = data.draw(st.permutations(range(n)))
    place = {event: row for row, event in enumerate(order)}
    history = History(
        actor=order,
        target=order,
        time=[i * SECOND for i in order],
        parent=[place.get(above[i], -1) for i in order],
    )
    alone = plan_release(policy_of(), chain([-1] * n), Seeded(2)).release
    expected = []
    for i in range(n):
        expected.append(max(int(alone[i]), expected[above[i]] if above[i] >= 0 else 0))
    releases = plan_release(policy_of(), history, Seeded(2)).release

    assert [int(releases[place[i]]) for i in range(n)] == expected


def test_a_long_chain_of_replies_never_overtakes():
    """A thread of two thousand replies comes out in its own order."""
    releases = plan_release(policy_of(), chain(range(-1, 1999)), Seeded(2)).release

    assert (np.diff(releases) >= 0).all()


@pytest.mark.parametrize("deadline", [None, Fraction(40)])
def test_nothing_appears_before_what_it_refers_to(deadline):
    """Inside a tick the order is random, but a parent always comes before its replies."""
    count = 300
    history = History(
        actor=np.arange(3 * count),
        target=np.repeat(np.arange(count), 3),
        time=np.full(3 * count, 5),
        unit=Fraction(1),
        parent=np.where(np.arange(3 * count) % 3 == 2, -1, np.arange(3 * count) + 1),
    )
    releases = plan_release(policy_of(deadline_at=deadline), history, Seeded(1))
    place = np.argsort(releases.order)
    replies = np.flatnonzero(history.parents >= 0)

    assert (place[replies] > place[history.parents[replies]]).all()
    assert len(np.unique(releases.release)) < 3 * count  # some share a tick


def test_only_the_two_kinds_of_entropy_are_taken():
    """Another generator is refused and not used by chance."""
    with pytest.raises(BadInput, match="Seeded"):
        plan_release(policy_of(), busy(), np.random.default_rng(1))


@pytest.mark.parametrize(("deadline", "tick"), [(Fraction(330), 330), (Fraction(3309, 10), 330)])
def test_a_deadline_lets_everything_out(deadline, tick):
    """Every release is the undisturbed one or the last tick by the deadline, whichever is earlier."""
    history = busy()
    free = plan_release(policy_of(), history, Seeded(4))
    clipped = plan_release(policy_of(deadline_at=deadline), history, Seeded(4))

    assert clipped.release.tolist() == np.minimum(free.release, tick).tolist()
    assert 0 < (clipped.release < tick).sum() < len(history)


def test_the_deadline_comes_after_the_parents():
    """A chain that waits beyond the deadline leaves at the deadline, all of it."""
    policy = policy_of(deadline_at=Fraction(95))
    free = plan_release(policy_of(), chain(range(-1, 39)), Seeded(2)).release

    assert (
        plan_release(policy, chain(range(-1, 39)), Seeded(2)).release.tolist()
        == np.minimum(free, 95).tolist()
    )
    assert free.min() < 95 < free.max()


def test_a_post_with_an_open_label_leaves_at_the_deadline_under_both_labels():
    """Posts that arrive within a hold of the deadline leave at it, batched or not, and still count."""
    policy = policy_of(deadline_at=Fraction(100))
    history = History(
        actor=["ann", "ann", "bob", "cat", "cat"],
        target=["p5", "p6", "p5", "p5", "p6"],
        time=[SECOND * s for s in (95, 97, 91, 85, 95)],
    )
    for seed in range(20):
        releases = plan_release(policy, history, Seeded(seed))

        assert releases.batched.tolist() == [True, True, False, True, True]
        assert releases.release[[0, 1, 2, 4]].tolist() == [100] * 4


def test_an_arrival_after_the_deadline_is_refused():
    """A history that goes on after the public deadline contradicts the policy."""
    history = History(actor=[1, 1], target=[1, 2], time=[100 * SECOND, 100 * SECOND + 1])

    with pytest.raises(BadInput, match="must come by the deadline, tick 100, not at tick 101"):
        plan_release(policy_of(deadline_at=Fraction(100)), history, Seeded(1))


def at_one_tick(seed, n=200):
    """The order in which events that arrive one by one leave at a deadline."""
    policy = policy_of(gap="1h", deadline_at=Fraction(n))
    releases = plan_release(policy, chain([-1] * n), Seeded(seed))
    waiting = set(np.flatnonzero(releases.release == n).tolist())
    return [row for row in releases.order.tolist() if row in waiting]


def test_the_order_inside_a_tick_is_random_and_reproducible():
    """What leaves in one tick leaves in an order that tells nothing of arrival, the same for one seed."""
    here, again, other = at_one_tick(1), at_one_tick(1), at_one_tick(2)
    first_half = sum(row < 100 for row in here[: len(here) // 2])

    assert here == again
    assert other != here != sorted(here)
    assert 30 < first_half < 70


def test_the_order_is_by_release():
    """Rows come out tick by tick, each once."""
    releases = plan_release(policy_of(), busy(), Seeded(1))
    ordered = releases.release[releases.order]

    assert (np.diff(ordered) >= 0).all()
    assert sorted(releases.order.tolist()) == list(range(150))


@pytest.mark.needs_real_draws("this test is about two that differ")
def test_secure_draws_stay_in_the_laws_and_never_repeat():
    """The secure source gives delays of the same laws, different each time."""
    policy, history = policy_of(**GAPS), busy()
    runs = [plan_release(policy, history, Secure()) for _ in range(2)]
    longest = max(policy.mechanism(gap).pair.batched.maximum for gap in policy.gaps)
    for releases in runs:
        waited = releases.release - releases.arrival - policy.hold_ticks

        assert ((waited >= 0) & (waited <= longest)).all()
        assert (waited[releases.batched] >= policy.start_ticks(min(policy.gaps))).all()
    assert runs[0].release.tolist() != runs[1].release.tolist()


def test_secure_draws_read_from_the_given_source():
    """All chance comes from the reader that the secure source was made with."""
    sizes = []

    def read(size):
        sizes.append(size)
        return os.urandom(size)

    plan_release(policy_of(), busy(), Secure(read))

    assert sum(sizes) >= 150 * 8


@pytest.mark.parametrize(("law", "labels"), EVERY_POLICY)
@pytest.mark.parametrize("entropy", [Seeded(1), Secure()], ids=["seeded", "secure"])
def test_an_empty_history_has_no_releases(law, labels, entropy):
    """No events, no releases, no error."""
    empty = History(actor=[], target=[], time=[], track=[], declared=[], parent=[])
    releases = plan_release(policy_of(law, labels, **GAPS), empty, entropy)

    assert releases.release.tolist() == releases.batched.tolist() == releases.order.tolist() == []


@pytest.mark.parametrize(("law", "labels"), EVERY_POLICY)
@pytest.mark.parametrize("entropy", [Seeded(1), Secure()], ids=["seeded", "secure"])
def test_one_event_alone_is_unbatched(law, labels, entropy):
    """A single event has no partner, and leaves after its hold and its own delay."""
    policy = policy_of(law, labels, **GAPS)
    releases = plan_release(policy, History(actor=["a"], target=["p1"], time=[1]), entropy)

    assert releases.batched.tolist() == [False]
    assert releases.arrival.tolist() == [1]
    assert releases.release[0] >= 1 + policy.hold_ticks


def test_a_law_of_ones_own_joins_plan_verify_and_release():
    """A function from an ask to a pair of laws is all it takes, and the checker decides about it."""
    policy = policy_of(patient)
    costs = plan(policy)
    releases = plan_release(policy, busy(), Seeded(1))
    waited = releases.release - releases.arrival

    assert costs.batched.minimum == 10 + 50
    assert costs.batched.maximum > 2 * plan(policy_of("uniform")).batched.maximum - 2 * 50
    assert verify(policy, Size(events=2)).holds
    assert waited.max() <= costs.batched.maximum
    assert waited[releases.batched].min() >= costs.batched.minimum


def test_a_law_of_ones_own_that_breaks_the_promise_is_found():
    """Verify does not trust a law because somebody wrote it."""
    assert verify(policy_of(lopsided), Size(events=2)).word == "broken"


@pytest.mark.parametrize("labels", LABELS)
def test_labels_known_beforehand_change_no_release(labels):
    """They are the ones that a release works out by itself, and serve every draw and epsilon."""
    history = busy()
    known = label_history(policy_of(labels=labels), history)
    for epsilon, draw in (("1", 0), ("2", 1)):
        policy, source = policy_of(labels=labels, epsilon=epsilon), Seeded(3, draw)
        told, alone = plan_release(policy, history, source, known), plan_release(policy, history, source)

        assert outcome(history, told) == outcome(history, alone)


def test_labels_given_are_the_ones_that_are_used():
    """Whatever else could be said of the events."""
    policy, history = policy_of(), busy()
    known = label_history(policy, history)
    turned = Labelled(arrival=known.arrival + 7, batched=~known.batched)
    told = plan_release(policy, history, Seeded(3), turned)

    assert (told.batched == ~known.batched).all()
    assert (told.arrival == known.arrival + 7).all()
    assert told.release.tolist() != plan_release(policy, history, Seeded(3), known).release.tolist()
