"""The options of a post for a wiki: what can never work is refused while somebody reads why."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.core.errors import BadInput
from tarry.places.mediawiki.outlet import marked, read_change, read_text

CREATE = {"account": "nym", "page": "Owls", "action": "create"}
EDIT = {"account": "nym", "page": "Owls", "action": "edit", "base_revision": 7}
APPEND = {"account": "nym", "page": "Owls", "action": "append", "heading": "Food"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Owls", "Owls"),
        ("Talk:Owls/Archive 1", "Talk:Owls/Archive 1"),
        ("  Barn_owl\u00a0 of  Zu\u0308rich ", "Barn owl of Zürich"),
        ("\u200eOwls\u202c", "Owls"),
        (":Category:Owls", ":Category:Owls"),
        ("AT&T (100% pure)!", "AT&T (100% pure)!"),
        ("...", "..."),
        (".owls", ".owls"),
        ("Spécial: édition", "Spécial: édition"),
        ("x" * 255, "x" * 255),
        ("User talk:" + "x" * 255, "User talk:" + "x" * 255),
    ],
)
def test_a_title_is_kept_as_a_wiki_would(given, kept):
    """Blanks and marks of direction as a wiki takes them; case and namespaces are its own business."""
    assert read_change({**CREATE, "page": given}).page == kept


@pytest.mark.parametrize(
    "title",
    [
        *("", " ", "_", ":", "Talk:", "Talk: _", "\u200e"),
        *("Owls#Food", "a<b", "a>b", "[[Owls]]", "{{Owls}}", "a|b", "a\x7fb", "a\nb", "a\tb", "a\x00b"),
        *(
            "100%25",
            "Owls%20",
            "R&amp;D",
            "&nbsp;",
            "a~~~b",
            "a\ufffdb",
            "a\uffffb",
        ),
        *(".", "..", "./a", "../a", "a/./b", "a/../b", "a/.", "a/.."),
        *("Special:Log", "special: Log", "MEDIA:Owl.png"),
        *("x" * 256, "ü" * 128, "Talk:" + "x" * 256, "\ud800"),
        *(None, 7, ["Owls"], b"Owls"),
    ],
)
def test_a_title_that_no_wiki_has_is_refused(title):
    """Without showing it: the sentence may be kept."""
    with pytest.raises(BadInput, match=r"^(the page of a wiki post |a wiki post has no page)") as told:
        read_change({**CREATE, "page": title})
    assert str(told.value).isprintable()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "unknown action None of a wiki post: use edit, create, append"),
        ({**CREATE, "action": ["edit"]}, "unknown action "),
        (
            {**CREATE, "heading": "x"},
            "a wiki post with action create has no option 'heading': use account,",
        ),
        ({**EDIT, "heading": "x"}, "a wiki post with action "),
        ({**APPEND, "base_revision": 7}, "a wiki post with action "),
        ({**EDIT, 7: 7}, "a wiki post with action "),
        (
            {**EDIT, "base_revision": None},
            "an edit has no base_revision: give the one",
        ),
        (
            {**EDIT, "base_revision": 0},
            "base_revision must be the number of a revision, not 0",
        ),
        ({**EDIT, "base_revision": True}, "base_revision must be the number of a revision, not"),
        ({**EDIT, "base_revision": "7"}, "base_revision must be the number of a revision, not"),
        ({**EDIT, "base_revision": 1 << 63}, "base_revision must be the number of a revision, not"),
        ({**APPEND, "heading": "== =="}, "the heading of a wiki post is empty"),
        (
            {**APPEND, "heading": "x" * 256},
            "the heading of a wiki post must be one line of 1 to 255 characters",
        ),
        (
            {**CREATE, "summary": "x" * 482},
            "the summary of a wiki post must be one line of 0 to 481 characters",
        ),
        ({**CREATE, "summary": "a\u2028b"}, "the summary of a wiki post must be one line"),
        ({**CREATE, "account": ""}, "the account of a wiki post must be one line of 1 to 255 characters"),
        ({**CREATE, "minor": 1}, "minor must be true or false, not"),
        ({**CREATE, "accounts": "/etc/x"}, "a wiki post with action "),
    ],
)
def test_options_that_fit_nothing_are_refused(options, sentence):
    """In one sentence."""
    with pytest.raises(BadInput) as told:
        read_change(options)
    assert str(told.value).startswith(sentence)


@pytest.mark.parametrize("path", ["accounts.toml", "", 7, "/a\0b"])
def test_an_accounts_file_is_named_by_its_whole_path(path):
    """In one's own store, where a post may name one."""
    with pytest.raises(BadInput, match="accounts must be an absolute path"):
        read_change({**CREATE, "accounts": path}, own=True)
    assert str(read_change({**CREATE, "accounts": "/a/b"}, own=True).accounts) == "/a/b"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the content of a wiki post is empty"),
        (b" \r\n\t", "the content of a wiki post is nothing but blanks"),
        (b"\xff", "the content of a wiki post must be UTF-8 text"),
        (b"a\0b", "the content of a wiki post must have no control characters"),
        (b"a\x1bb", "the content of a wiki post must have no control characters"),
        ("a\x85b".encode(), "the content of a wiki post must have no control characters"),
        ("a\uffffb".encode(), "the content of a wiki post must be made of Unicode characters"),
        (
            b"x" * (2_097_152 + 1),
            "the content of a wiki post must be at most 2097152 bytes, not 2097153",
        ),
    ],
)
def test_content_that_no_wiki_keeps_is_refused(content, sentence):
    """What a wiki would silently change is no content of hers."""
    with pytest.raises(BadInput) as told:
        read_text(content)
    assert str(told.value).startswith(sentence)


def test_the_largest_text_is_accepted():
    """Two MiB to the byte."""
    assert len(read_text("ü".encode() * (1 << 20))) == 1 << 20


@given(some.text())
def test_a_text_is_refused_or_normal(text):
    """What is accepted is in the form that a wiki keeps, and says the same."""
    try:
        read = read_text(text.encode(errors="surrogatepass"))
    except BadInput:
        return
    assert read == unicodedata.normalize("NFC", text)
    assert read_text(read.encode()) == read


@given(summary=some.text(max_size=481), number=some.binary(min_size=16, max_size=16))
def test_a_marked_summary_fits_and_ends_in_its_marker(summary, number):
    """A wiki cuts after 500 characters and takes blanks at the ends away: the marker survives both."""
    try:
        summary = read_change({**CREATE, "summary": summary}).summary
    except BadInput:
        return
    sent, marker = marked(summary, number.hex())

    assert sent[:500].strip().endswith(marker)
    assert sent.startswith(summary)
    assert number.hex()[:16] in marker
