"""Names of programs, and names of people that look like them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.exports import DEEPEST, LONGEST, XmlStream, is_bot_name


@pytest.mark.parametrize(
    "name", ["dependabot[bot]", "Build Bot", "bot-ci", "lf-jenkins", "Zuul", "my_bot", "x@bots.y"]
)
def test_a_program_is_known_by_a_word_of_its_name(name):
    """Wherever the word stands."""
    assert is_bot_name("", name)


@pytest.mark.parametrize("name", ["Talbot", "abbott@nym.example", "Botha", "Renate", "robotics", ""])
def test_people_are_not_taken_for_programs(name):
    """Three letters inside a name mean nothing."""
    assert not is_bot_name(name)


DOCUMENT = """\
<?xml version="1.0" encoding="utf-8"?>
<list kind="tést">
  <!-- a comment -->
  <entry id="1"><name>Änne &amp; &#66;o</name><other>text</other></entry>
  <entry id="2"><name/></entry>
</list>
""".encode()
SEEN = [
    (2, "list", {"kind": "tést"}),
    (4, "entry", {"id": "1"}),
    (4, "name", "Änne & Bo"),
    (4, "entry", None),
    (5, "entry", {"id": "2"}),
    (5, "name", ""),
    (5, "entry", None),
]


def read(blocks):
    """All that the parser yields."""
    stream = XmlStream("the file", begins={"entry"}, texts={"name"}, ends={"entry"})
    return list(stream.read(blocks))


def refusal(*blocks):
    with pytest.raises(BadInput) as caught:
        read(blocks)
    return str(caught.value)


@given(cuts=st.lists(st.integers(0, len(DOCUMENT)), max_size=8).map(sorted))
def test_blocks_may_end_anywhere(cuts):
    """Inside a tag, a name, a reference or a character of several bytes."""
    edges = [0, *cuts, len(DOCUMENT)]
    blocks = [DOCUMENT[start:end] for start, end in pairwise(edges)]

    assert read(blocks) == SEEN


def test_a_mark_at_the_beginning_is_no_text():
    """Some programs begin their files with one."""
    assert read([b"\xef\xbb\xbf" + DOCUMENT]) == SEEN


@given(end=st.integers(0, len(DOCUMENT) - 9))
def test_a_file_that_was_cut_off_is_refused_with_its_last_line(end):
    """Wherever the end comes, even between two elements."""
    line = DOCUMENT[:end].count(b"\n") + 1
    told = refusal(DOCUMENT[:end]) if end else refusal()

    assert told.startswith(
        "the file must be well-formed XML in UTF-8, and has an end that comes too early in line"
    )
    assert int(told.split(" in line ")[1].split(":")[0]) <= line


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<a>\n<b></c>\n</a>", "mismatched tag in line 2"),
        (b"<a/>\n<b/>", "junk after document element in line 2"),
        (b"actor,target\n1,2\n", "syntax error in line 1"),
        (b"<a>\n\xe9</a>", "not well-formed (invalid token) in line 2"),
        (b"<a>\n\n&who;</a>", "undefined entity in line 3"),
        (b'<a b="1" b="2"/>', "duplicate attribute in line 1"),
        (b"<a>\0</a>", "not well-formed (invalid token) in line 1"),
    ],
)
def test_what_is_not_well_formed_is_refused_with_its_line(content, found):
    """In the words of the parser, which show nothing of the file."""
    told = "the file must be well-formed XML in UTF-8, and has "

    assert refusal(content) == f"{told}{found}: copy it again, whole and unchanged"


def test_another_encoding_is_refused_whatever_the_file_declares():
    """Umlauts in the bytes of another alphabet."""
    content = '<?xml version="1.0" encoding="latin-1"?><list>Änne</list>'.encode("latin-1")

    assert "and has not well-formed (invalid token) in line 1" in refusal(content)


@pytest.mark.parametrize(
    "inside",
    [
        b'<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">',
        b'<!ENTITY secret SYSTEM "file:///etc/hostname">',
        b"",
    ],
)
def test_a_doctype_is_refused_before_its_entities_mean_anything(inside):
    """No bomb that unfolds, and no file of the machine's."""
    content = b"\n<!DOCTYPE list [" + inside + b"]>\n<list><name>&c;&secret;</name></list>"

    assert refusal(content).startswith("the file must not have a DOCTYPE, and has one in line 2")


def test_elements_inside_one_another_are_bounded():
    """No deeper than an export needs."""
    read([b"<a>" * DEEPEST + b"</a>" * DEEPEST])

    assert f"must nest at most {DEEPEST} elements, and has more in line 1" in refusal(
        b"<a>" * (DEEPEST + 1)
    )


def test_a_text_without_end_is_refused_where_it_would_be_kept():
    """A text that nobody asked for may be as long as it likes."""
    part = b"x" * (LONGEST // 2)
    read([b"<list><other>", part, part, part, b"</other></list>"])

    assert "must have texts of at most" in refusal(b"<list>\n<name>", part, part, part)


def test_a_tag_without_end_is_refused():
    """Nothing is told of a tag before it ends, so that it would fill the memory unseen."""
    part = b"x" * (LONGEST // 2)
    assert "must have tags of at most" in refusal(b'<list>\n<entry id="', part, part, part)


def test_an_element_inside_a_text_is_refused():
    """A field has one text, and not two with something in between."""
    told = "must have plain texts in its fields, and has an element inside one in line 1"

    assert told in refusal(b"<list><name>a<b/>c</name></list>")
