"""`tarry wallet send`: signed transactions wait in one's own store, alone or behind a parent."""

import io
import json
from pathlib import Path

import pytest

from contracts.node_server import NodeServer, coin_of, make_transaction, name_of
from contracts.shell import ALL_GONE

ONE, TWO = make_transaction(1), make_transaction(2)
CHILD = make_transaction(coin_of(ONE))
TELLING = make_transaction(3, locktime=850_000, sequences=[0xFFFFFFFD])


@pytest.fixture
def node(tmp_path):
    """A node on this machine."""
    with NodeServer(tmp_path) as node:
        node.verdict = {"allowed": True, "vsize": 100, "fees": {"base": "~0.00000500~"}}
        yield node


@pytest.fixture
def send(quiet, node):
    """Hand transactions in: the answer as JSON."""
    return lambda *words: quiet.ask("wallet", "send", "--node", node.url, "--cookie", node.cookie, *words)


def typed(monkeypatch, text):
    """Something comes in on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_transactions_leave_at_their_releases(quiet, node, send):
    """Each is a target of its own, and the node has both in the end."""
    told = send(ONE, TWO)
    posts = quiet.ask("queue")["posts"]

    assert [each["txid"] for each in told["transactions"]] == [name_of(ONE), name_of(TWO)]
    assert {post["target"] for post in posts} == {name_of(ONE), name_of(TWO)}
    assert {post["outlet"] for post in posts} == {"bitcoin"}
    assert node.received == []
    quiet.pass_ticks(ALL_GONE)
    assert sorted(node.mempool) == sorted([name_of(ONE), name_of(TWO)])
    assert quiet.ask("queue")["posts"] == []
    assert {method for method, _ in node.asked} == {"sendrawtransaction"}


def test_what_the_outlet_needs_is_kept(quiet, node, send):
    """The node and the whole path of its file; no password."""
    (told,) = send(ONE)["transactions"]

    assert (told["state"], told["after"], told["clues"]) == ("waiting", None, [])
    assert quiet.home.gate().options_of(int(told["id"], 16)) == {
        "node": node.url,
        "cookie": str(node.cookie),
        "txid": name_of(ONE),
    }
    assert quiet.started == [quiet.home]


def test_the_usual_node_is_the_one_on_this_machine(quiet, monkeypatch, tmp_path):
    """With its cookie where it usually is."""
    (tmp_path / ".bitcoin").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    (told,) = quiet.ask("wallet", "send", ONE)["transactions"]

    options = quiet.home.gate().options_of(int(told["id"], 16))
    assert (options["node"], options["cookie"]) == (
        "http://127.0.0.1:8332",
        str(tmp_path / ".bitcoin" / ".cookie"),
    )


def test_a_login_stands_in_for_a_cookie(quiet, node):
    """From wherever the command was given."""
    quiet.ask("wallet", "send", "--node", node.url, "--login", "login", ONE)
    quiet.pass_ticks(ALL_GONE)

    assert node.mempool == [name_of(ONE)]


def test_a_person_is_told_when_it_leaves(quiet, node):
    """The name, the moment and the way back; what tells on it goes to standard error."""
    where = ["--node", node.url, "--cookie", node.cookie]
    code, out, err = quiet.say("wallet", "send", *where, ONE, TELLING)

    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()] == ["txid", "leaves", "take back"] * 2
    first, second = err.splitlines()
    assert first.startswith(f"tarry wallet: {name_of(TELLING)[:8]}: its lock time is block 850000")
    assert "it may be replaced" in second


@pytest.mark.parametrize("way", ["file", "stdin", "both"])
def test_transactions_come_from_files_and_standard_input(send, monkeypatch, way):
    """One in each line; a shell keeps what stands on its command line."""
    text = f"{ONE.upper()}\n\n  {TWO}\r\n"
    Path("two.hex").write_text(text if way == "file" else TWO)
    typed(monkeypatch, text if way == "stdin" else ONE)
    words = {"file": ["two.hex"], "stdin": ["-"], "both": ["-", "two.hex"]}[way]

    assert [each["txid"] for each in send(*words)["transactions"]] == [name_of(ONE), name_of(TWO)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_before_a_text_is_passed_over(send, encoding):
    """Some editors and shells write one."""
    Path("one.hex").write_text(f"{ONE}\r\n", encoding=encoding)

    assert [each["txid"] for each in send("one.hex")["transactions"]] == [name_of(ONE)]


def test_a_rival_in_the_queue_is_named(quiet, send):
    """By the id with which it is taken back."""
    (first,) = send(ONE)["transactions"]

    assert quiet.refusal("wallet", "send", make_transaction(1, 7)).endswith(
        f"tarry withdraw {first['id'][:8]} first"
    )


def test_withdrawing_a_parent_tells_of_its_child(quiet, send):
    """No node would take the child: its owner hears of it now, and not when it is parked."""
    parent, other, child = send(ONE, TWO, CHILD)["transactions"]
    code, out, err = quiet.say("withdraw", parent["id"])

    assert child["txid"] == name_of(CHILD)
    assert (code, out) == (0, f"withdrawn {parent['id'][:8]}\n")
    assert err == (
        f"tarry withdraw: {child['id'][:8]} spends what it would have paid: no node will take it, "
        "so it will be parked; withdraw it too\n"
    )
    assert quiet.ask("withdraw", other["id"])["behind"] == []


def test_a_child_leaves_after_its_parent(quiet, node, send):
    """Handed in together, in whatever order, they have one target."""
    told = send(CHILD, ONE, TWO)["transactions"]

    assert [(each["txid"], each["after"]) for each in told] == [
        (name_of(ONE), None),
        (name_of(TWO), None),
        (name_of(CHILD), name_of(ONE)),
    ]
    assert told[2]["target"] == name_of(ONE)
    assert told[2]["earliest_at"] >= told[0]["earliest_at"]
    quiet.pass_ticks(ALL_GONE)
    assert node.mempool.index(name_of(CHILD)) > node.mempool.index(name_of(ONE))


def test_a_child_of_a_waiting_one_is_found(quiet, node, send):
    """Handed in later, it has the target that its parent was given."""
    send("--target", "rent", ONE)
    (told,) = send(CHILD)["transactions"]
    parents = {row["id"]: row["parent"] for row, _ in quiet.home.gate().posts()}

    assert (told["target"], told["after"]) == ("rent", name_of(ONE))
    assert parents[int(told["id"], 16)] is not None
    assert quiet.refusal(
        "wallet", "send", make_transaction(coin_of(CHILD)), "--target", "other"
    ).startswith("tarry wallet: a transaction must have the target of what it spends")


def test_one_can_wait_for_another_act_on_its_target(quiet, send):
    """--after names it, and its target is taken over."""
    (first,) = send("--target", "rent", ONE)["transactions"]
    (second,) = send("--after", first["id"], TWO)["transactions"]

    parents = {row["id"]: row["parent"] for row, _ in quiet.home.gate().posts()}
    assert second["target"] == "rent"
    assert parents[int(second["id"], 16)] == int(first["id"], 16)


def test_strict_refuses_what_tells_its_moment(quiet, node, send):
    """None of those handed in together is taken, and the way to a better one is told."""
    assert send("--strict", ONE)["transactions"][0]["clues"] == []
    told = quiet.refusal("wallet", "send", "--node", node.url, "--strict", TWO, TELLING)

    assert told.startswith(f"tarry wallet: transaction {name_of(TELLING)[:8]} shows when it was made")
    assert "(--strict): its lock time is block 850000" in told
    assert "walletcreatefundedpsbt with locktime 0" in told
    assert told.endswith("for Sparrow and Electrum see docs: Bitcoin")
    assert len(quiet.ask("queue")["posts"]) == 1


def test_without_strict_it_is_told(send):
    """In the JSON as well."""
    (told,) = send(TELLING)["transactions"]
    assert [clue["name"] for clue in told["clues"]] == ["lock time", "replaceable"]
    assert all(clue["fix"] for clue in told["clues"])


def test_a_look_asks_the_node_for_the_fee(quiet, node, send):
    """Its own estimates, and whether it would take it; children are looked at behind their parents."""
    node.estimates = {6: "0.00005009"}
    node.verdict["fees"] = {"base": "~0.00000501~"}
    (first,) = send("--look", ONE)["transactions"]
    assert first["clues"] == []  # round, but for a byte
    node.verdict["fees"] = {"base": "~0.00001234~"}
    node.estimates = {6: "0.00012345"}
    (second,) = send("--look", CHILD)["transactions"]

    assert [clue["name"] for clue in second["clues"]] == ["fee"]
    assert ("testmempoolaccept", [[ONE, CHILD]]) in node.asked
    words = ["wallet", "send", "--node", node.url, "--cookie", node.cookie, "--look", "--strict", TWO]
    assert "is the estimate of this moment for 6 blocks" in quiet.refusal(*words)
    assert node.mempool == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "the following arguments are required: TX (see tarry wallet --help)"),
        (["nowhere.hex"], "'nowhere.hex' is neither a file nor hex"),
        (["empty"], "there is no transaction in 'empty'"),
        ([ONE[:-2]], "the end of a transaction is missing: copy all of it"),
        (
            ["binary"],
            "a transaction must be in hex, not its bytes themselves: write it in hex: xxd -p",
        ),
        (["null"], "a transaction must be in hex, not null: let the wallet sign all of it"),
        (["no-hex"], "a transaction must be in hex, not null: let the wallet sign all of it"),
        (["psbt"], "a transaction must be raw and fully signed, not a PSBT in binary"),
        ([make_transaction(script="")], "1 of 1 inputs of a transaction are not signed"),
        ([ONE, ONE], "a transaction is given twice"),
        ([TWO], "a transaction waits already, "),
        ([make_transaction(2, 5)], "a transaction spends a coin that another in the queue spends"),
        ([ONE, "--node", "http://node.example"], "the address of a node must begin with https:// unless"),
        ([ONE, "--login", "login"], "the node has both a cookie and a login"),
        ([ONE, "--cookie", "no/cookie"], "there is no folder "),
        (
            [ONE, "--look", "--node", "https://node.example"],
            "a node elsewhere would see the transaction before its time",
        ),
    ],
)
def test_what_could_never_be_sent_is_refused(quiet, node, send, words, sentence):
    """In one sentence, and nothing is added to the queue."""
    send(TWO)
    Path("empty").write_text("\n")
    Path("psbt").write_bytes(b"psbt\xff\x01\x00\x85")
    Path("binary").write_bytes(bytes.fromhex(ONE))
    Path("no-hex").write_text("null\n")
    where = ["--node", node.url, "--cookie", str(node.cookie)]

    assert quiet.refusal("wallet", "send", *where, *words).startswith(f"tarry wallet: {sentence}")
    assert len(quiet.ask("queue")["posts"]) == 1


def test_what_was_taken_before_a_trouble_is_told(quiet, node, monkeypatch):
    """A child that cannot be accepted does not hide its parent's receipt."""
    from tarry.keep.errors import Unavailable
    from tarry.keep.gate import Gate

    admit = Gate.admit_many

    def once(gate, posts):
        if posts[0].depends_on is not None:
            raise Unavailable("the store cannot be written: disk full")
        return admit(gate, posts)

    monkeypatch.setattr(Gate, "admit_many", once)
    where = ["--node", node.url, "--cookie", node.cookie]
    code, out, err = quiet.say("wallet", "send", "--json", *where, ONE, CHILD)

    assert (code, err) == (2, "tarry wallet: the store cannot be written: disk full\n")
    assert [each["txid"] for each in json.loads(out)["transactions"]] == [name_of(ONE)]


def test_one_that_became_invalid_is_parked_and_can_be_repeated(quiet, node, send):
    """`tarry queue` says why; its child waits with it."""
    (first, second) = send(ONE, CHILD)["transactions"]
    node.refusal = (-26, "min relay fee not met, 1 < 100")
    quiet.pass_ticks(ALL_GONE)
    problems = {post["id"]: post["problem"] for post in quiet.ask("queue")["posts"]}

    assert "nodes pass on nothing at so low a fee" in problems[first["id"]]
    assert "the post it depends on is parked" in problems[second["id"]]
    node.refusal = None
    for each in (first, second):
        quiet.ask("repeat", each["id"])
    quiet.pass_ticks(ALL_GONE)
    assert node.mempool == [name_of(ONE), name_of(CHILD)]
