"""Columns of times: numbers of any unit, ISO 8601 texts and moments, exact to the microsecond."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.clocks import iso_moments
from tarry.readers.times import (
    FAR,
    FINE,
    HINT,
    MISSING,
    NOT_FINITE,
    UNITS,
    days_of,
    in_reach,
    moments,
    read_numbers,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -2_208_988_800_000_000, 7_289_654_399_999_999  # the years 1900 to 2200
MICROS = st.integers(FIRST, LAST)
NO_ZONE = "times carry no zone: read as UTC"
WHOLE_DAYS = "all times are whole days: nothing can be said about minutes"
SIZE = {"s": 10**6, "ms": 10**3, "us": 1}


@given(
    st.lists(MICROS, min_size=1, max_size=5),
    st.sampled_from(["us", "ns"]),
    st.sampled_from([None, "UTC", "Asia/Kolkata"]),
)
def test_columns_of_moments_are_read_in_any_unit_and_zone(micros, unit, zone):
    """A column that knows its unit and zone needs no other word, and a wrong one does not count."""
    column = pl.Series(micros, dtype=pl.Int64).cast(pl.Datetime("us")).dt.cast_time_unit(unit)
    column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else column
    read = moments(column, "s", "ms")

    assert read.arrival.tolist() == micros
    assert not read.fault.any()
    assert [note for note in read.notes if note != WHOLE_DAYS] == ([] if zone else [NO_ZONE])


@given(st.lists(MICROS, min_size=1, max_size=5), st.sampled_from(list(SIZE)), st.booleans())
def test_whole_numbers_are_exact_in_every_unit(micros, unit, as_texts):
    """As numbers or as texts, without a float on the way."""
    counts = [count // SIZE[unit] for count in micros]
    read = moments(pl.Series([str(count) for count in counts] if as_texts else counts), unit)

    assert read.arrival.tolist() == [count * SIZE[unit] for count in counts]


@given(st.lists(st.integers(FIRST * 1000, LAST * 1000), min_size=1, max_size=5), st.booleans())
def test_nanoseconds_go_to_the_nearest_microsecond(nanos, as_texts):
    """Sixty-three bits of them, without a float on the way."""
    read = moments(pl.Series([str(count) for count in nanos] if as_texts else nanos), "ns")

    assert read.arrival.tolist() == [(count + 500) // 1000 for count in nanos]
    assert moments(pl.Series([499, 500, -500, -501]), "ns").arrival.tolist() == [0, 1, 0, -1]


@given(st.lists(MICROS, min_size=1, max_size=5), st.sampled_from(list(SIZE)))
def test_numbers_with_a_fraction_go_to_the_nearest_microsecond(micros, unit):
    """As floats, as decimals and as texts alike."""
    exact = [Decimal(count) / SIZE[unit] for count in micros]

    for column in (
        pl.Series([float(number) for number in exact]),
        pl.Series([f"{number:f}" for number in exact]),
        pl.Series(exact, dtype=pl.Decimal(38, 6)),
    ):
        assert moments(column, unit).arrival.tolist() == micros


@given(
    st.lists(st.integers(10**15, 2 * 10**15), min_size=1, max_size=5),
    st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_the_unit_of_moments_of_our_age_is_guessed(micros, unit):
    """Between 2001 and 2033 a number's size tells its unit."""
    counts = [count * 1000 if unit == "ns" else count // SIZE[unit] for count in micros]
    read = moments(pl.Series(counts))

    assert read.arrival.tolist() == [
        count if unit == "ns" else count // SIZE[unit] * SIZE[unit] for count in micros
    ]
    first, last = (EPOCH + timedelta(microseconds=end) for end in (min(micros), max(micros)))
    assert f"times read as {UNITS[unit]}, by their size: {first:%Y-%m-%d} to {last:%Y-%m-%d}" in read.notes


@pytest.mark.parametrize("factor", [1000, 10**6, 10**9])
@pytest.mark.parametrize("as_texts", [True, False])
def test_two_units_in_one_column_are_refused(factor, as_texts):
    """A guess that fits some rows only is none."""
    counts = [1_700_000_000, 1_700_000_000 * factor]

    with pytest.raises(
        BadInput, match=r"one unit, and their sizes go from .* give --time-unit s, ms, us or ns"
    ):
        moments(pl.Series([str(count) for count in counts] if as_texts else counts))


def test_a_unit_that_was_given_settles_a_mixture():
    """Then a value of another unit is a row that cannot be read."""
    read = moments(pl.Series([1_700_000_000, 1_700_000_000_000]), "s")

    assert read.arrival.tolist() == [1_700_000_000_000_000, 0]
    assert read.reason(1) == "time is outside the years 1900 to 2200: 1700000000000"


def test_a_relative_clock_near_zero_is_read():
    """Zero, and times before it, are moments like others."""
    assert moments(pl.Series([0, 5, -5])).arrival.tolist() == [0, 5_000_000, -5_000_000]


ZONES = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(MICROS, ZONES, st.sampled_from(["T", " ", "t"]), st.sampled_from(["", ","]), st.booleans())
def test_iso_texts_of_any_zone_are_the_same_moment(micros, zone, between, comma, short):
    """Whatever zone a moment is written in, with a T or a space, a point or a comma."""
    assume(FIRST + 10**12 < micros < LAST - 10**12)  # the year that is written has four digits anyhow
    text = (EPOCH + timedelta(microseconds=micros)).astimezone(zone).isoformat(between)
    text = text.replace(".", comma) if comma else text
    text = text[:-3] + text[-2:] if short else text

    read = moments(pl.Series([text]))

    assert read.arrival.tolist() == [micros]
    assert NO_ZONE not in read.notes


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01z", 1_000_000),
        ("1970-01-01 00:00:01 UTC", 1_000_000),
        ("  1970-01-01T00:00:01Z ", 1_000_000),
        ("1970-01-01T00:01Z", 60_000_000),
        ("19700101T000001Z", 1_000_000),
        ("1970-01-01T01:00+01", 0),
        ("1970-01-01T00:00:00.1Z", 100_000),
        ("1970-01-01T00:00:00.0000005Z", 1),
        ("1970-01-01T00:00:00.000000499999Z", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
    ],
)
def test_iso_texts_of_these_forms_are_read(text, micros):
    """Seconds and fractions may be missing or many, and a leap second has a moment."""
    assert moments(pl.Series([text])).arrival.tolist() == [micros]


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29T00:00:00Z",
        "2024-13-01",
        "2024-05-01T24:00:00Z",
        "2024-05-01T10:60:00Z",
        "2024-05-01T10:00:61Z",
        "2024-05-01T10:00:00+25:00",
        "2024-05-01T",
        "2024",
        "01/05/2024",
    ],
)
def test_other_texts_are_no_iso_moments(text):
    """A day that does not exist, an hour or zone out of bounds, an order of our own."""
    read = moments(pl.Series([text]), "iso")

    assert read.reason(0) == f"time is not a moment: {text}"
    assert read.notes == (HINT,)


@pytest.mark.parametrize(
    "text", ["2024-05-01T10:00:00 Europe/Rome", "May 1, 2024", "٢٠٢٤-٠٥-٠١", "1e9", "ann@example.org"]
)
def test_a_text_that_may_name_somebody_is_not_shown(text):
    """A column that was mistaken for that of the time may hold people."""
    assert (
        moments(pl.Series([text]), "iso").reason(0)
        == f"time is not a moment (a text of {len(text)} characters)"
    )


@given(st.text(min_size=1).filter(str.strip))
def test_a_reason_shows_nothing_but_digits_and_marks_of_dates(text):
    """Whatever a cell holds."""
    read = moments(pl.Series([text]), "s")
    if not read.fault[0]:
        return
    said = read.reason(0)
    for known in ("time ", "is not a moment", "is not a finite number", "is outside the years", " to "):
        said = said.replace(known, "")

    assert re.fullmatch(r"( 19002200)?([ 0-9:.,+\-TZ/…]*| \(a text of [0-9]+ characters?\))", said)


def test_days_are_read_as_midnight():
    """A column of dates and a text of one are the first moment of the day."""
    assert moments(pl.Series([date(1970, 1, 2)])).arrival.tolist() == [86_400_000_000]
    assert moments(pl.Series([date(1970, 1, 2)])).notes == (
        "times are days: read as midnight UTC",
        WHOLE_DAYS,
    )
    assert moments(pl.Series(["1970-01-02"])).arrival.tolist() == [86_400_000_000]


def test_texts_without_a_zone_are_counted():
    """A person should know how many were read as UTC."""
    bare, zoned = "2024-05-01T10:00:00", "2024-05-01T10:00:00Z"

    assert moments(pl.Series([bare, bare])).notes == ("times carry no zone: read as UTC",)
    assert moments(pl.Series([bare, zoned, zoned])).notes == ("1 of 3 times carry no zone: read as UTC",)
    assert moments(pl.Series([zoned])).notes == ()


@pytest.mark.parametrize("unit", [None, "s"])
def test_numbers_and_iso_texts_are_each_read_by_their_own_rule(unit):
    """Whichever are more; how many of each there are is told."""
    read = moments(pl.Series(["1700000000", "1970-01-02T00:00:01Z", "soon", None, "60.5"]), unit)

    assert read.arrival.tolist() == [1_700_000_000_000_000, 86_401_000_000, 0, 0, 60_500_000]
    assert (read.reason(2), read.reason(3)) == (
        "time is not a moment (a text of 4 characters)",
        "time is missing",
    )
    assert read.notes[0] == "2 of 3 times are numbers, the others ISO 8601 texts"
    assert ("by their size: 1970-01-01 to 2023-11-14" in " ".join(read.notes)) == (unit is None)


def test_a_number_is_none_where_texts_are_asked_for():
    """The word of a person decides."""
    read = moments(pl.Series(["1700000000", "2024-05-02T10:00:00Z"]), "iso")

    assert read.fault.astype(bool).tolist() == [True, False]
    assert read.notes == (HINT,)


DAYS = st.lists(st.dates(date(1900, 1, 1), date(2200, 12, 31)), min_size=1, max_size=5)


@given(DAYS, st.sampled_from([pl.Int64, pl.Float64, pl.String]), st.booleans())
def test_numbers_that_are_all_dates_are_days(days, kind, missing):
    """As numbers, as floats or as texts; a row without a time does not matter."""
    numbers = [int(f"{day:%Y%m%d}") for day in days] + [None] * missing
    read = moments(pl.Series(numbers, dtype=pl.Int64).cast(kind))

    midnights = [(day - EPOCH.date()).days * 86_400_000_000 for day in days]
    assert read.arrival.tolist() == midnights + [0] * missing
    assert read.notes == (f"times read as dates (YYYYMMDD): {min(days)} to {max(days)}", WHOLE_DAYS)


@pytest.mark.parametrize("odd", [20240230, 20241301, 18991231, 22010101, 20240501.5, 5])
def test_one_number_that_is_no_date_makes_all_of_them_seconds(odd):
    """A day that does not exist, or one out of bounds."""
    read = moments(pl.Series([20240501, odd], strict=False))

    assert read.arrival.tolist() == [20240501_000_000, int(odd * 1_000_000)]


def test_a_unit_that_was_given_makes_no_dates_of_numbers():
    """Neither does one that the file states."""
    assert moments(pl.Series([20240501]), "s").arrival.tolist() == [20240501_000_000]
    assert moments(pl.Series([20240501]), None, "s").notes == ()


@pytest.mark.parametrize("texts", [["2024-05-01", "2024-05-02T00:00:00Z"], ["0", "86400"]])
def test_times_that_are_all_midnight_are_told(texts):
    """Nobody can be linked by minutes that were never written down."""
    assert WHOLE_DAYS in moments(pl.Series(texts)).notes
    assert WHOLE_DAYS not in moments(pl.Series([*texts, "2024-05-02T00:00:01Z"])).notes


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pl.Series([None], dtype=pl.Int64), "time is missing"),
        (pl.Series([None], dtype=pl.Null), "time is missing"),
        (pl.Series([None], dtype=pl.Datetime), "time is missing"),
        (pl.Series([""]), "time is missing"),
        (pl.Series(["  "]), "time is missing"),
        (pl.Series([float("nan")]), "time is not a finite number: nan"),
        (pl.Series([float("-inf")]), "time is not a finite number: -inf"),
        (pl.Series(["inf"]), "time is not a finite number (a text of 3 characters)"),
        (pl.Series(["later"]), "time is not a moment (a text of 5 characters)"),
        (pl.Series(["x" * 99]), "time is not a moment (a text of 99 characters)"),
        (
            pl.Series([2**63], dtype=pl.UInt64),
            "time is outside the years 1900 to 2200: 9223372036854775808",
        ),
        (pl.Series([-(2**63)]), "time is outside the years 1900 to 2200: -9223372036854775808"),
        (
            pl.Series(["99999999999999999999"]),
            "time is outside the years 1900 to 2200: 99999999999999999999",
        ),
        (
            pl.Series(["1899-12-31T23:59:59Z"]),
            "time is outside the years 1900 to 2200: 1899-12-31T23:59:59Z",
        ),
        (pl.Series(["2201-01-01"]), "time is outside the years 1900 to 2200: 2201-01-01"),
        (pl.Series([date(1899, 12, 31)]), "time is outside the years 1900 to 2200: 1899-12-31"),
        (pl.Series([2**62]).cast(pl.Datetime("us")), "time is outside the years 1900 to 2200"),
        (pl.Series([-(10**9)]).cast(pl.Date), "time is outside the years 1900 to 2200"),
    ],
)
def test_a_time_that_is_none_gets_a_reason(column, reason):
    """Missing, infinite, unreadable or out of all bounds: each is told apart."""
    read = moments(column)

    assert read.reason(0) == reason
    assert read.arrival.tolist() == [0]


def test_the_years_end_where_they_should():
    """The first moment of 1900 and the last of 2200 are in, their neighbours are out."""
    read = moments(pl.Series([FIRST - 1, FIRST, LAST, LAST + 1]), "us")

    assert read.fault.astype(bool).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([True]),
        pl.Series([timedelta(seconds=5)]),
        pl.Series([[1]]),
        pl.Series([{"a": 1}]),
        pl.Series([b"1"]),
        pl.Series([EPOCH.time()]),
    ],
)
def test_columns_that_hold_no_times_are_refused(column):
    """A truth, a duration or a list is no moment, whatever the rows are."""
    with pytest.raises(BadInput, match="must hold numbers, moments or ISO 8601 texts"):
        moments(column.alias("t"))


def test_numbers_are_not_iso():
    """A unit for texts does not fit a column of numbers, unless the file alone states it."""
    with pytest.raises(BadInput, match="--time-unit iso is for texts, and the column holds Int64"):
        moments(pl.Series([5]), "iso")

    assert moments(pl.Series([5]), None, "iso").arrival.tolist() == [5_000_000]


def test_coarse_floats_are_told():
    """Thirty-two bits cannot hold a moment of our age to the second."""
    assert (
        "times are stored as 32-bit floats, which round them"
        in moments(pl.Series([5.0], dtype=pl.Float32)).notes
    )


def test_rows_without_a_moment_do_not_disturb_the_others():
    """Missing and unreadable texts are zero and marked."""
    found = iso_moments(pl.Series(["1970-01-01T00:00:01Z", None, "", "x", "1970-01-01T00:00:02"]))

    assert found.micros.tolist() == [1_000_000, 0, 0, 0, 2_000_000]
    assert found.good.tolist() == [True, False, False, False, True]
    assert found.zoned.tolist() == [True, False, False, False, False]


def test_a_column_of_nothing_has_no_moments():
    """No rows, or only missing ones."""
    assert iso_moments(pl.Series([], dtype=pl.String)).micros.tolist() == []
    assert iso_moments(pl.Series([None], dtype=pl.String)).good.tolist() == [False]


def test_every_digit_of_a_fraction_up_to_the_ninth_counts():
    """The nearest microsecond is taken, however many digits are written."""
    texts = [
        f"1970-01-01T00:00:00.{digits}Z" for digits in ("5", "000001", "0000014", "0000015", "000001999999")
    ]

    assert iso_moments(pl.Series(texts)).micros.tolist() == [500_000, 1, 1, 2, 2]


def test_each_fault_of_a_number_is_told_apart():
    """Fine, missing, not finite and far."""
    numbers = pl.Series([5.0, None, float("inf"), 1e18])

    read = read_numbers(numbers.clear(4).cast(pl.Int64), numbers, "s")

    assert read.fault.tolist() == [FINE, MISSING, NOT_FINITE, FAR]
    assert read.notes == ()


def test_no_numbers_need_no_days():
    """A guess about nothing is still a guess."""
    nothing = pl.Series([None], dtype=pl.Int64)

    assert read_numbers(nothing, nothing, None).notes == ("times read as seconds, by their size",)
    assert days_of(np.array([], dtype=np.int64)) == ""


def test_days_are_those_of_the_years_that_are_read():
    """Before 1970 too, to the last microsecond."""
    ends = np.array([-2_208_988_800_000_000, 7_289_654_399_999_999])

    assert days_of(ends) == "1900-01-01 to 2200-12-31"
    assert in_reach(ends).all()
    assert not in_reach(ends + np.array([-1, 1])).any()
