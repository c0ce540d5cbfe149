"""Content encrypted at rest opens with its own key, for its own post and field, and not otherwise."""

import sys

import pytest
from cryptography.exceptions import InvalidTag

from tarry.core.errors import NotPossible
from tarry.keep.seal import Open, Sealed

SEAL = Sealed(bytes(32))


@pytest.mark.parametrize("plain", [b"", b"hello", bytes(100_000)])
def test_what_is_shut_opens_again(plain):
    """Content of any length comes back, and is not seen in between."""
    stored = SEAL.shut(7, "content", plain)

    assert SEAL.open(7, "content", memoryview(stored)) == plain
    assert not plain or plain not in stored
    assert Open().open(7, "content", Open().shut(7, "content", plain)) == plain


def test_the_same_content_is_stored_differently_each_time():
    """Nobody sees that two posts say the same."""
    assert len({SEAL.shut(7, "content", b"the same") for _ in range(50)}) == 50


@pytest.mark.parametrize(
    ("seal", "post", "field"),
    [(SEAL, 8, "content"), (SEAL, 7, "options"), (Sealed(bytes([1] * 32)), 7, "content")],
)
def test_another_post_field_or_key_does_not_open_it(seal, post, field):
    """A text that was moved to another post or field, or is read with another key, is refused."""
    stored = SEAL.shut(7, "content", b"hello")
    with pytest.raises(InvalidTag):
        seal.open(post, field, stored)


def test_a_changed_byte_is_noticed():
    """A text that somebody has changed is refused."""
    stored = bytearray(SEAL.shut(7, "content", b"hello"))
    stored[-1] ^= 1
    with pytest.raises(InvalidTag):
        SEAL.open(7, "content", bytes(stored))


def test_without_the_package_it_says_what_to_install(monkeypatch):
    """Where the package is missing the error says which one, and how to get it."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(NotPossible, match=r"pip install 'tarry\[fast\]'"):
        Sealed(bytes(32))
