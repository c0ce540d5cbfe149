"""The records that go in and out, and what they do not tell."""

from dataclasses import fields
from fractions import Fraction

import pytest

from tarry.keep.posts import Receipt, Release, Status

TICK = Fraction(60)


def status(earliest, latest):
    """A waiting post's."""
    return Status(state="waiting", earliest=earliest, latest=latest, tick=TICK)


@pytest.mark.parametrize(
    ("ticks", "release_at", "between"),
    [
        ((10, 10), 600, (600, 600)),
        ((10, 70), None, (600, 4200)),
        ((None, None), None, None),
    ],
)
def test_a_status_names_moments(ticks, release_at, between):
    """One tick is a moment, two are the moments it lies between, and none are none."""
    assert status(*ticks).release_at == release_at
    assert status(*ticks).between == between


def test_a_release_has_no_arrival_actor_or_number_of_ours():
    """Whatever leaves is a release, and all of its fields may be seen by anybody."""
    assert [field.name for field in fields(Release)] == [
        "id",
        "target",
        "content",
        "options",
        "at",
        "attempt",
    ]


def test_a_receipt_does_not_print_its_secret():
    """A receipt in a log gives nothing away."""
    assert "s3cret" not in repr(Receipt("s3cret", 7, status(1, 1)))
