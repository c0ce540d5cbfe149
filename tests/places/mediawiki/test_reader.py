"""A wiki read through its API: every edit once, in pieces of any size, and a sentence for what is none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from net.loopback import Loopback, says
from places.mediawiki.pretended_wiki import PretendedWiki, iso
from tarry.core.errors import BadInput, NotPossible
from tarry.places.mediawiki.reader import read_wiki
from tarry.readers.faults import PATIENCE

DAY_US = 1_714_521_600_000_000  # 2024-05-01
EDITS = [(second, f"Page {second % 3}", f"Ann {second % 2}", {}) for second in range(10)]


def read(wiki, **options):
    """Events as (second, target, actor), and the stream they came by."""
    with wiki.serve() as server:
        stream = read_wiki(server.url, **options)
        events = list(stream)
    assert server.troubles == 0
    return [((each.time - DAY_US) / 1_000_000, each.target, each.actor) for each in events], stream


def told(stream):
    """Numbers and reasons of what could not be read."""
    return [(fault.line, fault.reason) for fault in stream.faults.first]


def edits_of(*titles, edits=EDITS):
    return [edit[:3] for title in titles for edit in edits if edit[1] == title]


@pytest.mark.parametrize("at_once", [1, 3, 5, 10, 500])
def test_recent_changes_come_whole_and_in_order_however_they_are_cut(at_once):
    """Every token of continuation goes back as it came."""
    found, stream = read(PretendedWiki(EDITS, at_once=at_once))

    assert found == [edit[:3] for edit in EDITS]
    assert stream.faults.count == 0
    assert any("one second" in note for note in stream.notes)
    assert any("only as far as the wiki keeps them" in note for note in stream.notes)


def test_the_namespace_is_the_track_and_the_flag_of_bots_is_read():
    """A bot is one by what the wiki says of the edit."""
    wiki = PretendedWiki([(1, "Talk:A", "Robo", {"bot": True}), (2, "A", "Ann", {})], spaces={"Talk:A": 1})
    with wiki.serve() as server:
        events = list(read_wiki(server.url))

    assert [(event.track, event.is_bot) for event in events] == [("1", True), ("0", False)]


def test_revisions_of_pages_are_read_page_by_page():
    """In the order in which they are asked for; those of bots are not told."""
    found, stream = read(PretendedWiki(EDITS, at_once=2), what="revisions", pages=["Page 2", "Page 0"])

    assert found == edits_of("Page 2", "Page 0")
    assert any("bot" in note for note in stream.notes)


@pytest.mark.parametrize("name", ["Rivers", "Category:Rivers", "category:Rivers"])
def test_revisions_of_a_category_are_those_of_its_pages(name):
    """However many pieces the list of its members has."""
    members = [f"Page {place}" for place in range(7)]
    edits = [(second, members[second % 7], "Ann", {}) for second in range(50)]
    wiki = PretendedWiki(edits, members={"Category:Rivers": members, "category:Rivers": members})

    found, _ = read(wiki, what="revisions", category=name)

    assert found == edits_of(*members, edits=edits)


def test_a_page_that_is_asked_for_in_two_ways_counts_once():
    """By two spellings of its title, or as a member of the category as well."""
    wiki = PretendedWiki(EDITS, members={"Category:Rivers": ["Page 1", "Page 2"]})

    found, _ = read(wiki, what="revisions", pages=["Page 1", "page_1"], category="Rivers")

    assert found == edits_of("Page 1", "Page 2")


@settings(max_examples=15)
@given(some.integers(0, 12), some.integers(0, 12), some.sampled_from(["", ".5"]), some.booleans())
def test_since_counts_and_until_does_not(first, last, part, of_pages):
    """The wiki knows whole seconds and takes both ends in; the reader is exact."""
    since, until = (iso(second).replace("Z", f"{part}Z") for second in (first, last + 13))
    what = {"what": "revisions", "pages": ["Page 1"]} if of_pages else {}
    edits = [(second, "Page 1", "Ann", {}) for second in range(26)]

    found, _ = read(PretendedWiki(edits, at_once=7), since=since, until=until, **what)

    begin, end = (second + (0.5 if part else 0) for second in (first, last + 13))
    assert [edit[0] for edit in found] == [second for second in range(26) if begin <= second < end]


def test_rows_that_are_no_edits_are_told_by_number_and_show_nobody():
    """A hidden user, one without a name, a time that is none."""
    flags = [
        {"userhidden": True},
        {"user": ""},
        {"timestamp": "soon"},
        {"timestamp": None},
        {"title": None},
    ]
    wiki = PretendedWiki([(second, "A", "Ann", flag) for second, flag in enumerate([*flags, {}])])

    found, stream = read(wiki)

    assert found == [(5, "A", "Ann")]
    assert told(stream) == [
        (1, "the contributor is hidden"),
        (2, "actor is missing"),
        (3, "time is not a moment (a text of 4 characters)"),
        (4, "time is missing"),
        (5, "target is missing"),
    ]


def test_a_page_deleted_while_its_category_is_read_is_told():
    """The others are read."""
    wiki = PretendedWiki(EDITS, members={"Category:Rivers": ["Page 1", "Gone", "Page 2"]})

    found, stream = read(wiki, what="revisions", category="Rivers")

    assert found == edits_of("Page 1", "Page 2")
    assert told(stream) == [(4, "the page was deleted meanwhile")]


def test_a_page_that_is_not_there_is_refused_without_its_title():
    """The person who asked for it knows it by its place."""
    with pytest.raises(BadInput, match=r"page 2 of those given is not in the wiki"):
        read(PretendedWiki(EDITS), what="revisions", pages=["Page 1", "Elsewhere"])


def test_a_category_without_pages_is_refused():
    """It may be written otherwise."""
    with pytest.raises(BadInput, match="the category has no pages"):
        read(PretendedWiki(EDITS), what="revisions", category="Nothing")


def test_a_wiki_that_lags_is_left_alone_and_asked_again():
    """It says so with status 200; other busy servers with 429."""
    busy = [
        says({"error": {"code": "maxlag", "info": "Waiting", "lag": 7}}, Retry_After="5"),
        says(status=429, Retry_After="9"),
        says({"error": {"code": "ratelimited"}}),
    ]
    waits = []

    found, _ = read(PretendedWiki(EDITS, before=busy), wait=waits.append)

    assert len(found) == len(EDITS)
    assert waits == [5, 9, 5]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            says({"error": {"code": "readapidenied", "info": "Ann"}}),
            r"\(readapidenied\): use another wiki",
        ),
        (
            says({"error": {"code": "internal_api_error", "info": "Ann"}}),
            r"refused the question \(internal_api",
        ),
        (says({"error": 5}), r"refused the question"),
        (says([]), "answered something that is not of the Action API"),
        (
            says({"name": "a REST API"}),
            "answered something that is not of the Action API: give the address",
        ),
        (says(body=b"<html>Ann</html>"), "answered 16 bytes that are no JSON"),
        (says({"continue": {}}), "says the same again and again"),
        (says(status=403), "403 Forbidden: it does not let this reader in"),
    ],
)
def test_a_wiki_that_refuses_or_is_none_is_told_in_one_sentence(answer, told):
    """Its code, and none of its words."""
    with (
        Loopback(lambda _: answer) as server,
        pytest.raises((BadInput, NotPossible), match=told) as caught,
    ):
        list(read_wiki(server.url))
    assert f"the wiki 127.0.0.1:{server.port}" in str(caught.value)
    assert "Ann" not in str(caught.value)


def test_a_wiki_that_goes_on_without_end_is_noticed():
    """It gives the token it was given."""
    same = says({"continue": {"rccontinue": "1", "continue": "-||"}, "query": {"recentchanges": []}})
    with Loopback(lambda _: same) as server, pytest.raises(NotPossible, match="the same again and again"):
        list(read_wiki(server.url))
    assert len(server.asked) == 2


def test_a_wiki_that_tells_rubbish_is_not_read_to_its_end():
    """After many rows without an event among them."""
    rubbish = {"query": {"recentchanges": [5] * PATIENCE}, "continue": {"rccontinue": "1"}}
    with Loopback(lambda _: says(rubbish)) as server, pytest.raises(BadInput, match="actor is missing"):
        list(read_wiki(server.url))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"what": "log"}, "must be recentchanges or revisions, not 'log'"),
        ({"what": "recentchanges", "pages": ["A"]}, "must be those of the whole wiki"),
        ({"what": "recentchanges", "category": "A"}, "must be those of the whole wiki"),
        ({"what": "revisions"}, "no page is named for --what revisions"),
        ({"what": "revisions", "pages": ["A|B"]}, r"a title must have no \|"),
        ({"what": "revisions", "pages": [""]}, "a title must have"),
        ({"what": "revisions", "category": "A\x1fB"}, "a title must have"),
        ({"since": "2024-05-01"}, "since must be a moment with a zone"),
        ({"until": "Ann"}, "until must be a moment with a zone"),
        ({"since": iso(5), "until": iso(5)}, "until must be after --since"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(options, told):
    """Before the wiki hears of it."""
    with pytest.raises(BadInput, match=told):
        read_wiki("http://127.0.0.1:9/api.php", **options)


def test_an_address_that_can_be_none_is_refused_at_once():
    """With what it should be."""
    with pytest.raises(BadInput, match="the address of a wiki must begin with http"):
        read_wiki("wiki.example")
