"""What answers of a server come to; the real one is in tarry's acceptance tests."""

import pytest
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.http_call import Response

from tarry_mastodon import client

TOO_LONG = b'{"error": "Validation failed: Text character limit of 500 exceeded"}'


@pytest.mark.parametrize(
    ("expected", "statuses"),
    [
        (Refused, (301, 403, 404, 410, 422)),
        (LockedOut, (401, 429)),
        (Unreachable, (408, 425, 500, 502, 503)),
    ],
)
def test_a_bad_answer_is_sorted_by_who_can_mend_it(expected, statuses):
    """The author, whoever keeps the accounts, or time."""
    for status in statuses:
        with pytest.raises(expected, match=str(status)) as trouble:
            client._fail(Response(status=status))  # noqa: SLF001 - no server gives all of these when asked
        assert type(trouble.value) is expected


def test_a_rule_of_the_server_is_told_and_no_words_of_the_author():
    """What a limit says is for the author; an answer that repeats a status is not."""
    with pytest.raises(Refused, match="limit of 500 exceeded"):
        client._fail(Response(status=422, body=TOO_LONG))  # noqa: SLF001 - likewise
    with pytest.raises(Refused) as trouble:
        client._fail(Response(status=422, body=b'{"error": "Validation failed: \\"Owls eat\\""}'))  # noqa: SLF001
    assert "Owls" not in str(trouble.value)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("9" * 9, 86_400), ("soon", 300), ("", 300)])
def test_an_account_stays_away_as_long_as_the_server_wants(header, seconds):
    """Within bounds, and five minutes where it does not say."""
    with pytest.raises(LockedOut) as trouble:
        client._fail(Response(status=429, headers={"retry-after": header}))  # noqa: SLF001 - likewise
    assert trouble.value.wait_s == seconds
