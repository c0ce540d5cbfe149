"""One account's outage at a gateway: what its author is told, what is logged, and what a thief finds."""

from datetime import datetime

import pytest

from contracts.lockout_contract import LoginOutlet
from tarry.core.policy import Policy
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.space_changes import add_space
from tarry.keep.closing import close_ticks
from tarry.keep.errors import LockedOut
from tarry.keep.keeper import _failed
from tarry.keep.keys import Keys
from tarry.keep.posts import Post
from tarry.keep.releaser import Releaser
from tarry.keep.sharing import SHARED
from tarry.testing import ManualClock

LONGEST = 120  # ticks until everything has left
NO_LOGIN = "the wiki refuses this account's login"


@pytest.fixture
def wiki():
    """An outlet that logs in."""
    return LoginOutlet()


@pytest.fixture
def site(new_site, wiki):
    """A gateway whose space goes there."""
    return new_site(outlets={"talk": wiki})


def moments(site, receipt) -> list[float]:
    """When a post may leave, as its author is told."""
    told = site.ask(receipt).json()
    return [datetime.fromisoformat(told[name]).timestamp() for name in ("earliest_at", "latest_at")]


def lock_out(site, wiki):
    """The first post of an account comes up, and the account cannot get in."""
    wiki.troubles = {"nym": LockedOut(NO_LOGIN)}
    for _ in range(LONGEST):
        site.pass_ticks(1)
        if any(row["problem"] for row in site.rows("not_done")):
            return


def test_an_account_that_cannot_get_in_moves_its_own_posts_and_nobody_elses(site, wiki):
    """The receipts of one account tell new moments, all by as much later; another's leaves as it would."""
    first = site.receipt("ann", "p1", options={"account": "nym"})
    site.pass_ticks(1)  # not so many that it may have left
    second = site.receipt("bob", "p2", options={"account": "nym"})
    other = site.receipt("cem", "p3", options={"account": "nemo"})
    before = [moments(site, receipt) for receipt in (first, second, other)]
    lock_out(site, wiki)
    after = [moments(site, receipt) for receipt in (first, second, other)]
    # Meanwhile the label may have chosen one of the two.
    ways = [{now - then for now in new for then in old} for new, old in zip(after, before, strict=True)]

    assert max(ways[0] & ways[1]) >= 300
    assert 0 in ways[2]

    wiki.troubles = {}
    site.pass_ticks(LONGEST)

    assert site.ask(other).json()["state"] == "released"
    assert [site.ask(each).json()["state"] for each in (first, second)] == ["waiting", "waiting"]

    site.pass_ticks(500)

    assert [site.ask(each).json()["state"] for each in (first, second)] == ["released", "released"]
    assert {release.target for release in wiki.delivered} == {"p1", "p2", "p3"}


def test_what_is_told_of_it_names_nobody(site, wiki):
    """The keeper's log has the space and the outlet's sentence; authors see no more than moments."""
    receipt = site.receipt("ann", "p1", options={"account": "nym"})
    wiki.troubles = {"nym": LockedOut(NO_LOGIN)}
    for _ in range(LONGEST):
        site.clock.sleep(1)
        site.close()
        if claim := site.releaser.claim("talk"):
            break
    (outcome,) = site.releaser.deliver(claim)
    site.releaser.mark(claim, [outcome])
    told = _failed(claim, outcome, SHARED)

    assert told == f"a delivery by talk failed ({NO_LOGIN}): all that waits for this account moves later"
    assert set(site.ask(receipt).json()) == {"state", "release_at", "earliest_at", "latest_at"}
    assert site.http.get("/v1/spaces/talk/parked").json() == {"parked": []}


def test_no_column_groups_what_waits_by_its_account(wiki, tmp_path):
    """Who has the file without its key, even in an outage, cannot tell which posts are one account's."""
    store, keys, clock = open_store(str(tmp_path / "gateway.db")), Keys(bytes(range(32))), ManualClock()
    with store.transaction("closing") as transaction:
        policy = Policy(epsilon="1", gap="30s", window="2s")
        add_space(transaction, keys, clock, "talk", policy, sealed=True)
    gateway = Gateway(store, keys, clock, outlets={"talk": wiki})
    whose = {}
    for number in range(60):
        name = ("nymphaea", "nemophila")[number % 2]
        post = Post(
            actor=f"a{number}", target=f"p{number}", outlet="", content=b"!", options={"account": name}
        )
        ((receipt,),) = gateway.admit([Submission(space="talk", posts=[post])])
        whose[receipt.post] = name
    wiki.troubles = dict.fromkeys(("nymphaea", "nemophila"), LockedOut(NO_LOGIN))
    for _ in range(LONGEST):
        clock.sleep(1)
        with store.transaction("closing") as transaction:
            close_ticks(transaction, keys, clock)
        Releaser(gateway.vault).release()
    with store.transaction("reading") as transaction:
        rows = [dict(row) for row in store.connection().execute("SELECT * FROM posts").fetchall()]
        arrivals = store.connection().execute("SELECT count(*) AS n FROM arrivals").fetchone()["n"]
    store.close()
    found = (tmp_path / "gateway.db").read_bytes()

    assert (len(rows), arrivals) == (60, 0)  # all wait, and all that labels needed is erased
    assert any(row["problem"] for row in rows)
    for column in rows[0]:
        values = [row[column] for row in rows]
        mine, others = (
            {row[column] for row in rows if whose[row["id"]] == name} for name in set(whose.values())
        )
        # Each post has a value of its own, or some value is found with both accounts.
        assert len(set(values)) == len(values) or mine & others or column == "release", column
    assert b"nymphaea" not in found
    assert b"nemophila" not in found
