"""The search finds every rule of the gallery, and nothing wrong with the rules tarry follows."""

from fractions import Fraction
from itertools import product
from math import exp, inf, isclose, log

import pytest

from contracts.policies import SEASON_RULES, policy_with
from core.verify import broken_releases, broken_rules
from core.verify.broken_releases import UNITS, in_thread_order, session_coin, stamped
from core.verify.broken_rules import (
    AT_ONCE,
    GOOD_AT_ONCE,
    GOOD_HELD,
    HELD,
    RATIO,
    SHARE,
    SMALL,
    UNCOUPLED,
    Broken,
    always_coupled,
    joint,
    laws,
)
from tarry.core.laws.zero_inflated import zero_inflated_pair
from tarry.core.policy import LABEL_RULES, Policy
from tarry.core.release import coupled_draws
from tarry.core.verify import DelayRule, JointRule, Size, moves, paired, search, verify_pair, verify_rules
from tarry.core.verify.rules import distribution
from tarry.core.verify.streams import Act, Neighbour, all_streams

GALLERY = [*broken_rules.GALLERY, *broken_releases.GALLERY]


@pytest.mark.parametrize("broken", GALLERY, ids=lambda broken: broken.name)
def test_every_broken_rule_is_found(broken: Broken):
    """A rule of the gallery gets a witness, with an infinite ratio where the leak has no bound."""
    verdict = search(broken.rule, broken.neighbours, SHARE, broken.size, streams=broken.streams)

    assert not verdict.holds
    assert verdict.witness.ratio > verdict.witness.allowed
    assert (verdict.witness.ratio == inf) == broken.endless


@pytest.mark.parametrize(
    ("rule", "neighbours"),
    [
        (GOOD_AT_ONCE, AT_ONCE),
        (GOOD_HELD, HELD),
        (DelayRule(pair=laws(2), labels=paired(0), deadline=5), AT_ONCE),
        (
            DelayRule(pair=laws(2), labels=paired(0), units=UNITS),
            moves(stamped(paired(0)), 2 * UNITS, Size(moved=1)),
        ),
    ],
    ids=["at once", "held", "a public deadline", "arrivals rounded up to the tick"],
)
def test_sound_rules_have_no_witness(rule, neighbours):
    """The rules that the broken ones imitate pass the same search."""
    assert search(rule, neighbours, SHARE, SMALL).holds


def test_a_deadline_lets_an_open_label_out_under_either_label():
    """A public deadline before the label is known keeps the promise for held labels as well."""
    rule = DelayRule(pair=laws(3), labels=paired(1), hold=1, deadline=6)

    assert search(rule, HELD, SHARE, SMALL).holds


def test_a_session_hides_only_from_those_who_already_know_the_actor():
    """Actor-wise sessions keep the paper's same-actor definition and fail against different people."""
    same_actor = moves(paired(0), 2, Size(actors=1, moved=1))
    size = Size(events=2, span=2, actors=1)

    assert search(JointRule(session_coin), same_actor, SHARE, size).holds

    together, apart = (Act(0, 0, 0), Act(0, 0, 1)), (Act(0, 0, 0), Act(1, 1, 1))
    verdict = search(
        JointRule(session_coin), lambda _: iter([Neighbour(apart, 2)]), SHARE, size, streams=[together]
    )
    assert verdict.witness.ratio == inf


def test_explicit_parents_keep_the_promise_where_thread_order_breaks_it():
    """Waiting for a fixed parent is harmless; waiting for whoever arrived before is not."""

    def after_parent(stream, noisy):
        return [noisy[0], *(max(at, noisy[0]) for at in noisy[1:])]

    size = Size(events=2, span=2, moved=1)
    assert search(joint(2, after_parent), AT_ONCE, SHARE, size).holds
    assert not search(joint(2, in_thread_order), AT_ONCE, SHARE, SMALL).holds


def test_a_coupled_draw_needs_laws_that_allow_it():
    """Reusing a long unbatched draw for a law that is not its tail breaks what the laws promise."""
    share = Fraction(5, 4)
    good = DelayRule(pair=UNCOUPLED, labels=paired(0))
    bad = DelayRule(pair=UNCOUPLED, labels=paired(0), draws=always_coupled)
    size = Size(events=3, span=0, moved=1)  # in a batch of three, one that leaves costs one share

    assert verify_pair(UNCOUPLED, share).holds
    assert not UNCOUPLED.coupled
    assert search(good, AT_ONCE, share, size).holds
    assert not search(bad, AT_ONCE, share, size).holds


def test_the_coupled_draw_has_exactly_the_two_laws():
    """Following every draw, each label sees its own law and nothing else."""
    pair = laws(3)
    for batched, law in ((True, pair.batched), (False, pair.unbatched)):
        seen = distribution(lambda draw, b=batched: (coupled_draws(pair, draw).ticks(batched=b),))

        assert seen == {(k,): law.mass(k) for k in range(law.maximum + 1) if law.mass(k)}


@pytest.mark.parametrize(
    ("law", "labels"),
    [
        *product(("zero-inflated-uniform", "uniform", "staircase"), LABEL_RULES[:-1]),
        *product(("cosine",), SEASON_RULES),
    ],
)
def test_a_policy_s_own_rules_pass(labels, law):
    """The real labels, draws and releases of every label rule have no witness."""
    window = "5m" if labels != "simultaneous" else "0s"
    policy = policy_with(law, epsilon="1", gap="11m", window=window, labels=labels)

    assert verify_rules(policy, Size(events=3, span=2, moved=1)).holds


def test_the_bridge_budget_covers_a_bridge():
    """With a third of epsilon each, three flipped labels cost no more than epsilon."""
    policy = Policy(epsilon="1", gap="11m", cover="bridge")

    assert 3 * policy.share == policy.epsilon
    assert verify_rules(policy, Size(events=3, span=3, moved=1)).holds


def test_a_twin_costs_half_as_much_again():
    """Two posts on one target and a third elsewhere flip three labels: e^(1.5 epsilon), exactly."""
    stream = (Act(0, 0, 0), Act(0, 0, 0), Act(0, 0, 1))
    other = (Act(0, 0, 0), Act(0, 0, 0), Act(2, 0, 1))
    verdict = search(GOOD_AT_ONCE, lambda _: iter([Neighbour(other, 2)]), SHARE, SMALL, streams=[stream])

    assert isclose(verdict.witness.ratio, RATIO**3)


def test_the_paper_s_neighbours_have_an_infinite_ratio():
    """Definition 1's own counterexample: a batched post that moves shifts a batched law."""
    stream = (Act(0, 0, 0), Act(0, 0, 1), Act(6, 0, 2))
    other = (Act(0, 0, 0), Act(6, 0, 1), Act(6, 0, 2))
    verdict = search(
        DelayRule(pair=laws(6), labels=paired(0)),
        lambda _: iter([Neighbour(other, 2)]),
        SHARE,
        SMALL,
        streams=[stream],
    )

    assert verdict.witness.ratio == inf


def test_a_burst_with_one_draw_costs_the_length_of_the_support():
    """A member that leaves a burst costs R (L - G) instead of R: 7.2 nats at 300 ticks, epsilon 0.5."""
    from tarry.core.exact import ratio_below
    from tarry.core.laws.zero_inflated import support_end

    ratio = ratio_below(Fraction(1, 4))
    end = support_end(ratio, 300, Fraction(1))

    assert round(log(ratio * (end - 300)), 1) == 7.2


@pytest.mark.parametrize(("left", "nats"), [(10, 4.86), (12, 2.99), (18, 1.53)])
def test_renormalising_to_the_deadline_costs_what_theory_says(left, nats):
    """At epsilon 1, G = 10 and L = 26 the loss near the deadline is far above a share of 0.5."""
    pair = zero_inflated_pair(RATIO, 10, 26)
    b = {k: pair.batched.mass(k) / pair.batched.cumulative(left) for k in range(left + 1)}
    losses = []
    for shift in range(11):
        within = pair.unbatched.cumulative(left - shift)
        losses += [
            log(b[k] / (pair.unbatched.mass(k - shift) / within))
            for k in range(10, left + 1)
            if b[k] and pair.unbatched.mass(k - shift)
        ]

    assert round(2 * max(losses), 2) == nats  # both posts of a pair


def test_a_cap_at_the_gap_costs_what_theory_says():
    """At epsilon 1, G = 10 and L = 26 a delay capped at 10 ticks costs 3.27 nats an event."""
    pair = zero_inflated_pair(RATIO, 10, 26)
    batched = 1 - pair.batched.cumulative(9)  # everything lands on the cap

    assert round(log(batched / pair.unbatched.mass(1)), 2) == 3.27


def test_all_small_streams_are_told_once():
    """Streams that differ only in the names of actors or targets are not searched twice."""
    size = Size(events=2, span=1, actors=2, targets=2)
    streams = list(all_streams(size))

    assert len(streams) == len(set(streams))
    assert (Act(0, 1, 0),) not in streams
    assert (Act(0, 0, 0), Act(1, 1, 1)) in streams


def test_a_clean_search_states_its_size():
    """Not finding a witness is never called a proof."""
    verdict = search(GOOD_AT_ONCE, AT_ONCE, SHARE, Size(events=2))

    assert (
        verdict.scope
        == "no witness up to 2 events by 2 actors on 3 targets within 3 ticks, 2 of them moved at once"
    )
    assert verdict.margin < 1e-9


def test_margin_of_a_broken_rule_is_negative():
    """The margin of a finite violation is what is allowed less what was found, in nats."""
    verdict = search(GOOD_AT_ONCE, AT_ONCE, SHARE / 2, Size(events=2))

    assert verdict.margin < 0
    assert isclose(verdict.witness.allowed * exp(-verdict.margin), verdict.witness.ratio)
