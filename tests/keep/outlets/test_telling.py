"""How a release is told in JSON."""

import base64
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.keep.clock import moment as told_moment
from tarry.keep.outlets.telling import told_content


@given(some.datetimes(min_value=datetime(1970, 1, 1), timezones=some.just(UTC)))  # noqa: DTZ001 - its zone is given
def test_a_moment_can_be_read_back(moment):
    """To the microsecond, and in UTC."""
    at = Fraction((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), 1_000_000)

    assert told_moment(at).endswith("Z")
    assert datetime.fromisoformat(told_moment(at)) == moment


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
    assert told_moment(at) == told


@given(some.binary())
def test_content_can_be_read_back(content):
    """Text as it is, anything else in base64, and never both."""
    ((name, text),) = told_content(content).items()

    assert content == {"content": str.encode, "content_base64": base64.b64decode}[name](text)
