"""A gateway that is watched: everything that leaves it is written down at every tick, to be compared.

Two inputs that end in the same releases must give the same transcript, byte for byte. What is random at an
admission (draws and receipts) is told beforehand, so that the releases of both do end alike.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from itertools import count, cycle
from threading import Event
from unittest.mock import patch

from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from contracts.aimed import Coins, Wanted, aims
from contracts.asgi import SCOPE, Answer, call
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.app import create_app
from tarry.gateway.catalog import add_token, read_catalog
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.monitoring import metrics, read_status
from tarry.gateway.shared_memory import SharedMemory
from tarry.gateway.space_changes import add_space, adopt_delays
from tarry.keep.errors import Refused
from tarry.keep.keeper import Keeper, Patience
from tarry.keep.keys import Keys
from tarry.keep.posts import Release
from tarry.keep.releaser import Releaser
from tarry.testing import ListOutlet, ManualClock

__all__ = [
    "POLICY",
    "PUBLIC",
    "SELDOM",
    "START",
    "Town",
    "Transcript",
    "differences",
    "live",
]

POLICY = Policy(epsilon="1", gap="4s", window="2s")
START = POLICY.start_ticks(POLICY.gap)
#: Every public address, and some that nobody is told anything at.
PUBLIC = (
    "/v1/spaces",
    "/v1/spaces/talk",
    "/healthz",
    "/readyz",
    "/v1/receipt",
    "/v1/spaces/talk/feed",
    "/v1/spaces/talk/feed?after=1&limit=2",
    "/v1/spaces/talk/feed.atom",
    "/v1/spaces/choice/feed",
    "/v1/spaces/choice/feed.atom",
)
#: These are made of the policy alone, or refused: it is enough to look now and then.
SELDOM = (
    "/openapi.json",
    "/nowhere",
    "/v1/tokens",
    "/metrics",
    "/v1/spaces/talk/parked",
    "/v1/spaces/talk/policy",
    "/v1/spaces/talk/policy.toml",
    "/v1/spaces/nowhere/feed",
)
#: What operators see beside it.
OPERATORS = ("/metrics", "/v1/spaces/talk/parked", "/v1/spaces/desk/parked")
Transcript = dict[tuple[int, str], object]
Step = Callable[["Town"], Awaitable[object]]


class Desk(ListOutlet):
    """An outlet that will have none of what is called poison."""

    def deliver(self, release: Release) -> None:
        """Take it, or not."""
        if release.content.startswith(b"poison"):
            raise Refused("the desk will have none of it")
        super().deliver(release)


class InTurn:
    """The processes of one server, each with an app of its own, that answer by turns."""

    def __init__(self, apps: Iterable[Starlette]) -> None:
        self.apps = tuple(apps)
        self._turns = cycle(self.apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whose turn it is."""
        await next(self._turns)(scope, receive, send)


class Town:
    """A gateway in memory with three spaces, its keeper, and everybody who looks at it.

    Its server has one process, or several that answer by turns and share their counters. Each has a gateway
    of its own, as processes have, over one store.
    """

    def __init__(
        self, *, policy: Policy = POLICY, limits: Limits | None = None, processes: int = 1
    ) -> None:
        self.policy, self.clock, self.coins, self.keys = (
            policy,
            ManualClock(),
            Coins(),
            Keys(bytes(range(32))),
        )
        self.store, self.lines = open_store(":memory:"), list[str]()
        self.tick, self.first = 0, self.clock.wall // 1_000_000 // int(policy.tick)
        self._aims = aims(write_policy(policy))
        self._found()
        desk = Desk()
        self.gateway, *others = (
            Gateway(self.store, self.keys, self.clock, outlets={"desk": desk}, entropy=self.coins)
            for _ in range(processes)
        )
        self.memory = SharedMemory(processes=processes, streams=200, connections=2000)
        shared = map(self.memory.counters, range(processes)) if others else [None]
        self.app = InTurn(
            create_app(each, limits=limits, tell=self.lines.append, counters=counters)
            for each, counters in zip((self.gateway, *others), shared, strict=True)
        )
        self.keeper = Keeper(self.gateway.vault, tell=self.lines.append)
        self.releaser, self.patiently = Releaser(self.gateway.vault), Patience(Event(), self.lines.append)
        self.stream, self._told, self.seen = bytearray(), asyncio.Event(), Transcript()

    def _found(self) -> None:
        with self.store.transaction("closing") as transaction:
            for name, adoption in (("talk", "everyone"), ("desk", "everyone"), ("choice", "opt-out")):
                add_space(transaction, self.keys, self.clock, name, self.policy, adoption=adoption)
            adopt_delays(transaction, self.keys, self.clock, "choice", actor="open", delayed=False)
            book, self.tokens = read_catalog(transaction), dict[str, str]()
            for name in ("submit", "probe", "operate", "noisy"):
                scope = "operate" if name == "operate" else "submit"
                self.tokens[name] = add_token(transaction, book, name, [scope])[1]

    def by(self, token: str, **more: str) -> dict[str, str]:
        """Headers of somebody with a token."""
        return {"Authorization": f"Bearer {self.tokens[token]}", **more}

    def aim(self, posts: Iterable[Wanted]) -> None:
        """Make the next admission draw what these posts want."""
        self.coins.answers.clear()
        self.coins.receipts.clear()
        hold = self.gateway.vault.settings.hold_ticks
        for post in posts:
            delay = START + 1 if post.at is None else post.at - self.tick - hold
            settled = delay >= START and not post.batched
            self.coins.answers.extend(self._aims[settled, post.batched, delay])
            self.coins.receipts.append(post.receipt)

    async def post(
        self, *posts: Wanted, space: str = "talk", by: str = "submit", key: str | None = None
    ) -> Answer:
        """Hand posts in: one by itself, several as a batch."""
        self.aim(posts)
        headers = self.by(by) | ({} if key is None else {"Idempotency-Key": key})
        where, body = "posts", posts[0].body
        if len(posts) > 1:
            where, body = "batches", {"posts": [post.body for post in posts]}
        return await call(self.app, "POST", f"/v1/spaces/{space}/{where}", body=body, headers=headers)

    async def ask(self, method: str, post: Wanted, body: object = None) -> Answer:
        """Use the receipt of a post."""
        return await call(
            self.app, method, "/v1/receipt", body=body, headers={"Tarry-Receipt": post.receipt}
        )

    def note(self, what: str, seen: object) -> None:
        """Write down what somebody has seen."""
        self.seen[self.tick, what] = seen

    async def look(self) -> None:
        """Write down everything that can be seen at this tick."""
        for path in PUBLIC if self.tick % 6 else (*PUBLIC, *SELDOM):
            self.note(f"GET {path}", await call(self.app, "GET", path))
        for path in OPERATORS:
            told = await call(self.app, "GET", path, headers=self.by("operate"))
            self.note(f"operator {path}", told)
        self.note("metrics", metrics(self.gateway))
        with self.store.transaction("reading") as transaction:
            told = read_status(transaction, self.clock)
        self.note("accounts", (told.accounts, told.spent))
        self.note("status", replace(told, accounts=0, spent=0))
        await self._catch_up()
        self.note("events", bytes(self.stream))
        self.note("log", tuple(self.lines))

    async def _catch_up(self) -> None:
        """Wait until whoever follows the events has what the feed has."""
        end = self.seen[self.tick, "GET /v1/spaces/talk/feed"].json()["next"]
        while end and b"id: %d\n" % end not in self.stream:
            await self._told.wait()
            self._told.clear()

    def close_tick(self) -> None:
        """Time goes by; the keeper closes and lets out."""
        self.clock.sleep(float(self.policy.tick))
        self.keeper._close()
        for outlet in tuple(self.gateway.vault.outlets):
            while self.keeper._enter(outlet):
                if not self.keeper._release_some(self.releaser, outlet, self.patiently):
                    break
        self.releaser.sweep()
        self.tick += 1

    @asynccontextmanager
    async def running(self):
        """Serve, follow the events of one space, and listen to every logger."""
        listener, root = _Listener(self.lines), logging.getLogger()
        root.addHandler(listener)
        leaving = asyncio.Event()
        follower = asyncio.create_task(self._follow(leaving))
        try:
            yield self
        finally:
            root.removeHandler(listener)
            leaving.set()
            await follower
            for app in self.app.apps:
                await asyncio.to_thread(app.state.service.close)
            self.memory.close()

    async def _follow(self, leaving: asyncio.Event) -> None:
        asked = deque([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Message:
            if asked:
                return asked.popleft()
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.stream.extend(message.get("body", b""))
            self._told.set()

        scope = {"path": "/v1/spaces/talk/feed/events", "query_string": b"after=0", "headers": []}
        await self.app({**SCOPE, "method": "GET", **scope}, receive, send)


class _Listener(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("asyncio"):
            self._lines.append(f"{record.name} {record.getMessage()}")


def live(steps: Sequence[tuple[int, Step]], ticks: int = 22, **more) -> Transcript:
    """Let a town live through some steps, each at its tick; what was seen meanwhile."""
    with ExitStack() as patches:
        number = count(1)
        patches.enter_context(patch("tarry.gateway.feed_formats._LOOK_S", 0.01))
        fixed = patch(
            "tarry.gateway.catalog.secrets.token_hex", lambda size: f"{next(number):0{2 * size}x}"
        )
        with fixed:
            town = Town(**more)
        patches.enter_context(patch("tarry.keep.admission.new_receipt", town.coins.receipts.popleft))
        asyncio.run(_live(town, steps, ticks))
    return town.seen


async def _live(town: Town, steps: Sequence[tuple[int, Step]], ticks: int) -> None:
    async with town.running():
        for tick in range(ticks):
            for when, step in steps:
                if when == tick:
                    await step(town)
            town.close_tick()
            await town.look()


def differences(one: Transcript, other: Transcript, but: Container[str] = ()) -> list[tuple[int, str]]:
    """Where two transcripts are not the same."""
    every = {what for what in one.keys() | other.keys() if what[1] not in but}
    return sorted(what for what in every if one.get(what) != other.get(what))
