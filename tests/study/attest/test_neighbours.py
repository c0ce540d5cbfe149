"""Stories come in pairs that the promise speaks of, and cost what Theorem 1'' says."""

from fractions import Fraction

import pytest

from tarry.core.policy import Policy
from tarry.core.season import Season
from tarry.core.verify import Size, moves, paired
from tarry.core.verify.streams import Neighbour
from tarry.study.attest.neighbours import Promised, Scenes, SeasonScene

HELD = Promised(share=Fraction(1, 2), reach=5, window=2)


def pairs_of(**choices):
    promised = Promised.of_policy(Policy(epsilon="1", gap="10s", **{"window": "2s", **choices}))
    return promised, list(Scenes(promised=promised).pairs())


def test_each_pair_is_one_that_the_theorem_speaks_of():
    """By the definition that `verify` searches with, written independently."""
    theorem = moves(paired(HELD.window), HELD.reach, Size(actors=4))
    pairs = [pair for pair in Scenes(promised=HELD, busy=0).pairs() if pair.nats]

    assert len(pairs) > 30
    for pair in pairs:
        cost = int(pair.nats / HELD.share)
        assert Neighbour(pair.other.acts, cost) in set(theorem(pair.true.acts)), pair


@pytest.mark.parametrize("labels", ["held", "simultaneous", "declared", "follower"])
def test_labels_only_fall(labels):
    promised, pairs = pairs_of(labels=labels, **({"window": "0s"} if labels == "simultaneous" else {}))
    label = promised.label_function

    for pair in pairs:
        before, after = label(pair.true.acts), label(pair.other.acts)
        assert all(b or not a for b, a in zip(before, after, strict=True))
        assert pair.nats == promised.share * (sum(before) - sum(after))


def test_every_way_out_is_tried():
    _, pairs = pairs_of()
    shifts = {
        act.at - before.at
        for pair in pairs
        for before, act in zip(pair.true.acts, pair.other.acts, strict=True)
    }

    assert {0, 1, 6, 11, 12} <= shifts
    assert any(pair.true.restarts for pair in pairs)
    assert any(pair.true.reposts for pair in pairs)
    assert {pair.nats for pair in pairs} >= {Fraction(n, 2) for n in (1, 2, 3)}
    assert any(len({act.actor for act in pair.other.acts}) == 1 for pair in pairs), "the same person, later"


def test_without_labels_one_act_moves_and_delta_is_given():
    _, pairs = pairs_of(labels="none", law="label-free", delta="0.01", window="0s")

    assert pairs
    assert {(pair.nats, pair.delta) for pair in pairs} == {(Fraction(1), Fraction(1, 100))}


def test_a_season_changes_every_act_of_it():
    season = Season(acts=10, epsilon=Fraction(2), delta=Fraction("0.05"))
    policy = Policy(law="cosine", blocks=12, order="4", season=season, gap="2m", window="1m")
    promised = Promised.of_policy(policy)
    scene = SeasonScene(promised=promised, acts=10, nats=season.epsilon, delta=season.delta)

    for pair in scene.pairs():
        assert sum(promised.label_function(pair.true.acts)) == 10
        assert not any(promised.label_function(pair.other.acts))
