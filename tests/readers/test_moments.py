"""Single moments: exact, in the forms that exports use, or refused with a reason that shows no data."""

import re
from datetime import UTC, datetime, timedelta, timezone
from unittest import mock

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarry.readers.clocks import iso_moments
from tarry.readers.moments import NoMoment, counted_us, is_count, moment_us, unit_by_size

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
FIRST, LAST = datetime.fromisoformat("1900-01-02"), datetime.fromisoformat("2200-12-30")
MOMENTS = st.datetimes(FIRST, LAST, timezones=ZONES)
COUNTS = st.integers(-2_000_000_000_000_000, 7_000_000_000_000_000)

WRITTEN = (
    "(19[1-9]|20[0-9])[0-9]-?[01][0-9]-?[0-3][0-9][Tt ][0-2][0-9]:?[0-6][0-9]"
    "(:?[0-6][0-9]([.,][0-9]{1,12})?)?( ?(Z|z|UTC|GMT|[+-][0-2][0-9](:?[0-6][0-9])?))?"
)
USUAL = (
    "[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.][0-9]{1,6})?"
    "(Z|[+-][0-2][0-9]:[0-6][0-9])?"
)


def micros(moment):
    return (moment - EPOCH) // MICRO


@given(MOMENTS, st.sampled_from(["T", " "]))
def test_what_is_written_as_iso_8601_reads_back(moment, blank):
    """Any zone, any fraction, a T or a blank: the same microsecond."""
    assert moment_us(moment.isoformat(sep=blank)) == micros(moment)


@given(MOMENTS)
def test_a_z_and_a_bare_text_that_means_utc_agree(moment):
    """A time without a zone is UTC only where that is said."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()

    assert moment_us(text + "Z") == moment_us(text, bare_is_utc=True) == micros(moment)
    with pytest.raises(NoMoment, match="carries no zone"):
        moment_us(text)


@given(st.from_regex(WRITTEN, fullmatch=True))
def test_a_single_moment_is_read_as_a_column_of_moments_is(text):
    """The reader of columns and that of single texts agree on every text."""
    column = iso_moments(pl.Series([text]))
    try:
        found = moment_us(text, bare_is_utc=True)
    except NoMoment:
        found = None

    assert found == (column.micros.tolist()[0] if column.good.tolist()[0] else None)


def told(text, **zone):
    """The moment, or the reason why there is none."""
    try:
        return moment_us(text, **zone)
    except NoMoment as error:
        return str(error)


@given(st.from_regex(WRITTEN, fullmatch=True) | st.from_regex(USUAL, fullmatch=True), st.booleans())
@example(text="2016-12-31T23:59:60Z", bare_is_utc=False)
@example(text="2024-02-03T24:00:00Z", bare_is_utc=False)
@example(text="2024-02-03T10:00:00+05:60", bare_is_utc=False)
@example(text="2024-W05-1T10:00:00Z", bare_is_utc=False)
@example(text="0001-01-01T00:00:00+23:59", bare_is_utc=False)
def test_the_quick_way_through_usual_texts_tells_what_the_long_way_tells(text, bare_is_utc):
    """The same microsecond or the same reason."""
    quick = told(text, bare_is_utc=bare_is_utc)
    with mock.patch("tarry.readers.moments._USUAL", re.compile("(?!)")):
        long = told(text, bare_is_utc=bare_is_utc)

    assert quick == long


@given(st.text("0123456789.eE+-: ", max_size=8) | st.text(max_size=4) | st.integers() | st.none())
def test_what_is_a_count_has_a_unit_and_nothing_else_has(value):
    """One rule says what is a number."""
    try:
        unit_by_size(value)
    except NoMoment:
        assert not is_count(value)
    else:
        assert is_count(value)


@given(COUNTS)
def test_a_count_of_any_unit_reads_back(count):
    """Whole numbers are exact, as numbers and as texts; nanoseconds go to the nearest microsecond."""
    assert counted_us(count, "us") == counted_us(str(count), "us") == count
    assert counted_us(count * 1000 + 499, "ns") == counted_us(count * 1000 - 500, "ns") == count
    assert counted_us(count // 1000, "ms") == count // 1000 * 1000
    assert counted_us(f"{abs(count) // 10**6}.000001", "s") == abs(count) // 10**6 * 10**6 + 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "time is missing"),
        ("", "time is missing"),
        ("soon", "time is not a moment (a text of 4 characters)"),
        ("2024-02-30T10:00:00Z", "time is not a moment: 2024-02-30T10:00:00Z"),
        ("2024-02-03T24:00:00Z", "time is not a moment: 2024-02-03T24:00:00Z"),
        ("2024-02-03T10:00:61Z", "time is not a moment: 2024-02-03T10:00:61Z"),
        ("2024-02-03T10:00:00+24:00", "time is not a moment: 2024-02-03T10:00:00+24:00"),
        ("2024-02-03", "time is a day without a time of day: 2024-02-03"),
        ("2024-02-03T10:00", "time carries no zone: 2024-02-03T10:00"),
        ("1899-12-31T23:59:59Z", "time is outside the years 1900 to 2200: 1899-12-31T23:59:59Z"),
        (7, "time is not a moment: 7"),
        (["ann"], "time is not a moment"),
    ],
)
def test_what_is_no_moment_is_told(value, reason):
    """The reason names the rule; a text that may be a person's is only measured."""
    with pytest.raises(NoMoment) as told:
        moment_us(value)

    assert str(told.value) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "time is missing"),
        (True, "time is not a number: True"),
        ("ann", "time is not a number (a text of 3 characters)"),
        (float("nan"), "time is not a number"),
        (float("inf"), "time is not a number"),
        ({"ann": 1}, "time is not a number"),
        pytest.param(10**5000, "time is outside the years 1900 to 2200", id="5000 digits"),
        ("9" * 50, "time is not a number: " + "9" * 39 + "…"),
        (10**11, "time is outside the years 1900 to 2200: 100000000000"),
    ],
)
def test_what_is_no_count_is_told(value, reason):
    """Nothing but finite numbers of a plausible size, whatever a file holds."""
    with pytest.raises(NoMoment) as told:
        counted_us(value, "s")

    assert str(told.value) == reason


def test_the_unit_is_told_by_the_size():
    """This century's moments in each unit."""
    units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    assert {unit_by_size(1_700_000_000 * per): unit for unit, per in units.items()} == {u: u for u in units}
    assert unit_by_size("1700000000.25") == "s"


@pytest.mark.parametrize(
    "text", ["2024-05-01T10:00:00+02:", "2024-05-01T10:00:00+2", "2024-05-01T10:00:00 Z Z"]
)
def test_half_a_zone_is_no_zone_alone_or_in_a_column(text):
    """One form for both: a column took `+02:` once, which single moments refused."""
    assert not iso_moments(pl.Series([text])).good[0]
    with pytest.raises(NoMoment, match="time is not a moment"):
        moment_us(text)
