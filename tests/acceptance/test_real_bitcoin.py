"""Transactions leave by a real Bitcoin node, on a chain of its own: at their ticks, and once."""

import time
from decimal import Decimal
from types import SimpleNamespace

import pytest

from acceptance.batched_run import running_gateway
from contracts.held_line import HeldLine
from contracts.real_node import Node
from tarry.keep.errors import Refused, Unreachable
from tarry.places.bitcoin.outlet import Bitcoin
from tarry.places.bitcoin.reader import read_bitcoin
from tarry.testing.outlets import SOONEST, OutletKeeping, release_of

SEND = b"sendrawtransaction"
HIGH_FEE = Decimal("0.001")


@pytest.fixture
def outlet(node):
    """An outlet that leads to the node."""
    return Bitcoin(node.url, cookie=node.cookie)


def deliver(outlet, raw):
    """Give a transaction to the outlet as a releaser would."""
    outlet.deliver(release_of(SimpleNamespace(content=raw.encode(), options={})))


# --- end to end -------------------------------------------------------------------------------------


def test_batched_transactions_pass_a_kill_and_an_outage_once_and_at_their_ticks(own_node, tmp_path):
    """Two pairs: one in peace, one whose worker is killed in the middle and whose node goes away."""
    raws = [own_node.payment(coin) for coin in own_node.coins()[:4]]
    posts = [{"target": f"payment {number}", "content": raw} for number, raw in enumerate(raws)]
    with HeldLine(own_node.port) as line:
        outlet = {
            "kind": "bitcoin",
            "node": f"http://127.0.0.1:{line.port}",
            "cookie": str(own_node.cookie),
        }
        with running_gateway(tmp_path, line, outlet) as run:
            sent = run.hand_in(posts[:2])
            run.wait_until_released(sent)
            sent += run.suffer(posts[2:], SEND, own_node)
            assert run.parked() == []
    assert run.exact >= 2, "a tick that was missed explains one or two, and not all"

    mempool = own_node.mempool()
    assert sorted(mempool) == sorted(map(own_node.txid, raws))
    for number, (each, raw) in enumerate(zip(sent, raws, strict=True)):
        run.check_moments(each, raw.encode(), prompt=number < 2)
        assert mempool[own_node.txid(raw)]["time"] >= int(each.latest), "seen before its tick"


def test_what_was_released_is_found_by_the_reader(own_node):
    """In the mempool by its first sight, in a block by the block's time; from and to the right address."""
    outlet = Bitcoin(own_node.url, cookie=own_node.cookie)
    raw, before = own_node.payment(), int(time.time())
    coin = own_node.ask("decoderawtransaction", raw)
    spent = own_node.ask("gettxout", coin["vin"][0]["txid"], coin["vin"][0]["vout"])
    names = (spent["scriptPubKey"]["address"], coin["vout"][0]["scriptPubKey"]["address"])

    deliver(outlet, raw)
    (seen,) = read_bitcoin(own_node.url, cookie=own_node.cookie, mempool=True)
    assert (seen.actor, seen.target) == names
    assert before * 1_000_000 <= seen.time <= time.time() * 1_000_000

    block = own_node.ask("getblock", own_node.mine())
    (mined,) = read_bitcoin(
        own_node.url, cookie=own_node.cookie, blocks=f"{block['height']}-{block['height']}"
    )
    assert (mined.actor, mined.target, mined.time) == (*names, block["time"] * 1_000_000)


# --- what counts as done ----------------------------------------------------------------------------


def test_one_that_is_in_the_mempool_or_mined_is_done(node, outlet):
    """A second try changes nothing, whether somebody has mined it meanwhile or not."""
    raw = node.payment()
    deliver(outlet, raw)
    deliver(outlet, raw)
    assert node.txid(raw) in node.mempool()

    node.mine()
    deliver(outlet, raw)
    assert node.txid(raw) not in node.mempool()


def test_one_that_was_mined_and_spent_is_done_where_the_node_has_an_index(prepared_node, tmp_path):
    """Its outputs are gone, so only an index of all transactions knows it."""
    with Node(prepared_node, tmp_path / "node", txindex=True) as node:
        raw = mined_and_spent(node)
        outlet = Bitcoin(node.url, cookie=node.cookie)
        deadline = time.monotonic() + 60
        while not node.ask("getindexinfo")["txindex"]["synced"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        deliver(outlet, raw)


def test_one_that_was_mined_and_spent_is_for_a_person_where_the_node_has_no_index(node, outlet):
    """Nobody can tell it from one whose coin was spent elsewhere, and the sentence says so."""
    with pytest.raises(Refused, match="this one spent it long ago, which a node tells only with txindex"):
        deliver(outlet, mined_and_spent(node))


def mined_and_spent(node):
    """A transaction whose only output was spent again, all in blocks."""
    raw = node.payment()
    for each in (raw, node.payment(node.coin_of(raw))):
        node.ask("sendrawtransaction", each)
        node.mine()
    return raw


def test_one_of_whose_outputs_some_are_spent_is_done(node, outlet):
    """One output that is still there is enough."""
    raw = node.payment(parts=2)
    for each in (raw, node.payment(node.coin_of(raw, 1))):
        node.ask("sendrawtransaction", each)
        node.mine()
    deliver(outlet, raw)


# --- what is for a person ---------------------------------------------------------------------------


@pytest.mark.parametrize("mined", [False, True])
def test_one_whose_coin_was_spent_elsewhere_is_parked_and_explained(node, outlet, mined):
    """The other transaction stays; the post waits for a person, with a reason."""
    coin = node.coins()[0]
    raw, other = node.payment(coin), node.payment(coin, fee=HIGH_FEE)
    world = SimpleNamespace(outlet=outlet, options={}, content=raw.encode())
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    node.ask("sendrawtransaction", other)
    if mined:
        node.mine()
    keeping.wait_until_due()

    assert keeping.releaser.release() == 0
    assert keeping.status.state == "parked"
    assert ("a coin that it spends is gone" if mined else "replace another one") in keeping.status.problem
    assert node.txid(raw) not in keeping.status.problem
    assert node.txid(raw) not in node.mempool()


def test_one_whose_parent_was_never_sent_is_refused_and_goes_when_it_was(node, outlet):
    """A node keeps nothing that spends an unknown coin."""
    parent = node.payment()
    child = node.payment(node.coin_of(parent))
    with pytest.raises(Refused, match="a coin that it spends is gone or unknown"):
        deliver(outlet, child)

    deliver(outlet, parent)
    deliver(outlet, child)
    assert {node.txid(parent), node.txid(child)} <= set(node.mempool())


def test_one_whose_lock_has_not_ended_is_refused_until_it_has(node, outlet):
    """A lock at a block to come is explained; at that block it can be repeated."""
    height = node.ask("getblockcount")
    raw = node.payment(locktime=height + 2)
    with pytest.raises(Refused, match="its lock has not ended"):
        deliver(outlet, raw)

    node.mine(2)
    deliver(outlet, raw)
    assert node.txid(raw) in node.mempool()


def test_one_that_pays_too_little_or_far_too_much_is_refused(node, outlet):
    """The node's own limits are told as what they are."""
    little, much = node.payment(fee=Decimal("0.00000001")), node.payment(fee=Decimal(1))
    with pytest.raises(Refused, match="so low a fee"):
        deliver(outlet, little)
    with pytest.raises(Refused, match="takes it for a mistake"):
        deliver(outlet, much)
    assert not {node.txid(little), node.txid(much)} & set(node.mempool())


# --- what a later try changes -----------------------------------------------------------------------


def test_a_node_that_is_away_or_starting_is_tried_again_with_its_new_cookie(own_node):
    """Stopped, warming up, back with another cookie: not now, not now, and then done."""
    outlet = Bitcoin(own_node.url, cookie=own_node.cookie)
    raw, cookie = own_node.payment(), own_node.cookie.read_bytes()
    own_node.stop()
    with pytest.raises(Unreachable, match="the node"):
        deliver(outlet, raw)

    own_node.begin()
    end, troubles = time.monotonic() + 60, []
    while True:
        assert time.monotonic() < end, troubles
        try:
            deliver(outlet, raw)
        except Unreachable as trouble:
            troubles.append(str(trouble))
            time.sleep(0.01)
        else:
            break
    own_node.wait()
    assert own_node.cookie.read_bytes() != cookie
    assert list(own_node.mempool()) == [own_node.txid(raw)]


def test_a_node_with_another_cookie_is_tried_again(node, tmp_path):
    """A cookie of yesterday lets nobody in: that is no fault of the transaction's."""
    old = tmp_path / "cookie"
    old.write_text("__cookie__:of yesterday")
    raw = node.payment()
    with pytest.raises(Unreachable, match="does not know this login: check the cookie"):
        deliver(Bitcoin(node.url, cookie=old), raw)
    assert node.txid(raw) not in node.mempool()
