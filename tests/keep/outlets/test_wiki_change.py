"""The options of a post for a wiki: what can never work is refused while somebody reads why."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.core.errors import BadInput
from tarry.keep.outlets.wiki_change import marked, read_change, read_text

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
    with pytest.raises(BadInput, match=r"^the page of a wiki post ") as told:
        read_change({**CREATE, "page": title})
    assert str(told.value).isprintable()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "the action of a wiki post is one of edit, create, append, found another"),
        ({**CREATE, "action": ["edit"]}, "the action of a wiki post is one of"),
        (
            {**CREATE, "heading": "x"},
            "an option of a wiki post is one of account, action, minor, page, summ",
        ),
        ({**EDIT, "heading": "x"}, "an option of a wiki post is one of"),
        ({**APPEND, "base_revision": 7}, "an option of a wiki post is one of"),
        ({**EDIT, 7: 7}, "an option of a wiki post is one of"),
        (
            {**EDIT, "base_revision": None},
            "the base_revision of an edit is the number of a revision, found n",
        ),
        (
            {**EDIT, "base_revision": 0},
            "the base_revision of an edit is the number of a revision, found an",
        ),
        ({**EDIT, "base_revision": True}, "the base_revision of an edit is the number of a revision"),
        ({**EDIT, "base_revision": "7"}, "the base_revision of an edit is the number of a revision"),
        ({**EDIT, "base_revision": 1 << 63}, "the base_revision of an edit is the number of a revision"),
        ({**APPEND, "heading": "== =="}, "the heading of a wiki post is not empty"),
        ({**APPEND, "heading": "x" * 256}, "the heading of a wiki post is one line of 1 to 255 characters"),
        ({**CREATE, "summary": "x" * 482}, "the summary of a wiki post is one line of 0 to 481 characters"),
        ({**CREATE, "summary": "a\u2028b"}, "the summary of a wiki post is one line"),
        ({**CREATE, "account": ""}, "the account of a wiki post is one line of 1 to 255 characters"),
        ({**CREATE, "minor": 1}, "the minor of a wiki post is true or false"),
        ({**CREATE, "accounts": "/etc/x"}, "an option of a wiki post is one of"),
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
    with pytest.raises(BadInput, match="the accounts of a wiki post is an absolute path"):
        read_change({**CREATE, "accounts": path}, own=True)
    assert str(read_change({**CREATE, "accounts": "/a/b"}, own=True).accounts) == "/a/b"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the content of a wiki post is not empty, found nothing"),
        (b" \r\n\t", "the content of a wiki post is not empty, found nothing but blanks"),
        (b"\xff", "the content of a wiki post is text in UTF-8, found other bytes"),
        (b"a\0b", "the content of a wiki post has no control characters, found one"),
        (b"a\x1bb", "the content of a wiki post has no control characters, found one"),
        ("a\x85b".encode(), "the content of a wiki post has no control characters, found one"),
        ("a\uffffb".encode(), "the content of a wiki post is made of characters"),
        (
            b"x" * (2_097_152 + 1),
            "the content of a wiki post is at most 2097152 bytes, found 2097153 bytes",
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
