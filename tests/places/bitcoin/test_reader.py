"""A Bitcoin node read over its RPC: who paid whom, by the time of the block or of first sight."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from net.loopback import Loopback, says
from places.bitcoin.pretended_node import LOGIN, PretendedNode, out, payment
from tarry.core.errors import BadInput, NotPossible
from tarry.places.bitcoin.reader import read_bitcoin

BEGAN = 1_714_521_600


def read(node, **options):
    """Events as (seconds, actor, target), and the stream they came by."""
    with node.serve() as server:
        stream = read_bitcoin(server.url.removesuffix("api.php"), **{"login": LOGIN} | options)
        events = list(stream)
    assert server.troubles == 0
    assert {event.track for event in events} <= {""}
    return [(event.time / 1_000_000, event.actor, event.target) for event in events], stream


def told(stream):
    """Numbers and reasons of what could not be read."""
    return [(fault.line, fault.reason) for fault in stream.faults.first]


def paid(number, payer, *outputs):
    """One payment with one input."""
    return payment(f"t{number}", [out("old", number, payer)], outputs)


@pytest.mark.parametrize("modern", [True, False])
def test_the_payments_of_blocks_are_read_with_their_blocks_time(modern):
    """Both ends of the range count, new coins do not."""
    blocks = [[paid(height, f"ann{height}", f"bob{height}"), paid(9, "eve", "bob")] for height in range(5)]

    found, stream = read(PretendedNode(blocks, modern=modern), blocks="1-3")

    assert found == [
        (BEGAN + 600 * height, *pair)
        for height in (1, 2, 3)
        for pair in ((f"ann{height}", f"bob{height}"), ("eve", "bob"))
    ]
    assert stream.faults.count == 0
    assert any("miner's clock" in note for note in stream.notes)
    assert any("give a mapping" in note for note in stream.notes)
    assert not any("first seen" in note for note in stream.notes)


@pytest.mark.parametrize(
    ("outputs", "target"),
    [
        (["bob"], "bob"),
        (["ann", "bob"], "bob"),
        (["ann2", "ann", "bob"], "bob"),
        ([":nulldata", "bob"], "bob"),
        ([":nulldata"], "nulldata"),
        ([":nulldata", "ann"], "nulldata"),
        (["ann"], "witness_v0_keyhash"),
    ],
)
def test_the_target_is_the_first_address_that_is_not_the_payers(outputs, target):
    """Change goes back to the payer; where nobody else is paid, the kind of script has to do."""
    inputs = [out("old", 0, "ann"), out("old", 1, "ann2")]

    found, _ = read(PretendedNode([[payment("t", inputs, outputs)]]), blocks="0-0")

    assert found == [(BEGAN, "ann", target)]


def test_payments_that_are_no_events_are_told_by_number():
    """The others are read."""
    block = [
        paid(1, ":pubkey", "bob"),
        payment("t2", [out("old", 2)], ["bob"]),
        paid(3, "ann"),
        5,
        paid(4, "ann", "bob"),
    ]

    found, stream = read(PretendedNode([block]), blocks="0-0")

    assert found == [(BEGAN, "ann", "bob")]
    assert told(stream) == [
        (1, "the first input has no address"),
        (2, "the node does not tell what the first input spends"),
        (3, "there is no output"),
        (4, "the node does not tell what the first input spends"),
    ]


@settings(max_examples=10)
@given(some.lists(some.integers(0, 59), min_size=1, max_size=60), some.integers(1, 40))
def test_the_mempool_is_read_with_what_it_spends(parents, wide):
    """A node tells no addresses of inputs there: they are those of unspent outputs, or of the mempool."""
    mempool, unspent, expected = {}, {}, []
    for number, parent in enumerate(parents):
        chained = parent < number
        inputs = [out(f"t{parent}", 0) if chained else out("old", number)]
        unspent[f"old{number}", 0] = "change"
        inputs += [out(f"old{number}", 0) for _ in range(wide)]
        if not chained:
            unspent["old", number] = f"ann{number}"
        mempool[f"t{number}"] = (BEGAN + number, payment(f"t{number}", inputs, ["change", f"bob{number}"]))
        expected.append((BEGAN + number, "change" if chained else f"ann{number}", f"bob{number}"))

    found, stream = read(PretendedNode(mempool=mempool, unspent=unspent), mempool=True)

    assert found == expected
    assert any("first seen is this node's own clock" in note for note in stream.notes)
    assert any("a restart keeps it" in note for note in stream.notes)
    assert not any("miner" in note for note in stream.notes)


def test_what_leaves_the_mempool_meanwhile_is_told():
    """It was mined, or replaced."""
    mempool = {f"t{n}": (BEGAN + n, payment(f"t{n}", [out("old", n)], ["bob"])) for n in range(4)}
    unspent = {("old", n): "ann" for n in (0, 1, 2)}

    found, stream = read(PretendedNode(mempool=mempool, unspent=unspent, forgets={"t1"}), mempool=True)

    assert found == [(BEGAN, "ann", "bob"), (BEGAN + 2, "ann", "bob")]
    assert [reason for _, reason in told(stream)] == [
        "the node does not tell what the first input spends",
        "it left the mempool while that was read",
    ]


def test_blocks_and_mempool_are_read_one_after_the_other():
    """An empty mempool is one."""
    found, _ = read(PretendedNode([[paid(0, "ann", "bob")]]), blocks="0-0", mempool=True)

    assert found == [(BEGAN, "ann", "bob")]


def test_a_login_is_read_from_a_cookie_file(tmp_path):
    """As a node writes it."""
    cookie = tmp_path / ".cookie"
    cookie.write_text(":".join(LOGIN))

    found, _ = read(PretendedNode([[paid(0, "ann", "bob")]]), blocks="0-0", login=None, cookie=cookie)

    assert len(found) == 1


@pytest.mark.parametrize("content", [b"", b"nothing", b"\xff:\xff"])
def test_a_file_that_is_no_cookie_is_refused(tmp_path, content):
    """Without showing what is in it."""
    cookie = tmp_path / ".cookie"
    cookie.write_bytes(content)

    with pytest.raises(BadInput, match="does not hold user:password: name the file"):
        read_bitcoin("http://127.0.0.1:8332", cookie=cookie, mempool=True)


def test_a_wrong_login_is_told_without_it():
    """As what to check."""
    with pytest.raises(NotPossible, match="does not know this login: check the cookie") as caught:
        read(PretendedNode([[]]), login=("x", LOGIN[1]), blocks="0-0")
    assert LOGIN[1] not in str(caught.value)


def test_a_busy_node_is_asked_again():
    """Its queue was full."""
    waits = []
    node = PretendedNode(
        [[paid(0, "ann", "bob")]], before=[says(body=b"Work queue depth exceeded", status=503)]
    )

    found, _ = read(node, blocks="0-0", wait=waits.append)

    assert (len(found), waits) == (1, [5])


@pytest.mark.parametrize("modern", [True, False])
def test_a_block_that_was_pruned_is_told(modern):
    """In our words: the node's may show more."""
    with pytest.raises(NotPossible, match="refused getblock with code -1: read later blocks") as caught:
        read(PretendedNode([[], None], modern=modern), blocks="0-1")
    assert "Ann" not in str(caught.value)


def test_blocks_that_are_not_there_yet_are_refused():
    """With the last one that is."""
    with pytest.raises(BadInput, match="has no block 7: end at 1, its last one"):
        read(PretendedNode([[], []]), blocks="0-7")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            says({"error": {"code": -28, "message": "Loading"}}, status=500),
            "code -28: try again",
        ),
        (says({"error": {"code": -32601}}, status=404), "code -32601: use a node of Bitcoin Core 23"),
        (says({"error": "no"}), "something that is no answer of a node"),
        (says({"result": 5}), "something that is no answer of a node"),
        (says([]), "something that is no answer of a node"),
        (says(body=b"<html>"), "something that is no answer of a node"),
        (says(body=b"", status=404), r"no answer of a node \(404 Not Found\)"),
        (says(status=403), "does not let us in from here: check its rpcallowip"),
    ],
)
def test_what_is_no_node_is_told_in_one_sentence(answer, told):
    """Who, what, what to do."""
    with Loopback(lambda _: answer) as server:
        stream = read_bitcoin(server.url, mempool=True)
        with pytest.raises((BadInput, NotPossible), match=told) as caught:
            list(stream)
    assert f"the node 127.0.0.1:{server.port}" in str(caught.value)


@pytest.mark.parametrize("many", [{}, [], [5], [{"id": 7, "result": {}}]])
def test_many_answers_that_do_not_fit_the_questions_are_refused(many):
    """A node answers each by its number."""
    answers = [says({"result": ["t0"]}), says(many)]
    with (
        Loopback(lambda _: answers.pop(0)) as server,
        pytest.raises(NotPossible, match="something that is no answer of a node"),
    ):
        list(read_bitcoin(server.url, mempool=True))


def test_a_block_without_payments_listed_is_no_blocks():
    """Somebody else's server."""
    answers = [says({"result": result}) for result in (5, "hash", {"tx": "none"})]
    with (
        Loopback(lambda _: answers.pop(0)) as server,
        pytest.raises(NotPossible, match="something that is no answer of a node"),
    ):
        list(read_bitcoin(server.url, blocks="1-1"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "neither blocks nor the mempool are asked for"),
        ({"blocks": "7"}, "must be two heights as FROM-TO, not '7'"),
        ({"blocks": "x-y"}, "as FROM-TO, not 'x-y'"),
        ({"blocks": "-5-7"}, "must be two heights"),
        ({"blocks": "7-5"}, "must be FROM-TO with FROM first, not 7-5"),
        (
            {"mempool": True, "cookie": "c", "login": LOGIN},
            "the node has both a cookie and a login",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(options, told):
    """Before the node hears of it."""
    with pytest.raises(BadInput, match=told):
        read_bitcoin("http://127.0.0.1:9", **options)


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("http://127.0.0.1:8332", False),
        ("http://[::1]:8332", False),
        ("http://localhost:8332", False),
        ("https://node.example", False),
        ("http://node.example:8332", True),
        ("http://192.0.2.7:8332", True),
    ],
)
def test_a_login_without_encryption_to_another_machine_is_warned_of(address, warned):
    """Anybody between here and there can read it."""
    stream = read_bitcoin(address, login=LOGIN, mempool=True)

    assert any("without encryption" in note for note in stream.notes) == warned
    assert LOGIN[1] not in repr(stream)
