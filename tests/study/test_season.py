"""A season that is learned: how many batched acts people make in it, and when one is mentioned."""

from collections import Counter
from fractions import Fraction
from math import ceil

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.pair_loop import EVENTS, data_file, table_of_rows
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.readers.files import read_history
from tarry.study.practice import MICROSECONDS
from tarry.study.season import learn_season, season_hint
from tarry.study.table import event_table, table_of

DAY = 86_400 * MICROSECONDS
G = 960  # seconds, of an 11 min gap and a window of 5 min
POLICY = Policy(epsilon="1", gap="11m")


def batches(*people, every=DAY, start=10**15):
    """Each person makes so many pairs, a minute apart, one every day."""
    actor, target, time = [], [], []
    for person, pairs in enumerate(people):
        for pair in range(pairs):
            actor += [person, person]
            target += [1, 2]
            time += [start + pair * every, start + pair * every + 60 * MICROSECONDS]
    return event_table(actor=actor, target=target, time=time)


def by_loop(rows, window, length, percentile):
    """From the definition: every event against every other, every count by hand."""
    batched = [
        (actor, time)
        for actor, target, time in rows
        if any(a == actor and t != target and abs(at - time) <= window for a, t, at in rows)
    ]
    first, last = (end(time for _, _, time in rows) for end in (min, max))
    span = last - first + 1
    stretches = max(1, round(Fraction(span, length)))
    stretch = ceil(Fraction(span, stretches))
    counts = sorted(Counter((actor, (time - first) // stretch) for actor, time in batched).values())
    if not counts:
        return None
    enough = next(n for n in counts if 100 * sum(m <= n for m in counts) >= percentile * len(counts))
    return max(2, ceil(Fraction(enough * length, stretch))), len({actor for actor, _ in batched})


@given(
    rows=EVENTS.filter(bool),
    unit=st.sampled_from([1, 1_000_000, 60_000_000]),
    window=st.sampled_from([0, 1, 3, 40]),
    length=st.sampled_from([1, 2, 7, 30, 1000]),
    percentile=st.sampled_from([1, 50, 90, 99, 100]),
)
def test_what_is_learned_is_what_a_plain_loop_counts(rows, unit, window, length, percentile):
    """Also for a season longer than the history, times before 1970, ties, and people without a batch."""
    expected = by_loop(rows, window * unit, length * unit, percentile)
    asked = {
        "window": Fraction(window * unit, MICROSECONDS),
        "length": Fraction(length * unit, MICROSECONDS),
        "percentile": percentile,
    }
    if expected is None:
        with pytest.raises(NotPossible, match="nobody in this history has a batch, so there is no season"):
            learn_season(table_of_rows(rows), **asked)
        return

    found = learn_season(table_of_rows(rows), **asked)

    assert (found.acts, found.people) == expected


def test_people_without_a_batch_do_not_count():
    """A crowd that never batches would make every percentile 0."""
    busy = batches(*range(1, 101))
    crowd = event_table(
        actor=[*busy.actor, *range(1000, 5000)],
        target=[*busy.target, *[1] * 4000],
        time=[*busy.time, *[int(busy.time.min())] * 4000],
    )

    assert learn_season(crowd, percentile=90).acts == learn_season(busy, percentile=90).acts == 180


def test_a_season_shorter_than_the_history_is_counted_in_stretches():
    """One pair a day for 100 days: 20 acts in ten days, whatever came before or after."""
    table = batches(100)
    found = learn_season(table, length="10d")

    assert (found.stretches, found.acts) == (10, 21)  # of 9 days and 22 hours: scaled, and rounded up
    assert found.stretch == pytest.approx(99.0007 / 10 * 86_400, rel=1e-5)


def test_somebody_who_was_there_for_a_while_counts_for_that_while():
    """Ten days of 400: scaled down from the whole they would look like one pair in forty days."""
    table = batches(400, *[10] * 99)

    assert learn_season(table, length="40d", percentile=50).acts == 21
    assert learn_season(table, length="40d", percentile=99).acts == pytest.approx(80, abs=1)


def test_a_season_longer_than_the_history_is_scaled_up():
    table = batches(11)  # 10 days and a minute

    assert learn_season(table).acts == 22
    assert learn_season(table, length="100d").acts in (219, 220)
    assert learn_season(table, length="100d").stretches == 1


def test_at_least_one_pair_is_learned():
    table = batches(1, every=DAY)

    assert learn_season(table, length="1s").acts == 2


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"percentile": 0}, "the percentile of a season must lie above 0 and be at most 100, not 0"),
        ({"percentile": 101}, "the percentile of a season must lie above 0 and be at most 100, not 101"),
        ({"length": "0s"}, "the length of a season must be above 0s, not 0s"),
    ],
)
def test_what_cannot_be_learned_is_refused(asked, sentence):
    with pytest.raises(BadInput) as refused:
        learn_season(batches(3), **asked)

    assert str(refused.value) == sentence


def test_the_command_plans_as_many_pairs():
    """Acts are rounded up to whole pairs; a tick of its own is named."""
    learned = learn_season(batches(11))
    policy = Policy(epsilon="1", gap="11m", tick="2s")

    assert (
        learned.command(POLICY) == "tarry plan --season 11 --total 2.3 --delta 0.01 --gap 11m --window 5m"
    )
    assert learned.command(policy, Fraction(7200)) == (
        "tarry plan --season 11 --delta 0.01 --mean-delay 2h --gap 11m --window 5m --tick 2s"
    )


# --- the hint ---------------------------------------------------------------------------------------


def test_a_season_is_mentioned_where_delays_are_long_and_people_batch_often():
    hint = season_hint(batches(40), POLICY, mean=Fraction(11 * G))

    assert (hint.people.pairs, hint.reach, hint.mean) == (40, G, 11 * G)
    assert 8 <= hint.crossing <= 31
    assert "(40 pairs)" in hint.sentence
    assert f"from {hint.crossing} pairs on" in hint.sentence


def test_a_season_is_not_mentioned_below_the_crossing():
    """One pair less than the crossing, and there is nothing to gain clearly."""
    crossing = season_hint(batches(40), POLICY, mean=Fraction(11 * G)).crossing

    assert season_hint(batches(crossing), POLICY, mean=Fraction(11 * G)) is not None
    assert season_hint(batches(crossing - 1), POLICY, mean=Fraction(11 * G)) is None


def test_a_season_is_not_mentioned_where_delays_are_short():
    """About eleven times gap + window are needed: by the limit, else by the policy itself."""
    table = batches(100)

    assert season_hint(table, POLICY, mean=Fraction(10 * G)) is None
    assert season_hint(table, POLICY) is None
    slow = season_hint(table, Policy(epsilon="0.1", gap="11m"))
    assert 10.5 <= slow.mean / G < 11.5


def test_one_busy_person_is_no_reason_for_a_season():
    """The percentile decides, not the most."""
    table = batches(300, *[1] * 199)

    assert season_hint(table, POLICY, mean=Fraction(11 * G)) is None
    assert season_hint(table, POLICY, mean=Fraction(11 * G), percentile=100).people.pairs == 300


# --- real histories ---------------------------------------------------------------------------------

#: Pairs at the median, 90 and 99 percent and the most: over the file | in months of 30 days
PEOPLE = {
    "bitcoin_otc": ([1, 5.5, 19.5, 159], [1, 3, 13.5]),
    "dao_votes": ([2, 12, 55, 159], [1.5, 7, 25.5]),
    "git_oslo": ([2, 12.5, 43, 43], [1.5, 3, 7]),
    "wiki_webdocs_a": ([3, 34.5, 312, 1256.5], [3, 38, 218]),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_people_batch_as_often_as_was_counted_elsewhere(name):
    """Over the file exactly; months that begin on other days differ by a pair or a twentieth."""
    columns = read_history(data_file(f"{name}.parquet"))
    table = table_of(columns, bots="is_bot" not in columns.frame.columns)
    whole, months = PEOPLE[name]

    assert [learn_season(table, percentile=p).acts / 2 for p in (50, 90, 99, 100)] == whole
    found = [learn_season(table, percentile=p, length="30d").acts / 2 for p in (50, 90, 99)]
    assert found == [pytest.approx(pairs, abs=1, rel=0.06) for pairs in months]


def test_of_a_real_history_the_plain_loop_counts_the_same():
    """The busiest person of a file, alone and in the order of the file."""
    columns = read_history(data_file("bitcoin_otc.parquet"))
    frame = columns.frame.filter(pl.col("actor") == columns.frame["actor"].mode().min())
    rows = list(zip(frame["actor"], frame["target"], frame["time"], strict=True))
    expected, _ = by_loop(rows, 300 * MICROSECONDS, 30 * DAY, 90)

    assert learn_season(table_of_rows(rows), length="30d", percentile=90).acts == expected
