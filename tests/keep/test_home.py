"""One person's own store: where it lies, how it begins, and who keeps it."""

import fcntl
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.keep.home import ME, Home, default_policy, places
from tarry.keep.posts import Post

SLOW = Policy(epsilon="1", gap="1h", window="10m", tick="10m")


@pytest.fixture
def home(tmp_path):
    """A home that was never used."""
    return Home.of({"TARRY_HOME": str(tmp_path / "home")})


def mode(path):
    """Who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("environment", "config", "state"),
    [
        ({"HOME": "/u"}, "/u/.config/tarry", "/u/.local/state/tarry"),
        ({"HOME": "/u", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/tarry", "/s/tarry"),
        ({"HOME": "/u", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "/s"}, "/u/.config/tarry", "/s/tarry"),
        ({"HOME": "/u", "XDG_STATE_HOME": "/s", "TARRY_HOME": "/t"}, "/t", "/t"),
        ({"TARRY_HOME": "/t"}, "/t", "/t"),
    ],
)
def test_places_are_the_usual_ones_unless_named(environment, config, state):
    """TARRY_HOME goes before the places that desktops agree on, and those before the home folder."""
    assert Home.of(environment) == Home(Path(config), Path(state))


@pytest.mark.parametrize("path", ["home", "./home", "~/home"])
@pytest.mark.parametrize("ask", [Home.of, places])
def test_a_relative_home_is_refused(ask, path):
    """In two directories it would be two stores, and batches across them were not recognised."""
    with pytest.raises(BadInput, match=f"TARRY_HOME must be an absolute path, not '{path}': begin it with"):
        ask({"TARRY_HOME": path, "HOME": "/u"})


def test_relative_places_of_the_desktop_are_ignored():
    """Their specification says so."""
    environment = {"HOME": "/u", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"}

    assert Home.of(environment) == Home.of({"HOME": "/u"})
    assert places(environment) == {}


def test_without_a_home_there_is_no_place():
    """Where nothing says where to put files, none are put anywhere."""
    with pytest.raises(BadInput, match="set TARRY_HOME"):
        Home.of({"HOME": ""})
    with pytest.raises(BadInput, match="HOME must be an absolute path, not 'u': set TARRY_HOME"):
        Home.of({"HOME": "u"})


def test_key_and_policy_lie_apart_from_the_store():
    """A copy of the state carries neither key nor policy."""
    home = Home.of({"HOME": "/u"})

    assert {home.key_path.parent, home.policy_path.parent} == {home.config}
    assert {home.store_path.parent, home.log_path.parent, home.outputs.parent} == {home.state}
    assert home.config not in home.state.parents
    assert home.state not in home.config.parents


def test_what_is_made_is_private(home):
    """Folders, key, policy, store and lock are for their owner alone."""
    home.gate(home.first_policy()[0])
    with home.keeping():
        modes = {path.name: mode(path) for path in home.state.iterdir()}

    assert mode(home.state) == 0o700
    assert set(modes) >= {"key", "policy.toml", "store.sqlite", "keeper.lock"}
    assert set(modes.values()) == {0o600}


def test_the_first_policy_is_made_once(home):
    """It is the default one, and afterwards whatever the file says."""
    made = home.first_policy()
    home.policy_path.write_text(write_policy(SLOW))

    assert made == (default_policy(), True)
    assert home.first_policy() == (SLOW, False)


def test_people_who_begin_at_once_begin_with_one_key(home):
    """Of several first uses at one moment one makes the files, and all find them whole."""
    together = threading.Barrier(4)

    def begin(_):
        together.wait()
        policy, _ = home.first_policy()
        gate = home.gate(policy)
        key = gate.vault.keys.account(b"somebody")
        gate.vault.store.close()
        return policy, key

    with ThreadPoolExecutor(4) as pool:
        begun = list(pool.map(begin, range(4)))

    assert len({key for _, key in begun}) == 1
    assert {policy.gap for policy, _ in begun} == {default_policy().gap}
    assert {path.name.partition(".")[0] for path in home.config.iterdir()} <= {"key", "policy", "store"}


def test_a_key_that_cannot_be_written_leaves_nothing_behind(home, monkeypatch):
    """On a full disk no half of a key stays, the error says which file it was, and later all is well."""

    def full(descriptor):
        raise OSError(28, "No space left on device")

    policy, _ = home.first_policy()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as told:
        home.gate(policy)
    monkeypatch.undo()

    assert told.value.filename == str(home.key_path)
    assert [path.name for path in home.config.iterdir()] == ["policy.toml"]
    assert home.gate(policy).policy == policy


def test_an_old_key_is_never_overwritten(home):
    """A store keeps its key, however often it is opened."""
    home.gate(SLOW)
    key = home.key_path.read_bytes()
    home.gate(SLOW)
    home.gate()

    assert home.key_path.read_bytes() == key


def test_a_store_without_its_key_is_not_opened(home):
    """Another key would know nobody any more, so none is made."""
    home.gate(SLOW)
    home.key_path.unlink()

    for policy in (SLOW, None):
        with pytest.raises(NotPossible, match=f"the key of the store is gone: put {home.key_path} back"):
            home.gate(policy)
    assert not home.key_path.exists()


def test_a_key_that_is_none_is_told(home):
    """A key cut short is found out before anything is hashed with it."""
    home.gate(SLOW)
    home.key_path.write_bytes(b"short")

    with pytest.raises(BadInput, match="the key file must hold 32 bytes, raw or as 64 hexadecimal digits"):
        home.gate()


def test_a_home_without_a_store_has_no_gate(home):
    """Without a policy a store is not founded, and nothing is made."""
    with pytest.raises(NotPossible, match=r"there is no store in .* yet: tarry run makes one"):
        home.gate()
    assert not home.is_founded()
    assert not home.state.exists()


def test_the_policy_of_the_store_is_remembered(home):
    """A gate that is opened without naming a policy has the one that was adopted last."""
    home.gate(SLOW)

    assert home.gate().policy == SLOW
    assert home.gate().vault.settings.personal


def test_content_is_sealed(home):
    """What waits cannot be read from the store alone."""
    home.gate(SLOW).admit(
        Post(actor=ME, target="x", outlet="mail", content=b"a confession", options=LETTER)
    )
    raw = b"".join(path.read_bytes() for path in home.state.glob("store.sqlite*"))

    assert raw
    assert b"a confession" not in raw
    assert b"nym@example.org" not in raw


LETTER = {"server": "smtp://localhost", "from": "nym@example.org", "to": ["a@example.org"], "subject": ""}


def test_one_keeper_at_a_time(home):
    """While somebody keeps, everybody else is told so; afterwards the place is free."""
    with home.keeping() as mine, home.keeping() as another:
        kept = home.is_kept()

    assert (bool(mine), another, kept) == (True, None, True)
    assert not home.is_kept()


def test_looking_for_a_keeper_is_no_keeping(home):
    """Whoever looks at the same moment as another finds no keeper, and keeps none from beginning."""
    home.first_policy()
    looking = os.open(home.state / "keeper.lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(looking, fcntl.LOCK_SH)
    kept = home.is_kept()
    soon = threading.Timer(0.1, os.close, [looking])
    soon.start()
    with home.keeping() as mine:
        soon.join()

    assert (kept, bool(mine)) == (False, True)


def test_an_old_gate_admits_nothing_under_a_policy_that_was_replaced(tmp_path):
    """Acts drawn under two policies are never on their way together."""
    home = Home.of({"TARRY_HOME": str(tmp_path / "home")})
    policies = [Policy(epsilon=epsilon, gap="1h", window="5m") for epsilon in ("1", "2")]
    old, new = (home.gate(policy) for policy in policies)
    post = Post(actor=ME, target="x", outlet="mail", content=b"", options=LETTER)

    with pytest.raises(BadInput, match="this store has adopted another policy"):
        old.admit(post)
    assert new.admit(post).status.state == "waiting"
