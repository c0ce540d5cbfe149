"""Times as people write them: a form and a zone of their own, days of a spreadsheet, a clock from 0."""
# ruff: noqa: DTZ001 - clocks on a wall show no zone

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.clocks import WallClock, at_place, wall_clock
from tarry.readers.files import read_history
from tarry.readers.frames import read_frame
from tarry.readers.times import moments

BERLIN = "Europe/Berlin"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
NAIVE = st.datetimes(datetime(1955, 1, 1), datetime(2060, 1, 1)).map(lambda at: at.replace(microsecond=0))


def micros(moment):
    return (moment - EPOCH) // MICRO


def read(values, **said):
    """A column of these times, as a history with one actor has it."""
    rows = range(len(values))
    frame = pl.DataFrame({"actor": rows, "target": rows, "time": values}, strict=False)
    return read_frame(frame, **said)


@given(st.lists(NAIVE, min_size=1, max_size=20))
def test_texts_of_a_form_are_read_by_it(times):
    texts = [f"{at:%d.%m.%Y %H:%M:%S}" for at in times]

    assert read(texts, time_format="%d.%m.%Y %H:%M:%S").arrival.tolist() == [
        micros(at.replace(tzinfo=UTC)) for at in times
    ]


@given(
    st.lists(NAIVE, min_size=1, max_size=20), st.sampled_from([BERLIN, "America/New_York", "Asia/Kolkata"])
)
def test_times_without_a_zone_are_of_the_zone_given(times, zone):
    """As Python's own zones have it, but for hours that no clock showed: those rows are told."""
    found = moments(pl.Series([f"{at:%Y-%m-%dT%H:%M:%S}" for at in times]), clock=WallClock(zone=zone))
    for row, at in enumerate(times):
        here = at.replace(tzinfo=ZoneInfo(zone))
        existed = here.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) == at
        if existed:
            assert (found.arrival[row], found.fault[row]) == (micros(here), 0)
        else:
            assert found.reason(row).startswith("time was never shown by the clocks of the zone")


def test_a_zone_that_a_text_carries_wins():
    texts = ["2024-07-01T12:00:00", "2024-07-01T12:00:00Z", "2024-07-01T12:00:00+05:00"]
    found = read(texts, time_zone=BERLIN)

    noon = micros(datetime(2024, 7, 1, 12, tzinfo=UTC))
    assert [noon - at for at in found.arrival.tolist()] == [7_200_000_000, 0, 18_000_000_000]
    assert "1 of 3 times carry no zone: read as Europe/Berlin" in found.notes


def test_a_form_may_have_the_zone():
    found = read(["01/07/2024 12:00 +0200"], time_format="%d/%m/%Y %H:%M %z", time_zone="America/New_York")

    assert found.arrival.tolist() == [micros(datetime(2024, 7, 1, 10, tzinfo=UTC))]
    assert "no time of day is without a zone: --time-zone changes nothing" in found.notes


def test_moments_of_a_frame_without_a_zone_are_of_the_zone_given():
    found = read([datetime(2024, 1, 1, 12), datetime(2024, 7, 1, 12)], time_zone=BERLIN)

    assert found.arrival.tolist() == [
        micros(datetime(2024, 1, 1, 11, tzinfo=UTC)),
        micros(datetime(2024, 7, 1, 10, tzinfo=UTC)),
    ]


def test_an_hour_shown_twice_is_told_and_the_first_is_meant():
    found = read(["2024-10-27 02:30:00", "2024-10-27 12:00:00"], time_zone=BERLIN)

    assert found.arrival[0] == micros(datetime(2024, 10, 27, 0, 30, tzinfo=UTC))
    assert "1 times were shown twice when clocks were put back: the first is meant" in found.notes


def test_an_hour_that_was_skipped_is_no_moment():
    found = read(["2024-03-31 02:30:00", "2024-03-31 12:00:00"], time_zone=BERLIN)

    assert len(found) == 1
    assert "was never shown by the clocks" in found.unreadable[0].reason


def test_an_offset_is_a_zone():
    assert at_place(read(["2024-07-01T12:00:00"]).arrival, "-05:30").micros.tolist() == [
        micros(datetime(2024, 7, 1, 17, 30, tzinfo=UTC))
    ]


@pytest.mark.parametrize(
    ("form", "zone", "unit", "sentence"),
    [
        ("%Y", None, "s", "--time-format and --time-unit exclude each other: give one of them"),
        ("day", None, None, "--time-format 'day' has no field such as %Y: write it like '%d.%m.%Y %H:%M'"),
        ("%H:%M", None, None, "--time-format '%H:%M' does not say a day and a year: write it like"),
        ("%Y-%Q", None, None, "--time-format '%Y-%Q' cannot be read: write it like"),
        (None, "Mars", None, "unknown time zone Mars: use a name such as Europe/Berlin, UTC, or an offset"),
        (None, "", None, "the time zone has no name: use a name such as"),
        (None, "+99:00", None, "unknown time zone \\+99:00: use a name such as"),
    ],
)
def test_what_cannot_be_meant_is_refused(form, zone, unit, sentence):
    with pytest.raises(BadInput, match=sentence):
        wall_clock(form, zone, unit)


def test_a_text_that_is_not_of_the_form_is_told_with_its_line(tmp_path):
    path = tmp_path / "acts.csv"
    path.write_text("user,page,at\nann,p1,1.5.2024 10:00\nbob,p2,2024-05-01T10:00\n")
    found = read_history(path, time="at", time_format="%d.%m.%Y %H:%M")

    assert found.arrival.tolist() == [micros(datetime(2024, 5, 1, 10, tzinfo=UTC))]
    assert [(row.line, row.reason.partition(" (")[0].partition(":")[0]) for row in found.unreadable] == [
        (3, "time is not a moment")
    ]


@given(st.lists(NAIVE, min_size=1, max_size=20), st.booleans())
def test_days_of_a_spreadsheet_are_recognised_and_told(times, as_texts):
    """Numbers of days since 1899-12-30 with ten digits after the point, as spreadsheets write them."""
    times = [*times, datetime(2024, 5, 1, 10)]  # one at least has a time of day
    days = [(at - datetime(1899, 12, 30)) / timedelta(days=1) for at in times]
    texts = [f"{day:.10f}" for day in days]
    found = read(texts if as_texts else [float(text) for text in texts])

    assert found.arrival.tolist() == [micros(at.replace(tzinfo=UTC)) for at in times]
    assert found.notes[0].startswith("times read as days of a spreadsheet (--time-unit if not): ")
    assert "times carry no zone: read as UTC" in found.notes


def test_days_of_a_spreadsheet_have_the_zone_of_its_wall():
    assert read([45474.5], time_zone=BERLIN).arrival.tolist() == [
        micros(datetime(2024, 7, 1, 10, tzinfo=UTC))
    ]


def test_numbers_like_days_are_seconds_where_that_is_said():
    assert read([45474.5], time_unit="s").arrival.tolist() == [45_474_500_000]
    assert read([45474, 45475]).arrival.tolist() == [45_474_000_000, 45_475_000_000]


def test_a_clock_from_0_is_not_told_as_1970():
    note = (
        "times read as seconds, by their size: they begin near 0, so they count from a start of their own"
    )

    assert note in read([0, 60, 1_814_400]).notes
    assert note not in read([0, 1_700_000_000]).notes


@pytest.mark.parametrize("values", [[45474.5], [datetime(2024, 7, 1)]])
def test_a_form_for_what_is_no_text_is_refused(values):
    with pytest.raises(BadInput, match=r"--time-format is for texts, and .* holds .*: leave it out"):
        read(values, time_format="%d.%m.%Y %H:%M")


def test_whole_numbers_may_have_a_form():
    assert read([202407011200], time_format="%Y%m%d%H%M").arrival.tolist() == [
        micros(datetime(2024, 7, 1, 12, tzinfo=UTC))
    ]
