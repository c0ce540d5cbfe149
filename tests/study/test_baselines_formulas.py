"""Each baseline does what its formula says: against slow ones, written event by event."""

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from math import log
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS

HOUR = 3600 * MICROSECONDS
DAY = 24 * HOUR
WEEK = 7 * DAY
ZONES = {
    "UTC": UTC,
    "+05:30": timezone(timedelta(hours=5, minutes=30)),
    "-08:00": timezone(timedelta(hours=-8)),
    "Europe/Berlin": ZoneInfo("Europe/Berlin"),
    "Australia/Lord_Howe": ZoneInfo("Australia/Lord_Howe"),  # half an hour of summer time
    "Africa/Monrovia": ZoneInfo("Africa/Monrovia"),  # changed by 44 minutes and 30 seconds in 1972
}
CHANGES = [63_593_070, 1_711_846_800, 1_729_990_800, 1_712_415_600, 1_728_140_400]
MOMENTS = st.integers(-(10**9), 4 * 10**9).map(lambda s: s * MICROSECONDS) | st.builds(
    lambda change, off: change * MICROSECONDS + off, st.sampled_from(CHANGES), st.integers(-DAY, DAY)
)


def _events(base, unit, size, seed):
    """Few actors, targets and moments: ties and repeated events are common."""
    chance = Random(seed)
    return [
        (chance.randrange(3), chance.randrange(3), base + unit * chance.randint(-4, 8)) for _ in range(size)
    ]


#: Rows (actor, target, time in microseconds), unsorted, close together or days apart, also before 1970.
EVENTS = st.builds(
    _events,
    base=st.sampled_from([0, 1, 1_711_846_800 * MICROSECONDS]),  # the last: clocks change in Europe
    unit=st.sampled_from([1, 7_000, MICROSECONDS // 2, 450 * MICROSECONDS, 30_000 * MICROSECONDS]),
    size=st.integers(0, 40),
    seed=st.integers(0, 1 << 32),  # one number for all rows: drawing each would take most of the time
)


def history_of(events):
    """A history of (actor, target, time) rows in microseconds."""
    actor, target, time = zip(*events, strict=True) if events else ([], [], [])
    return History(actor=np.array(actor, int), target=np.array(target, int), time=np.array(time, int))


def show(text, events, seed=0):
    """What a baseline shows of (actor, target, time) rows."""
    return baseline(text).show(history_of(events), Seeded(seed))


def at(times):
    """Events of different actors on different targets."""
    return [(n, n, time) for n, time in enumerate(times)]


def streams(events, seed):
    """Each event's own numbers, drawn alone."""
    return [
        Seeded(seed).stream(*event, occurrence)
        for event, occurrence in zip(events, history_of(events).occurrences.tolist(), strict=True)
    ]


def in_order(events):
    """The rows by time, then by hash."""
    keys = history_of(events).keys.tolist()
    return sorted(range(len(events)), key=lambda row: (events[row][2], keys[row]))


# --- stamps ------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(ZONES)), st.lists(MOMENTS, max_size=20))
def test_hotcrp_prints_noon_of_the_local_day(zone, times):
    """Printed is the second at which the site's clock, running on as it does then, showed noon."""
    shown = show(f"hotcrp:{zone}", at(times))

    expected = []
    for time in times:
        second = (2 * time + MICROSECONDS) // (2 * MICROSECONDS)
        local = datetime.fromtimestamp(second, ZONES[zone])
        past_noon = (local.hour - 12) * 3600 + local.minute * 60 + local.second
        expected.append((second - past_noon) * MICROSECONDS)
    assert shown.printed.tolist() == expected
    assert shown.release.tolist() == times


def test_hotcrp_takes_the_nearest_second():
    """Half a second before midnight belongs to the next day, and a moment earlier does not."""
    times = [DAY - MICROSECONDS // 2 - 1, DAY - MICROSECONDS // 2]

    assert show("hotcrp", at(times)).printed.tolist() == [DAY // 2, DAY + DAY // 2]


def test_hotcrp_tells_the_hour_apart_on_a_day_when_clocks_change():
    """Before and after the change of the 31st of March 2024 the printed noon differs by an hour."""
    change = 1_711_846_800 * MICROSECONDS
    before, after = show("hotcrp:Europe/Berlin", at([change - 1_000_000, change])).printed.tolist()

    assert before - after == HOUR


@pytest.mark.parametrize("years", [-60_000, -3_000, 9_000, 60_000])
def test_hotcrp_has_a_noon_for_years_without_a_calendar(years):
    """Times that no date can say keep the zone's first or last offset."""
    time = years * 365 * DAY
    shown = show("hotcrp:Europe/Berlin", at([time, time + 1, 0]))

    assert (np.abs(shown.printed - shown.release) <= DAY // 2).all()


@given(EVENTS, st.sampled_from([1, 3, 7_000, MICROSECONDS, HOUR, DAY]))
def test_rounding_prints_the_last_whole_unit(events, unit):
    """Printed is the largest multiple of the unit that is not above the time."""
    shown = show(f"rounding:{unit}us", events)

    assert shown.release.tolist() == [time for _, _, time in events]
    for time, printed in zip(shown.release.tolist(), shown.printed.tolist(), strict=True):
        assert Fraction(printed, unit).denominator == 1
        assert printed <= time < printed + unit


@given(EVENTS, st.integers(1, 10**12), st.integers(0, 5))
def test_backdated_stamps_are_drawn_event_by_event(events, span, seed):
    """Printed lies back by the event's own uniform number of 0..span."""
    shown = show(f"backdated:{span}us", events, seed)

    back = [stream.randbelow(span + 1) for stream in streams(events, seed)]
    assert (shown.release - shown.printed).tolist() == back
    assert shown.release.tolist() == [time for _, _, time in events]


# --- mixes -------------------------------------------------------------------------------------------


@given(EVENTS, st.sampled_from([1, 3, 7_000, MICROSECONDS, HOUR, DAY]))
def test_a_timed_mix_releases_at_the_next_whole_interval(events, interval):
    """Release is the smallest multiple of the interval that is not below the time."""
    shown = show(f"mix:{interval}us", events)

    assert shown.printed is shown.release
    for (_, _, time), release in zip(events, shown.release.tolist(), strict=True):
        assert Fraction(release, interval).denominator == 1
        assert release - interval < time <= release


@given(EVENTS, st.integers(1, 9))
def test_a_threshold_mix_flushes_when_it_is_full(events, threshold):
    """Those waiting leave with the arrival that makes them enough; the rest at the last arrival."""
    expected, waiting = {}, []
    for row in in_order(events):
        waiting.append(row)
        if len(waiting) == threshold:
            expected |= dict.fromkeys(waiting, events[row][2])
            waiting = []
    expected |= {row: max(time for _, _, time in events) for row in waiting}

    shown = show(f"threshold:{threshold}", events)
    assert shown.release.tolist() == [expected[row] for row in range(len(events))]
    assert baseline(f"threshold:{threshold}").stranded(history_of(events)) == len(waiting)


@given(EVENTS, st.integers(1, 10**12), st.integers(1, 4), st.integers(0, 5))
def test_poisson_delays_are_sums_of_exponentials(events, mean, hops, seed):
    """Each delay is the sum of -mean log(u) over the hops, with the event's own numbers u."""
    shown = show(f"poisson:{mean}us*{hops}", events, seed)

    for event, stream, release in zip(events, streams(events, seed), shown.release.tolist(), strict=True):
        delay = sum(-mean * log((stream.randbelow(1 << 53) + 1) / (1 << 53)) for _ in range(hops))
        assert abs(release - event[2] - delay) <= 1 + delay * 1e-12


# --- pool --------------------------------------------------------------------------------------------


def pool_departures(times, interval):
    """How many leave at each moment, round by round, and how many stay: the slow way."""
    departures, waiting, number = Counter(), 0, min(times, default=0) // interval
    quiet = number
    while number <= max(times, default=0) // interval + 40:
        joined = sum(1 for time in times if (number - 1) * interval < time <= number * interval)
        waiting += joined
        send = min(waiting - 6, max(1, waiting * 7 // 10)) if waiting >= 6 + 1 else 0
        departures[number * interval] += send
        waiting -= send
        quiet = number if joined or send else quiet
        number += 1
    departures[quiet * interval + WEEK] += waiting
    return +departures, waiting


@given(EVENTS.flatmap(lambda events: st.sampled_from([events, events * 3])), st.integers(0, 5))
def test_a_pool_sends_as_many_as_the_formula_says(events, seed):
    """The number of departures in each round is the formula's, and nobody leaves before a round."""
    interval = 20 * 60 * MICROSECONDS
    shown = show("pool:20m", events, seed)

    departures, stay = pool_departures([time for _, _, time in events], interval)
    assert Counter(shown.release.tolist()) == departures
    assert baseline("pool:20m").stranded(history_of(events)) == stay
    assert stay == min(len(events), 6)


def test_a_pool_chooses_by_lot():
    """Of eight waiting events two leave, and over many draws each of the eight equally often."""
    draws = 500
    events = at(range(8))
    left = sum(show("pool", events, seed).release == 600 * MICROSECONDS for seed in range(draws))

    assert left.sum() == 2 * draws
    assert np.abs(left - draws / 4).max() < 5 * np.sqrt(draws * 3 / 16)


def test_a_pool_keeps_events_from_round_to_round_by_lot():
    """Who stayed in a round is as likely to leave in the next as who has just come."""
    draws = 500
    events = at([0] * 8 + [1] * 2)  # the first round sends 2 of 8, the second 2 of the 6 and these 2
    second = np.array([show("pool:1us", events, seed).release == 1 for seed in range(draws)])

    assert (second.sum(axis=1) == 2).all()
    newcomers = second[:, 8:].sum()
    assert abs(newcomers - draws / 2) < 5 * np.sqrt(draws / 2)


# --- jitter, order, end ------------------------------------------------------------------------------


@given(EVENTS, st.integers(0, 10**9), st.integers(1, 10**12), st.integers(0, 5))
def test_jitter_is_drawn_event_by_event(events, low, width, seed):
    """Each delay is the shortest plus the event's own uniform number of 0..width."""
    shown = show(f"jitter:{low}us-{low + width}us", events, seed)

    delays = [low + stream.randbelow(width + 1) for stream in streams(events, seed)]
    assert shown.release.tolist() == [event[2] + delay for event, delay in zip(events, delays, strict=True)]
    assert shown.printed is shown.release


def test_both_bounds_of_jitter_are_reached():
    """Between 2 and 5 microseconds there are four delays, equally likely."""
    delays = show("jitter:2us-5us", at([0] * 8000)).release

    assert sorted(Counter(delays.tolist())) == [2, 3, 4, 5]
    assert np.abs(np.bincount(delays)[2:] - 2000).max() < 5 * np.sqrt(8000 * 3 / 16)


@given(EVENTS, st.sampled_from([1, 5, 20_000, HOUR]), st.integers(0, 5))
def test_kloak_draws_above_the_release_before(events, longest, seed):
    """In order of arrival each delay is uniform between what the release before leaves and the longest."""
    shown = show(f"kloak:{longest}us", events, seed)

    own, before, expected = streams(events, seed), None, {}
    for row in in_order(events):
        now = events[row][2]
        low = 0 if before is None else sorted([0, before - now, longest])[1]
        share = Fraction(own[row].randbelow(1 << 53), 1 << 53)
        before = expected[row] = now + low + int(share * (longest - low + 1))
    assert shown.release.tolist() == [expected[row] for row in range(len(events))]


@given(EVENTS, st.integers(0, 5))
def test_kloak_keeps_the_order_and_the_longest_delay(events, seed):
    """No event overtakes an earlier one, and none waits longer than the longest delay."""
    shown = show("kloak:10m", events, seed)

    releases = shown.release[in_order(events)]
    assert (np.diff(releases) >= 0).all()
    assert (shown.release - history_of(events).times <= 600 * MICROSECONDS).all()


def test_the_jitter_of_kloak_shrinks_in_a_burst():
    """After a hundred events at once all further ones wait for the longest delay: no chance is left."""
    longest = 20_000
    delays = np.sort(show("kloak", at([0] * 300)).release)

    assert delays[0] < longest // 2
    assert (delays[100:] == longest).all()


@given(EVENTS.filter(bool))
def test_all_at_the_end_is_one_moment(events):
    """Everything leaves with the last arrival; a given moment holds back what came before it."""
    last = max(time for _, _, time in events)
    given_end = 1_711_846_801 * MICROSECONDS

    assert set(show("end", events).release.tolist()) == {last}
    assert show("end:2024-03-31T01:00:01", events).release.tolist() == [
        max(time, given_end) for _, _, time in events
    ]


@pytest.mark.parametrize("text", ["nothing", "hotcrp", "rounding:1h", "mix:1h", "threshold:2", "end"])
def test_times_in_another_unit_are_converted(text):
    """A history in seconds is shown in microseconds like any other."""
    columns = {"actor": [1, 2, 3], "target": [1, 2, 3]}
    seconds = History(**columns, time=[5, 7000, 90], unit=Fraction(1))
    micros = History(**columns, time=[5_000_000, 7_000_000_000, 90_000_000])

    first, second = (baseline(text).show(history, Seeded(0)) for history in (seconds, micros))
    assert first.release.tolist() == second.release.tolist()
    assert first.printed.tolist() == second.printed.tolist()


@pytest.mark.parametrize("text", ["nothing", "jitter:1h", "hotcrp", "end", "poisson:1h", "kloak"])
def test_only_pools_and_thresholds_strand_events(text):
    """Every other habit releases everything by itself."""
    assert baseline(text).stranded(history_of(at(range(50)))) == 0
