"""The example plugin against a real server that speaks Mastodon's API."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from contracts.held_line import HeldLine
from contracts.outlet_contract import OutletCase, OutletContract, check_side_channel, release_of
from contracts.real_mastodon import PACKAGE, Mastodon, prepare_mastodon, write_accounts
from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.outlets.accounts import Accounts

sys.path.insert(0, str(PACKAGE / "src"))

from tarry_mastodon import outlet as plugin  # noqa: E402 - it is not installed where the other tests run

POST = b"POST /api/v1/statuses"


@pytest.fixture(scope="session")
def prepared_mastodon(tmp_path_factory):
    """A server to be copied, made once for each process of tests."""
    return prepare_mastodon(tmp_path_factory.mktemp("prepared") / "mastodon")


@pytest.fixture
def server(prepared_mastodon, tmp_path):
    """A running server that a test may stop."""
    with Mastodon(prepared_mastodon, tmp_path / "mastodon") as server:
        yield server


@pytest.fixture
def line(server):
    """A way to the server that notes what was asked, and can keep an answer back."""
    with HeldLine(server.port) as line:
        yield line


def outlet_to(server, folder, *, port=None, kind=plugin.Mastodon, **wrong):
    """An outlet of an operator whose server is at this port."""
    accounts = write_accounts(folder, server.tokens | wrong)
    return kind(Accounts(accounts, place=Mastodon.address(port or server.port)))


def deliver(outlet, text, account="nym", *, attempt=1, id="5a" * 16, **options):  # noqa: A002 - the release's
    """Give a status to the outlet as a releaser would, at this moment."""
    world = SimpleNamespace(content=text.encode(), options={"account": account, **options})
    outlet.deliver(release_of(world, at=int(time.time()), attempt=attempt, id=id))


# --- what every outlet keeps ----------------------------------------------------------------------


class World:
    """A real server, reached by a line that keeps every byte it was asked."""

    prepared: Path  # set by the tests
    kind = plugin.Mastodon
    options = {"account": "nym", "visibility": "unlisted"}
    content = "Owls eat mice.\n\nLiebe Grüße".encode()

    def __init__(self, folder):
        self.server = Mastodon(self.prepared, folder / "mastodon")
        self.server.start()
        self.line = HeldLine(self.server.port).__enter__()
        self.accounts = write_accounts(folder, self.server.tokens)
        place = Mastodon.address(self.line.port)
        self.outlet = self.kind(Accounts(self.accounts, place=place), timeout_s=10)

    def sent(self):
        """The requests that posted something; the port they came to is this run's."""
        return [request for request in self.everything() if request.startswith(POST)]

    def everything(self):
        here = f"127.0.0.1:{self.line.port}".encode()
        return [each.request.replace(here, b"social.example") for each in self.line.asked]

    def close(self):
        self.line.__exit__()
        self.server.close()


class EveryRequest(World):
    """The same, and also what only looks is seen."""

    def sent(self):
        return self.everything()


def wrong_token(world):
    write_accounts(world.accounts.parent, world.server.tokens | {"nym": "0" * 32})


def anothers_token(world):
    write_accounts(world.accounts.parent, world.server.tokens | {"nym": world.server.tokens["alter"]})


class TestMastodon(OutletContract):
    """The plugin's outlet meets the contract of outlets, at a server that is not ours."""

    case = OutletCase(
        world=World,
        undeliverable=[
            {"account": "nobody"},
            {"account": 7},
            {"visibility": "direct"},
            {"visibility": ["public"]},
            {"in_reply_to": "../../oauth"},
            {"content_type": "image/png"},
            {"scheduled_at": "2026-01-01T00:00:00Z"},
        ],
        troubles={
            "a wrong token": (wrong_token, LockedOut),
            "another account's token": (anothers_token, LockedOut),
            "no token file": (lambda world: world.accounts.unlink(), Unreachable),
            "an outage": (lambda world: world.server.kill(), Unreachable),
            "a parent that is gone": (lambda world: world.options.update(in_reply_to="1"), Refused),
        },
    )

    @pytest.fixture(autouse=True)
    def _prepared(self, prepared_mastodon, monkeypatch):
        monkeypatch.setattr(World, "prepared", prepared_mastodon, raising=False)
        monkeypatch.setattr(World, "options", dict(World.options))

    def test_what_only_looks_tells_no_arrival_either(self, tmp_path):
        """The questions before a status are the same, byte for byte."""
        check_side_channel(EveryRequest, tmp_path)

    def test_an_outlet_that_tells_the_arrival_fails_the_suite(self, tmp_path):
        """A variant writes into the status when it was handed in: two arrivals can be told apart."""

        class LeakyWorld(World):
            kind = Leaky

        with pytest.raises(AssertionError, match="two arrivals can be told apart"):
            check_side_channel(LeakyWorld, tmp_path)


class Leaky(plugin.Mastodon):
    """Notes when a post was handed in, and writes it into the status."""

    def check(self, options):
        super().check(options)
        self.arrived = datetime.now().astimezone().isoformat()

    def deliver(self, release):
        content = f"{release.content.decode()} ({self.arrived})".encode()
        world = SimpleNamespace(content=content, options=release.options)
        super().deliver(release_of(world, id=release.id, at=release.at, attempt=release.attempt))
