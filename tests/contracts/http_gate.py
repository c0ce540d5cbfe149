"""The keeper's world behind HTTP: the same gate, but every word of it goes over real connections.

Two uvicorn servers stand before one database and are asked in turn; four workers close ticks and release,
in turn as well. A test cannot tell this world from `keeping.World`, but for what has no meaning over HTTP.
"""

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from itertools import cycle
from typing import Any

import httpx2
import uvicorn

from contracts.keeping import World
from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput, TarryError
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.gateway import catalog, policy_changes, space_changes
from tarry.gateway.app import create_app
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.testing import new_token
from tarry.keep.closing import Closed, close_ticks
from tarry.keep.errors import AlreadyUsed, NoSuchPost, Paused, TooLate, Unavailable
from tarry.keep.keys import Keys, post_key, receipt_hash
from tarry.keep.posts import Post, Receipt, Status
from tarry.keep.releaser import Releaser
from tarry.keep.store import Store

__all__ = ["HttpGate", "HttpWorld", "LoopbackServer", "policies_without_files"]

SPACES = ("list", "once")
_SERVERS, _WORKERS = 2, 4
_NO_LIMITS = Limits(rate_per_s=1e6, burst=10**6)
_TOO_LATE = "it is "


class LoopbackServer:
    """A real uvicorn on a free port of this machine; what it answers with can be exchanged."""

    def __init__(self) -> None:
        self.app: Any = None
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(self._answer, interface="asgi3", log_config=None, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]})
        self._thread.start()

    async def _answer(self, scope, receive, send) -> None:
        await self.app(scope, receive, send)

    def stop(self) -> None:
        """End it, and wait until it has."""
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def policies_without_files(replace: Callable[[object, str, object], None]):
    """Let spaces have policies with laws in Python, which no policy file can hold: a shelf keeps them."""
    shelf: list[Policy] = []

    def write(policy: Policy) -> str:
        if isinstance(policy.law, str):
            return write_policy(policy)
        shelf.append(policy)
        return f"# on the shelf: {len(shelf) - 1}"

    def read(text: str) -> Policy:
        number = text.removeprefix("# on the shelf: ")
        return read_policy(text) if number == text else shelf[int(number)]

    for module in (space_changes, policy_changes):
        replace(module, "write_policy", write)
    replace(catalog, "_policy", read)
    yield


class SpaceKeys(Keys):
    """What the store knows people by when they come by a space; a target's last word may name the space."""

    def actor(self, actor: str) -> bytes:
        """All spaces of these tests share their actors."""
        return super().actor(f"all/{actor}")

    def pseudonym(self, actor: str, target: str) -> bytes:
        """A target lies in a space."""
        space = "once" if target.endswith(" once") else "list"
        return super().pseudonym(f"all/{actor}", f"{space}\0{target}")


class HttpGate:
    """The gate's own interface, asked over HTTP: an outlet's name is the name of a space."""

    def __init__(self, world: "HttpWorld", urls: Sequence[str], token: str) -> None:
        self._world, self._urls = world, cycle(urls)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx2.Client(timeout=60, trust_env=False)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def ask(self, method: str, path: str, json: object = None, **headers: str) -> Any:
        """One request to the next server in turn; a refusal comes back as the error that it was."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._client.request(
            method, next(self._urls) + path, json=json, headers={**self._headers, **named}
        )
        if answer.status_code >= 300:
            raise _error(answer)
        return answer.json() if answer.content else None

    # --- authors ------------------------------------------------------------------------------------

    def admit(self, post: Post, **headers: str) -> Receipt:
        """Hand a post in."""
        told = self.ask("POST", f"/v1/spaces/{post.outlet}/posts", _told(post), **headers)
        return self._receipt(told, post.outlet)

    def admit_many(self, posts: Sequence[Post], **headers: str) -> list[Receipt]:
        """Hand several posts to one space in, all or none."""
        if len(posts) == 1:
            return [self.admit(posts[0], **headers)]
        (space,) = {post.outlet for post in posts}
        batch = {"posts": [_told(post) for post in posts]}
        told = self.ask("POST", f"/v1/spaces/{space}/batches", batch, **headers)
        return [self._receipt(each, space) for each in told["receipts"]]

    def status(self, receipt: str) -> Status:
        """When a post leaves; why it is parked only its operator is told."""
        status = self._status(self.ask("GET", "/v1/receipt", tarry_receipt=receipt))
        if status.state == "parked":
            post = post_key(receipt_hash(receipt))
            return status._replace(problem=self.parked()[post])
        return status

    def replace(self, receipt: str, content: bytes, options: Mapping[str, Any] | None = None) -> Status:
        """Say something else."""
        body = {"content": content.decode(), "options": options}
        return self._status(self.ask("PUT", "/v1/receipt", body, tarry_receipt=receipt))

    def withdraw(self, receipt: str) -> Status:
        """Take a post back."""
        return self._status(self.ask("DELETE", "/v1/receipt", tarry_receipt=receipt))

    # --- operators ----------------------------------------------------------------------------------

    def parked(self) -> dict[int, str]:
        """What is parked in any space, and why."""
        told = [self.ask("GET", f"/v1/spaces/{space}/parked") for space in SPACES]
        return {int(each["post"]): each["problem"] for one in told for each in one["parked"]}

    def unpark_post(self, post: int) -> None:
        """Put a parked post back."""
        self.ask("POST", f"/v1/spaces/{self._world.space_of[post]}/parked/{post}/retry")

    def withdraw_post(self, post: int) -> None:
        """Take back what waits on the target of a post."""
        target = self._world.rows("posts")[post]["target"]
        self.ask("POST", f"/v1/spaces/{self._world.space_of[post]}/withdrawals", {"target": target})

    def batched_acts(self, actor: str) -> int:
        """What the ledger counts for the policy that holds now; there is no address for it."""
        space, keys = self._world.gateways[0].refresh().space("list"), self._world.keys
        with self._world.store.transaction("reading") as transaction:
            row = transaction.one(
                "account", account=keys.account(keys.actor(actor)), period=space.terms.period
            )
        return 0 if row is None else int(row["batched"])

    def _receipt(self, told: dict[str, Any], space: str) -> Receipt:
        secret = told["receipt"]
        post = post_key(receipt_hash(secret))
        self._world.space_of[post] = space
        return Receipt(secret, post, self._status(told))

    def _status(self, told: dict[str, Any]) -> Status:
        tick = self._world.policy.tick
        earliest, latest = (_tick(told[name], tick) for name in ("earliest_at", "latest_at"))
        status = Status(
            state=told["state"],
            earliest=earliest,
            latest=latest,
            tick=tick,
            in_between=told.get("in_between", False),
        )
        assert told["release_at"] == (told["latest_at"] if status.release_at is not None else None)
        return status


def _told(post: Post) -> dict[str, Any]:
    return {
        "actor": post.actor,
        "target": post.target,
        "content": post.content.decode(),
        "options": dict(post.options),
        "track": post.track,
        "more_to_come": post.more_to_come,
        "depends_on": post.depends_on,
    }


def _post(body: bytes, key: str, secret: str, **told: Any) -> Post:
    """A post whose request differs where its `body` does."""
    return Post(**told, options={"body": body.decode()})


def _tick(moment: str | None, tick: Fraction) -> int | None:
    if moment is None:
        return None
    since = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    ticks = Fraction(since.days * 86_400 + since.seconds) / tick
    assert ticks.denominator == 1
    return int(ticks)


class _Told(BadInput):
    """Bad input as another process has told it."""

    def __init__(self, detail: str) -> None:
        TarryError.__init__(self, detail)


def _error(answer: httpx2.Response) -> Exception:
    """The error that a refusal tells of."""
    assert answer.headers["content-type"] == "application/problem+json"
    detail = answer.json()["detail"]
    if answer.status_code == 409 and _TOO_LATE in detail:
        return TooLate(detail.partition(_TOO_LATE)[2])
    if answer.status_code == 409:
        return AlreadyUsed() if detail == str(AlreadyUsed()) else Paused(detail)
    if answer.status_code == 404 and detail == str(NoSuchPost()):
        return NoSuchPost()
    if answer.status_code == 422:
        return _Told(detail)
    if answer.status_code == 503:
        return Unavailable(detail)
    return AssertionError(f"{answer.status_code} {detail}")


class HttpWorld(World):
    """Two servers and four workers at one store, under one clock; each has opened the store for itself."""

    def __init__(
        self,
        reopen: Callable[[], Store],
        servers: Sequence[LoopbackServer],
        policy: Policy | None = None,
        *,
        sealed: bool = False,
        entropy: Entropy | None = None,
        retries: Entropy | None = None,
    ) -> None:
        self._servers, self._entropy, self._retries = servers, entropy, retries
        self.space_of: dict[int, str] = {}
        self._token: str | None = None  # the same after a restart: keys are known by who sends them
        self._open = ExitStack()
        super().__init__(reopen, policy, sealed=sealed)

    def _enter(self) -> None:
        real, self.keys = Keys(bytes(range(32))), SpaceKeys(bytes(range(32)))
        super()._enter()
        self._make_spaces(real)
        self.gateways = [self._gateway(real) for _ in range(_SERVERS + _WORKERS)]
        for server, gateway in zip(self._servers, self.gateways, strict=False):
            server.app = create_app(gateway, limits=_NO_LIMITS)
            self._open.callback(server.app.state.service.close)
        if self._token is None:
            self._token = new_token(self.gateways[0], "submit", "operate")
            self.gateways[1].refresh()
        self.gate = HttpGate(self, [server.url for server in self._servers], self._token)
        self._open.callback(self.gate.close)
        workers = self.gateways[_SERVERS:]
        self._releasers = cycle([Releaser(each.vault, self._retries) for each in workers])

    def _make_spaces(self, keys: Keys) -> None:
        with self.store.transaction("closing") as transaction:
            for name in set(SPACES) - catalog.read_catalog(transaction).spaces.keys():
                space_changes.add_space(transaction, keys, self.clock, name, self.policy)

    def _gateway(self, keys: Keys) -> Gateway:
        store = self._reopen()
        self._open.callback(store.close)
        return Gateway(store, keys, self.clock, outlets=self.outlets, entropy=self._entropy)

    @property
    def releaser(self) -> Releaser:
        """The next worker in turn."""
        return next(self._releasers)

    @releaser.setter
    def releaser(self, one: Releaser) -> None:
        """The world of one process gives itself one worker; here there are four."""

    def restart(self) -> None:
        """Servers and workers end, and others find the store."""
        self._open.close()
        super().restart()

    def leave(self) -> None:
        """Close what was opened."""
        self._open.close()
        super().leave()

    def send(self, *requests: Sequence[dict[str, Any]]) -> list[list[Receipt] | TarryError]:
        """Hand requests in, one after the other, each under its own key; each post learns its secret."""
        answers: list[list[Receipt] | TarryError] = []
        for request in requests:
            posts = [_post(**each) for each in request]
            try:
                receipts = self.gate.admit_many(posts, idempotency_key=request[0]["key"])
            except TarryError as refusal:
                answers.append(refusal)
                continue
            for each, receipt in zip(request, receipts, strict=True):
                each["secret"] = receipt.secret
            answers.append(receipts)
        return answers

    def gate_under(self, policy: Policy) -> HttpGate:
        """The same gate, once both spaces have been given another policy, at once."""
        with self.store.transaction("closing") as transaction:
            for name in SPACES:
                policy_changes.change_policy(transaction, self.clock, name, policy, accept_straddle=True)
        return self.gate

    def close(self) -> Closed:
        """The next worker in turn closes what lies in the past."""
        vault = self.releaser.vault
        with vault.store.transaction("closing") as transaction:
            return close_ticks(transaction, vault.keys, vault.clock)
