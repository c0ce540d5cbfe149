"""The ledger in two worlds: one person behind two names, or somebody else behind the second.

In the first world a person acts as p and as q. In the second, q's acts are a new person's, and those that
were batched come up to G (gap and window) later, so that none of them is; where a burst is too dense for
that, further new people take the rest. The ledger of q says how much likelier anything that is seen may be
in the first world. Here that is held against the score of a long watch, at every threshold.

Shares of so many draws are near their chances at all thresholds at once (Dvoretzky, Kiefer, Wolfowitz,
Massart): a ledger that holds is refused by a test with a chance of at most `ALPHA`, over all its scores.
"""

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.ledger import pseudonym_ledger
from tarry.core.plan_release import label_history, plan_release
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.core.season import Season

ALPHA = 1e-6
DRAWS = 50_000
WINDOW, GAP = 60, 120  # seconds, which are the ticks
PERSON, P, Q = 0, 0, 1
_CHOICES = {"window": "1m", "gap": "2m", "tick": "1s"}
POLICIES = {
    "zero-inflated uniform": Policy(epsilon="0.4", **_CHOICES),
    "a season": Policy(
        law="cosine",
        blocks=12,
        order="4",
        season=Season(acts=10, epsilon=Fraction("1.6"), delta=Fraction("0.05")),
        **_CHOICES,
    ),
}
#: Rows (name, target, seconds), and how many new people q's acts need. Three meetings with a burst of q's
#: on five targets, p and q alone; or one burst on nine targets, and nothing else that is batched.
HISTORIES = {
    "meetings": (
        (
            *((P, 1, 1_000), (Q, 11, 1_020), (P, 2, 8_000), (Q, 12, 7_990)),
            *((P, 3, 20_000), (Q, 11, 20_001), (Q, 12, 20_004), (Q, 13, 20_007), (Q, 14, 20_010)),
            *((Q, 15, 20_012), (P, 1, 30_000), (Q, 13, 33_000), (P, 4, 36_000), (P, 5, 36_030)),
            (P, 6, 36_050),
        ),
        2,
    ),
    "a dense burst": (
        (
            *((P, 1, 1_000), (Q, 11, 4_000), (P, 3, 20_000), (P, 1, 30_000), (Q, 13, 33_000)),
            *((Q, 11 + place, 20_001 + place) for place in range(9)),
        ),
        3,
    ),
}


def columns(rows):
    """Person, name, target and second of each row, as arrays; rows are (person, name, target, second)."""
    return (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


def history_of(rows):
    person, _, target, second = columns(rows)
    return History(actor=person, target=target, time=second * 1_000_000)


def batched_rows(policy, rows):
    return label_history(policy, history_of(rows)).batched


def first_world(history):
    return [(PERSON, *row) for row in HISTORIES[history][0]]


def second_world(policy, history, *, late=True):
    """q's acts by new people: the batched ones as late, or as soon, as can be, none of them batched."""
    rows, reach = first_world(history), policy.start_ticks(policy.gap)
    batched = batched_rows(policy, rows)
    taken = []  # (person, target, second) of q's acts so far
    moved = list(rows)
    for place in sorted(range(len(rows)), key=lambda place: (batched[place], rows[place][3])):
        _, name, target, second = rows[place]
        if name == Q:
            shifts = sorted(range(reach + 1), reverse=late) if batched[place] else (0,)
            person, at = next(
                (person, second + shift)
                for person in range(1, len(rows) + 1)
                for shift in shifts
                if _alone(taken, person, target, second + shift)
            )
            taken.append((person, target, at))
            moved[place] = (person, Q, target, at)
    return moved


def _alone(taken, person, target, second):
    return all(who != person or what == target or abs(at - second) > WINDOW for who, what, at in taken)


def ledger_of_q(policy, history):
    """q's ledger: in the second world it is q's acts that are somebody else's."""
    rows = first_world(history)
    person, name, _, second = columns(rows)
    names = History(actor=person, target=name, time=second * 1_000_000)
    labelled = label_history(policy, history_of(rows))
    lines = pseudonym_ledger(
        promise(policy), names, labelled.arrival, labelled.batched, policy.window_ticks, rule=policy.labels
    )
    return lines[PERSON, Q]


def releases(policy, rows, seed, draws=DRAWS):
    """What is seen of each row in so many draws: many copies of the people, released at once."""
    person, _, target, second = columns(rows)
    copies = np.repeat(np.arange(draws), len(rows))
    many = History(
        actor=copies * 100 + np.tile(person, draws),
        target=np.tile(target, draws),
        time=np.tile(second, draws) * 1_000_000,
    )
    return plan_release(policy, many, Seeded(seed)).release.reshape(draws, len(rows))


def watch_scores(released, rows, width, trust):
    """The long watch's score of q for p, in every draw; nothing else happens all day."""
    names = np.array([name for _, name, _, _ in rows])
    p, q = released[:, names == P], released[:, names == Q]
    heights = np.maximum(0, width - np.abs(q[:, :, None] - p[:, None, :])).sum(axis=2)
    ratio = heights / (width * width * p.shape[1]) * 86_400
    return np.log(1 - trust + trust * ratio).sum(axis=1)


def excess(first, second, nats, delta):
    """By how much the first world's share is above what the ledger allows, at the worst threshold.

    Both shares are given what so many draws may be off by.
    """
    thresholds = np.unique(np.concatenate([first, second]))
    above = [1 - np.searchsorted(np.sort(one), thresholds) / len(one) for one in (first, second)]
    off = sqrt(log(2 * 2 * len(WAYS) / ALPHA) / (2 * len(first)))
    return float((above[0] - off - exp(nats) * (above[1] + off) - delta).max())


WAYS = [(60, 0.7), (240, 0.3), (900, 0.7)]
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
every_history = pytest.mark.parametrize("history", HISTORIES)
late_or_soon = pytest.mark.parametrize("late", [True, False], ids=["late", "soon"])


@every_policy
@every_history
@late_or_soon
def test_the_second_world_is_one_the_ledger_speaks_of(policy, history, late):
    """Nothing of q's is batched in it, nothing moves further than G, and labels differ where q pays.

    One new person cannot take all of a burst: as many further ones as it needs do.
    """
    first, second = first_world(history), second_world(policy, history, late=late)
    before, after = batched_rows(policy, first), batched_rows(policy, second)
    name = np.array([row[1] for row in first])
    shifts = np.array([b[3] - a[3] for a, b in zip(first, second, strict=True)])

    assert not after[name == Q].any()
    assert (shifts[name == P] == 0).all()
    assert (shifts[~before] == 0).all()
    assert 0 <= shifts.min() < shifts.max() <= policy.start_ticks(policy.gap)
    assert len({row[0] for row in second}) == 1 + HISTORIES[history][1]
    assert int((before & ~after).sum()) == ledger_of_q(policy, history).batched_events
    assert not (after & ~before).any()


@every_policy
@every_history
@late_or_soon
def test_no_threshold_of_the_score_tells_more_than_the_ledger(policy, history, late):
    """Rate in the first world <= e^ledger x rate in the second + delta, whatever the threshold.

    Power: were the ledger a quarter of what it is, the later world would show it.
    """
    nats = float(ledger_of_q(policy, history).nats)
    delta = 0.0 if policy.season is None else float(policy.season.delta)
    worlds = first_world(history), second_world(policy, history, late=late)
    seen = [releases(policy, rows, seed) for seed, rows in enumerate(worlds)]
    pairs = [[watch_scores(*one, *way) for one in zip(seen, worlds, strict=True)] for way in WAYS]

    assert all(excess(*pair, nats, delta) <= 0 for pair in pairs)
    if late:
        assert any(excess(*pair, nats / 4, 0.0) > 0 for pair in pairs)


@every_policy
def test_acts_that_leave_at_once_tell_more_than_any_ledger_of_a_policy(policy):
    """Without delays the two worlds are told apart every time."""
    worlds = first_world("meetings"), second_world(policy, "meetings")
    seen = [np.tile([row[3] for row in rows], (DRAWS, 1)) for rows in worlds]
    first, second = (watch_scores(*one, 60, 0.7) for one in zip(seen, worlds, strict=True))

    assert excess(first, second, float(ledger_of_q(policy, "meetings").nats), 0.05) > 0.5
