"""Another policy for one's own store: never while acts under the old one can be told from new ones."""

from dataclasses import dataclass
from datetime import datetime

import pytest

from contracts.keeping import as_long_as
from contracts.scripted_entropy import Script
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.keep.changes import adopt
from tarry.keep.closing import close_ticks
from tarry.keep.errors import NoSuchPost, Refused
from tarry.keep.gate import Gate
from tarry.keep.posts import Post
from tarry.keep.releaser import Releaser
from tarry.keep.store import Vault, snapshot
from tarry.testing import ManualClock, memory_vault

OLD = Policy(epsilon="1", gap="10s", window="2s", law="uniform")
STRICTER = Policy(epsilon="0.5", gap="10s", window="2s")
COARSER = Policy(epsilon="1", gap="60s", window="10s", tick="5s")
REACH = 12  # ticks of the old policy: gap and window


@dataclass
class Place:
    """A store of one's own under a policy, and its clock."""

    vault: Vault
    clock: ManualClock

    def adopt(self, policy):
        """Ask for another policy."""
        vault = self.vault
        with vault.store.transaction("closing") as transaction:
            changed = adopt(transaction, vault.keys, self.clock, policy)
        self.vault = Vault(vault.store, vault.keys, vault.outlets, self.clock)
        return changed

    def admit(self, policy=OLD, draws=None):
        """Hand a post in, which may be told what to draw."""
        self.gate = Gate(self.vault, policy, draws and Script(draws))
        self.receipt = self.gate.admit(Post(actor="me", target="x", outlet="list", content=b""))

    @property
    def state(self):
        """What became of the post."""
        return self.gate.status(self.receipt.secret).state

    def tick(self, count=1, seconds=1):
        """Let ticks go by, and close and release at each."""
        for _ in range(count):
            self.clock.sleep(seconds)
            with self.vault.store.transaction("closing") as transaction:
                close_ticks(transaction, self.vault.keys, self.clock)
            Releaser(self.vault).release()

    def leave(self):
        """Wait until the post has left, or is parked."""
        for _ in as_long_as(lambda: self.state == "waiting"):
            self.tick()

    @property
    def here(self):
        """Where the store stands."""
        with self.vault.store.transaction("reading") as transaction:
            return snapshot(transaction)


@pytest.fixture
def own():
    """A store under the old policy."""
    clock = ManualClock()
    own = Place(memory_vault(OLD, clock, personal=True), clock)
    own.adopt(OLD)
    return own


def test_the_same_policy_changes_nothing(own):
    """Handing in under the policy that holds is no change, whatever waits."""
    own.admit()

    assert own.adopt(OLD) is False


@pytest.mark.parametrize(
    "text",
    [
        "# as an earlier version wrote it\n" + write_policy(OLD).replace("  # ", "  # in other words: "),
        'law = "uniform"\ngap = "10s"\nepsilon = 1.0\nwindow = "2000ms"\n',
    ],
    ids=["other comments", "other spelling"],
)
def test_a_policy_in_other_words_is_the_same(own, text):
    """Comments, and how a number is spelt, are no choices: acts that wait do not stand in the way."""
    own.admit()
    here = own.here.settings
    ticks = {"tick": str(here.tick), "window_ticks": here.window_ticks}
    with own.vault.store.transaction("closing") as transaction:
        transaction.tell("change_settings", **ticks, labels=here.labels, policy=text)

    assert own.adopt(OLD) is False
    own.admit()
    assert own.state == "waiting"
    assert own.here.policy == text


def test_an_unused_store_takes_any_policy_at_once(own):
    """Nothing is on its way, so nothing can be told apart."""
    assert own.adopt(COARSER) is True
    assert own.here.policy == write_policy(COARSER)
    assert (own.here.settings.tick, own.here.settings.window_ticks) == (5, 2)


def test_a_waiting_post_holds_the_policy(own):
    """While something waits its policy stays, and nothing of the store is changed by asking."""
    own.admit()
    before = own.here

    with pytest.raises(BadInput, match="while posts wait under another one: give that one, or withdraw"):
        own.adopt(STRICTER)
    assert own.here == before


def moment_in(told, before):
    """The moment that a refusal names after some words, in seconds since 1970."""
    return datetime.fromisoformat(str(told.value).partition(before)[2][:19]).timestamp()


def test_a_waiting_post_names_the_moment_of_the_change(own):
    """Once it has left, the change is accepted right after the moment that was told, and not at it."""
    own.admit(draws=[15])
    with pytest.raises(BadInput) as told:
        own.adopt(STRICTER)
    own.leave()
    own.tick(int(moment_in(told, "it changes after ") - own.clock.wall / 10**6))
    with pytest.raises(BadInput, match="so soon after posts have left"):
        own.adopt(STRICTER)
    own.clock.sleep(0.001)

    assert own.adopt(STRICTER) is True


def test_where_the_label_decides_the_later_moment_is_named(own):
    """Nobody is told to come back too early."""
    own.admit(draws=[2, 1])
    with pytest.raises(BadInput) as told:
        own.adopt(STRICTER)

    assert own.receipt.status.earliest < own.receipt.status.latest
    assert moment_in(told, "it changes after ") == own.receipt.status.latest + REACH + 1


def test_who_is_refused_is_told_how_to_go_on(own):
    """A caller that knows where the old policy is says so in the refusal."""
    own.admit()
    vault = own.vault
    with (
        pytest.raises(BadInput, match="under another one: look in the drawer, or withdraw them"),
        vault.store.transaction("closing") as transaction,
    ):
        adopt(transaction, vault.keys, own.clock, STRICTER, instead="look in the drawer")


def test_a_policy_changes_one_reach_and_a_tick_after_the_last_release(own):
    """For as long as a post that left could have left later, by the promise, the old policy stays."""
    own.admit()
    own.leave()
    left = own.gate.status(own.receipt.secret).latest
    own.tick(left + REACH - own.here.closed)
    with pytest.raises(
        BadInput, match="so soon after posts have left under another one: give that one, or try again"
    ):
        own.adopt(STRICTER)
    own.tick()

    assert own.here.closed == left + REACH + 1
    assert own.adopt(STRICTER) is True


def test_the_larger_reach_of_the_two_counts(own):
    """A new policy that promises more waits for what it promises."""
    own.admit()
    own.leave()
    own.tick(REACH + 1)

    with pytest.raises(BadInput, match="so soon after posts have left"):
        own.adopt(COARSER)
    own.tick(60)
    assert own.adopt(COARSER) is True


def test_the_moment_that_a_refusal_names_is_the_right_one(own):
    """Right after the moment that is told the change is accepted, and at that moment it is not."""
    own.admit()
    own.leave()
    with pytest.raises(BadInput) as told:
        own.adopt(STRICTER)
    moment = moment_in(told, "try again after ")
    own.clock.sleep(moment - own.clock.wall / 10**6)
    with pytest.raises(BadInput, match="so soon after posts have left"):
        own.adopt(STRICTER)
    own.clock.sleep(0.001)

    assert own.adopt(STRICTER) is True


def test_an_arrival_that_is_not_erased_holds_the_policy(own):
    """A withdrawn post still counts for labels, so the window of the labels stays until it is erased."""
    own.admit(draws=[2, 1])  # so short that its release is not known before its label is
    own.gate.withdraw(own.receipt.secret)

    with pytest.raises(BadInput, match="while acts that were taken back or parked under another one count"):
        own.adopt(STRICTER)
    own.tick(100)
    assert own.adopt(STRICTER) is True


def test_after_taking_back_the_named_moment_is_the_right_one(own):
    """Nothing has left, so the change waits for the labels alone, and the moment stays as it was told."""
    own.admit()
    own.gate.withdraw(own.receipt.secret)
    told = []
    for _ in range(2):
        with pytest.raises(BadInput) as refused:
            own.adopt(STRICTER)
        told.append(moment_in(refused, "try again after "))
        own.tick()
    own.clock.sleep(told[0] - own.clock.wall / 10**6)
    with pytest.raises(BadInput, match="taken back"):
        own.adopt(STRICTER)
    own.clock.sleep(0.001)

    assert told[0] == told[1]
    assert own.adopt(STRICTER) is True


def test_another_tick_counts_anew(own):
    """Closed ticks are counted in the new unit from the same moment, and old receipts are forgotten."""
    own.admit()
    own.leave()
    own.tick(80)
    before = own.here
    far = {"since": 0, "until": before.closed + 99, "resumes": before.closed + 99}
    with own.vault.store.transaction("closing") as transaction:
        transaction.tell("lock_out", account=b"somebody", **far)
    assert own.adopt(COARSER) is True
    after = own.here
    with own.vault.store.transaction("reading") as transaction:
        assert transaction.one("lockout", account=b"somebody") is None

    assert after.closed == (own.clock.wall // 10**6 - 1) // 5
    assert 0 <= before.closed - after.closed * 5 <= 5
    with pytest.raises(NoSuchPost):
        own.gate.status(own.receipt.secret)


def test_the_same_tick_keeps_receipts(own):
    """Where ticks keep their length, what has left can still be asked for."""
    own.admit()
    own.leave()
    own.tick(REACH + 1)
    own.adopt(STRICTER)

    assert own.state == "released"


def test_posts_wait_under_the_new_policy(own):
    """After a change of ticks posts leave at ticks of the new length, after the new window."""
    own.adopt(COARSER)
    own.admit(COARSER)
    status = own.receipt.status
    for _ in as_long_as(lambda: own.state == "waiting"):
        own.tick(seconds=5)
    (release,) = own.vault.outlets["list"].delivered

    assert release.at in status.between
    assert release.at % 5 == 0
    assert release.at >= own.clock.wall // 10**6 - 10


def test_a_worker_that_was_there_before_tells_the_right_moment(own):
    """A keeper that has run since before the change publishes under ticks of the new length."""
    worker = Releaser(own.vault)
    own.adopt(COARSER)
    own.admit(COARSER)
    for _ in as_long_as(lambda: not worker.release()):
        own.clock.sleep(5)
        with own.vault.store.transaction("closing") as transaction:
            close_ticks(transaction, own.vault.keys, own.clock)
    (release,) = own.vault.outlets["list"].delivered

    assert release.at in own.receipt.status.between


def test_a_parked_post_outlives_a_change_of_ticks(own):
    """What is parked stays so, and does not hold a later policy for longer than any release would."""
    own.vault.outlets["list"].broken = Refused("no such mailbox")
    own.admit()
    own.leave()
    own.tick(80)
    own.adopt(COARSER)
    own.tick(20, seconds=5)

    assert own.state == "parked"
    assert own.adopt(OLD) is True
    own.tick(80)
    assert own.adopt(STRICTER) is True
    assert own.state == "parked"


def test_a_withdrawn_post_does_not_keep_a_policy_for_ever():
    """Once nothing waits and no arrival is left, what was withdrawn is no reason to refuse."""
    clock = ManualClock()
    here = Place(memory_vault(OLD, clock, personal=True), clock)
    here.admit()
    here.gate.withdraw(here.receipt.secret)
    clock.sleep(10 * REACH)  # and no keeper runs

    assert here.adopt(STRICTER)
