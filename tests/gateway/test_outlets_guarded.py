"""A file that goes bad while the gateway runs is one space's trouble, told to its operator."""

import pytest

from tarry.gateway.database import open_store
from tarry.gateway.space_changes import change_space
from tarry.keep.errors import Unreachable
from tarry.keep.posts import Release

API = "http://127.0.0.1:9/api.php"  # where nobody listens
EDIT = {"account": "nym", "page": "Owls", "action": "create"}
NYM = '[nym]\nlogin = "Nym@tarry"\npassword = "a7f3-c0ffee"\n'


@pytest.fixture
def accounts(tmp_path):
    """An accounts file."""
    path = tmp_path / "accounts.toml"
    path.touch(mode=0o600)
    path.write_text(NYM)
    return path


@pytest.fixture
def site(new_site, accounts):
    """A gateway with a space that goes to a wiki."""
    site = new_site()
    with site.gateway.store.transaction("closing") as transaction:
        outlet = {"kind": "mediawiki", "api": API, "accounts": str(accounts)}
        change_space(transaction, "talk", outlet=outlet)
    site.gateway.refresh()
    site.gateway.vault.outlets._look()
    return site


def test_options_of_an_outlet_travel_in_the_body(site):
    """A post says which account and page it means; when it leaves is told as ever."""
    answer = site.post(target="Owls", content="Owls are birds.", options=EDIT)

    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"options": {**EDIT, "account": "ann"}}, "no account 'ann' in the accounts file of this space"),
        ({"options": {**EDIT, "accounts": "/etc/passwd"}}, "has no option 'accounts'"),
        ({"options": {}}, "unknown action None of a wiki post"),
        ({"options": EDIT, "content": {"a": 1}}, "the content of a wiki post must be text"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_author_is_told_to_the_author(site, accounts, fields, why):
    """With the rule, and without where the operator's files lie."""
    answer = site.post(**fields)

    assert answer.status_code == 422
    assert why in answer.json()["detail"]
    assert str(accounts.parent) not in answer.text


@pytest.mark.parametrize("harm", ["gone", "open", "broken"])
def test_while_the_file_is_bad_authors_are_asked_to_wait(site, accounts, harm):
    """It is no fault of theirs; nothing of the file is told; and it ends when the file is good again."""
    ways = {
        "gone": accounts.unlink,
        "open": lambda: accounts.chmod(0o644),
        "broken": lambda: accounts.write_text("[nym"),
    }
    ways[harm]()
    answer = site.post(options=EDIT)
    accounts.touch()
    accounts.chmod(0o600)
    accounts.write_text(NYM)

    assert answer.status_code == 409
    assert answer.json()["detail"].startswith("this space cannot deliver now: try again later")
    assert site.post(options=EDIT).status_code == 202


def test_while_the_file_is_bad_deliveries_are_tried_again(site, accounts):
    """The gateway runs on, and other spaces do; the post waits, and says why."""
    site.add_space("other")
    receipt, other = site.receipt(options=EDIT), site.receipt(space="other")
    accounts.unlink()
    site.pass_ticks(60)
    post = site.gateway.receipts.key_of(receipt)

    assert site.ask(other).json()["state"] == "released"
    assert site.ask(receipt).json()["state"] == "waiting"
    assert "accounts file" in problem_of(site, post)


def problem_of(site, post):
    """What is written down about the last try."""
    with site.gateway.store.transaction("reading") as transaction:
        return transaction.one("by_id", id=post)["problem"]


def test_a_space_whose_outlet_cannot_be_made_at_all_waits_too(site, accounts):
    """Its file was gone when the space was looked at for the first time."""
    accounts.unlink()
    outlets = site.gateway.vault.outlets
    outlets._made.clear()
    release = Release(id="ab", target="Owls", content=b"!", options=EDIT, at=0)

    assert site.post(options=EDIT).status_code == 409
    assert outlets["talk"].account(EDIT) is None
    with pytest.raises(Unreachable, match="cannot work with its files as they are now"):
        outlets["talk"].deliver(release)

    accounts.touch(mode=0o600)
    accounts.write_text(NYM)

    assert outlets["talk"].account(EDIT) == f"{API} Nym@tarry"
    with pytest.raises(Unreachable, match="the wiki cannot be reached"):
        outlets["talk"].deliver(release)


def test_neither_login_nor_password_enters_the_database(new_site, accounts, tmp_path):
    """A post names an account by its table; what the table says stays in its file."""
    path = tmp_path / "gateway.db"
    site = new_site(store=open_store(str(path)))
    outlet = {"kind": "mediawiki", "api": API, "accounts": str(accounts)}
    site.add_space("wiki", outlet=outlet)
    site.receipt(space="wiki", options=EDIT)
    site.pass_ticks(20)
    held = b"".join(file.read_bytes() for file in tmp_path.glob("gateway.db*"))  # its log as well

    assert str(accounts).encode() in held
    assert b"Nym@tarry" not in held
    assert b"c0ffee" not in held
