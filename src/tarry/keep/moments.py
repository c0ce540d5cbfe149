"""Moments as everything that leaves writes them."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

__all__ = ["moment"]

_START = datetime(1970, 1, 1, tzinfo=UTC)


def moment(at: Fraction | float) -> str:
    """ISO 8601 in UTC; of a moment between microseconds, the one before it.

    >>> moment(Fraction(60)), moment(Fraction(1, 2))
    ('1970-01-01T00:01:00Z', '1970-01-01T00:00:00.500000Z')
    """
    above, below = at.as_integer_ratio()
    moment = _START + timedelta(microseconds=above * 1_000_000 // below)
    return moment.isoformat().replace("+00:00", "Z")
