"""A store keeps to the key it was begun with."""

import pytest

from contracts.house import KINDS, new_database
from contracts.keeping import stiff_policy
from tarry.core.errors import NotPossible
from tarry.keep.adopt import adopt
from tarry.keep.keys import Keys
from tarry.keep.own_key import check_key
from tarry.keep.postgres import PostgresStore
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Settings, found
from tarry.keep.vault import Vault
from tarry.testing import ManualClock

RIGHT, WRONG = Keys(bytes(range(32))), Keys(bytes(32))
POLICY = stiff_policy()


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    where = new_database(request, request.param, tmp_path)
    store = (PostgresStore if where.startswith("postgres") else SqliteStore)(where)
    with store.transaction("closing") as transaction:
        found(transaction, Settings.of(POLICY), ManualClock())
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
