"""Texts as moments: rows that are none are marked and do no harm."""

import polars as pl

from tarry.readers.iso import iso_moments


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
