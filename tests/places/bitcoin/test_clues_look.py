"""A look by a node on this machine: what fee and lock time tell now, and nothing is sent."""

from decimal import Decimal

import pytest

from contracts.node_server import NodeServer, make_transaction
from tarry.core.errors import BadInput
from tarry.keep.errors import Unreachable
from tarry.places.bitcoin.client import read_node
from tarry.places.bitcoin.clues import look
from tarry.places.bitcoin.transaction import read_transaction

PLAIN = read_transaction(make_transaction(1).encode())
VSIZE = 141


@pytest.fixture
def server(tmp_path):
    """A node whose estimates are 20 for the next block, and 3 for those who can wait."""
    with NodeServer(tmp_path) as server:
        server.estimates = {2: "0.00020456", 6: "0.00012345", 144: "0.00003000"}
        yield server
        assert server.mempool == []


@pytest.fixture
def node(server):
    return read_node(server.url, cookie=server.cookie)


def with_fee(server, satoshis):
    """The node would take it, at this fee."""
    fee = f"~{Decimal(satoshis) / 100_000_000:.8f}~"
    server.verdict = {"allowed": True, "vsize": VSIZE, "fees": {"base": fee}}


def names(clues):
    return [clue.name for clue in clues]


def test_the_estimate_of_the_moment_tells(server, node):
    """A wallet that asked a node pays this."""
    with_fee(server, round(VSIZE * 12.345))
    (clue,) = look(node, PLAIN)

    assert (clue.name, "12.3 satoshis" in clue.sentence, "for 6 blocks" in clue.sentence) == (
        "fee",
        True,
        True,
    )
    assert "whole number" in clue.fix


@pytest.mark.parametrize("fee", [VSIZE * 5, VSIZE * 3, VSIZE * 3 + 3, VSIZE * 3 - 2, round(VSIZE * 7.7)])
def test_a_fee_that_is_round_or_no_estimate_tells_nothing(server, node, fee):
    """Even where the estimate is about as high; a signature may be a byte shorter than was thought."""
    with_fee(server, fee)
    assert look(node, PLAIN) == []


@pytest.mark.parametrize("fee", [VSIZE * 90, VSIZE // 2])
def test_a_fee_far_from_all_others_stands_out(server, node, fee):
    """Much higher, or much lower."""
    with_fee(server, fee)
    (clue,) = look(node, PLAIN)
    assert "stands out" in clue.sentence


def test_a_node_without_estimates_tells_nothing(server, node):
    """A young node knows none."""
    server.estimates = {}
    with_fee(server, 1)
    assert look(node, PLAIN) == []


@pytest.mark.parametrize(("locktime", "told"), [(849_997, "3 blocks"), (850_000, "0 blocks"), (0, None)])
def test_a_lock_time_is_compared_with_the_newest_block(server, node, locktime, told):
    """The distance is the age of the transaction."""
    with_fee(server, VSIZE * 5)
    clues = look(node, read_transaction(make_transaction(1, locktime=locktime).encode()))
    assert names(clues) == ([] if told is None else ["age"])
    assert told is None or f"{told} behind the newest" in clues[0].sentence


def test_those_that_go_first_are_looked_at_with_it(server, node):
    """A node does not know coins that nobody has sent."""
    with_fee(server, VSIZE * 5)
    look(node, PLAIN, [first := read_transaction(make_transaction(2).encode())])
    assert ("testmempoolaccept", [[first.raw.hex(), PLAIN.raw.hex()]]) in server.asked


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("missing-inputs", "the node refuses it"),
        ("max-fee-exceeded", "takes it for a mistake"),
        ("txn-already-in-mempool", "the node has this transaction already"),
        ("txn-already-known", "the node has this transaction already"),
    ],
)
def test_what_would_be_refused_is_refused_now(server, node, reason, sentence):
    """While somebody reads it."""
    server.verdict = {"allowed": False, "reject-reason": reason}
    with pytest.raises(BadInput, match=sentence):
        look(node, PLAIN)


def test_what_may_be_taken_later_is_told(server, node):
    """The mempool may be less full then."""
    server.verdict = {"allowed": False, "reject-reason": "mempool min fee not met"}
    assert names(look(node, PLAIN)) == ["not now"]


def test_a_node_that_cannot_look_says_so(server, node):
    """Then --look is left out, or tried again."""
    server._testmempoolaccept = lambda _: (-28, "Loading block index...")
    with pytest.raises(Unreachable, match="the node cannot look at it"):
        look(node, PLAIN)


@pytest.mark.parametrize("rate", ["1e99999999", -1, 10**30, True, [], None])
def test_a_node_that_tells_no_amount_has_not_looked(server, node, rate):
    """A text of a million digits would take for ever to work out."""
    with_fee(server, VSIZE * 5)
    server._estimatesmartfee = lambda *_: {"feerate": rate}
    with pytest.raises(Unreachable, match="the node answered something that is no answer of a node"):
        look(node, PLAIN)


@pytest.mark.parametrize(
    "verdict",
    [
        {},
        {"vsize": 1},
        {"fees": {"base": 1}},
        {"fees": 1, "vsize": 1},
        {"fees": {"base": 1}, "vsize": 10**99},
    ],
)
def test_half_a_verdict_is_none(server, node, verdict):
    """It is told as what it is, and not as a fault of this program."""
    server.verdict = {"allowed": True, **verdict}
    with pytest.raises(Unreachable, match="the node answered something that is no answer of a node"):
        look(node, PLAIN)


@pytest.mark.parametrize("tip", ["850000", -1, None, {}])
def test_a_tip_is_a_number(server, node, tip):
    """Nothing else is compared with a lock time."""
    server.tip = tip
    with pytest.raises(Unreachable, match="the node answered something that is no answer of a node"):
        look(node, read_transaction(make_transaction(1, locktime=1).encode()))


def test_a_node_elsewhere_is_not_asked(server):
    """It would see the transaction before its time."""
    far = read_node("https://node.example", cookie=server.cookie)
    with pytest.raises(BadInput, match="a node elsewhere would see the transaction before its time"):
        look(far, PLAIN)
    assert server.received == []
