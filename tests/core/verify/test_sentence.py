"""The sentence that `explain` prints, on arrivals inside ticks: it holds, and no wider one does."""

from dataclasses import replace
from fractions import Fraction
from math import exp, inf, isclose

import pytest

from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.core.verify import MOMENTS, DelayRule, Size, paired, search, verify, verify_sentence
from tarry.core.verify.rules import small_copy
from tarry.core.verify.streams import Act, Neighbour, sentence_moves

LABELS = ["held", "declared", "follower", "simultaneous"]

# --- one hour to the tick: epsilon 0.5, gap 11m, window 5m --------------------------------------------

MINUTE, HOUR = 60, 3600
SHARE = Fraction(1, 4)
HOURLY = DelayRule(
    pair=zero_inflated_uniform(Ask(share=SHARE, start=2, weight=Fraction(1, 2))),
    labels=paired(1),
    hold=1,
    units=HOUR,
)
THREE = (Act(15_300, 0, 0), Act(21_000, 0, 0), Act(21_240, 0, 1))
TWO = (Act(27_240, 0, 0), Act(27_480, 0, 1))
WINDOW = 5 * MINUTE + 1  # what is at most 5 minutes away is less than this


def sentence(near):
    """The sentence, with what "near" means in seconds."""
    return sentence_moves(window=5 * MINUTE, near=near, reach=2 * HOUR)


def hourly(stream, near):
    """Hold the sentence to one stream."""
    return search(HOURLY, sentence(near), SHARE, Size(units=HOUR), streams=[stream])


@pytest.mark.parametrize(
    ("stream", "story", "nats"),
    [(THREE, (*THREE[:2], Act(22_680, 1, 1)), 0.75), (TWO, (Act(29_580, 0, 0), TWO[1]), inf)],
    ids=["a third act loses its partner too", "half an hour later it is batched still"],
)
def test_near_as_the_window_takes_in_stories_that_cost_more_than_epsilon(stream, story, nats):
    """With an hour to the tick, 0.5 was promised for these; with near as two hours they are left out."""
    neighbour = Neighbour(story, 2)
    verdict = search(HOURLY, lambda _: iter([neighbour]), SHARE, Size(units=HOUR), streams=[stream])

    assert neighbour in set(sentence(WINDOW)(stream))
    assert neighbour not in set(sentence(2 * HOUR)(stream))
    assert isclose(verdict.witness.ratio, exp(nats), rel_tol=1e-9)


@pytest.mark.parametrize("stream", [TWO, THREE], ids=["two acts", "three acts"])
def test_near_as_the_window_is_false_off_the_grid(stream):
    """The search finds a witness without bound by itself."""
    assert hourly(stream, WINDOW).witness.ratio == inf


def test_near_as_one_tick_more_than_the_window_is_true():
    """Two hours: the sentence speaks of fewer stories, and all of them keep it."""
    assert hourly(TWO, near=2 * HOUR).holds
    assert len(set(sentence(2 * HOUR)(TWO))) > 10_000


def test_near_must_not_be_a_second_less():
    """An act at the end of a tick and one in the first second of the next but one."""
    stream = (Act(HOUR + 1, 0, 0), Act(HOUR + 1, 0, 1))

    assert hourly(stream, near=2 * HOUR).holds
    assert not hourly(stream, near=2 * HOUR - 1).holds


# --- every label rule -------------------------------------------------------------------------------


def policy_of(labels):
    law = {"law": "label-free", "delta": "0.01"} if labels == "none" else {}
    return Policy(epsilon="1", gap="11m", labels=labels, **law)


def told(policy, **changes):
    """The sentence of the small copy, with some of its numbers changed by so many moments."""
    sentence = promise(small_copy(policy, MOMENTS))
    return replace(sentence, **{name: getattr(sentence, name) + by for name, by in changes.items()})


@pytest.mark.parametrize("labels", [*LABELS, "none"])
def test_what_explain_prints_is_true_of_arrivals_inside_ticks(labels):
    """With up to three acts at three moments of each tick there is no witness against it."""
    verdict = verify_sentence(policy_of(labels), Size())

    assert verdict.holds
    assert f"at {MOMENTS} moments in each" in verdict.scope
    assert labels == "none" or verdict.margin < 1e-9  # and some stream takes all that is allowed


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("wider", [{"near": -1}, {"reach": 1}, {"window": 1}], ids=str)
def test_a_sentence_wider_by_one_moment_is_found_broken(labels, wider):
    """No number of the sentence can be better than it is."""
    policy = policy_of(labels)
    verdict = verify_sentence(policy, Size(), told(policy, **wider))

    assert not verdict.holds
    assert verdict.witness.ratio > verdict.witness.allowed


def test_without_labels_the_reach_cannot_be_longer_either():
    """Past the reach an act may move by one tick more than the law covers."""
    policy = policy_of("none")

    assert not verify_sentence(policy, Size(), told(policy, reach=1)).holds


@pytest.mark.parametrize("labels", ["held", "declared", "follower"])
def test_the_sentence_that_took_near_for_the_window_is_found_broken(labels):
    """What was printed before: nothing else within the window, nor elsewhere within the window then."""
    policy = policy_of(labels)
    verdict = verify_sentence(policy, Size(), replace(told(policy), near=told(policy, window=1).window))

    assert verdict.witness.ratio == inf


def test_verify_reads_the_sentence_that_explain_prints(monkeypatch):
    """A promise with a wrong number is found by the one call that people make."""
    policy = policy_of("held")
    monkeypatch.setattr("tarry.core.promise._near", lambda small: small.window)
    verdict = verify(policy, Size(events=2))

    assert not verdict.holds
    assert "at 3 moments in each" in verdict.scope
