"""Dumps of wikis: every revision is read back, what is no event is counted, damage is refused."""

import bz2
import gzip
from datetime import UTC, datetime
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.places.mediawiki.reader import read_wiki_dump
from tarry.readers.events import Event

# Written by hand after the schema of MediaWiki's exports, version 0.11.
DUMP = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Testwiki</sitename>
    <dbname>testwiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
    </namespaces>
  </siteinfo>
  <page>
    <title>Rothenburg &amp; Umgebung</title>
    <ns>0</ns>
    <id>12</id>
    <redirect title="Speyer" />
    <revision>
      <id>100</id>
      <timestamp>2024-05-01T10:00:00Z</timestamp>
      <contributor>
        <username>Adelheid</username>
        <id>7</id>
      </contributor>
      <minor />
      <comment>ein Kommentar</comment>
      <origin>100</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="42" sha1="abc" location="tt:100" id="100" />
      <sha1>abc</sha1>
    </revision>
    <revision>
      <id>101</id>
      <parentid>100</parentid>
      <timestamp>2024-05-01T10:00:07Z</timestamp>
      <contributor>
        <ip>2001:DB8::7</ip>
      </contributor>
      <comment deleted="deleted" />
      <text bytes="43" deleted="deleted" />
    </revision>
    <revision>
      <id>102</id>
      <timestamp>2024-05-01T10:00:09Z</timestamp>
      <contributor deleted="deleted" />
      <text bytes="44" />
    </revision>
    <upload>
      <timestamp>2020-01-01T00:00:00Z</timestamp>
      <contributor><username>Balthasar</username><id>8</id></contributor>
      <filename>Rothenburg.jpg</filename>
    </upload>
  </page>
  <page>
    <title>Diskussion:Ulm</title>
    <ns>1</ns>
    <id>13</id>
    <revision>
      <id>103</id>
      <timestamp>2024-05-02T23:59:59Z</timestamp>
      <contributor><username>Adelheid</username><id>7</id></contributor>
      <text bytes="1" />
    </revision>
  </page>
</mediawiki>
"""
FIRST = 1_714_557_600_000_000  # 2024-05-01 10:00:00 UTC
EVENTS = [
    Event("Adelheid", "Rothenburg & Umgebung", FIRST, "0"),
    Event("2001:DB8::7", "Rothenburg & Umgebung", FIRST + 7_000_000, "0"),
    Event("Adelheid", "Diskussion:Ulm", FIRST + (38 * 3600 - 1) * 1_000_000, "1"),
]
HEAD, TAIL = "<mediawiki>\n<page><title>Ulm</title><ns>0</ns>\n", "</page>\n</mediawiki>\n"
WHO, WHEN = (
    "<contributor><username>Ann</username></contributor>",
    "<timestamp>2024-05-01T10:00:00Z</timestamp>",
)


def put(folder, content, name="stub.xml"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def refusal(path):
    with pytest.raises(BadInput) as caught:
        list(read_wiki_dump(path))
    return str(caught.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
def test_every_revision_is_an_event(pack, tmp_path):
    """By name or address, with its page and namespace; an upload is no revision."""
    stream = read_wiki_dump(put(tmp_path, pack(DUMP.encode())))

    assert list(stream) == EVENTS
    assert stream.share() == 1


def test_a_hidden_contributor_is_counted_with_the_line_of_the_revision(tmp_path):
    """The wiki has hidden who it was: that is no event, and nobody pretends that it is none."""
    stream = read_wiki_dump(put(tmp_path, DUMP))
    list(stream)

    line = DUMP[: DUMP.index("<id>102</id>")].count("\n")  # the one before
    assert (stream.faults.count, str(stream.faults.first[0])) == (
        1,
        f"line {line}: the contributor is hidden",
    )


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (WHO, "time is missing"),
        (WHEN, "actor is missing"),
        (WHEN + "<contributor><username /></contributor>", "actor is missing"),
        (WHO + "<timestamp>2024-13-01T10:00:00Z</timestamp>", "time is not a moment: 2024-13-01T10:00:00Z"),
        (WHO + "<timestamp>2024-05-01T10:00:00</timestamp>", "time carries no zone: 2024-05-01T10:00:00"),
        (WHO + "<timestamp>yesterday</timestamp>", "time is not a moment (a text of 9 characters)"),
        (WHO + "<timestamp>1200-05-01T10:00:00Z</timestamp>", "time is outside the years 1900 to 2200"),
    ],
)
def test_a_revision_that_is_no_event_is_counted_and_the_others_are_read(inside, reason, tmp_path):
    """With its line and the reason, which shows nobody's data."""
    bad, good = f"<revision>\n{inside}\n</revision>\n", f"<revision>{WHEN}{WHO}</revision>\n"
    stream = read_wiki_dump(put(tmp_path, HEAD + good + bad + good + TAIL))

    assert len(list(stream)) == 2
    assert stream.faults.count == 1
    assert str(stream.faults.first[0]).startswith(f"line 4: {reason}")


def test_a_page_without_a_title_has_no_target(tmp_path):
    """That of the page before it does not count."""
    untitled = f"</page><page>\n<revision>{WHEN}{WHO}</revision>\n"
    stream = read_wiki_dump(put(tmp_path, HEAD + untitled + TAIL))

    assert list(stream) == []
    assert str(stream.faults.first[0]) == "line 4: target is missing"


def test_the_fields_of_one_revision_are_not_those_of_the_next(tmp_path):
    """A revision that lacks its time or its contributor borrows neither."""
    content = f"<revision>{WHEN}{WHO}</revision>\n<revision></revision>\n<revision>{WHEN}</revision>\n"
    stream = read_wiki_dump(put(tmp_path, HEAD + content + TAIL))

    assert len(list(stream)) == 1
    assert [fault.line for fault in stream.faults.first] == [4, 5]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (DUMP[:-20], "must be well-formed XML in UTF-8, and has an end that comes too early in line 62"),
        ("<posts>\n<row/></posts>", "must begin with <mediawiki>, and has <posts> in line 1"),
        ("<mediawiki>\n<logitem><id>1</id></logitem></mediawiki>", "and has a dump of the log in line 2"),
        ('<!DOCTYPE mediawiki [<!ENTITY a "b">]>\n<mediawiki/>', "must not have a DOCTYPE"),
        (DUMP.replace("Adelheid", "Änne").encode("latin-1"), "not well-formed (invalid token) in line 19"),
        (gzip.compress(DUMP.encode())[:-30], "must be whole gzip data, and ends too early"),
        (b"INSERT INTO `page` VALUES (1,0,'Ulm');\n", "syntax error in line 1"),
    ],
    ids=["cut off", "another root", "a log", "entities", "another encoding", "cut off packed", "SQL"],
)
def test_a_damaged_dump_is_refused_with_its_line(content, told, tmp_path):
    """One sentence that names the file, the rule and where it is broken."""
    found = refusal(put(tmp_path, content))

    assert told in found
    assert found.startswith("the dump stub.xml must ")


def test_no_sentence_shows_who_edited_what(tmp_path):
    """A damaged dump is described by its lines alone."""
    for cut in range(600, len(DUMP) - 20, 97):
        told = refusal(put(tmp_path, DUMP[:cut]))

        assert not any(word in told for word in ("Adelheid", "Rothenburg", "Ulm", "DB8"))


def test_rubbish_of_the_right_form_is_not_read_to_its_end(tmp_path):
    """Ten thousand revisions without a single event among them."""
    content = HEAD + "<revision></revision>\n" * 30_000 + TAIL

    assert "must have rows that can be read, and has none among its first" in refusal(
        put(tmp_path, content)
    )


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=12
).filter(str.strip)
REVISION = st.tuples(TEXT, st.integers(0, 4_000_000_000))
PAGE = st.tuples(TEXT, st.integers(0, 3000), st.lists(REVISION, max_size=4))


def written(pages):
    """A dump of these pages."""
    lines = ["<mediawiki>"]
    for title, space, revisions in pages:
        lines.append(f"<page><title>{escape(title)}</title><ns>{space}</ns>")
        for name, second in revisions:
            moment = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"
            lines.append(
                f"<revision><timestamp>{moment}</timestamp><contributor><username>{escape(name)}</username>"
                f"</contributor></revision>"
            )
        lines.append("</page>")
    return "\n".join([*lines, "</mediawiki>"])


@given(pages=st.lists(PAGE, max_size=4))
def test_what_was_written_is_read_back(pages, tmp_path_factory):
    """Any title, any name, any second of these years."""
    path = put(tmp_path_factory.mktemp("dump"), written(pages))
    wanted = [
        Event(name, title, second * 1_000_000, str(space))
        for title, space, revisions in pages
        for name, second in revisions
    ]

    assert list(read_wiki_dump(path)) == wanted
