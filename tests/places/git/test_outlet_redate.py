"""Commits with another date, as bytes."""

import pytest

from tarry.core.errors import BadInput
from tarry.places.git.outlet import redated_commit

HEAD = b"tree 1\nparent 2\nparent 3\nauthor A <a@x> 5 +0200\ncommitter B <b@x> 7 -0100\n"


def test_dates_and_parents_change_and_nothing_else():
    """Both dates become the release's, known parents their new names; the message may say what it likes."""
    message = b"\n\nparent 2\nauthor A <a@x> 5 +0200\n\xff"

    told = redated_commit(HEAD + b"encoding x" + message, 60, {"2": "4"})

    assert told == (
        b"tree 1\nparent 4\nparent 3\nauthor A <a@x> 60 +0000\ncommitter B <b@x> 60 +0000\nencoding x"
        + message
    )


def test_a_commit_without_a_message_stays_one():
    """No blank line is added where there was none."""
    assert redated_commit(b"tree 1\nauthor A <a> 5 +0200\n", 60, {}) == b"tree 1\nauthor A <a> 60 +0000\n"


@pytest.mark.parametrize("header", [b"gpgsig x\n y\n", b"gpgsig-sha256 x\n y\n"])
def test_signed_commits_are_refused(header):
    """A signature of either kind would hold the old date."""
    with pytest.raises(BadInput, match="a signed commit cannot be dated anew"):
        redated_commit(HEAD + header + b"\nHi", 60, {})


@pytest.mark.parametrize("line", [b"author A <a>", b"author A <a> soon", b"author A 5 +0200"])
def test_a_date_that_is_not_understood_is_refused(line):
    """Rather than to let a date through, a malformed commit is refused."""
    with pytest.raises(BadInput, match="a well-formed author and committer"):
        redated_commit(b"tree 1\n" + line + b"\n\nHi", 60, {})
