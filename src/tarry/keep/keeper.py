"""The keeper: the long-running process that closes ticks and releases. One thread closes, a few deliver.

In one person's own store nothing leaves but at the close of a tick, and each act that leaves has a thread
of its own: if it had to wait for another to end, its moment would tell of the other.

When the store cannot be reached it waits, says so once, and goes on by itself; what was missed meanwhile
closes as `closing` tells.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tarry.core.entropy import Secure
from tarry.keep.closing import Closed, close_ticks, hour_ticks, public_period
from tarry.keep.errors import Unavailable
from tarry.keep.releaser import LEASE_S, SHUT, Claim, Outcome, Releaser, due_outlets, retry_delay
from tarry.keep.rows import Busy, read_one
from tarry.keep.sharing import Sharing
from tarry.keep.store import MICROS, Transaction, Vault

__all__ = ["Keeper", "Patience"]

T = TypeVar("T")

_RENEW_S = LEASE_S / 4
_SWEEP_S = 2.0
_BRIEFLY_S = 0.5
_AFTER_STOP_S = 0.1
_DOUBLINGS = 5  # of the wait for a store: at most sixteen seconds
_FEW = 3  # outlets that are tried without asking first
_MOST_UNDER_WAY = 64  # acts in one person's own store


def _nobody(_: str) -> None:
    """Nobody listens."""


class Keeper:
    """Closes ticks and releases what is due, until told to stop.

    `tell` hears what happens, in sentences; nothing in them changes at an arrival.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.store import SystemClock
    >>> from tarry.testing import memory_vault
    >>> Keeper(memory_vault(Policy(epsilon="1", gap="11m"), SystemClock())).run(until_empty=True)
    """

    def __init__(self, vault: Vault, *, workers: int = 4, tell: Callable[[str], None] = _nobody) -> None:
        self.vault = vault
        self._workers, self._tell = workers, tell
        self._stopping, self._done = threading.Event(), threading.Event()
        self._stops = 0  # how often it was told to
        self._pool, self._acts = list[threading.Thread](), list[threading.Thread]()
        self._news, self._closes = threading.Condition(), 0
        self._claims: set[int] = set()
        self._idle, self._handed = 0, list[Claim]()  # workers without work, and claims for them
        self._busy = Counter[str]()  # workers at each outlet
        self._releaser = Releaser(vault)
        self._failure: BaseException | None = None
        self._traces = False  # whether it is time to clear them
        self._moment: tuple[object, ...] = ()  # the last public moment seen
        self._last: tuple[object, int] | None = None  # length and number of the last tick seen closed

    @property
    def _sharing(self) -> Sharing:
        return self.vault.settings.sharing

    def stop(self) -> None:
        """End soon: what is being delivered is delivered first. Safe in a signal handler.

        One person who says it twice does not wait for acts that are under way: they are taken for cut off.
        """
        self._stops += 1
        self._stopping.set()

    def run(self, *, until_empty: bool = False) -> None:
        """Keep, until told to stop, or until nothing waits and nothing is left to erase."""
        try:
            self.keep(until_empty=until_empty)
        finally:
            self.finish()

    def keep(self, *, until_empty: bool = False) -> None:
        """The first part of `run`: all of it but the end."""
        if not self._sharing.delivers_alone:
            self._pool = [self._thread(self._work, f"worker {n}") for n in range(self._workers)]
        self._leases = self._thread(self._hold_claims, "leases")
        for thread in (self._leases, *self._pool):
            thread.start()
        self._close_ticks(until_empty=until_empty)
        if self._failure is not None:
            raise self._failure

    def finish(self) -> None:
        """The second part: nothing new leaves, and what is under way ends."""
        self._stopping.set()
        self._hand_over([])
        for thread in self._pool:
            thread.join()
        self._deliver_handed()  # what nobody was left to take
        self._await_acts()
        self._done.set()
        self._leases.join()
        self._clear_traces(last=True)
        self.vault.store.close()
        if self._failure is not None:
            raise self._failure

    def _await_acts(self) -> None:
        is_announced = False
        while (left := sum(act.is_alive() for act in self._acts)) and self._stops < 2:
            next(act for act in self._acts if act.is_alive()).join(_BRIEFLY_S)
            if not is_announced and self._stops:
                is_announced = True
                self._tell(
                    f"{left} under way: waiting for the end; stop again to leave it to itself, parked"
                )

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """A thread that breaks ends the keeper: without it posts would wait for ever, and nobody knew."""

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - `run` raises it
                self._failure = error
                self._stopping.set()

        return threading.Thread(target=guarded, name=name, daemon=self._sharing.delivers_alone)

    # --- closing ----------------------------------------------------------------------------------

    def _close_ticks(self, *, until_empty: bool) -> None:
        patiently = Patience(self._stopping, self._tell)
        while not self._stopping.is_set():
            end = patiently(self._close) or 0
            if until_empty and patiently(self._is_empty):
                return
            # Tidying up waits until what is due has been claimed, and ends before the next tick does.
            self._rest(self._seconds_until(end) / 2)
            patiently(lambda: self._releaser.sweep(tuple(self._claims)))
            self._clear_traces()
            self._rest(self._seconds_until(end))

    def _close(self) -> int:
        """Close what lies in the past; when there is more to close, by the steady clock."""
        vault = self.vault
        with vault.store.transaction("closing") as transaction:
            closed = close_ticks(transaction, vault.keys, vault.clock)
            vault.follow(closed.settings)
            claims = self._claim_within(transaction, closed)
        self._hand_over(claims)
        self._note_moment(closed)
        self._tell_missed(closed.tick)
        if vault.settings.paused:  # nothing closes: look again after a while
            return vault.clock.read().steady + int(_SWEEP_S * MICROS)
        # A tick is past when the clock stands beyond its end: one microsecond more.
        end = int((closed.tick + 1) * vault.settings.tick * MICROS) + 1
        return closed.anchor.reading.steady + end - closed.anchor.time

    def _claim_within(self, transaction: Transaction, closed: Closed) -> list[Claim]:
        """What has just fallen due: claimed with the tick, it leaves the sooner."""
        claims: list[Claim] = []
        if closed.settings.sharing.delivers_alone:
            self._acts = [act for act in self._acts if act.is_alive()]
            room = _MOST_UNDER_WAY - len(self._acts) if self._workers else 0
            if self._last == (closed.settings.tick, closed.tick):
                room = 0  # what comes back meanwhile waits for the next close
        else:
            room = min(1, self._idle - len(self._handed))  # for an idle worker
        for outlet in self._outlets(partial(due_outlets, transaction)) if room > 0 else ():
            if self.vault.outlets[outlet].in_store:
                # The workers do that in one transaction of their own, unless nobody would.
                if closed.settings.sharing.delivers_alone:
                    self._publish_all(transaction, outlet, closed.anchor.time)
                continue
            while len(claims) < room and self._has_room(outlet):
                if (claim := self._releaser.claim_within(transaction, outlet, closed.anchor.time)) is None:
                    break
                claims.append(claim)
        return claims

    def _publish_all(self, transaction: Transaction, outlet: str, now: int) -> None:
        while published := self._releaser.publish_within(transaction, outlet, now):
            self._tell_shut(outlet, published.shut)

    def _seconds_until(self, steady: int) -> float:
        return max(0, steady - self.vault.clock.read().steady) / MICROS

    def _rest(self, seconds: float) -> None:
        """Not so long that dead workers are overlooked."""
        self.vault.clock.wait(self._stopping, min(_SWEEP_S, seconds))

    def _tell_missed(self, tick: int) -> None:
        """Told by this loop's own pace: that somebody else has closed ticks meanwhile is not for a log."""
        length, before = self.vault.settings.tick, self._last
        self._last = (length, tick)
        missed = tick - before[1] - 1 if before is not None and before[0] == length else 0
        if missed * length >= LEASE_S:  # less is a busy machine, and no outage
            self._tell(f"{missed} ticks were missed; {self._sharing.after_outage}")

    def _note_moment(self, closed: Closed) -> None:
        """Tidy up at public moments, needed or not: whoever notices it learns of no arrival or delivery."""
        settings = closed.settings
        periods = (public_period(settings), hour_ticks(settings))  # what has left waits for an hour at most
        moment = (settings.tick, *(closed.tick // ticks for ticks in periods))
        self._traces |= moment != self._moment
        self._moment = moment

    def _clear_traces(self, *, last: bool = False) -> None:
        if self._traces or last:
            with contextlib.suppress(Unavailable):  # the next step meets it too, and tells
                self._traces = not self.vault.store.clear_traces(last=last)

    def _is_empty(self) -> bool:
        with self.vault.store.transaction("reading") as transaction:
            return (read_one(transaction, Busy, "busy_until") or Busy()).is_idle

    # --- delivering -------------------------------------------------------------------------------

    def _work(self) -> None:
        patiently = Patience(self._stopping, _nobody)
        releaser, seen = Releaser(self.vault), -1
        while not self._stopping.is_set():
            self._deliver_handed()
            for outlet in self._outlets(lambda: patiently(releaser.due) or set()):
                while not self._stopping.is_set() and self._enter(outlet):
                    if not self._release_some(releaser, outlet, patiently):
                        break
            seen = self._await_news(seen)
        self.vault.store.close()

    def _release_some(self, releaser: Releaser, outlet: str, patiently: "Patience") -> bool:
        """Let out what is due at an outlet, as much as goes at once; False if nothing is."""
        if self.vault.outlets[outlet].in_store:
            try:
                published = patiently(partial(releaser.publish, outlet))
            finally:
                self._leave(outlet)
            self._tell_shut(outlet, 0 if published is None else published.shut)
            return published is not None
        claim = patiently(partial(releaser.claim, outlet))
        if claim is None:
            self._leave(outlet)
            return False
        self._deliver(releaser, claim, patiently)
        return True

    def _outlets(self, due: Callable[[], set[str]]) -> list[str]:
        """Where to look for work: of many outlets hardly any has some, and one question tells which."""
        outlets = list(self.vault.outlets)
        if len(outlets) <= _FEW:
            return outlets
        busy = due()
        return [outlet for outlet in outlets if outlet in busy]

    def _deliver_handed(self) -> None:
        """Claimed is claimed: what is not delivered now would be taken for cut off."""
        while claim := self._take_handed():
            self._deliver(Releaser(self.vault), claim, Patience(self._stopping, _nobody))

    def _deliver_alone(self, claim: Claim) -> None:
        self._enter(claim.outlet)
        self._deliver(Releaser(self.vault), claim, Patience(self._stopping, _nobody))
        self.vault.store.close()

    def _deliver(self, releaser: Releaser, claim: Claim, patiently: "Patience") -> None:
        self._claims.add(claim.token)
        try:
            outcomes = releaser.deliver(claim)
            # What has left must be written down, or it leaves again.
            patiently(partial(releaser.mark, claim, outcomes), insist_s=LEASE_S)
        finally:
            self._claims.discard(claim.token)
            self._leave(claim.outlet)
        self._tell_shut(claim.outlet, claim.shut)
        for outcome in outcomes:
            is_news = outcome.attempt == 1 or outcome.parked or outcome.locked_s is not None
            if outcome.problem and is_news:  # not all tries between
                self._tell(_failed(claim, outcome, self._sharing))

    def _tell_shut(self, outlet: str, shut: int) -> None:
        if shut:
            self._tell(f"{shut} deliveries by {outlet} failed ({SHUT}): parked")

    def _enter(self, outlet: str) -> bool:
        """Go to work at an outlet, if there is room."""
        with self._news:
            if not self._has_room(outlet):
                return False
            self._busy[outlet] += 1
            return True

    def _leave(self, outlet: str) -> None:
        with self._news:
            self._busy[outlet] -= 1

    def _has_room(self, outlet: str) -> bool:
        """Whether one more worker may deliver by an outlet: one that hangs must not hold the others up.

        It has half of the workers at most, and all that may hang leave one to those that cannot. What is
        published inside the store leaves by one worker: a second one would wait for the first.
        """
        outlets = tuple(self.vault.outlets)
        if self.vault.outlets[outlet].in_store:
            with self._news:
                return not self._busy[outlet]
        if len(outlets) == 1 or not self._may_hang(outlet):
            return True
        hanging = [name for name in outlets if self._may_hang(name)]
        most = max(1, self._workers - (len(hanging) < len(outlets)))
        with self._news:
            return (
                self._busy[outlet] < max(1, self._workers // 2)
                and sum(self._busy[name] for name in hanging) < most
            )

    def _may_hang(self, outlet: str) -> bool:
        """What is published inside the store cannot; one person's own acts do not wait for each other."""
        return not (self._sharing.delivers_alone or self.vault.outlets[outlet].in_store)

    def _hold_claims(self) -> None:
        """Renew the claims whose delivery takes long."""
        releaser = Releaser(self.vault)
        while not self._done.wait(_RENEW_S):
            for token in tuple(self._claims):
                with contextlib.suppress(Unavailable):  # the workers meet it too, and wait
                    releaser.renew(token)
        self.vault.store.close()

    def _await_news(self, seen: int) -> int:
        with self._news:
            self._idle += 1
            self._news.wait_for(lambda: self._closes != seen or self._stopping.is_set(), _RENEW_S)
            self._idle -= 1
            return self._closes

    def _take_handed(self) -> Claim | None:
        with self._news:
            return self._handed.pop() if self._handed else None

    def _hand_over(self, claims: Sequence[Claim]) -> None:
        """Each act of one person to a thread of its own; others to the workers, who find them and wake."""
        self._claims.update(claim.token for claim in claims)
        if self._sharing.delivers_alone:
            acts = [self._thread(partial(self._deliver_alone, claim), "act") for claim in claims]
            self._acts += acts
            for act in acts:
                act.start()
        with self._news:
            if not self._sharing.delivers_alone:
                self._busy.update(claim.outlet for claim in claims)
                self._handed += claims
            self._closes += 1
            self._news.notify_all()


def _failed(claim: Claim, outcome: Outcome, sharing: Sharing) -> str:
    then = "parked" if outcome.parked else "it will be tried again"
    if outcome.locked_s is not None:  # and not whose account it is
        then = f"{sharing.moved_by_lockout} moves later"
    if outcome.sent:
        then = f"it may have left; {then}"
    return f"a delivery by {claim.outlet} failed ({outcome.problem}): {then}"


class Patience:
    """Tries a step again and again while the store is away; says once that it is, and once that it is back.

    >>> patience = Patience(threading.Event(), print)
    >>> patience(lambda: 7)
    7
    """

    def __init__(self, stopping: threading.Event, tell: Callable[[str], None]) -> None:
        self._stopping, self._tell = stopping, tell
        self._entropy = Secure()

    def __call__(self, step: Callable[[], T], *, insist_s: float = 0.0) -> T | None:
        """The answer of a step, or None when told to stop before there is one.

        With `insist_s` it goes on for so long although it was told to stop.
        """
        tries, end = 0, time.monotonic() + insist_s
        while True:
            try:
                answer = step()
            except Unavailable as trouble:
                if not tries:
                    self._tell(f"{trouble}; waiting for it to come back")
                tries += 1
                if self._stopping.wait(retry_delay(min(tries, _DOUBLINGS), self._entropy) / MICROS):
                    if time.monotonic() >= end:
                        return None
                    time.sleep(_AFTER_STOP_S)
            else:
                if tries:
                    self._tell("the store is back")
                return answer
