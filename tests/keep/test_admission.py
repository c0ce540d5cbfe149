"""What is done before the transaction; the rest of a request is in contracts/requests_contract.py."""

from hypothesis import example, given
from hypothesis import strategies as st

from tarry.core.entropy import Secure
from tarry.core.policy import Policy
from tarry.keep.admission import Terms, prepare
from tarry.keep.posts import Post
from tarry.testing import memory_vault

POLICY = Policy(epsilon="1", gap="11m")
VAULT = memory_vault(POLICY)
NAMES = st.text("ab/", max_size=3)
PLACES = st.tuples(NAMES, NAMES.filter(bool))


def pseudonym(space, target):
    """What the store knows the target by."""
    post = Post(actor="ann", target=target, outlet="list", content=b"", space=space)
    return prepare(VAULT, Terms(POLICY), Secure(), post).pseudonym


@given(PLACES, PLACES)
@example(("", "a/b"), ("a", "b"))
@example(("a", "b/c"), ("a/b", "c"))
def test_a_target_is_known_by_its_space_and_its_name(one, other):
    """Two targets are the same when both space and name are, however either is spelt."""
    assert (pseudonym(*one) == pseudonym(*other)) == (one == other)


def test_a_request_that_may_come_again_is_known_by_its_own_secret():
    """The key of its post follows from the secret; without one each candidate is another."""
    post = Post(actor="ann", target="p1", outlet="list", content=b"")
    mine = {"secret": "5e" * 32, "body": b"a hash"}
    known = [prepare(VAULT, Terms(POLICY), Secure(), post, **mine) for _ in range(2)]
    fresh = [prepare(VAULT, Terms(POLICY), Secure(), post) for _ in range(2)]

    assert known[0].id == known[1].id
    assert known[0].receipt == known[1].receipt
    assert (fresh[0].id == fresh[1].id, fresh[0].body) == (False, None)
