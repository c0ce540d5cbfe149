"""A note for OpenReview: what can be sent is known at the door."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.core.errors import BadInput
from tarry.places.openreview.outlet import note_edit, read_fields, read_options

OPTIONS = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}


@pytest.mark.parametrize(
    "content",
    [
        b'{"rating": 1e999}',
        b'{"rating": -1e999}',
        b'{"rating": [1, {"a": 1e400}]}',
        b'{"comment": "\\ud800"}',
        b'{"\\ud800": "comment"}',
        b'{"rating": NaN}',
        b'{"rating": Infinity}',
        b'{"rating": ' + b"9" * 5000 + b"}",
        b'{"rating": ' + b"[" * 100_000,
    ],
)
def test_what_can_never_be_sent_is_refused_at_the_door(content):
    """Numbers without an end, and halves of characters."""
    with pytest.raises(BadInput, match="the content of a note"):
        read_fields(None, content)


@pytest.mark.parametrize("content_type", [[], {}, 7, None, "text/html"])
def test_a_content_type_is_one_of_two_texts(content_type):
    """Whatever else is given, it is refused and not stumbled over."""
    with pytest.raises(BadInput, match="content_type must be text/plain or application/json"):
        read_options({**OPTIONS, "content_type": content_type})


def test_a_path_that_is_none_is_not_repeated():
    """The sentence may be kept with the post."""
    with pytest.raises(BadInput) as told:
        read_options({**OPTIONS, "accounts": "secret/place.toml"}, own=True)
    assert "secret" not in str(told.value)


@given(text=some.text())
def test_whatever_is_accepted_can_be_sent(text):
    """As JSON in UTF-8."""
    content = json.dumps({"comment": text, "rating": [1.5, text]}).encode()
    try:
        fields = read_fields(None, content)
    except BadInput:
        return
    json.dumps(note_edit(read_options(OPTIONS), fields), allow_nan=False, ensure_ascii=False).encode()
