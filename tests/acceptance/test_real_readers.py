"""The readers over the network, at a real wiki and a real Bitcoin node."""

import time
from datetime import UTC, datetime

import pytest

from contracts.real_wiki import NYMS, PASSWORD
from tarry.core.errors import BadInput, NotPossible
from tarry.places.bitcoin.reader import read_bitcoin
from tarry.places.mediawiki.reader import ActionApi, read_wiki

DEADLINE_S = 30
SETTINGS = """
$wgAPIMaxResultSize = 200;
$wgGroupPermissions['sysop']['deleterevision'] = true;
$wgGroupPermissions['*']['read'] = !isset( $_GET['private'] );
"""


def writers(wiki):
    """For each pseudonym a function that edits a page and returns the number of the revision."""

    def writer(nym):
        visit = wiki.visit()
        visit.log_in(f"{nym}@tarry", PASSWORD)
        token = visit.token("csrf")
        return lambda title, text: visit.ask(action="edit", title=title, text=text, token=token)["edit"][
            "newrevid"
        ]

    return {nym: writer(nym) for nym in NYMS}


def found(stream):
    """Who did what, without the time."""
    return [(event.actor, event.target, event.track) for event in stream]


def all_changes(wiki, began, count):
    """A wiki lists a change a moment after it has answered: look until it has."""
    end = time.monotonic() + DEADLINE_S
    while len(changes := list(read_wiki(wiki.api, since=began.isoformat()))) < count:
        assert time.monotonic() < end, f"{len(changes)} of {count} changes are listed"
        time.sleep(0.05)
    return changes


def next_second():
    """The moment at which another second begins: what a wiki did when it was made lies before it."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.01)
    return datetime.fromtimestamp(now + 1, UTC)


def test_a_real_wiki_is_read_by_changes_by_page_and_by_category(own_wiki):
    """In many small pieces, as the wiki cuts its answers."""
    own_wiki.configure(SETTINGS)  # answers end early, as those of a large wiki do
    began = next_second()
    write, expected = writers(own_wiki), []
    for number in range(9):
        nym, title = NYMS[number % 2], ("Rhine", "Talk:Rhine", "Danube")[number % 3]
        write[nym](title, f"{number} [[Category:Rivers]]")
        expected.append((nym, title, "1" if "Talk" in title else "0"))
    ended = datetime.now(UTC)

    changes = all_changes(own_wiki, began, len(expected))
    assert found(changes) == expected
    assert not any(event.is_bot for event in changes)
    assert all(began <= datetime.fromtimestamp(event.time / 1e6, UTC) <= ended for event in changes)
    rhine = read_wiki(own_wiki.api, what="revisions", pages=["rhine"])
    assert found(rhine) == [each for each in expected if each[1] == "Rhine"]
    rivers = list(read_wiki(own_wiki.api, what="revisions", category="Rivers"))
    assert sorted(rivers) == sorted(changes)
    before = read_wiki(own_wiki.api, since="2001-01-15T00:00:00Z", until=began.isoformat())
    assert found(before) == [("MediaWiki default", "Main Page", "0")]
    pieces = ActionApi(address=own_wiki.api).pieces({"list": "recentchanges", "rclimit": "max"})
    assert len(list(pieces)) > 1, "the wiki has not cut its answers"


def test_what_a_real_wiki_hides_is_a_fault_and_what_it_lacks_a_sentence(own_wiki):
    """The others are read."""
    own_wiki.configure(SETTINGS)
    write, began = writers(own_wiki), datetime.now(UTC).replace(microsecond=0)
    revisions = [write[nym]("Elbe", f"text {number}") for number, nym in enumerate(("Nym", "Alter", "Nym"))]
    all_changes(own_wiki, began, len(revisions))
    own_wiki.as_admin(action="revisiondelete", type="revision", ids=revisions[1], hide="user")

    for options in ({}, {"what": "revisions", "pages": ["Elbe"]}):
        stream = read_wiki(own_wiki.api, **options)
        assert [actor for actor, title, _ in found(stream) if title == "Elbe"] == ["Nym", "Nym"]
        assert [fault.reason for fault in stream.faults.first] == ["the contributor is hidden"]
    for missing in ("Nile", "[bad]", "Special:Log", "wikipedia:Nile"):
        with pytest.raises(BadInput, match="page 1 of those given is not in the wiki"):
            list(read_wiki(own_wiki.api, what="revisions", pages=[missing]))
    with pytest.raises(BadInput, match="the category has no pages"):
        list(read_wiki(own_wiki.api, what="revisions", category="Lakes"))
    with pytest.raises(
        NotPossible,
        match=r"\(readapidenied\): use another wiki, or a dump: it shows its pages to members only",
    ):
        list(read_wiki(f"{own_wiki.api}?private=1"))


def test_a_real_node_is_read_by_its_mempool_and_by_its_blocks(own_node):
    """A payment, and one that spends what it left behind before any block has either; else a sentence."""
    before = int(time.time())
    first = own_node.payment(parts=2)
    second = own_node.payment(own_node.coin_of(first))
    paid = [own_node.ask("decoderawtransaction", raw) for raw in (first, second)]
    outputs = [[each["scriptPubKey"]["address"] for each in one["vout"]] for one in paid]
    coin = paid[0]["vin"][0]
    payer = own_node.ask("gettxout", coin["txid"], coin["vout"])["scriptPubKey"]["address"]
    expected = [(payer, outputs[0][0], ""), (outputs[0][0], outputs[1][0], "")]
    for raw in (first, second):
        own_node.ask("sendrawtransaction", raw)

    waiting = read_bitcoin(own_node.url, cookie=own_node.cookie, mempool=True)
    events = sorted(waiting, key=lambda event: event.actor != payer)
    assert found(events) == expected
    assert all(before <= event.time / 1e6 <= time.time() for event in events)

    block = own_node.ask("getblock", own_node.mine())
    height = own_node.ask("getblockcount")
    mined = read_bitcoin(own_node.url, cookie=own_node.cookie, blocks=f"0-{height}", mempool=True)
    events = list(mined)
    assert found(events) == expected
    assert {event.time / 1e6 for event in events} == {block["time"]}
    assert mined.faults.count == 0

    with pytest.raises(NotPossible, match="does not know this login: check the cookie"):
        list(read_bitcoin(own_node.url, login=("x", "y"), mempool=True))
    with pytest.raises(BadInput, match="has no block 999999: end at"):
        list(read_bitcoin(own_node.url, cookie=own_node.cookie, blocks="0-999999"))
