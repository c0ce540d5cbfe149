"""Held calls: what is sealed comes out again as it was, once, and is gone afterwards."""

import base64
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.scripted_entropy import Script
from gateway.middleware.holding import (
    POLICY,
    close,
    let_out,
    quick,
    raw_bytes,
    settings_in,
    some_call,
    wait_until,
)
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.gateway.database import make_key
from tarry.gateway.middleware.held import OUTLET, HeldCall, Hold, ViewOutlet, pack, unpack
from tarry.keep.errors import Paused, Refused, TooLate
from tarry.keep.gate import Gate
from tarry.keep.releaser import LEASE_S, Releaser
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import snapshot
from tarry.testing.outlets import OutletCase, OutletSuite

#: A user id that would be found again in any encoding.
USER = "user-9f3b1c7d5e"


class ViewWorld:
    """A view that remembers all it is told."""

    content = pack(some_call(query="a=%C3%A9", language="de"))

    def __init__(self, folder):
        self.options, self.calls = {}, []
        self.outlet = ViewOutlet(self._view)
        self.answer = 201

    def _view(self, call, release):
        if isinstance(self.answer, Exception):
            raise self.answer
        self.calls.append((call, release))
        return self.answer

    def answers(self, answer):
        """What the view does from now on."""
        self.answer = answer

    def sent(self):
        """Everything the view was told."""
        return list(self.calls)

    def close(self):
        """Nothing is left running."""


class TestViewOutlet(OutletSuite):
    """The outlet that calls views meets the contract of outlets."""

    case = OutletCase(
        world=ViewWorld,
        undeliverable=[{"path": "/posts"}],
        troubles={
            "raises": (lambda world: world.answers(ValueError("user 17")), Refused),
            "breaks": (lambda world: world.answers(500), Refused),
            "says no": (lambda world: world.answers(403), Refused),
            "moves on": (lambda world: world.answers(308), Refused),
            "says nothing": (lambda world: world.answers(0), Refused),
        },
    )


@given(
    call=st.builds(
        HeldCall,
        method=st.sampled_from(["POST", "PUT"]),
        path=st.text(),
        query=st.text(),
        content_type=st.text(),
        body=st.binary(),
        user=st.text(),
        language=st.text(),
    )
)
def test_a_call_comes_out_as_it_went_in(call):
    assert unpack(pack(call)) == call


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"body": "!"}', b"\xff", b'{"body": 1}'])
def test_what_is_no_call_is_refused(content):
    with pytest.raises(BadInput, match="this content is no held call"):
        unpack(content)


@pytest.mark.parametrize("status", [200, 201, 204, 302, 303])
def test_an_answer_below_400_is_done(status, tmp_path):
    hold = Hold(quick(tmp_path / "a"), lambda call, release: status)
    receipt = hold.admit(some_call(), "/posts")
    let_out(hold)

    assert hold.gate.status(receipt.secret).state == "released"


@pytest.mark.parametrize("status", [307, 308, 400, 404, 500, 503])
def test_any_other_answer_is_parked_and_never_repeated(status, tmp_path):
    calls = []
    hold = Hold(quick(tmp_path / "a"), lambda call, release: calls.append(call) or status)
    receipt = hold.admit(some_call(), "/posts")
    let_out(hold)

    assert hold.gate.status(receipt.secret).state == "parked"
    assert len(calls) == 1


def test_what_is_told_of_a_failure_does_not_quote_the_view(tmp_path, caplog):
    """The words of a view may name the user, and a problem is stored in the clear; a log has the line."""

    def view(call, release):
        return int(call.user)  # no number

    hold = Hold(settings_in(tmp_path / "a"), view)
    receipt = hold.admit(some_call(user=USER), "/posts")
    let_out(hold)

    (line,) = [record.getMessage() for record in caplog.records]
    assert hold.gate.status(receipt.secret).problem == "the view raised ValueError"
    assert (
        line == f"the view raised ValueError at middleware/test_held.py:{view.__code__.co_firstlineno + 1}"
    )
    assert USER not in caplog.text
    assert USER.encode() not in raw_bytes(tmp_path / "a")


def test_a_call_cut_off_by_a_crash_is_parked(tmp_path):
    """At most once: whether the view has done its work is for a person to find out."""
    calls = []
    hold = Hold(quick(tmp_path / "a"), lambda call, release: calls.append(call) or 200)
    receipt, releaser = hold.admit(some_call(), "/posts"), Releaser(hold.vault)
    for _ in range(20):
        hold.settings.clock.sleep(1)
        close(hold)
    releaser.deliver(releaser.claim(OUTLET))  # and then nothing is marked
    hold.settings.clock.sleep(LEASE_S + 1)
    releaser.sweep()
    let_out(hold)

    assert "cut off" in hold.gate.status(receipt.secret).problem
    assert len(calls) == 1


def test_the_user_waits_encrypted_and_is_gone_after_the_release(tmp_path):
    """The one place where the actor outlives erasure: sealed until the release, and then nowhere."""
    seen, folder = [], tmp_path / "a"
    slow = Policy(epsilon="1", gap="90s", window="3s", law="uniform")
    hold = Hold(settings_in(folder, policy=slow), lambda call, release: seen.append(call) or 200)
    hold.gate = Gate(hold.vault, slow, Script([100]))  # long after the arrival is erased
    secrets = [USER.encode(), USER[2:-2].encode(), *base64_spellings(USER.encode()), b'"user"', b"hello"]
    hashes = [hold.vault.keys.actor(USER), hold.vault.keys.pseudonym(USER, "/posts")]
    receipt = hold.admit(some_call(user=USER), "/posts")

    waiting = raw_bytes(folder)
    assert not any(secret in waiting for secret in secrets)
    assert all(hashed in waiting for hashed in hashes)  # the test can find what is there
    with hold.vault.store.transaction("reading") as transaction:
        row = transaction.one("payload", id=receipt.post)
    assert json.loads(hold.vault.seal.open(receipt.post, "content", row["content"]))["user"] == USER

    let_out(hold, seconds=8)  # the arrival is erased, and the call still waits
    hold.vault.store.clear_traces(last=True)
    assert hold.gate.status(receipt.secret).state == "waiting"
    assert hold.vault.keys.actor(USER) not in raw_bytes(folder)

    let_out(hold, seconds=120)
    assert [call.user for call in seen] == [USER]
    assert hold.vault.store.clear_traces(last=True)
    left = raw_bytes(folder)
    assert bytes(row["content"]) not in left
    assert not any(secret in left for secret in (*secrets, *hashes))


def base64_spellings(text):
    """How a text looks in base64, at each of the three places it may begin at."""
    return [base64.b64encode(b"." * n + text)[4:-4] for n in range(3)]


def test_a_withdrawn_call_is_wiped_too(tmp_path):
    hold = Hold(quick(tmp_path / "a"), lambda call, release: 200)
    receipt = hold.admit(some_call(user=USER), "/posts")
    hold.gate.withdraw(receipt.secret)

    (row,) = hold.vault.store.connection().execute("SELECT content, options FROM posts")

    assert tuple(row) == (None, None)
    with pytest.raises(TooLate):
        hold.gate.withdraw(receipt.secret)


# --- what it refuses to start with ----------------------------------------------------------------


def test_it_does_not_start_without_encryption(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(NotPossible, match="needs the package cryptography"):
        Hold(quick(tmp_path / "a"), lambda call, release: 200)


@pytest.mark.parametrize(
    ("sealed", "personal", "policy", "sentence"),
    [
        (False, False, "a policy", "this store is not encrypted"),
        (True, True, "a policy", "is used for something else"),
        (True, False, None, "is used for something else"),
    ],
)
def test_it_does_not_start_with_another_kind_of_store(tmp_path, sealed, personal, policy, sentence):
    settings = settings_in(tmp_path / "a")
    make_key(settings.key_file)
    with SqliteStore(settings.database).transaction("closing") as transaction:
        begin_store(
            transaction,
            StoreSettings.of(POLICY, sealed=sealed, personal=personal),
            settings.clock,
            policy=policy,
        )

    with pytest.raises(NotPossible, match=sentence):
        Hold(settings, lambda call, release: 200)


def test_it_does_not_start_when_the_key_is_gone(tmp_path):
    """A new key would open nothing that waits."""
    settings = settings_in(tmp_path / "a")
    Hold(settings, lambda call, release: 200)
    settings.key_file.unlink()

    with pytest.raises(NotPossible, match="there is no key file"):
        Hold(settings, lambda call, release: 200)


def test_the_key_lies_in_a_private_file_outside_the_database(tmp_path):
    settings = settings_in(tmp_path / "a")
    Hold(settings, lambda call, release: 200)

    assert settings.key_file.stat().st_mode & 0o777 == 0o600
    assert bytes.fromhex(settings.key_file.read_text()) not in raw_bytes(tmp_path / "a")


# --- another policy -------------------------------------------------------------------------------


def test_another_policy_waits_until_nothing_is_on_its_way(tmp_path):
    """Calls drawn under two policies could be told apart."""
    settings = settings_in(tmp_path / "a")
    other = settings_in(
        tmp_path / "a", policy=Policy(epsilon="2", gap="3s", window="1s"), clock=settings.clock
    )
    hold = Hold(settings, lambda call, release: 200)
    hold.admit(some_call(), "/posts")

    with pytest.raises(BadInput, match="the policy cannot change while posts wait under another one"):
        Hold(other, lambda call, release: 200)
    let_out(hold, seconds=40)
    Hold(other, lambda call, release: 200)
    with pytest.raises(Paused, match="the app's policy has changed"):
        hold.admit(some_call(), "/posts")


def test_a_policy_in_other_words_is_the_same(tmp_path):
    """A store whose policy an earlier version wrote down, with other comments, goes on."""
    settings = settings_in(tmp_path / "a")
    store = Hold(settings, lambda call, release: 200).vault.store
    with store.transaction("closing") as transaction:
        here = snapshot(transaction)
        ticks = {"tick": str(here.settings.tick), "window_ticks": here.settings.window_ticks}
        text = f"# as an earlier version wrote it\n{here.policy}"
        transaction.tell("change_settings", **ticks, labels=here.settings.labels, policy=text)
    again = Hold(settings, lambda call, release: 200)
    again.admit(some_call(), "/posts")

    assert len(again.gate.posts()) == 1


def test_an_operator_can_stop_admission_and_let_out_what_waits(tmp_path):
    settings = settings_in(tmp_path / "a")
    Hold(settings, lambda call, release: 200).admit(some_call(), "/posts")
    closed = Hold(
        settings_in(tmp_path / "a", accepting=False, clock=settings.clock), lambda call, release: 200
    )

    with pytest.raises(Paused, match="nothing is accepted"):
        closed.admit(some_call(), "/posts")
    assert len(closed.gate.posts()) == 1
    let_out(closed)
    assert closed.gate.posts() == []


# --- the keeper -----------------------------------------------------------------------------------


def test_a_keeper_in_a_thread_calls_the_views(tmp_path):
    calls = []
    hold = Hold(quick(tmp_path / "a"), lambda call, release: calls.append(call) or 200)
    hold.admit(some_call(), "/posts")
    hold.start_keeper()
    hold.start_keeper()  # one is enough
    try:
        wait_until(lambda: calls, meanwhile=lambda: hold.settings.clock.sleep(1))
    finally:
        hold.stop_keeper()
        hold.stop_keeper()  # nothing is left to stop

    assert [call.body for call in calls] == [b"hello"]


def test_a_keeper_that_breaks_is_told_of(tmp_path, monkeypatch, caplog):
    """Without it calls would wait for ever, and nobody knew."""
    hold = Hold(quick(tmp_path / "a"), lambda call, release: 200)
    monkeypatch.setattr(hold.vault, "clock", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("threading.excepthook", lambda _: None)  # the log has it already
        hold.start_keeper()
        hold._running[1].join()

    assert "nothing leaves until it is started again" in caplog.text


def test_calls_wait_in_postgresql_as_well(tmp_path, postgres_server):
    calls = []
    settings = settings_in(tmp_path / "a", database=postgres_server.new_schema())
    hold = Hold(settings, lambda call, release: calls.append(call) or 200)
    receipt = hold.admit(some_call(user=USER), "/posts")
    let_out(hold)

    assert hold.gate.status(receipt.secret).state == "released"
    assert [call.user for call in calls] == [USER]
    hold.vault.store.close()


def test_a_call_that_is_parked_is_logged_without_saying_whose(tmp_path, caplog):
    """Somebody has to look at it, and nobody asks by himself."""
    hold = Hold(quick(tmp_path / "a"), lambda call, release: 403)
    hold.admit(some_call(user="user-17"), "/posts/secret")
    hold.start_keeper()
    try:
        wait_until(lambda: "parked" in caplog.text, meanwhile=lambda: hold.settings.clock.sleep(1))
    finally:
        hold.stop_keeper()

    sentences = [record.getMessage() for record in caplog.records if record.name == "tarry.middleware"]
    assert sentences[-1] == "a delivery by view failed (the view answered 403): parked"
    assert not any(word in caplog.text for word in ("user-17", "secret"))
