"""The outlets of spaces: each kind is made from an operator's settings, or refused in one sentence."""

import json

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.catalog import Catalog, Space
from tarry.gateway.outlets import (
    GuardedOutlet,
    SpaceOutlets,
    check_outlets,
    make_outlet,
    may_take_over,
    space_kinds,
)
from tarry.gateway.space_changes import change_space
from tarry.keep.keys import Keys
from tarry.keep.releaser import Outcome

KEYS = Keys(bytes(32))
API = "https://wiki.example/w/api.php"
NOTES = "https://api2.openreview.net"
NODE = "http://127.0.0.1:8332"
KINDS = list(space_kinds())
LONGEST = 60  # ticks: by then everything has left


@pytest.fixture
def files(tmp_path):
    """Paths of good files, by what they are for."""
    accounts, login = tmp_path / "accounts.toml", tmp_path / "login"
    for path, text in ((accounts, '[nym]\nlogin = "Nym@tarry"\npassword = "secret"\n'), (login, "me:it\n")):
        path.touch(mode=0o600)
        path.write_text(text)
    return {"accounts": str(accounts), "login": str(login), "cookie": str(tmp_path / ".cookie")}


def space(name="talk", **outlet) -> Space:
    """A space with an outlet."""
    return Space(name=name, title=name, circle="all", outlet=outlet, versions=())


def good(files) -> dict[str, dict]:
    """An outlet of each kind."""
    return {
        "feed": {"kind": "feed"},
        "webhook": {"kind": "webhook", "url": "https://forum.example/hook"},
        "feed-file": {"kind": "feed-file", "path": files["login"]},
        "mediawiki": {"kind": "mediawiki", "api": API, "accounts": files["accounts"]},
        "openreview": {"kind": "openreview", "api": NOTES, "accounts": files["accounts"]},
        "bitcoin": {"kind": "bitcoin", "node": NODE, "cookie": files["cookie"], "strict": True},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_made(files, kind):
    """From settings that JSON can hold; that the place is reached is not asked."""
    outlet = make_outlet(space(**json.loads(json.dumps(good(files)[kind]))), KEYS)

    assert outlet.delivery in ("at least once", "exactly once")


def test_a_node_may_let_in_by_a_login(files):
    """In place of its cookie."""
    make_outlet(space(kind="bitcoin", node=NODE, login=files["login"]), KEYS)


@pytest.mark.parametrize(
    ("outlet", "sentence"),
    [
        ({"kind": "pigeon"}, "unknown outlet 'pigeon': use feed, webhook, feed-file, mediawiki, "),
        ({"kind": "feed", "url": "x"}, "outlet feed has no setting 'url': leave it out"),
        ({"kind": "mail"}, "unknown outlet 'mail': use feed, "),
        ({"kind": "feed-file"}, "outlet feed-file has no path: give --feed-file FILE"),
        ({"kind": "feed-file", "path": "/no/where"}, "there is no folder '/no' for the feed file"),
        ({"kind": "mediawiki", "api": API, "accounts": "{accounts}", "x": 1}, "has no setting 'x': use"),
        ({"kind": "mediawiki", "api": API}, "mediawiki has no accounts: give --accounts"),
        ({"kind": "mediawiki", "accounts": "{accounts}"}, "mediawiki has no api: give --mediawiki URL"),
        ({"kind": "mediawiki", "api": API, "accounts": "a.toml"}, "accounts must be an absolute path"),
        ({"kind": "mediawiki", "api": API, "accounts": "/\0"}, "accounts must be an absolute path"),
        ({"kind": "mediawiki", "api": API, "accounts": "/nowhere"}, "'/nowhere' does not exist"),
        ({"kind": "mediawiki", "api": API[:-8], "accounts": "{accounts}"}, "must end in /api.php"),
        ({"kind": "mediawiki", "api": API, "accounts": "{login}"}, "is not TOML"),
        ({"kind": "openreview", "api": NOTES, "accounts": "/nowhere"}, "'/nowhere' does not exist"),
        ({"kind": "openreview", "api": "http://a.example", "accounts": "{accounts}"}, "must begin with https://"),
        ({"kind": "openreview", "api": NOTES, "accounts": 5}, "accounts must be a text, not 5"),
        ({"kind": "bitcoin", "cookie": "/c"}, "outlet bitcoin has no node: give --bitcoin URL"),
        ({"kind": "bitcoin", "node": NODE}, "neither a cookie nor a login"),
        ({"kind": "bitcoin", "node": NODE, "cookie": "/c", "login": "/l"}, "both a cookie and a login"),
        ({"kind": "bitcoin", "node": NODE, "cookie": "c"}, "cookie must be an absolute path, not 'c'"),
        ({"kind": "bitcoin", "node": NODE, "login": "/nowhere"}, "'/nowhere' cannot be read"),
        ({"kind": "bitcoin", "node": NODE, "login": "{accounts}", "strict": 1}, "strict must be true or"),
        ({"kind": "bitcoin", "node": "http://node.example", "cookie": "/c"}, "must begin with https://"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_in_one_sentence(files, outlet, sentence):
    """Before anything is made or started; at the start of a server with the space's name."""
    told = {
        name: value.format(**files) if isinstance(value, str) else value for name, value in outlet.items()
    }
    with pytest.raises(BadInput) as refused:
        make_outlet(space(**told), KEYS)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)

    with pytest.raises(BadInput, match=r"^space 'wiki': "):
        check_outlets(Catalog(generation=1, spaces={"wiki": space("wiki", **told)}), KEYS)


def test_a_password_file_that_others_may_read_is_refused(files, tmp_path):
    """Who reads it acts as everybody."""
    for name in ("accounts.toml", "login"):
        (tmp_path / name).chmod(0o640)
    for outlet in (good(files)["mediawiki"], {"kind": "bitcoin", "node": NODE, "login": files["login"]}):
        with pytest.raises(
            BadInput, match=r"must be closed to everybody else, not have rights 640: chmod go="
        ):
            make_outlet(space(**outlet), KEYS)


def test_one_bad_file_does_not_keep_the_other_spaces_from_their_outlets(files, tmp_path):
    """A space that appears while the gateway runs, or loses its file, is its own trouble."""
    spaces = {name: space(name, **outlet) for name, outlet in good(files).items()}
    (tmp_path / "accounts.toml").unlink()
    outlets = SpaceOutlets(lambda: Catalog(generation=1, spaces=spaces), KEYS)

    assert list(outlets) == list(KINDS)
    assert [isinstance(outlets[name], GuardedOutlet) for name in KINDS] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def test_an_outlet_that_was_changed_is_made_anew(files):
    """From the next delivery on it is the new one."""
    book = {"talk": space(**good(files)["mediawiki"])}
    outlets = SpaceOutlets(lambda: Catalog(generation=1, spaces=dict(book)), KEYS)
    options = {"account": "nym", "page": "Owls", "action": "create"}
    before = outlets["talk"].account(options)
    book["talk"] = space(**{**good(files)["mediawiki"], "api": "https://other.example/api.php"})
    outlets._look()

    assert before == f"{API} Nym@tarry"
    assert outlets["talk"].account(options) == "https://other.example/api.php Nym@tarry"


# --- a space that releases elsewhere -----------------------------------------------------------------

SECTION = {"account": "nym", "page": "Talk:Owls", "action": "append", "heading": "Food"}


def change(site, **outlet):
    """An operator changes where the space releases to."""
    with site.gateway.store.transaction("closing") as transaction:
        change_space(transaction, "talk", outlet=outlet)


@pytest.fixture
def wiki(new_site, files):
    """A gateway whose space releases to a wiki."""
    site = new_site()
    change(site, **good(files)["mediawiki"])
    return site


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_only_what_shows_the_same_takes_over(files, old, new):
    """A feed and a webhook both show a post as it is; all others do something else with it."""
    shows = {"feed", "webhook"}

    assert may_take_over(good(files)[old], good(files)[new]) is ({old, new} <= shows or old == new)


@pytest.mark.parametrize(
    ("kind", "changes", "may"),
    [
        ("webhook", {"url": "https://elsewhere.example/"}, True),
        ("mediawiki", {"accounts": "/other.toml"}, True),
        ("mediawiki", {"api": "https://other.example/api.php"}, False),
        ("openreview", {"api": "https://other.example"}, False),
        ("bitcoin", {"node": "http://127.0.0.1:1", "strict": False}, True),
    ],
)
def test_posts_stay_with_the_place_that_they_were_meant_for(files, kind, changes, may):
    """Another file or node is no other place; another wiki is."""
    old = good(files)[kind]

    assert may_take_over(old, {**old, **changes}) is may


@pytest.mark.parametrize(
    "outlet", [{"kind": "feed"}, {"kind": "webhook", "url": "http://127.0.0.1:9/"}, {"kind": "mediawiki"}]
)
@pytest.mark.parametrize("parked", [False, True])
def test_while_something_waits_it_is_not_sent_elsewhere(wiki, files, outlet, parked):
    """Else everybody would read in the feed which account a post for a wiki names."""
    if outlet["kind"] == "mediawiki":
        outlet = {**good(files)["mediawiki"], "api": "https://other.example/api.php"}
    receipt = wiki.receipt(options=SECTION)
    post = wiki.gateway.receipts.key_of(receipt)
    if parked:
        with wiki.gateway.store.transaction("working") as transaction:
            fix = f"UPDATE posts SET release = 1 WHERE id = {post} AND release IS NULL"  # noqa: S608 - a number
            transaction._connection.execute(fix)
            transaction.tell("park_overdue", tick=1 << 60, problem="it was refused")

    with pytest.raises(
        NotPossible, match="posts for the old outlet of 'talk' wait or are parked: pause the space"
    ):
        change(wiki, **outlet)
    assert wiki.gateway.refresh().space("talk").outlet["kind"] == "mediawiki"
    assert wiki.ask(receipt).json()["state"] == ("parked" if parked else "waiting")
    change(wiki, **good(files)["mediawiki"])

    assert wiki.ask(receipt, "DELETE").status_code in {200, 204}
    change(wiki, **outlet)


def test_a_post_is_checked_for_the_place_that_its_space_has_now(site, files):
    """Not for the one of a second ago: while somebody reads why, and not when it should leave."""
    site.ask(site.receipt(options={"mood": "glad"}), "DELETE")
    change(site, **good(files)["mediawiki"])
    refused = site.post(options={"mood": "glad"})

    assert refused.status_code == 422
    assert "unknown action None of a wiki post" in refused.json()["detail"]


def test_whoever_has_begun_to_deliver_ends_it(site):
    """A space that is changed in that moment loses nothing, and nothing leaves twice."""
    change(site, kind="webhook", url="http://127.0.0.1:9/")
    site.gateway.refresh()
    receipt = site.receipt(content="I agree.")
    for _ in range(LONGEST):
        site.clock.sleep(1)
        site.close()
    claim = site.releaser.claim("talk")
    change(site, kind="feed")
    site.gateway.refresh()
    site.releaser.mark(claim, [Outcome(post, 1) for post, _ in claim.posts])  # it has arrived
    site.releaser.release()

    assert site.ask(receipt).json()["state"] == "released"
    assert site.feed()["items"] == []
