"""Each check of the attack suite can fail: an attack that breaks it is caught, an honest one passes."""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pytest

from tarry.core.errors import NotPossible
from tarry.study.attack import Attack, AttackKind
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.pairs import pairs_within
from tarry.study.score import Score
from tarry.testing.attacks import AttackCase, AttackSuite

TESTS = [name for name in dir(AttackSuite) if name.startswith("test_")]
WHAT = "claims pairs in its own way"
CALLS = count()


def honest(observed, cutoffs):
    """Claims what it sees close together."""
    return cutoff_attack(observed.truth, observed.seen, cutoffs)


def knows_arrivals(observed, cutoffs):
    """Looks at the true times, whatever was seen."""
    return cutoff_attack(observed.truth, observed.truth.table.time, cutoffs)


def knows_actors(observed, cutoffs):
    """Claims exactly what is linked."""
    truth = observed.truth
    return [Score(cutoff=at, counts=truth.counts(truth.linked_pairs, truth.linked_pairs)) for at in cutoffs]


def remembers_names(observed, cutoffs):
    """Finds those with an even number close together, wherever they are."""
    seen = np.where(observed.truth.table.actor % 2, observed.seen, 0)
    return cutoff_attack(observed.truth, seen, cutoffs)


def reads_the_file_s_order(observed, cutoffs):
    """Takes rows that stand together in the file for close together."""
    return cutoff_attack(observed.truth, observed.truth.table.row * 10_000_000, cutoffs)


def counts_one_target(observed, cutoffs):
    """Claims everything that is close together, on one target too."""
    truth = observed.truth
    linked = truth.near.shown_within(observed.seen, cutoffs)
    close = pairs_within(observed.seen, cutoffs)
    return [
        Score(cutoff=at, counts=truth.counts(found, claimed))
        for at, found, claimed in zip(cutoffs, linked, close, strict=True)
    ]


def throws_dice(observed, cutoffs):
    """Claims something else each time."""
    return cutoff_attack(observed.truth, observed.seen // (1 + next(CALLS)), cutoffs)


def changes_what_it_sees(observed, cutoffs):
    """Sorts the moments where they are."""
    observed.seen.sort()
    return honest(observed, cutoffs)


def finds_somebody_always(observed, cutoffs):
    """Is right at least once."""
    scores = honest(observed, cutoffs)
    return [
        replace(score, counts=replace(score.counts, true_positives=score.counts.true_positives + 1))
        for score in scores
    ]


def forgets_those_it_did_not_claim(observed, cutoffs):
    """Counts its claims alone."""
    return [
        replace(score, counts=replace(score.counts, true_negatives=0, false_negatives=0))
        for score in honest(observed, cutoffs)
    ]


def cannot_work_here(observed, cutoffs):
    """Says so where nobody is linked."""
    if not observed.truth.linked_pairs:
        raise NotPossible("there is nothing to learn from")
    return honest(observed, cutoffs)


@dataclass(frozen=True)
class Made(Attack):
    """An attack of a function."""

    method: object
    name: str = "made"
    where: bool = True

    def applies_to(self, practice, watcher):
        return self.where

    def score(self, observed, cutoffs):
        return self.method(observed, cutoffs)


def kind_of(method, **options):
    """Its kind."""
    made = Made(method, **options)
    return AttackKind(name="made", what=WHAT, make=lambda _: made, examples=("made",))


def failed(case):
    """The tests of the suite that fail."""
    suite, failures = AttackSuite(), set()
    suite.case = case
    for name in TESTS:
        moments = ["at one moment", "by lot"] if name.endswith("base_rate") else [None]
        for each in moments:
            try:
                getattr(suite, name)("made", *([each] if each else []))
            except AssertionError:
                failures.add(name)
    return failures


BROKEN = {
    "test_it_is_called_what_makes_it": kind_of(honest, name="other"),
    "test_it_says_where_it_applies": kind_of(honest, where=False),
    "test_it_claims_the_same_again": kind_of(throws_dice),
    "test_names_of_people_do_not_matter": kind_of(remembers_names),
    "test_who_acted_is_hidden_from_it": kind_of(knows_actors),
    "test_true_arrivals_are_hidden_from_it": kind_of(knows_arrivals),
    "test_the_order_of_rows_does_not_matter": kind_of(reads_the_file_s_order),
    "test_its_counts_are_of_candidates": kind_of(forgets_those_it_did_not_claim),
    "test_two_acts_on_one_target_are_never_claimed": kind_of(counts_one_target),
    "test_where_nobody_is_linked_nobody_is_found": kind_of(finds_somebody_always),
    "test_where_nothing_can_be_known_it_does_no_better_than_the_base_rate": kind_of(knows_arrivals),
}


def test_every_check_has_an_attack_that_breaks_it():
    """None is there that nothing could fail."""
    assert sorted(BROKEN) == TESTS


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_attack_is_caught(name):
    """By the check that is about what it does."""
    assert name in failed(AttackCase(kind=BROKEN[name]))


@pytest.mark.parametrize("method", [honest, cannot_work_here])
def test_an_honest_attack_passes(method):
    """Also one that says where it cannot work."""
    assert not failed(AttackCase(kind=kind_of(method)))


def test_an_attack_that_changes_what_it_was_given_is_caught():
    """Others look at the same columns after it."""
    assert "test_it_claims_the_same_again" in failed(AttackCase(kind=kind_of(changes_what_it_sees)))


@pytest.mark.parametrize("method", [knows_actors, knows_arrivals])
def test_whoever_says_what_it_knows_must_still_not_beat_chance_with_it(method):
    """To know how people act is one thing, to look up who acted another."""
    failures = failed(AttackCase(kind=kind_of(method), knows=["actors", "arrivals"]))

    assert failures == {"test_where_nothing_can_be_known_it_does_no_better_than_the_base_rate"}
