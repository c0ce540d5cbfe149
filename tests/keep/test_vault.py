"""A vault keeps to the key of its store; what is encrypted opens for its own post and field alone."""

import sys

import pytest
from cryptography.exceptions import InvalidTag

from contracts.house import KINDS, new_database
from contracts.keeping import stiff_policy
from tarry.core.errors import NotPossible
from tarry.keep.changes import adopt
from tarry.keep.keys import Keys, Open, Sealed
from tarry.keep.postgres import PostgresStore
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Vault, check_key
from tarry.testing import ManualClock

RIGHT, WRONG = Keys(bytes(range(32))), Keys(bytes(32))
POLICY = stiff_policy()


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    where = new_database(request, request.param, tmp_path)
    store = (PostgresStore if where.startswith("postgres") else SqliteStore)(where)
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(POLICY), ManualClock())
    yield store
    store.close()


def test_another_key_is_refused_and_the_right_one_goes_on(store):
    Vault(store, RIGHT, {}, ManualClock())

    for _ in range(2):
        with pytest.raises(NotPossible, match="this key is not the one that this store was begun with"):
            Vault(store, WRONG, {}, ManualClock())
        Vault(store, RIGHT, {}, ManualClock())


def test_the_mark_tells_nothing_that_the_store_uses(store):
    check_key(store, RIGHT)
    with store.transaction("reading") as transaction:
        mark = bytes(transaction.one("fingerprint")["fingerprint"])

    assert mark not in {RIGHT._key, RIGHT.seal, RIGHT._actor, RIGHT.secret("receipts")}
    assert len(mark) == 32


def test_adopting_another_policy_needs_the_key_too(store):
    """It closes ticks, and would count people under names that nobody knows again."""
    check_key(store, RIGHT)

    with pytest.raises(NotPossible, match="this key"), store.transaction("closing") as transaction:
        adopt(transaction, WRONG, ManualClock(), POLICY)


def test_a_store_that_is_not_founded_yet_takes_no_mark():
    store = SqliteStore(":memory:")
    check_key(store, WRONG)

    check_key(store, RIGHT)


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
    with pytest.raises(NotPossible, match=r"pip install cryptography"):
        Sealed(bytes(32))
