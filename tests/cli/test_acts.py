"""What an act is in a few words: enough to tell one from another, and nothing a terminal obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.cli.queue import what_of


@pytest.mark.parametrize(
    ("outlet", "options", "words"),
    [
        ("mediawiki", {"action": "edit", "page": "Owls", "base_revision": 99999}, "edit Owls (from 99999)"),
        ("mediawiki", {"action": "create", "page": "Owls"}, "create Owls"),
        ("bitcoin", {"txid": "ab" * 32}, "abababab"),
        ("openreview", {"forum": "aBcD1234"}, "note on aBcD1234"),
        ("git", {"branch": "main", "remote": "origin"}, "main to origin"),
        ("mail", {"subject": "Paper 3", "to": ["a@x", "b@x"]}, "Paper 3 to a@x, b@x"),
        ("mail", {"subject": "", "to": ["a@x"]}, "(no subject) to a@x"),
        ("command", {"argv": ["sh", "-c", "exit 3"]}, "sh -c 'exit 3'"),
        ("command", {"argv": ["echo", "x" * 99]}, f"echo {'x' * 40}..."),
        ("another", {"anything": 1}, ""),
        ("git", {}, ""),
        ("mail", {"subject": "x", "to": None}, ""),
    ],
)
def test_each_outlet_tells_its_own(outlet, options, words):
    """A page, a txid, a forum, a branch, a subject, the words of a command."""
    assert what_of(outlet, options) == words


@given(some.text())
def test_it_is_one_short_printable_line(page):
    """Whatever was handed in."""
    words = what_of("mediawiki", {"action": "create", "page": page})

    assert words.isprintable()
    assert len(words) <= 48
