"""The Bitcoin experiment: gaps of recipients, both attacks, the slip, and the safe rule."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Seeded
from tarry.paper.bitcoin import MADE_UP, PERCENTILES, _charts, as_coded, attack_charts, example, find
from tarry.paper.bitcoin_payments import (
    CLOSED,
    DEFAULT,
    PAST,
    WEEK,
    WINDOW,
    closed_gaps,
    make_weeks,
    past_gaps,
    payments_of,
    run_trial,
    usable,
)
from tarry.paper.finding import RunSettings
from tarry.study.score import Counts
from tarry.study.table import event_table

TINY = RunSettings(tiny=True)
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def found():
    return find(TINY)


@pytest.fixture(scope="module")
def payments():
    return payments_of(make_weeks(1000, seed=0), [50])


def paid(minutes, recipients=None):
    """Payments at these minutes, each from an address of its own."""
    return event_table(
        actor=recipients or [1] * len(minutes),
        target=list(range(len(minutes))),
        time=[round(m * MINUTE) for m in minutes],
    )


MINUTES = st.lists(st.integers(0, 40_000), min_size=1, max_size=25, unique=True).map(sorted)


@given(MINUTES, st.sampled_from([25, 50, 75]))
def test_the_paper_s_gap_is_a_percentile_of_the_prior_seven_days(minutes, percentile):
    """Written out: earlier payments of the recipient, at most a week old, gaps above a minute."""
    table = paid(minutes)
    gaps = past_gaps(table, [percentile], 0)[percentile]
    for i, now in enumerate(table.time.tolist()):
        past = np.diff([t for t in table.time.tolist() if now - WEEK <= t < now])
        past = past[past > WINDOW]
        assert gaps[i] == (round(np.percentile(past, percentile)) if len(past) else DEFAULT)


@given(MINUTES, st.data())
def test_the_safe_gap_does_not_move_with_the_payments_it_protects(minutes, data):
    """Whatever changes within a week, the gaps of that week and before stay as they were."""
    table = paid(minutes)
    week = (table.time - table.time.min()) // WEEK
    chosen = data.draw(st.integers(1, len(minutes) - 1)) if len(minutes) > 1 else 0
    moved = list(minutes)
    moved[chosen] += data.draw(st.integers(0, 300))
    other = paid(moved)
    now, then = closed_gaps(table, [50])[50], closed_gaps(other, [50])[50]
    before = week < week[chosen]

    assert np.array_equal(now[before], then[: before.sum()])
    same_week = (week == week[chosen]) & ((other.time - other.time.min()) // WEEK == week)
    assert np.array_equal(now[same_week], then[same_week])


def test_the_paper_s_gap_does_move():
    """Theory 6d: the median of 0, 10, 20, 24, 40 is 10; with 14 for 24 it is 8."""
    gaps = [past_gaps(paid([0, 10, 20, fourth, 40, 50]), [50], 0)[50][-1] / MINUTE for fourth in (24, 14)]

    assert gaps == [10, 8]


def test_the_example_of_the_theory():
    """A later batched payment has an infinite ratio, a lone one ln(10/8) = 0.22 nats (theory 6d)."""
    before, after, ratio, nats = example()

    assert (before, after, ratio) == (10, 8, None)
    assert nats == pytest.approx(log(10 / 8), abs=1e-3)
    assert round(nats, 2) == 0.22


@given(st.lists(st.integers(WINDOW + 1, WEEK), min_size=1, max_size=20))
def test_usable_gaps_are_never_shorter(gaps):
    """Rounded up to two digits: above the window, and at most a tenth more."""
    whole = usable(np.array(gaps))

    assert (whole * 1_000_000 >= gaps).all()
    assert (whole * 1_000_000 <= 1.1 * np.array(gaps) + 1_000_000).all()
    assert whole.min() > 60


def test_without_delays_everything_is_found(payments):
    """Section on Bitcoin: precision and recall are 100 % when nothing is done."""
    [minute] = [s for s in run_trial(payments, None, "1", [Seeded(0)]).basic if s.cutoff_s == 60]

    assert (minute.counts.precision, minute.counts.recall) == (1.0, 1.0)


def test_the_slip_makes_every_precision_one_half(found):
    """The authors' code adds the hits to the hits."""
    counts = Counts(true_positives=3, false_positives=90, false_negatives=1, true_negatives=5)

    assert as_coded(counts) == 0.5
    assert set(found.tables["slip"].column("precision as coded")) == {0.5}
    assert len(set(found.tables["slip"].column("precision"))) > 1


def test_delays_of_batched_payments_begin_at_the_gap(payments):
    """Gap, window and hold: nothing batched leaves before, and the law ends."""
    gaps = np.full(len(payments.table), 600)
    delays = run_trial(payments, gaps, "1", [Seeded(0)]).delays

    assert delays.min() >= 600 + 60 + 60
    assert delays.max() <= 60 + 660 / (1 - np.exp(-0.5)) + 1


def test_more_draws_are_counted_together(payments):
    """Two draws have twice the linked pairs."""
    gaps = payments.gaps[CLOSED][50]
    one, two = (run_trial(payments, gaps, "1", [Seeded(0, k) for k in range(n)]) for n in (1, 2))
    linked = [t.basic[0].counts.true_positives + t.basic[0].counts.false_negatives for t in (one, two)]

    assert linked[1] == 2 * linked[0] == 2 * payments.truth.linked_pairs
    assert len(two.delays) == 2 * len(one.delays)
    assert (one.draws, two.draws) == (1, 2)


def test_points_of_the_informed_attack_are_named_by_their_multiple(payments):
    """What a point is called is the multiple that has its recall and precision."""
    trial = run_trial(payments, payments.gaps[PAST][50], "1", [Seeded(0)])
    named = {
        ("1 gap" if s.multiple == 1 else f"{s.multiple:g} gaps", s.counts.recall, s.counts.precision)
        for s in trial.informed
    }
    rows = [
        row for layer in attack_charts({"one": trial})["informed-attack"].layer for row in layer.data.values
    ]

    assert any(row.get("text") for row in rows)
    assert {(row["cutoff"], row["recall"], row["precision"]) for row in rows} <= named
    assert all(row.get("text", row["cutoff"]) == row["cutoff"] for row in rows)


def test_every_percentile_of_the_paper_has_its_charts(payments):
    """Figures of the appendix: success and delays at the 25th and 75th percentile, for every epsilon."""
    trial = run_trial(payments, payments.gaps[PAST][50], "1", [Seeded(0)])
    trials = {(MADE_UP, PAST, p, value): trial for p in PERCENTILES for value in ("0.5", "1")}
    drawn = _charts(trials, trial)

    for name in ("basic-attack", "informed-attack", "delays-by-epsilon"):
        assert {name, f"{name}-25", f"{name}-75"} <= set(drawn)
    lines = {row["line"] for row in drawn["delays-by-epsilon-25"].data.values}
    assert lines == {"epsilon 0.5", "epsilon 1"}


def test_who_acts_spends_and_what_is_acted_on_receives():
    """A table of acts is read as payments to its targets."""
    import polars as pl

    from tarry.readers.frames import read_frame

    frame = pl.DataFrame({"actor": [1, 2, 3], "target": [9, 9, 8], "time": [0.0, 30.0, 2e6]})
    later = payments_of(read_frame(frame, time_unit="s"), [50])

    assert len(later.table) == 1  # after the first week
    assert later.table.actor.tolist() == [8]


def test_the_finding_says_what_its_tables_hold(found):
    """Epsilon 1, the median gap, the paper's rule."""
    rows = {tuple(row[:4]): row for row in found.tables["attacks"].rows}
    row = rows[MADE_UP, PAST, 50, "1"]

    assert f"right in {row[5]:.1%} of its claims" in found.says[0]
    assert f"within two hours for {row[6]:.0%}" in found.says[1]
    assert "would be 8 instead of 10" in found.says[3]
    printed, made = found.tables["statistics"].column("payments a day")
    assert f"{made:,} payments a day, {made / printed:.1%} of the paper's" in found.says[0]
    assert rows[MADE_UP, PAST, 50, "0.5"][5] < row[5] < rows[MADE_UP, PAST, 50, "2"][5]


def test_the_same_settings_give_the_same_tables(found):
    """Weeks and draws follow from the seed."""
    assert found.as_json() == find(TINY).as_json()
    assert found.as_json() != find(RunSettings(tiny=True, seed=1)).as_json()
