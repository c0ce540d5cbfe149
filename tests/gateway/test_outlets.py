"""The outlets of spaces: each kind is made from an operator's settings, or refused in one sentence."""

import json

import pytest

from tarry.core.errors import BadInput
from tarry.gateway.book import Book, Space
from tarry.gateway.guarded import Guarded
from tarry.gateway.outlets import KINDS, SpaceOutlets, check_outlets, make_outlet
from tarry.keep.keys import Keys

KEYS = Keys(bytes(32))
API = "https://wiki.example/w/api.php"
NOTES = "https://api2.openreview.net"
NODE = "http://127.0.0.1:8332"


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
        ({"kind": "pigeon"}, "is one of feed, webhook, mediawiki, openreview, bitcoin"),
        ({"kind": "feed", "url": "x"}, "an outlet of kind feed has no settings, found url"),
        ({"kind": "mediawiki", "api": API, "accounts": "{accounts}", "x": 1}, "knows accounts, api, found"),
        ({"kind": "mediawiki", "api": API}, "has an address and an accounts file, found one of them alone"),
        ({"kind": "mediawiki", "accounts": "{accounts}"}, "has an address and an accounts file"),
        ({"kind": "mediawiki", "api": API, "accounts": "a.toml"}, "accounts file by its absolute path"),
        ({"kind": "mediawiki", "api": API, "accounts": "/\0"}, "accounts file by its absolute path"),
        ({"kind": "mediawiki", "api": API, "accounts": "/nowhere"}, "found no such file: /nowhere"),
        ({"kind": "mediawiki", "api": API[:-8], "accounts": "{accounts}"}, "ends in /api.php"),
        ({"kind": "mediawiki", "api": API, "accounts": "{login}"}, "the accounts file is TOML"),
        ({"kind": "openreview", "api": NOTES, "accounts": "/nowhere"}, "found no such file: /nowhere"),
        ({"kind": "openreview", "api": "http://a.example", "accounts": "{accounts}"}, "begins with https://"),
        ({"kind": "openreview", "api": NOTES, "accounts": 5}, "has an address and an accounts file"),
        ({"kind": "bitcoin", "cookie": "/c"}, "the address of a node"),
        ({"kind": "bitcoin", "node": NODE}, "a node lets in by a cookie or a login, found neither"),
        ({"kind": "bitcoin", "node": NODE, "cookie": "/c", "login": "/l"}, "found both"),
        ({"kind": "bitcoin", "node": NODE, "cookie": "c"}, "the cookie of a node is an absolute path"),
        ({"kind": "bitcoin", "node": NODE, "login": "/nowhere"}, "of a node is a file one can read"),
        ({"kind": "bitcoin", "node": NODE, "login": "{accounts}", "strict": 1}, "strict is true or false"),
        ({"kind": "bitcoin", "node": "http://node.example", "cookie": "/c"}, "begins with https://"),
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

    with pytest.raises(BadInput, match=r"^in the space wiki, "):
        check_outlets(Book(generation=1, spaces={"wiki": space("wiki", **told)}), KEYS)


def test_a_password_file_that_others_may_read_is_refused(files, tmp_path):
    """Who reads it acts as everybody."""
    for name in ("accounts.toml", "login"):
        (tmp_path / name).chmod(0o640)
    for outlet in (good(files)["mediawiki"], {"kind": "bitcoin", "node": NODE, "login": files["login"]}):
        with pytest.raises(BadInput, match=r"is closed to everybody else, found rights 640: chmod go="):
            make_outlet(space(**outlet), KEYS)


def test_one_bad_file_does_not_keep_the_other_spaces_from_their_outlets(files, tmp_path):
    """A space that appears while the gateway runs, or loses its file, is its own trouble."""
    spaces = {name: space(name, **outlet) for name, outlet in good(files).items()}
    (tmp_path / "accounts.toml").unlink()
    outlets = SpaceOutlets(lambda: Book(generation=1, spaces=spaces), KEYS)

    assert list(outlets) == list(KINDS)
    assert [isinstance(outlets[name], Guarded) for name in KINDS] == [False, False, True, True, True]


def test_an_outlet_that_was_changed_is_made_anew(files):
    """From the next delivery on it is the new one."""
    book = {"talk": space(**good(files)["mediawiki"])}
    outlets = SpaceOutlets(lambda: Book(generation=1, spaces=dict(book)), KEYS)
    options = {"account": "nym", "page": "Owls", "action": "create"}
    before = outlets["talk"].account(options)
    book["talk"] = space(**{**good(files)["mediawiki"], "api": "https://other.example/api.php"})
    outlets._look()

    assert before == f"{API} Nym@tarry"
    assert outlets["talk"].account(options) == "https://other.example/api.php Nym@tarry"
