"""A gateway that answers in this process, under a clock moved by hand, or behind a real server."""

import json
import threading
import time
from contextlib import ExitStack

import httpx2
import pytest
from starlette.testclient import TestClient

from tarry.core.policy import Policy
from tarry.gateway.app import create_app
from tarry.gateway.limits import Limits
from tarry.gateway.policy_changes import change_policy
from tarry.gateway.server import Listener, bind
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.releaser import Releaser
from tarry.testing import ListOutlet, ManualClock

POLICY = Policy(epsilon="1", gap="8s", window="3s")
#: By then everything has left that came in before, under that policy.
LONGEST = 60
NO_LIMITS = Limits(rate_per_s=1e6, burst=10**6)


class Site:
    """One gateway with an app before it, a token for everything, and hands on its clock."""

    def __init__(self, *, policy=POLICY, limits=NO_LIMITS, clock=None, store=None, **others) -> None:
        self.clock = clock or ManualClock()
        self.told = []
        self.gateway = small_gateway(policy, self.clock, store=store, **others)
        self.app = create_app(self.gateway, limits=limits, tell=self.told.append)
        self.token = new_token(self.gateway, "submit", "operate", "admin")
        self.releaser = Releaser(self.gateway.vault)
        self.http = TestClient(self.app, headers={"Authorization": f"Bearer {self.token}"})

    def as_(self, *scopes, spaces=()) -> dict[str, str]:
        """The header of another token."""
        return {"Authorization": f"Bearer {new_token(self.gateway, *scopes, spaces=spaces)}"}

    # --- authors and readers --------------------------------------------------------------------------

    def post(self, actor="ann", target="p1", content="I agree.", *, space="talk", headers=None, **fields):
        """Hand a post in."""
        sent = {"actor": actor, "target": target, "content": content, **fields}
        return self.http.post(f"/v1/spaces/{space}/posts", json=sent, headers=headers)

    def receipt(self, *names, **fields) -> str:
        """The receipt of a post that is accepted."""
        answer = self.post(*names, **fields)
        assert answer.status_code == 202, answer.text
        return answer.json()["receipt"]

    def ask(self, receipt: str, method="GET", **more):
        """What a receipt allows."""
        return self.http.request(method, "/v1/receipt", headers={"Tarry-Receipt": receipt}, **more)

    def feed(self, space="talk", **query):
        """What has been released."""
        return self.http.get(f"/v1/spaces/{space}/feed", params=query).json()

    # --- time -------------------------------------------------------------------------------------------

    def pass_ticks(self, count: int) -> None:
        """Ticks go by; each closes, and what is due leaves."""
        for _ in range(count):
            self.clock.sleep(1)
            self.close()
            self.releaser.sweep()
            self.releaser.release()

    def close(self) -> None:
        """Close what lies in the past."""
        with self.gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, self.gateway.keys, self.clock)

    @property
    def now(self) -> float:
        """The clock, in seconds since 1970."""
        return self.clock.wall / 1_000_000

    # --- operators at the shell ---------------------------------------------------------------------------

    def add_space(self, name: str, policy=POLICY, **others) -> None:
        """Another space."""
        with self.gateway.store.transaction("closing") as transaction:
            add_space(transaction, self.gateway.keys, self.clock, name, policy, **others)
        self.gateway.refresh()

    def change_policy(self, policy, name="talk", **others):
        """Another policy for a space."""
        with self.gateway.store.transaction("closing") as transaction:
            version = change_policy(transaction, self.clock, name, policy, **others)
        self.gateway.refresh()
        return version

    def rows(self, name: str, **values):
        """What a statement of the store answers."""
        with self.gateway.store.transaction("reading") as transaction:
            return [dict(row) for row in transaction.all(name, **values)]


class Events:
    """Reads server-sent events from an answer that goes on."""

    def __init__(self, answer) -> None:
        self._lines = answer.iter_lines()

    def comment(self, text: str) -> None:
        """The next line is this comment."""
        assert next(self._lines) == f": {text}"

    def take(self, count: int) -> list[tuple[int, dict]]:
        """The next events: their numbers and what they tell."""
        found, number = [], None
        while len(found) < count:
            name, _, value = next(self._lines).partition(": ")
            if name == "id":
                number = int(value)
            if name == "data":
                found.append((number, json.loads(value)))
        return found


class Server:
    """The real server with its real settings, at a port of this machine."""

    def __init__(self, app) -> None:
        self.app = app
        self._server = Listener(app, bind("127.0.0.1", 0))
        self.url = self._server.url
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        wait(lambda: self._server.started)
        self.port = int(self.url.rpartition(":")[2])

    def client(self, **more) -> httpx2.Client:
        """Somebody who asks it."""
        return httpx2.Client(base_url=self.url, timeout=20, trust_env=False, **more)

    def stop(self) -> None:
        """End it, and wait until it has."""
        self._server.should_exit = True
        self._thread.join()


def wait(happens, seconds=20) -> None:
    """Wait by condition."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


@pytest.fixture
def new_site():
    """Builds gateways, and closes them in the end."""
    with ExitStack() as opened:

        def build(**settings) -> Site:
            site = Site(**settings)
            opened.enter_context(site.http)
            return site

        yield build


@pytest.fixture
def site(new_site):
    """A gateway with one space, talk."""
    return new_site()


@pytest.fixture
def new_server():
    """Puts real servers before apps, and ends them."""
    with ExitStack() as opened:

        def build(app) -> Server:
            server = Server(app)
            opened.callback(server.stop)
            return server

        yield build


@pytest.fixture
def events():
    """Reads the events of an answer."""
    return Events


@pytest.fixture
def wait_until():
    """Waits by condition."""
    return wait


@pytest.fixture
def broken():
    """An outlet whose deliveries fail for good as long as `broken` says so."""
    return ListOutlet()
