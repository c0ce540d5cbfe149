"""Times of every kind become the same microseconds, or a reason why not."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.times import UNITS, moments

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -2_208_988_800_000_000, 7_289_654_399_999_999  # the years 1900 to 2200
MICROS = st.integers(FIRST, LAST)
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
    assert read.notes == (() if zone else ("times carry no zone: read as UTC",))


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
    assert read.notes == (f"times read as {UNITS[unit]}, by their size",)


@pytest.mark.parametrize("factor", [1000, 10**6, 10**9])
@pytest.mark.parametrize("as_texts", [True, False])
def test_two_units_in_one_column_are_refused(factor, as_texts):
    """A guess that fits some rows only is none."""
    counts = [1_700_000_000, 1_700_000_000 * factor]

    with pytest.raises(BadInput, match=r"mixed units .* give --time-unit s, ms, us or ns"):
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
    assert read.notes == ()


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
        "2024-05-01T10:00:00 Europe/Rome",
        "2024-05-01T",
        "May 1, 2024",
        "٢٠٢٤-٠٥-٠١",
        "2024",
        "1e9",
    ],
)
def test_other_texts_are_no_iso_moments(text):
    """A day that does not exist, an hour or zone out of bounds, a name of a month."""
    assert moments(pl.Series([text]), "iso").reason(0) == f"time is not a moment: {text}"


def test_days_are_read_as_midnight():
    """A column of dates and a text of one are the first moment of the day."""
    assert moments(pl.Series([date(1970, 1, 2)])).arrival.tolist() == [86_400_000_000]
    assert moments(pl.Series([date(1970, 1, 2)])).notes == ("times are days: read as midnight UTC",)
    assert moments(pl.Series(["1970-01-02"])).arrival.tolist() == [86_400_000_000]


def test_texts_without_a_zone_are_counted():
    """A person should know how many were read as UTC."""
    bare, zoned = "2024-05-01T10:00:00", "2024-05-01T10:00:00Z"

    assert moments(pl.Series([bare, bare])).notes == ("times carry no zone: read as UTC",)
    assert moments(pl.Series([bare, zoned, zoned])).notes == ("1 of 3 times carry no zone: read as UTC",)
    assert moments(pl.Series([zoned])).notes == ()


def test_texts_are_what_most_of_them_are():
    """A number among moments is faulty, and so is a moment among numbers."""
    numbers = moments(pl.Series(["1700000000", "1700000001", "2024-05-01"]))
    texts = moments(pl.Series(["1700000000", "2024-05-02", "2024-05-01"]))

    assert numbers.fault.astype(bool).tolist() == [False, False, True]
    assert texts.fault.astype(bool).tolist() == [True, False, False]


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
        (pl.Series(["inf"]), "time is not a finite number: inf"),
        (pl.Series(["later"]), "time is not a moment: later"),
        (pl.Series(["x" * 99]), "time is not a moment: " + "x" * 39 + "…"),
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
    with pytest.raises(BadInput, match="holds numbers, moments or ISO 8601 texts"):
        moments(column.alias("t"))


def test_numbers_are_not_iso():
    """A unit for texts does not fit a column of numbers, unless the file alone states it."""
    with pytest.raises(BadInput, match="--time-unit iso is for texts"):
        moments(pl.Series([5]), "iso")

    assert moments(pl.Series([5]), None, "iso").arrival.tolist() == [5_000_000]


def test_coarse_floats_are_told():
    """Thirty-two bits cannot hold a moment of our age to the second."""
    assert (
        "times are stored as 32-bit floats, which round them"
        in moments(pl.Series([5.0], dtype=pl.Float32)).notes
    )
