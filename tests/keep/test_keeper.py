"""The keeper as a whole: one thread that closes, a few that deliver, and what they tell."""

import threading
import time
from contextlib import contextmanager

import pytest

from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.keep import keeper as keeper_module
from tarry.keep import releaser as releaser_module
from tarry.keep.errors import LockedOut, Refused, Unavailable, Unreachable
from tarry.keep.gate import Gate
from tarry.keep.keeper import Keeper, Patience
from tarry.keep.posts import Post
from tarry.keep.releaser import LEASE_S, MOST_ATTEMPTS, Releaser
from tarry.keep.store import MICROS, SystemClock, snapshot
from tarry.testing import ListOutlet, ManualClock, memory_vault

DEADLINE_S = 60.0


def at_once(ask):
    """A lone post leaves as soon as its label is known."""
    later = Law.of_masses([0] * ask.start + [1])
    return LawPair(batched=later, unbatched=Law.of_masses([1]), start=ask.start)


SLOW = Policy(epsilon="1", gap="8s", window="2s", tick="1s", law=at_once)
FAST = Policy(epsilon="1", gap="0.4s", window="0.1s", tick="0.05s", law=at_once)


def wait_for(condition, what):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not after {DEADLINE_S:.0f} s: {what}"
        time.sleep(0.005)


class Stuck(ListOutlet):
    """Holds deliveries until it is let go."""

    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.go = threading.Semaphore(0), threading.Event()

    def deliver(self, release):
        self.begun.release()
        assert self.go.wait(DEADLINE_S)
        super().deliver(release)


class Home:
    """A store in memory, with its gate."""

    def __init__(self, policy, clock, *, personal=False, **outlets):
        self.clock, self.told = clock, []
        self.vault = memory_vault(policy, clock, personal=personal, **outlets)
        self.gate = Gate(self.vault, policy)

    def admit(self, target="paper 3", outlet="list", actor="ann"):
        return self.gate.admit(Post(actor=actor, target=target, outlet=outlet, content=b"!"))

    def now(self):
        with self.vault.store.transaction("reading") as transaction:
            return self.vault.now(transaction)

    def closed(self):
        with self.vault.store.transaction("reading") as transaction:
            return snapshot(transaction).closed

    def go_to(self, moment):
        """Set the clock to a moment, in seconds."""
        self.clock.sleep(float(moment - self.now() / MICROS))

    def state(self, receipt):
        return self.gate.status(receipt.secret).state

    def targets(self, outlet="list"):
        return [release.target for release in self.vault.outlets[outlet].delivered]

    @contextmanager
    def kept(self, workers=2):
        """Somebody keeps, and is told to stop in the end."""
        keeper = Keeper(self.vault, workers=workers, tell=self.told.append)
        thread = threading.Thread(target=keeper.run)
        thread.start()
        try:
            yield keeper
        finally:
            keeper.stop()
            thread.join()


@pytest.fixture
def home(monkeypatch):
    """A store whose clock is moved by hand, at which the keeper looks all the time."""
    monkeypatch.setattr(keeper_module, "_SWEEP_S", 0.002)
    return Home(SLOW, ManualClock())


def look_around(keeper):
    """Let the keeper look at the clock a few times, and its workers at what is due."""
    seen = keeper._closes
    wait_for(lambda: keeper._closes > seen + 4, "the keeper looks at the clock")


# --- closing --------------------------------------------------------------------------------------


def test_a_post_leaves_when_its_tick_has_passed_and_not_a_microsecond_before(home):
    """At the very end of its tick a post still waits; a microsecond later it leaves under that tick."""
    home.admit("paper 1")
    receipt = home.admit("paper 2")  # batched, so its label is known long before its tick
    _, tick_at = receipt.status.between
    with home.kept() as keeper:
        home.go_to(tick_at)
        look_around(keeper)
        waiting = home.state(receipt), home.targets()
        home.clock.sleep(1 / MICROS)
        wait_for(lambda: len(home.targets()) == 2, "both posts leave")

    assert waiting == ("waiting", [])
    assert {release.at for release in home.vault.outlets["list"].delivered} == {tick_at}


def test_ticks_of_a_running_clock_close_as_they_pass():
    """On a real clock posts leave after their ticks, and soon after."""
    home = Home(FAST, SystemClock())
    late = []

    class Timed(ListOutlet):
        def deliver(self, release):
            late.append(home.now() - int(release.at * MICROS))

    home.vault.outlets["list"] = Timed()
    with home.kept():
        for post in range(5):
            home.admit(actor=f"{post}")
            wait_for(lambda seen=post: len(late) > seen, "the post leaves")

    assert min(late) > 0
    # The quickest of them: the machine has other things to do.
    assert min(late) < MICROS // 4


def test_a_keeper_that_ends_when_nothing_waits_has_erased_the_arrivals():
    """The last release is not the end: it ends when nothing of an arrival is left."""
    home = Home(FAST, SystemClock())
    receipt = home.admit()
    Keeper(home.vault, tell=home.told.append).run(until_empty=True)
    with home.vault.store.transaction("reading") as transaction:
        left = transaction.one("busy_until")

    assert home.state(receipt) == "released"
    assert (left["waiting"], left["arrivals"]) == (0, 0)


# --- delivering -----------------------------------------------------------------------------------


def clearings(posts, monkeypatch) -> list[int]:
    """At which ticks a keeper clears traces while some ticks go by, counted from the first one."""
    monkeypatch.setattr(keeper_module, "_SWEEP_S", 0.002)
    home, cleared = Home(SLOW, ManualClock()), []
    begun = home.closed()

    def clear_traces(*, last):
        cleared.append("last" if last else home.closed() - begun)
        return True

    monkeypatch.setattr(home.vault.store, "clear_traces", clear_traces)
    with home.kept() as keeper:
        wait_for(lambda: cleared, "the first clearing, of what an earlier keeper may have left")
        for tick in range(13):
            home.clock.sleep(1)
            look_around(keeper)
            if tick in posts:
                home.admit()
    return cleared


def test_traces_are_cleared_at_public_moments_needed_or_not(monkeypatch):
    """Once in a window, and at the end: a post that comes, leaves and is erased changes nothing."""
    found = clearings([], monkeypatch)

    assert found[1:] == [*range(found[1], 14, 2), "last"]
    assert clearings([1], monkeypatch) == clearings([2, 7], monkeypatch) == found


def test_a_keeper_that_is_stopped_delivers_first_what_it_has_begun(monkeypatch):
    """A delivery in progress ends and is written down before the keeper does."""
    monkeypatch.setattr(keeper_module, "_SWEEP_S", 0.002)
    stuck = Stuck(delivery="at most once")
    home = Home(SLOW, ManualClock(), list=stuck)
    receipt = home.admit()
    with home.kept() as keeper:
        home.clock.sleep(4)
        assert stuck.begun.acquire(timeout=DEADLINE_S)
        keeper.stop()
        stuck.go.set()

    assert home.state(receipt) == "released"
    assert home.targets() == ["paper 3"]


def test_a_delivery_longer_than_the_lease_is_neither_repeated_nor_parked(monkeypatch):
    """A worker at work renews its claim, so that another keeper leaves it alone."""
    monkeypatch.setattr(releaser_module, "LEASE_S", 1)
    monkeypatch.setattr(keeper_module, "_RENEW_S", 0.05)
    often, once = Stuck(), Stuck(delivery="at most once")
    home = Home(FAST, SystemClock(), often=often, once=once)
    receipts = [home.admit("a", "often", actor="ann"), home.admit("b", "once", actor="bob")]
    with home.kept(), home.kept():
        assert often.begun.acquire(timeout=DEADLINE_S)
        assert once.begun.acquire(timeout=DEADLINE_S)
        lapse = home.now() + int(1.3 * MICROS)
        wait_for(lambda: home.now() > lapse, "more than a lease goes by")
        states = [home.state(receipt) for receipt in receipts]
        often.go.set()
        once.go.set()
        wait_for(lambda: {home.state(each) for each in receipts} == {"released"}, "both are delivered")

    assert states == ["waiting", "waiting"]
    assert (home.targets("often"), home.targets("once")) == (["a"], ["b"])


def test_a_delivery_that_hangs_does_not_hold_up_the_next(monkeypatch):
    """While one worker waits for the world another delivers what falls due later."""
    monkeypatch.setattr(keeper_module, "_SWEEP_S", 0.002)
    stuck, list_ = Stuck(), ListOutlet()
    home = Home(SLOW, ManualClock(), stuck=stuck, list=list_)
    home.admit("slow", "stuck")
    with home.kept():
        home.clock.sleep(4)
        assert stuck.begun.acquire(timeout=DEADLINE_S)
        home.admit("quick", "list")
        home.clock.sleep(4)
        wait_for(home.targets, "the other post leaves")
        meanwhile = home.targets("stuck")
        stuck.go.set()

    assert meanwhile == []
    assert (home.targets("stuck"), home.targets()) == (["slow"], ["quick"])


def test_what_a_dead_worker_held_leaves_after_one_lease(home):
    """A claim that nobody marks comes back when it lapses, and not before."""
    receipt = home.admit()
    home.clock.sleep(4)
    with home.kept(workers=0) as keeper:
        look_around(keeper)
    Releaser(home.vault).claim("list")  # and the worker dies
    with home.kept() as keeper:
        home.clock.sleep(LEASE_S - 1)
        look_around(keeper)
        held = home.state(receipt)
        home.clock.sleep(2)
        wait_for(home.targets, "the post leaves")

    assert held == "waiting"
    assert home.targets() == ["paper 3"]


def test_a_keeper_whose_worker_breaks_ends_with_its_error(home, monkeypatch):
    """A fault in a thread is not swallowed: it ends the keeper, so that somebody notices."""

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Releaser, "claim", broken)

    with pytest.raises(ZeroDivisionError):
        Keeper(home.vault).run()


# --- telling --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("personal", "then"),
    [(False, "what fell due leaves now"), (True, "every waiting release moves later by as much")],
)
def test_missed_ticks_are_told_once(home, personal, then):
    """Ticks that closed late are told when they close, in one sentence, and never again."""
    home = Home(SLOW, ManualClock(), personal=personal)
    with home.kept() as keeper:
        look_around(keeper)
        home.clock.sleep(LEASE_S + 1)
        look_around(keeper)
        home.clock.sleep(1)
        look_around(keeper)

    assert home.told == [f"{LEASE_S} ticks were missed; {then}"]


@pytest.mark.parametrize(
    ("personal", "then"),
    [(False, "what fell due leaves now"), (True, "every waiting release moves later by as much")],
)
def test_what_is_told_does_not_change_at_an_arrival(personal, then):
    """With and without arrivals the same clock makes the keeper say the same, until something leaves."""

    def told(*actors):
        home = Home(SLOW, ManualClock(), personal=personal)
        with home.kept() as keeper:
            for actor in actors:
                home.admit("paper 1", actor=actor)
                home.admit("paper 2", actor=actor)
            look_around(keeper)
            home.clock.sleep(LEASE_S + 3)
            for actor in actors:
                home.admit("paper 3", actor=actor)  # in a personal store this closes the missed ticks
            look_around(keeper)
        return home.told

    assert told() == told("ann", "bob") == [f"{LEASE_S + 2} ticks were missed; {then}"]


def test_a_failed_delivery_is_told_without_saying_whose(home):
    """The sentence names the outlet and what it said, and neither actor nor target."""
    home.vault.outlets["list"].broken = Unreachable("the server is asleep")
    home.admit()
    with home.kept():
        home.clock.sleep(4)
        wait_for(lambda: "failed" in "".join(home.told), "the failure is told")

    assert home.told[-1] == "a delivery by list failed (the server is asleep): it will be tried again"


def test_a_delivery_that_may_have_happened_is_told_as_such(home):
    """With what the outlet said of it, for only here can anybody read it before it is parked."""
    home.vault.outlets["list"].broken = Unreachable("the server hung up", sent=True)
    home.admit()
    with home.kept():
        home.clock.sleep(4)
        wait_for(lambda: "failed" in "".join(home.told), "the failure is told")

    why = "a delivery by list failed (the server hung up)"
    assert home.told[-1] == f"{why}: it may have left; it will be tried again"


def test_words_that_no_store_takes_do_not_end_the_keeper(home):
    """It goes on, and the next post leaves."""
    home.vault.outlets["list"].broken = Refused("no l\udcfcgin\x00")
    first = home.admit()
    with home.kept():
        home.clock.sleep(4)
        wait_for(lambda: home.state(first) == "parked", "the refusal is written down")
        home.vault.outlets["list"].broken = None
        second = home.admit("paper 2")
        home.clock.sleep(4)
        wait_for(lambda: home.state(second) == "released", "the next one leaves")

    assert "a delivery by list failed (no l gin): parked" in home.told


def test_an_account_that_cannot_get_in_is_told_without_saying_whose(home):
    """At every try, for there is one in five minutes at most; and the post waits for longer than that."""
    home.vault.outlets["list"].broken = LockedOut("the wiki refuses this account's login")
    receipt = home.admit()
    with home.kept():
        home.clock.sleep(4)
        wait_for(lambda: home.told, "the failure is told")
        _, later = home.gate.status(receipt.secret).between
        home.go_to(later + 1)
        wait_for(
            lambda: len(home.told) == 3, "the next one is told as well, after the ticks that were missed"
        )

    why = "a delivery by list failed (the wiki refuses this account's login)"
    assert [told for told in home.told if "missed" not in told] == [
        f"{why}: all that waits for this account moves later"
    ] * 2
    assert home.state(receipt) == "waiting"


def test_in_ones_own_store_an_account_that_cannot_get_in_holds_everything():
    """Its owner is told so: acts that have nothing to do with the account wait as well."""
    home = Home(SLOW, ManualClock(), personal=True)
    home.vault.outlets["list"].broken = LockedOut("no way in")
    home.admit()
    keeper, releaser = Keeper(home.vault, workers=0, tell=home.told.append), Releaser(home.vault)
    for _ in range(10):  # tick by tick, so that none is missed
        home.clock.sleep(1)
        keeper._close()
        if claim := releaser.claim("list"):
            break
    keeper._deliver(releaser, claim, Patience(keeper._stopping, keeper._tell))

    assert home.told == ["a delivery by list failed (no way in): everything of yours moves later"]


def test_of_many_failed_tries_the_first_and_the_last_are_told(home):
    """An outage of an hour is not a line for every post and every try."""
    home.vault.outlets["list"].broken = Unreachable("asleep")
    receipt = home.admit()
    keeper = Keeper(home.vault, tell=home.told.append)
    home.clock.sleep(4)
    keeper._close()
    tries = 0
    while home.state(receipt) == "waiting":
        releaser = Releaser(home.vault)
        if claim := releaser.claim("list"):
            keeper._deliver(releaser, claim, Patience(keeper._stopping, keeper._tell))
            tries += 1
        home.clock.sleep(60)
        releaser.sweep()

    assert tries == MOST_ATTEMPTS
    assert home.told == [
        "a delivery by list failed (asleep): it will be tried again",
        "a delivery by list failed (asleep): parked",
    ]


def test_what_cannot_be_opened_is_parked_and_told(home):
    """Otherwise nobody would know that the store was changed."""
    receipt = home.admit()
    with home.vault.store.transaction("working"):
        home.vault.store.connection().execute("UPDATE posts SET options = x'00'")
    with home.kept():
        home.clock.sleep(4)
        wait_for(lambda: home.told, "somebody tells")

    assert home.state(receipt) == "parked"
    (told,) = home.told
    assert told.startswith("1 deliveries by list failed (its content cannot be opened, ")
    assert told.endswith(": parked")


def test_what_was_claimed_for_a_worker_is_delivered_by_whoever_is_left(home):
    """A claim that no worker takes any more before the end is delivered by the keeper itself."""
    receipt = home.admit()
    home.clock.sleep(60)
    keeper = Keeper(home.vault, workers=0)
    keeper._idle = 1  # a worker that is about to leave
    thread = threading.Thread(target=keeper.run)
    thread.start()
    wait_for(lambda: keeper._handed, "a claim is handed over")
    keeper.stop()
    thread.join()

    assert home.targets() == ["paper 3"]
    assert home.state(receipt) == "released"


def test_what_has_left_is_written_down_although_the_keeper_stops(home, monkeypatch):
    """A store that is away for a moment at the end does not make a delivery happen again."""
    receipt = home.admit()
    home.clock.sleep(60)
    mark, away = Releaser.mark, [2]

    def stumbling(self, claim, outcomes):
        keeper.stop()
        if away[0]:
            away[0] -= 1
            raise Unavailable("the store is away")
        mark(self, claim, outcomes)

    monkeypatch.setattr(Releaser, "mark", stumbling)
    keeper = Keeper(home.vault, workers=1)
    keeper.run()

    assert home.state(receipt) == "released"


# --- a pause --------------------------------------------------------------------------------------


def pause(home, paused):
    with home.vault.store.transaction("closing") as transaction:
        transaction.tell("pause", paused=int(paused))


def test_in_a_pause_nothing_leaves_and_afterwards_everything_does(home):
    """A keeper at a store that is paused while it runs lets nothing out until the pause is over."""
    receipt = home.admit()
    with home.kept() as keeper:
        look_around(keeper)
        pause(home, paused=True)
        home.clock.sleep(30)
        look_around(keeper)
        during = home.state(receipt), home.targets()
        pause(home, paused=False)
        wait_for(home.targets, "the post leaves")

    assert during == ("waiting", [])
    assert home.targets() == ["paper 3"]


def test_a_pause_is_waited_out_at_rest():
    """A keeper at a paused store does not ask all the time whether the pause is over."""
    home = Home(SLOW, ManualClock())
    keeper = Keeper(home.vault)
    pause(home, paused=True)
    home.clock.sleep(30)
    keeper._close()
    Releaser(home.vault).sweep()

    assert keeper._seconds_until(keeper._close()) == keeper_module._SWEEP_S


def test_of_many_outlets_only_those_with_work_are_tried(home, monkeypatch):
    """A gateway may have a hundred spaces: trying each of them at every tick would keep a database busy."""
    names, tried = [f"outlet {n}" for n in range(20)], set()
    home.vault.outlets.update({name: ListOutlet() for name in names})
    claim_within = Releaser.claim_within

    def counted(releaser, transaction, outlet, *others):
        tried.add(outlet)
        return claim_within(releaser, transaction, outlet, *others)

    monkeypatch.setattr(Releaser, "claim_within", counted)
    for name in names[::7]:
        home.admit(f"paper of {name}", outlet=name, actor=name)
    with home.kept() as keeper:
        look_around(keeper)
        home.clock.sleep(60)
        wait_for(lambda: all(home.targets(name) for name in names[::7]), "all three leave")
        look_around(keeper)

    assert tried == set(names[::7])


# --- one person's own store ------------------------------------------------------------------------


@pytest.fixture
def own(monkeypatch):
    """One person's store, with an outlet that gets stuck."""
    monkeypatch.setattr(keeper_module, "_SWEEP_S", 0.002)
    home = Home(SLOW, ManualClock(), personal=True)
    home.vault.outlets["stuck"] = Stuck(delivery="at most once")
    home.vault.outlets["slow"] = Stuck()
    return home


def pass_ticks(home, count):
    """Tick by tick, each closed by the keeper before the next begins."""
    for _ in range(count):
        before = home.closed()
        home.clock.sleep(1)
        wait_for(lambda last=before: home.closed() > last, "the tick closes")


def test_in_ones_own_store_no_act_waits_for_another_to_end(own):
    """However many commands are under way, the next act leaves at its tick."""
    stuck = own.vault.outlets["stuck"]
    with own.kept():
        for number in range(9):
            own.admit(f"p{number}", "stuck", actor=f"{number}")
        pass_ticks(own, 3)
        begun = [stuck.begun.acquire(timeout=DEADLINE_S) for _ in range(9)]
        receipt = own.admit("free", actor="somebody")
        pass_ticks(own, 4)
        wait_for(lambda: own.targets() == ["free"], "the act leaves")
        under_way = own.targets("stuck")
        stuck.go.set()

    assert all(begun)
    assert under_way == []
    assert {release.at for release in own.vault.outlets["list"].delivered} == {receipt.status.between[0]}


def test_in_ones_own_store_nothing_leaves_but_at_the_close_of_a_tick(own):
    """What was held up by another act leaves with the next tick, and not when that one ends."""
    slow = own.vault.outlets["slow"]
    with own.kept() as keeper:
        first = own.admit("p", "slow")
        post = Post(actor="ann", target="p", outlet="list", content=b"!", depends_on=first.secret)
        own.gate.admit(post)
        pass_ticks(own, 4)
        assert slow.begun.acquire(timeout=DEADLINE_S)
        slow.go.set()
        wait_for(lambda: own.state(first) == "released", "the first one ends")
        look_around(keeper)
        too_soon = own.targets()
        pass_ticks(own, 1)
        wait_for(own.targets, "the second one leaves")

    assert too_soon == []


def test_who_stops_twice_does_not_wait_for_an_act_that_never_ends(own):
    """The first time it says what it waits for; the second time the act is left, and parked one day."""
    stuck, receipt = own.vault.outlets["stuck"], own.admit("p", "stuck")
    keeper = Keeper(own.vault, tell=own.told.append)
    thread = threading.Thread(target=keeper.run)
    thread.start()
    pass_ticks(own, 4)
    assert stuck.begun.acquire(timeout=DEADLINE_S)
    keeper.stop()
    wait_for(lambda: own.told, "it says what it waits for")
    waits = thread.is_alive()
    keeper.stop()
    thread.join(DEADLINE_S)

    assert waits
    assert not thread.is_alive()
    assert own.told == ["1 under way: waiting for the end; stop again to leave it to itself, parked"]
    assert own.state(receipt) == "waiting"
    stuck.go.set()


class NoWaiting(threading.Event):
    """Waits for nothing, and remembers for how long it was asked to."""

    def __init__(self, stop_after: int = 10**6) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._stop_after = stop_after

    def wait(self, timeout: float | None = None) -> bool:
        """Says whether it is time to stop."""
        self.waits.append(timeout)
        return len(self.waits) >= self._stop_after


def away(times):
    """A step that fails so many times before it answers."""
    left = iter(range(times))

    def step():
        if next(left, None) is not None:
            raise Unavailable("the store cannot be used: gone")
        return "here"

    return step


def test_a_step_that_works_is_not_spoken_of():
    """Where nothing is wrong nothing is said, and nobody waits."""
    told, waiting = [], NoWaiting()

    assert Patience(waiting, told.append)(away(0)) == "here"
    assert (told, waiting.waits) == ([], [])


def test_a_store_that_comes_back_is_told_once_each_way():
    """However often a step is tried, its trouble is told once, and its end once."""
    told = []

    assert Patience(NoWaiting(), told.append)(away(9)) == "here"
    assert told == ["the store cannot be used: gone; waiting for it to come back", "the store is back"]


def test_it_waits_longer_and_longer_up_to_sixteen_seconds():
    """Each wait is up to twice as long as the one before, and none is above sixteen seconds."""
    waiting = NoWaiting()
    Patience(waiting, lambda _: None)(away(20))

    assert len(waiting.waits) == 20
    for number, wait in enumerate(waiting.waits):
        most = min(16, 2**number)
        assert most / 2 <= wait <= most


def test_told_to_stop_it_gives_up():
    """A keeper that is told to stop does not wait for its store."""
    assert Patience(NoWaiting(stop_after=3), lambda _: None)(away(100)) is None


def test_other_errors_are_not_waited_out():
    """What is no trouble of the store is not tried again."""

    def broken():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Patience(NoWaiting(), lambda _: None)(broken)
