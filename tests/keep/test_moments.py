"""Moments as they are written in JSON."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.keep.store import moment as written


@given(some.datetimes(min_value=datetime(1970, 1, 1), timezones=some.just(UTC)))  # noqa: DTZ001 - its zone is given
def test_a_moment_can_be_read_back(moment):
    """To the microsecond, and in UTC."""
    at = Fraction((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), 1_000_000)

    assert written(at).endswith("Z")
    assert datetime.fromisoformat(written(at)) == moment


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (Fraction(60), "1970-01-01T00:01:00Z"),
        (Fraction(1, 4), "1970-01-01T00:00:00.250000Z"),
        (Fraction(2, 3), "1970-01-01T00:00:00.666666Z"),
    ],
)
def test_a_moment_is_never_told_later_than_it_is(at, told):
    """Between two microseconds it is the earlier one; whole seconds have no fraction."""
    assert written(at) == told
