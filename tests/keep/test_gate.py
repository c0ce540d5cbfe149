"""The gate when the store does not answer; what it decides is in contracts/gate_contract.py."""

from contextlib import contextmanager

import pytest

from tarry.core.policy import Policy
from tarry.keep.errors import Unavailable
from tarry.keep.gate import Gate
from tarry.keep.posts import Post
from tarry.testing import memory_vault

POLICY = Policy(epsilon="1", gap="11m")
POST = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")


class LostAnswers:
    """A store whose answer to a commit is lost, so many times."""

    def __init__(self, store, lost):
        self._store, self._lost = store, lost

    @contextmanager
    def transaction(self, kind):
        with self._store.transaction(kind) as transaction:
            yield transaction
        if self._lost:
            self._lost -= 1
            raise Unavailable("the store cannot be used: the connection was cut")


@pytest.fixture
def vault():
    return memory_vault(POLICY)


def test_a_post_whose_acceptance_was_not_confirmed_is_looked_for(vault):
    """If it is there it was accepted: its author gets the receipt, and does not hand it in again."""
    gate, store = Gate(vault, POLICY), vault.store
    vault.store = LostAnswers(store, lost=1)
    receipt = gate.admit(POST)

    assert gate.status(receipt.secret).state == "waiting"
    assert len(gate.posts()) == 1


def test_where_nobody_knows_the_author_is_told_so(vault):
    """If it cannot be looked for either, the sentence says that it may have been accepted."""
    gate = Gate(vault, POLICY)
    vault.store = LostAnswers(vault.store, lost=2)

    with pytest.raises(Unavailable, match="may or may not have been accepted"):
        gate.admit(POST)


def test_the_owners_view_tells_no_arrival(vault):
    """What the queue shows of a post has nothing in it that came from its arrival."""
    gate = Gate(vault, POLICY)
    gate.admit(POST)
    ((row, _),) = gate.posts()

    assert set(row) == {"id", "state", "target", "outlet", "parent"}
