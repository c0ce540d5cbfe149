"""The Bitcoin outlet: what a node receives is the transaction, once, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import says
from contracts.node_server import SPENT, NodeServer, make_transaction, name_of
from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.places.bitcoin.client import explain
from tarry.places.bitcoin.clues import HOW
from tarry.places.bitcoin.outlet import Bitcoin
from tarry.testing.outlets import SOONEST, OutletCase, OutletKeeping, OutletSuite, opened, release_of

RAW = make_transaction(7, values=(1000, 2000, 3000))
LOCKED = make_transaction(7, locktime=850_000, sequences=[0xFFFFFFFD])


class NodeWorld:
    """One's own store: a post names its node."""

    content = RAW.encode()

    def __init__(self, folder):
        self.node = NodeServer(folder)
        self.options = {"node": self.node.url, "cookie": str(self.node.cookie), "txid": name_of(RAW)}
        self.outlet = Bitcoin()

    def sent(self):
        """What became public, and every byte that was said; saying the same again changes nothing."""
        here, anywhere = f"127.0.0.1:{self.node.port}".encode(), b"127.0.0.1:80"
        said = [(each.head.replace(here, anywhere), each.body) for each in self.node.received]
        return [*self.node.mempool, *dict.fromkeys(said)]

    def close(self):
        """Stop the node."""
        self.node.stop()


class OperatorsWorld(NodeWorld):
    """A gateway's space: the node is the operator's."""

    def __init__(self, folder):
        super().__init__(folder)
        self.options = {}
        self.outlet = Bitcoin(self.node.url, login=self.node.login)


def refuses(code, reason):
    """The node says no."""
    return lambda world: setattr(world.node, "refusal", (code, reason))


def answers(*answer, **more):
    """The node says something else altogether."""
    return lambda world: setattr(world.node, "answer", says(*answer, **more))


TROUBLES = {
    "does not listen": (lambda world: world.node.stop(), Unreachable),
    "hangs up": (lambda world: setattr(world.node, "answer", b""), Unreachable),
    "warms up": (refuses(-28, "Loading block index..."), Unreachable),
    "is busy": (answers(503, "Service Unavailable", body=b"Work queue depth exceeded"), Unreachable),
    "has another cookie": (lambda world: world.node._keys.clear(), Unreachable),
    "is no node": (answers(200, "OK", body=b"<html>"), Unreachable),
    "has a full mempool": (refuses(-26, "mempool min fee not met, 100 < 200"), Unreachable),
    "has a long row": (refuses(-26, "too-long-mempool-chain, too many ancestors [limit: 25]"), Unreachable),
    "knows no such method": (refuses(-32601, "Method not found"), Unreachable),
    "misses a coin": (refuses(*SPENT), Refused),
    "has another one": (refuses(-26, "txn-mempool-conflict"), Refused),
    "wants more for a replacement": (refuses(-26, "insufficient fee, rejecting replacement"), Refused),
    "wants more": (refuses(-26, "min relay fee not met, 1 < 100"), Refused),
    "wants less": (refuses(-25, "Fee exceeds maximum configured by user (e.g. -maxtxfee)"), Refused),
    "wants it later": (refuses(-26, "non-final"), Refused),
    "wants it later still": (refuses(-26, "non-BIP68-final"), Refused),
    "finds a signature wrong": (refuses(-26, "mandatory-script-verify-flag-failed (false)"), Refused),
    "finds dust": (refuses(-26, "dust"), Refused),
    "finds it strange": (refuses(-26, "scriptpubkey"), Refused),
    "cannot read it": (refuses(-22, "TX decode failed. Make sure the tx has at least one input."), Refused),
    "says what nobody knows": (refuses(-26, "brand-new-rule"), Refused),
}


class TestOwnNode(OutletSuite):
    """A node that a post names meets the contract of outlets."""

    case = OutletCase(
        world=NodeWorld,
        undeliverable=[
            {"node": "http://node.example:8332"},
            {"node": None},
            {"node": 7},
            {"cookie": ".cookie"},
            {"login": "/two/ways"},
            {"fee": 7},
            {"txid": 7},
        ],
        troubles=TROUBLES,
    )


class TestOperatorsNode(OutletSuite):
    """And so does an operator's."""

    case = OutletCase(
        world=OperatorsWorld,
        undeliverable=[
            {"node": "http://127.0.0.1:1"},
            {"cookie": "/etc/passwd"},
            {"login": "/etc/passwd"},
            {"txid": None},
        ],
        troubles={name: TROUBLES[name] for name in ("does not listen", "warms up", "misses a coin")},
    )


@pytest.fixture
def world(tmp_path):
    with opened(NodeWorld, tmp_path / "world") as world:
        yield world


# --- once ----------------------------------------------------------------------------------------


def test_only_the_transaction_is_sent(world):
    """One question, with the transaction as it is."""
    world.outlet.deliver(release_of(world))

    assert world.node.asked == [("sendrawtransaction", [RAW])]
    assert world.node.mempool == [name_of(RAW)]


def test_capitals_and_white_space_do_not_leave(world):
    """Who wrote it how is nobody's business."""
    world.outlet.deliver(release_of(world, content=f" {RAW.upper()}\n".encode()))

    assert world.node.asked == [("sendrawtransaction", [RAW])]


@pytest.mark.parametrize("spent", [False, True])
def test_one_that_was_mined_is_done(world, spent):
    """With outputs that are unspent, or, where the node keeps an index, without any."""
    world.node.has_index = True
    world.node.mine(RAW, spent=spent)

    world.outlet.deliver(release_of(world))
    assert world.node.mempool == []


def test_one_that_came_in_while_it_was_refused_is_done(world):
    """It is looked for under its name before anybody says no."""
    world.node.refusal = (-26, "txn-mempool-conflict")
    world.node._getmempoolentry = lambda _: (-5, "Transaction not in mempool")
    world.node._gettxout = lambda _, index: {"confirmations": 1} if index == 2 else None

    world.outlet.deliver(release_of(world))
    assert [method for method, _ in world.node.asked][1:] == [
        "getmempoolentry",
        "getrawtransaction",
        "gettxout",
        "gettxout",
        "gettxout",
    ]


def test_one_that_was_mined_and_spent_is_for_a_person_where_no_node_can_tell(world):
    """And the person is told that this may be so."""
    world.node.mine(RAW, spent=True)
    with pytest.raises(Refused, match="this one spent it long ago, which a node tells only with txindex"):
        world.outlet.deliver(release_of(world))


def test_a_node_that_cannot_say_whether_it_has_it_has_not_said_no(world):
    """It is asked again."""
    world.node.refusal = SPENT
    world.node._getrawtransaction = lambda _: (-28, "Verifying blocks...")
    with pytest.raises(Unreachable, match="the node answered -28"):
        world.outlet.deliver(release_of(world))


def test_a_node_that_says_another_name_is_not_believed(world):
    """A person looks."""
    world.node._sendrawtransaction = lambda _: "00" * 32
    with pytest.raises(Refused, match="the node took it under another name"):
        world.outlet.deliver(release_of(world))


def test_it_leaves_when_the_node_is_back(world):
    """Through a real releaser: away, warming up, with a new cookie, and then once."""
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    cookie = world.node.cookie.read_text()
    world.node.cookie.unlink()
    for refusal in (None, (-28, "Loading wallet..."), (-26, "mempool full")):
        world.node.refusal = refusal
        assert keeping.releaser.release() == 0
        assert keeping.status.state == "waiting"
        keeping.tick(10)
        keeping.releaser.sweep()
        world.node.start(f"{cookie} and more")
    world.node.refusal = None

    assert keeping.releaser.release() == 1
    assert (keeping.status.state, world.node.mempool) == ("released", [name_of(RAW)])


DOUBTS = {
    "a proxy": (answers(502, "Bad Gateway"), True),
    "hangs up": (lambda world: setattr(world.node, "answer", b""), True),
    "broke": (refuses(-1, "Something broke"), True),
    "warms up": (refuses(-28, "Loading block index..."), False),
    "full": (refuses(-26, "mempool full"), False),
    "away": (lambda world: world.node.stop(), False),
    "no cookie": (lambda world: world.node.cookie.unlink(), False),
}


@pytest.mark.parametrize(("trouble", "sent"), DOUBTS.values(), ids=DOUBTS)
def test_only_a_lost_answer_leaves_open_whether_it_is_public(world, trouble, sent):
    """A node that says why it does not take it has not taken it."""
    trouble(world)
    with pytest.raises(Unreachable) as told:
        world.outlet.deliver(release_of(world))
    assert told.value.sent is sent


def test_a_question_that_is_not_answered_is_no_second_sending(world):
    """The node has refused it, and is asked whether it has it: that is no act."""
    world.node.refusal = SPENT
    world.node._getmempoolentry = lambda _: (-1, "Something broke")
    with pytest.raises(Unreachable) as told:
        world.outlet.deliver(release_of(world))
    assert not told.value.sent


def test_one_that_became_invalid_is_parked_and_explained(world):
    """At once, with what a person can do."""
    world.node.refusal = (-26, f"insufficient fee, rejecting replacement {name_of(RAW)}, 1 < 2")
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()

    assert keeping.releaser.release() == 0
    assert (keeping.status.state, keeping.status.problem) == (
        "parked",
        (
            "the node refuses it (insufficient fee, rejecting replacement ..., 1 < 2): it would replace "
            "another one, and pays too little for that: make another one with a higher fee, and send that"
        ),
    )


@given(code=some.integers(-50, 0), reason=some.text(max_size=80))
def test_every_answer_is_a_sentence(code, reason):
    """Whatever a node of the future says; and no name of a transaction is in it."""
    trouble = explain(code, f"{reason} {'a1' * 32}")

    assert isinstance(trouble, Refused | Unreachable)
    assert str(trouble)
    assert "a1" * 32 not in str(trouble)


# --- at the door ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty: give it in hex"),
        (b"hello", "must be written in hex"),
        (b"cHNidP8BAFICAAAAAY", "not a PSBT in base64"),
        (make_transaction(script="").encode(), "1 of 1 inputs of a transaction are not signed"),
        (make_transaction(8).encode(), "the txid of a post must be that of its transaction"),
    ],
)
def test_what_is_no_signed_transaction_of_that_name_is_refused(world, content, sentence):
    """At admission, and again when it would leave."""
    with pytest.raises(BadInput, match=sentence):
        world.outlet.check_content(world.options, content)
    with pytest.raises(Refused, match=sentence):
        world.outlet.deliver(release_of(world, content=content))
    assert world.node.received == []


def test_a_strict_outlet_takes_only_what_does_not_tell_its_moment(world):
    """The refusal says what tells, and how to make one that does not."""
    strict = Bitcoin(world.node.url, cookie=world.node.cookie, strict=True)
    strict.check_content({}, RAW.encode())
    with pytest.raises(BadInput) as told:
        strict.check_content({}, LOCKED.encode())

    assert "tells when it was made: its lock time is block 850000" in str(told.value)
    assert "it may be replaced" in str(told.value)
    assert str(told.value).endswith(HOW)
    world.outlet.check_content({}, LOCKED.encode())  # by default it is for the author to judge
    strict.deliver(release_of(world, content=LOCKED.encode(), options={}))  # once admitted, it leaves


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"node": "node.example"}, "the address of a node must begin with http:// or https://"),
        ({"node": "http://node.example", "cookie": "/a/b"}, "unless it is on this machine"),
        ({"node": "http://127.0.0.1"}, "the node has neither a cookie nor a login"),
        (
            {"node": "http://127.0.0.1", "cookie": "/a/b/c"},
            "there is no folder '/a/b' with a node's cookie",
        ),
        ({"node": "http://127.0.0.1", "login": "/a/b/c"}, "the login file '/a/b/c' cannot be read"),
        ({"cookie": "/a/b"}, "a cookie or a login is given without a node"),
    ],
)
def test_a_bad_setting_is_refused_at_the_start(settings, sentence):
    """In one sentence."""
    with pytest.raises(BadInput, match=sentence):
        Bitcoin(**settings)
