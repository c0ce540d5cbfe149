"""JSON of any length, value by value: whatever its form, its spacing and the size of its blocks."""

import json
import sys
import tracemalloc
from itertools import chain
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.json_stream import Found, json_values

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
INNER = st.recursive(SCALARS, lambda of: st.lists(of, max_size=3) | st.dictionaries(TEXTS, of, max_size=3))
OBJECTS = st.dictionaries(TEXTS, INNER, max_size=3)
SPACES = st.text(" \t\r\n", max_size=3)

#: Python 3.14 counts bytes of its stack instead of brackets, and reads to the end.
TOO_DEEP = (
    "ends inside what begins in line 1: copy it again, to its end"
    if sys.version_info >= (3, 14)
    else "has damage in line 1 (too many brackets in one another): repair that line"
)


def cut(text, size):
    """The bytes of a text in blocks."""
    found = text.encode()
    return [found[at : at + size] for at in range(0, len(found), size)]


@st.composite
def documents(draw):
    """A text, and the values in it with their lines."""
    text, values = draw(SPACES), []
    for _ in range(draw(st.integers(1, 3))):
        is_array = draw(st.booleans())
        held = draw(st.lists(OBJECTS | SCALARS, max_size=4)) if is_array else [draw(OBJECTS)]
        text += "[" + draw(SPACES) if is_array else ""
        for place, value in enumerate(held):
            text += ("," if place else "") + draw(SPACES)
            values.append(Found(text.count("\n") + 1, value))
            written = json.dumps(
                value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1]))
            )
            text += written + draw(SPACES)
        text += "]" + draw(SPACES) if is_array else draw(SPACES)
    return text, values


@given(documents(), st.integers(1, 40))
def test_any_values_in_any_form_read_back_with_their_lines(document, size):
    """Arrays, objects one after the other, any spacing, blocks of any size: the same values."""
    text, values = document

    assert list(json_values(cut(text, size), "it")) == values


ROWS = st.builds(
    lambda rows, between, indent: between.join(json.dumps(row, indent=indent) for row in rows),
    st.lists(st.fixed_dictionaries({"a": SCALARS, "b": INNER}), min_size=2, max_size=6),
    st.sampled_from(["\n", "", "\r\n\r\n"]),
    st.sampled_from([None, 1]),
) | st.lists(OBJECTS, max_size=5).map(lambda rows: json.dumps(rows, indent=0))


@st.composite
def damaged(draw):
    """A text, often of objects in a row, of which up to two characters were lost, changed or added."""
    text = draw(documents().map(lambda document: document[0]) | ROWS)
    for _ in range(draw(st.integers(0, 2))):
        at, lost = draw(st.integers(0, len(text))), draw(st.integers(0, 1))
        text = text[:at] + draw(st.sampled_from(["", *'{}[],:"\\\n 1x'])) + text[at + lost :]
    return text


def told(text, size, prefix):
    """All that a person gets to know of a text: its values with their lines, and its damage."""
    found = []
    try:
        found.extend(json_values(cut(text, size), "it", prefix=prefix))
    except BadInput as error:
        return found, str(error)
    return found, "sound"


@given(damaged(), st.integers(1, 300), st.sampled_from(["", "1", "{"]))
@example(text='"x" {"a": 1}', size=80, prefix="{")
def test_the_quick_way_tells_what_the_long_way_tells(text, size, prefix):
    """The same values on the same lines, and the same sentence about damage, wherever it lies."""
    quick = told(text, size, prefix)
    with mock.patch("tarry.readers.json_stream._Text.plain_objects", return_value=()):
        long = told(text, size, prefix)

    assert quick == long


@pytest.mark.parametrize("form", ["{0}\n{0}\n{0}", "[{0},\n{0} , {0}]", "{0}{0} \r\n{0}\n\n"])
def test_plain_objects_go_the_quick_way(form):
    """On lines or in an array, only the first of them is looked for sign by sign."""
    long = mock.Mock(side_effect=[{"a": 0}])
    text = form.format('{"a": 0}')
    with mock.patch("tarry.readers.json_stream._Text.value", lambda it: (it.skip(8), long())[1]):
        assert [found.value for found in json_values([text.encode()], "it")] == [{"a": 0}] * 3


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.integers(1, 9), st.data())
def test_a_stream_that_is_cut_off_is_never_taken_for_whole(objects, size, data):
    """Wherever an array is cut, that is told, after values that were really there."""
    text = json.dumps(objects)
    end = data.draw(st.integers(1, len(text) - 1))
    found = []

    with pytest.raises(BadInput, match=r"ends inside|damage in line 1"):
        found.extend(found.value for found in json_values(cut(text[:end], size), "it"))

    assert found == objects[: len(found)]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1}\n{"a" 2}\n', "has damage in line 2 (Expecting ':' delimiter): repair that line"),
        (
            '{"a": 1}\n{\n "b": tru,\n "c": "a text that is long enough"}',
            "has damage in line 3 (Expecting value): repair that line",
        ),
        (
            '[\n{"a": 1}\n{"a": 2}]',
            "has damage in line 3 (a comma or a bracket is missing or too much): repair that line",
        ),
        (
            '[\n{"a": 1},\n]',
            "has damage in line 3 (a comma or a bracket is missing or too much): repair that line",
        ),
        ("[1]\n]", "has damage in line 2 (a comma or a bracket is missing or too much): repair that line"),
        (
            '{"a": 1},\n{"a": 2}',
            "has damage in line 1 (a comma or a bracket is missing or too much): repair that line",
        ),
        (
            "[" * 60 + "1",
            "has damage in line 1 (a comma or a bracket is missing or too much): repair that line",
        ),
        ('[\n\n{"a": NaN}]', "has damage in line 3 (a number that is none or too long): repair that line"),
        ("1" * 5000, "has damage in line 1 (a number that is none or too long): repair that line"),
        ("<html>\n<body>", "has damage in line 1 (Expecting value): repair that line"),
        (
            '{"a": "x\ny"}   ' + " " * 20,
            "has damage in line 1 (Invalid control character at): repair that line",
        ),
        ('{"a":' * 20_000, TOO_DEEP),
        ('{"a": 1}\n\n{"a": 2', "ends inside what begins in line 3: copy it again, to its end"),
        ('\n[{"a": 1},\n', "ends inside the array that begins in line 2: copy it again, to its end"),
        (" \n\n", "has nothing but blank lines: give one with JSON in it"),
        ("", "has nothing but blank lines: give one with JSON in it"),
    ],
    ids=range(16),
)
def test_damage_is_told_with_its_line(text, told, size):
    """One sentence, which names the line where a person has to look."""
    with pytest.raises(BadInput) as refused:
        list(json_values(cut(text, size), "the answer"))

    assert str(refused.value) == f"the answer must be JSON, and {told}"


@pytest.mark.parametrize("size", [1, 1000])
def test_bytes_that_are_no_text_are_told_with_their_line(size):
    """The line is counted in what was read before them."""
    bad = b'[1,\n{"a":\n"\xff"}]'

    with pytest.raises(
        BadInput, match=r"damage in line 3 \(the line is not UTF-8 text\): convert it first"
    ):
        list(json_values([bad[at : at + size] for at in range(0, len(bad), size)], "it"))


@given(st.integers(1, 12))
def test_a_prefix_before_each_answer_is_passed_over(size):
    """Answers of some servers begin with a line that no browser would run."""
    text = ')]}\'\n[{"a": 1}]\n)]}\'\n{"a": 2}\n)]}\'\n'

    assert list(json_values(cut(text, size), "it", prefix=")]}'")) == [
        Found(2, {"a": 1}),
        Found(4, {"a": 2}),
    ]


def test_a_mark_of_the_byte_order_is_no_damage():
    """Some editors put one at the beginning."""
    assert list(json_values([b"\xef\xbb", b"\xbf[1]"], "it")) == [Found(1, 1)]


def test_an_object_that_does_not_end_is_not_collected():
    """A text without an end is refused at a bound, not held until the memory is full."""
    taken = 0

    def endless():
        nonlocal taken
        yield b'[1,\n{"a": "'
        while True:
            taken += 1
            yield b"x" * 1000

    with pytest.raises(BadInput, match="more than 50,000 characters in what begins in line 2"):
        list(json_values(endless(), "it", most=50_000))
    assert taken < 200


def peak(count):
    """The most memory that reading this many objects takes."""
    row = b'{"user": {"login": "ann"}, "body": "' + b"x" * 400 + b'"},\n'
    blocks = (row * 100 for _ in range(count // 100))
    tracemalloc.start()
    try:
        read = sum(1 for _ in json_values(chain([b"["], blocks, [b"{}]"]), "it"))
        return read, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_the_length_takes_no_more_memory():
    """Nothing of what was told is kept."""
    peak(500)
    (_, little), (read, much) = peak(500), peak(5000)

    assert read == 5001
    assert much < little * 1.5
