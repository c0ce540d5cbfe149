"""Moments as the API writes them."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

__all__ = ["moment"]


def moment(at: Fraction | float) -> str:
    """ISO 8601 in UTC; of a moment between microseconds, the one before it.

    >>> moment(Fraction(60)), moment(Fraction(1, 2))
    ('1970-01-01T00:01:00Z', '1970-01-01T00:00:00.500000Z')
    """
    micros = timedelta(microseconds=int(Fraction(at) * 1_000_000))
    return (datetime(1970, 1, 1, tzinfo=UTC) + micros).isoformat().replace("+00:00", "Z")
