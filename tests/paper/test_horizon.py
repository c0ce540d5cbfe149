"""A deadline: which rules keep the promise, and what the others cost."""

from fractions import Fraction
from math import log

import pytest

from tarry.core.exact import log_of
from tarry.core.verify import Verdict
from tarry.paper.finding import RunSettings
from tarry.paper.horizon import (
    CAPPED,
    CLIPPED,
    LATE,
    RENORMALISED,
    _safe_says,
    event_loss,
    find,
    pair_loss,
)
from tarry.paper.laws import default_laws

TINY = RunSettings(tiny=True)


@pytest.fixture(scope="module")
def found():
    return find(TINY)


@pytest.mark.parametrize(("left", "nats"), [(10, 4.86), (12, 2.99), (18, 1.53)])
def test_a_delay_drawn_anew_costs_a_pair_what_theory_says(left, nats):
    """Epsilon 1, G = 10, L = 26 (theory 6e); each event of the pair costs half of it."""
    assert round(log_of(pair_loss(RENORMALISED, left, default_laws(10))), 2) == nats
    assert 2 * log_of(event_loss(RENORMALISED, left, default_laws(10))) == pytest.approx(nats, abs=0.006)


def test_a_cap_costs_an_event_what_theory_says():
    """3.27 nats at a cap of one gap (theory 6e): the mass of one tick, 1 / (R (L - G))."""
    assert round(log_of(event_loss(CAPPED, 26, default_laws(10))), 2) == 3.27
    assert log_of(event_loss(CAPPED, 26, default_laws(10))) == pytest.approx(log(16) + 0.5)


def test_a_late_post_that_leaves_at_once_has_no_bound():
    """Until the deadline is out of reach of every delay."""
    assert all(event_loss(LATE, left, default_laws(10)) is None for left in range(10, 25))
    assert event_loss(LATE, 25, default_laws(10)) is not None


@pytest.mark.parametrize("left", range(61))
def test_the_deadline_itself_costs_no_more_than_is_promised(left):
    """However little is left, min(release, end) stays within a share for each event."""
    pair = default_laws(10)

    assert event_loss(CLIPPED, left, pair) <= pair.batched.mass(10) / pair.unbatched.mass(1)
    assert log_of(pair_loss(CLIPPED, left, pair)) <= 1


def test_the_finding_says_what_its_tables_hold(found):
    """The numbers of the sentences are those of the tables."""
    losses = {(row[0], row[1]): row[2:] for row in found.tables["losses"].rows}

    assert "4.86, 2.99, 1.53 nats for a pair (2.43, 1.50, 0.77" in found.says[1]
    assert losses[LATE, 10][:2] == ("infinite", "infinite")
    assert "3.27 nats for an event" in found.says[2]
    finer = found.tables["finer"].column(RENORMALISED)
    assert finer == sorted(finer)  # it grows with the number of ticks
    assert all(row[1] == row[2] == row[0] for row in found.tables["corollary"].rows)  # told apart by delta


@pytest.mark.parametrize(
    ("worst", "holds", "word"),
    [(1.0, True, "is"), (1.0, False, "is not"), (1.2, True, "is not"), ("infinite", True, "is not")],
)
def test_the_first_sentence_follows_the_search_and_the_laws(worst, holds, word):
    """A stream that is told apart by more is not hidden, nor is a loss above what is promised."""
    said = _safe_says([0.9, worst], Verdict(holds=holds, scope="a few streams"))

    assert f"deadline {word} safe" in said
    assert ("finds no stream" in said) is holds


def test_the_finding_says_that_a_deadline_is_safe_and_at_which_epsilon(found):
    """The search holds, so does the table."""
    assert "deadline is safe" in found.says[0]
    assert "at epsilon 1 and a gap of one hour" in found.says[4]


def test_the_corollary_needs_its_chance_to_fail(found):
    """With delta 1 % the table's mechanism posts 1 % before the end; with delta 0 nothing."""
    early = dict(
        zip(
            found.tables["corollary"].column("delta"),
            found.tables["corollary"].column("leaves before the end"),
            strict=True,
        )
    )

    assert (early[0.0], early[0.01]) == (0.0, float(Fraction(1, 100)))


def test_the_same_settings_give_the_same_tables(found):
    """Nothing here is drawn."""
    assert found.as_json() == find(TINY).as_json()
