"""Numbers as moments; what they mean is tested with all the other times."""

import numpy as np
import polars as pl

from tarry.readers.numbers import FAR, FINE, MISSING, NOT_FINITE, days_of, in_reach, read_numbers


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
