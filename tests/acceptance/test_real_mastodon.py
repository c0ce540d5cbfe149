"""The example plugin against a real server that speaks Mastodon's API."""

import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from acceptance.batched_run import running_gateway
from contracts.held_line import HeldLine
from contracts.real_mastodon import NYMS, PACKAGE, Mastodon, prepare_mastodon, write_accounts
from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.places.accounts import Accounts
from tarry.testing.outlets import OutletCase, OutletSuite, check_side_channel, release_of

sys.path.insert(0, str(PACKAGE / "src"))  # it is not installed where the other tests run

from tarry_mastodon import client
from tarry_mastodon import outlet as plugin
from tarry_mastodon.reader import read_mastodon

ROOT = Path(__file__).resolve().parents[2]
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
    options: ClassVar = {"account": "nym", "visibility": "unlisted"}
    content = "Owls eat mice.\n\nLiebe Grüße".encode()

    def __init__(self, folder):
        self.server = Mastodon(self.prepared, folder / "mastodon")
        self.server.start()
        self.line = HeldLine(self.server.port).__enter__()
        self.accounts, self.id = write_accounts(folder, self.server.tokens), self.server.account("nym")
        place = Mastodon.address(self.line.port)
        self.outlet = self.kind(Accounts(self.accounts, place=place), timeout_s=10)

    def sent(self):
        """The requests that posted something."""
        return [request for request in self.everything() if request.startswith(POST)]

    def everything(self):
        """All requests; the port and the account's id are this run's."""
        here, account = f"127.0.0.1:{self.line.port}".encode(), self.id.encode()
        requests = [each.request for each in self.line.asked]
        return [each.replace(here, b"social.example").replace(account, b"ID") for each in requests]

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


class TestMastodon(OutletSuite):
    """The plugin's outlet meets the suite of outlets, at a server that is not ours."""

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


# --- what leaves ----------------------------------------------------------------------------------


def test_a_status_is_posted_as_it_was_written_and_by_the_nym(server, tmp_path):
    """The text, who sees it, and what it answers; nothing of the other pseudonym."""
    outlet = outlet_to(server, tmp_path)
    before = int(time.time())
    deliver(outlet, "Owls *eat* mice & <b>voles</b>.\n  Liebe Grüße 🦉", visibility="unlisted")
    (first,) = server.statuses("nym")
    deliver(outlet, "I agree.", "alter", in_reply_to=first["id"])

    assert first["text"] == "Owls *eat* mice & <b>voles</b>.\n  Liebe Grüße 🦉"
    assert (first["visibility"], first["in_reply_to_id"]) == ("unlisted", None)
    assert seconds(first["created_at"]) >= before - 1  # its time() runs a few milliseconds behind
    (reply,) = server.statuses("alter")
    assert (reply["text"], reply["visibility"], reply["in_reply_to_id"]) == (
        "I agree.",
        "public",
        first["id"],
    )


def test_tokens_hold_through_a_restart(server, tmp_path):
    """What waits while the server is away leaves when it is back."""
    outlet = outlet_to(server, tmp_path)
    server.stop()
    with pytest.raises(Unreachable) as trouble:
        deliver(outlet, "Owls eat mice.")
    assert not trouble.value.sent
    server.start()
    deliver(outlet, "Owls eat mice.", attempt=2)

    assert server.texts("nym") == ["Owls eat mice."]


def test_a_status_whose_answer_was_lost_is_found_and_not_posted_again(server, line, tmp_path):
    """The server took it and nobody was told: it may have left, and the next try finds it."""
    outlet = outlet_to(server, tmp_path, port=line.port)
    with line.holding(POST) as held:
        lost = Trial(lambda: deliver(outlet, "Owls eat mice."))
        assert held.wait(60)
    trouble = lost.error()
    assert isinstance(trouble, Unreachable)
    assert trouble.sent
    server.kill()
    server.start()
    deliver(outlet, "Owls eat mice.", attempt=2)

    assert server.texts("nym") == ["Owls eat mice."]
    assert len(line.with_words(POST)) == 1


def test_a_worker_that_is_killed_before_it_can_say_so_has_posted_once(server, line, tmp_path):
    """kill -9 between the delivery and its mark; somebody else tries again."""
    accounts = write_accounts(tmp_path, server.tokens)
    worker = [sys.executable, __file__, str(accounts), Mastodon.address(line.port), "Owls eat mice."]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with line.holding(POST) as held:
        process = subprocess.Popen(worker, env=environment)
        try:
            assert held.wait(60), process.poll()
        finally:
            process.kill()
        assert process.wait(60) == -signal.SIGKILL
    deliver(outlet_to(server, tmp_path, port=line.port), "Owls eat mice.", attempt=2)

    assert server.texts("nym") == ["Owls eat mice."]
    assert len(line.with_words(POST)) == 1


def test_the_server_itself_would_have_posted_it_twice(server):
    """It takes no notice of Idempotency-Key: looking first is what keeps the promise."""
    for _ in range(2):
        server.post("nym", "Owls eat mice.")

    assert server.texts("nym") == ["Owls eat mice."] * 2


def test_a_lost_status_is_found_behind_newer_ones(server, tmp_path):
    """On the second page of the account's statuses, and among others of other words."""
    outlet = outlet_to(server, tmp_path)
    deliver(outlet, "Owls eat mice.")
    for number in range(45):
        server.post("nym", f"Something else, {number}")
    deliver(outlet, "Owls eat mice.", attempt=2)

    assert server.texts("nym").count("Owls eat mice.") == 1


def test_a_lost_status_is_found_although_somebody_has_boosted_it(server, tmp_path):
    """This server then lists the boost in its place."""
    outlet = outlet_to(server, tmp_path)
    deliver(outlet, "Owls eat mice.")
    (status,) = server.statuses("nym")
    server.post("alter", "I have never posted before.")  # else nobody sees the boost
    boost(server, status)
    deliver(outlet, "Owls eat mice.", attempt=2)

    assert server.texts("nym") == ["Owls eat mice."]


def test_only_the_very_same_status_is_taken_for_it(server, tmp_path):
    """Other words, other eyes, another conversation or another account make another status."""
    outlet = outlet_to(server, tmp_path)
    server.post("nym", "Owls eat voles.")
    server.post("nym", "Owls eat mice.", visibility="unlisted")
    server.post("nym", "Owls eat mice.", visibility="private")
    server.post("alter", "Owls eat mice.")
    parent = server.post("alter", "What do owls eat?")["id"]
    server.post("nym", "Owls eat mice.", in_reply_to_id=parent)
    deliver(outlet, "Owls eat mice.")

    assert [(each["visibility"], each["in_reply_to_id"]) for each in server.statuses("nym")][-1] == (
        "public",
        None,
    )
    assert server.texts("nym").count("Owls eat mice.") == 3


def test_the_same_words_of_long_ago_are_another_status(server, tmp_path):
    """At the first try; a later one cannot know, for a release may have moved."""
    server.post("nym", "Good morning.")
    options = {"account": "nym"}
    world = SimpleNamespace(content=b"Good morning.", options=options)
    tomorrow = int(time.time()) + 86_400
    outlet = outlet_to(server, tmp_path)
    outlet.deliver(release_of(world, at=tomorrow, attempt=2))
    assert len(server.texts("nym")) == 1
    outlet.deliver(release_of(world, at=tomorrow))

    assert server.texts("nym") == ["Good morning."] * 2


def test_a_reply_to_nothing_is_not_posted_as_a_status_of_its_own(server, tmp_path):
    """The server would; the outlet looks for the other status first."""
    outlet = outlet_to(server, tmp_path)
    parent = server.post("alter", "What do owls eat?")["id"]
    server.ask("DELETE", f"/api/v1/statuses/{parent}", nym="alter")

    with pytest.raises(Refused, match="is gone"):
        deliver(outlet, "Mice.", in_reply_to=parent)
    assert server.post("nym", "Voles.", in_reply_to_id=parent)["in_reply_to_id"] is None
    assert server.texts("nym") == ["Voles."]


def test_a_text_that_comes_apart_from_its_status_is_read_too(server, tmp_path):
    """As Mastodon gives it; this server gives both."""
    status = server.post("nym", "Owls *eat* mice.")
    accounts = Accounts(write_accounts(tmp_path, server.tokens), place=server.url)
    visit = client.Visit(accounts.account("nym"), timeout_s=10)
    visit.log_in()

    assert visit.text_of({"id": status["id"]}) == "Owls *eat* mice."


@pytest.mark.parametrize("token", ["0" * 32, "ünsinn", "alter"])
def test_a_token_that_is_not_the_nyms_locks_it_out_and_posts_nothing(server, line, tmp_path, token):
    """Not even where it is good for another account: nothing leaves under another name."""
    outlet = outlet_to(server, tmp_path, port=line.port, nym=server.tokens.get(token, token))

    with pytest.raises(LockedOut) as trouble:
        deliver(outlet, "Owls eat mice.")
    assert not trouble.value.sent
    assert not line.with_words(POST)
    assert not any(word in str(trouble.value) for word in ("nym", "alter", "Owls", token))
    assert server.texts("alter") == []


def test_one_account_is_one_however_its_login_is_written(server, tmp_path):
    """An outage of one table is an outage of the other, and both get in."""
    path = write_accounts(tmp_path, server.tokens)
    again = f'[again]\nlogin = "@Nym@social.example"\npassword = "{server.tokens["nym"]}"\n'
    path.write_text(path.read_text() + again)
    outlet = plugin.Mastodon(Accounts(path, place=server.url))
    deliver(outlet, "Owls eat mice.", "again")

    nym, again, alter = (outlet.account({"account": name}) for name in ("nym", "again", "alter"))
    assert nym == again != alter
    assert server.texts("nym") == ["Owls eat mice."]


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff", b"a\0b", b"x" * 100_001])
def test_what_is_no_status_is_refused_at_once_and_at_its_release(server, tmp_path, content):
    """No server has to be asked for it."""
    outlet, world = (
        outlet_to(server, tmp_path),
        SimpleNamespace(content=content, options={"account": "nym"}),
    )

    with pytest.raises(BadInput, match=r"^a status must"):
        outlet.check_content({}, content)
    with pytest.raises(Refused, match=r"^a status must"):
        outlet.deliver(release_of(world))


# --- what is read back ----------------------------------------------------------------------------


def test_what_was_released_is_found_by_the_reader(server, tmp_path):
    """In the public timeline and by account; a boost, which this server lists instead, is seen through."""
    outlet = outlet_to(server, tmp_path)
    deliver(outlet, "What do owls eat?")
    (first,) = server.statuses("nym")
    deliver(outlet, "Mice.", "alter", in_reply_to=first["id"])
    (reply,) = server.statuses("alter")
    boost(server, first)
    expected = [
        ("alter", first["id"], seconds(reply["created_at"]) * 1_000_000),
        ("nym", first["id"], seconds(first["created_at"]) * 1_000_000),
    ]

    assert events(read_mastodon(server.url)) == expected
    login = ("nym", server.tokens["nym"])
    assert events(read_mastodon(server.url, accounts=["alter", "@nym"], login=login)) == expected
    with pytest.raises(NotPossible, match="401"):
        list(read_mastodon(server.url, accounts=["alter"]))
    with pytest.raises(NotPossible, match="404"):
        list(read_mastodon(server.url, accounts=["nobody"], login=login))


def test_the_reader_goes_on_from_page_to_page_and_stops_at_since(server, line):
    """Each status once, the newest first; what is older than the span is not asked for."""
    for number in range(85):
        server.post("nym", f"Status {number}")
    newest = server.statuses("nym")[-1]["created_at"]
    every = list(read_mastodon(server.url))
    after = datetime.fromtimestamp(seconds(newest) + 1).astimezone().isoformat()

    assert len({event.target for event in every}) == len(every) == 85
    assert every == sorted(every, key=lambda event: -event.time)
    assert list(read_mastodon(server.url, until=after)) == every
    assert list(read_mastodon(Mastodon.address(line.port), since=after)) == []
    assert len(line.asked) == 1


# --- installed ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """A fresh environment, with tarry and the plugin in it as their wheels have them.

    What both need besides is that of the tests, by its path: no name of tarry's comes from there.
    """
    folder = tmp_path_factory.mktemp("fresh")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    build = [*pip, "wheel", *offline, "--no-build-isolation", "-w", folder / "wheels", ROOT, PACKAGE]
    run_quietly(build)
    run_quietly([sys.executable, "-m", "venv", "--without-pip", folder / "venv"])
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    run_quietly([*pip, "install", *offline, "--target", site, *(folder / "wheels").glob("*.whl")])
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return SimpleNamespace(python=folder / "venv" / "bin" / "python", site=site)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The plugin alone, as pip installs it, in a folder of its own: the gateway is this checkout's."""
    site = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index"]
    run_quietly([*pip, "--no-deps", "--no-build-isolation", "--target", site, PACKAGE])
    return site


def run_quietly(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def program(fresh, tmp_path):
    """Runs a program of Python's in the fresh environment: all that it says."""
    alien = ("TARRY_", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(alien)}
    environment["TARRY_HOME"] = str(tmp_path / "home")

    def run(*words, code=0):
        command = [fresh.python, *map(str, words)]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def tarry(program):
    """Runs a command of tarry's there."""
    return partial(program, "-m", "tarry")


def test_the_environment_is_a_fresh_one(program, fresh):
    """Both packages are those of the wheels, and neither is this checkout."""
    for package in ("tarry", "tarry_mastodon"):
        place = Path(program("-c", f"import {package}; print({package}.__file__)").strip())
        assert place.is_relative_to(fresh.site)


def test_an_installed_plugin_joins_the_commands(server, tarry, tmp_path):
    """A space, an export with its audit, and a policy: nobody has touched a file of tarry's."""
    policy, history = tmp_path / "policy.toml", tmp_path / "history.csv"
    policy.write_text('epsilon = "2"\ngap = "11m"\nwindow = "5m"\nlaw = "two-step"\n')
    assert tarry("verify", policy).startswith("holds")
    assert "two-step law" in tarry("plan", "--policy", policy)

    accounts = write_accounts(tmp_path, server.tokens)
    tarry("space", "add", "talk", "--policy", policy, "--mastodon", server.url, "--accounts", accounts)
    assert "mastodon" in tarry("space", "list")
    wrong = tarry(
        *("space", "add", "other", "--policy", policy, "--mastodon", "http://social.example"),
        *("--accounts", accounts),
        code=2,
    )
    assert (
        wrong
        == "tarry space: http://social.example is not encrypted, and a token is sent there: use https://\n"
    )

    for number in range(6):
        server.post(NYMS[number % 2], f"Status {number}")
    assert "6 events by 2 actors" in tarry("read", "mastodon", server.url, "-o", history)
    assert "attack shown-seconds:60" in tarry(
        "audit", history, "--no-advice", "--attack", "shown-seconds:60"
    )


def test_the_plugins_own_tests_and_examples_pass(program):
    """As its author runs them."""
    program(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", PACKAGE / "pyproject.toml", PACKAGE / "tests"
    )
    program(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", "--pyargs", "tarry_mastodon"
    )


def test_batched_statuses_pass_a_kill_and_an_outage_once_and_at_their_ticks(
    server, line, installed, tmp_path, monkeypatch
):
    """Two pairs by two pseudonyms of one person: one in peace; a kill and an outage in the other."""
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    parent = server.post("alter", "What do owls eat?")["id"]
    posts = [
        status_post("nym", "Mice.", in_reply_to=parent),
        status_post("alter", "Larks sing.", visibility="unlisted"),
        status_post("alter", "Bats fly."),
        status_post("nym", "Wrens hide."),
    ]
    accounts = write_accounts(tmp_path, server.tokens)
    outlet = {"kind": "mastodon", "server": Mastodon.address(line.port), "accounts": str(accounts)}
    with running_gateway(tmp_path, line, outlet) as run:
        sent = run.hand_in(posts[:2])
        run.wait_until_released(sent)
        sent += run.suffer(posts[2:], POST, server)
        assert run.parked() == []
    assert run.exact >= 2, "a tick that was missed explains one or two, and not all"

    made = {status["text"]: status for nym in NYMS for status in server.statuses(nym)}
    assert sorted(server.texts("nym")) == ["Mice.", "Wrens hide."]
    assert sorted(server.texts("alter")) == ["Bats fly.", "Larks sing.", "What do owls eat?"]
    for number, each in enumerate(sent):
        run.check_moments(each, each.body["content"].encode(), prompt=number < 2)
        # Nothing was asked before its tick, to the microsecond; the server writes down time(), which runs a
        # few milliseconds behind, and so perhaps the second before.
        created = seconds(made[each.body["content"]]["created_at"])
        assert created >= int(each.latest) - 1, "seen before its tick"


def status_post(account, text, **options):
    """A post for the gateway, on a target of its own."""
    return {"target": f"{account} {text}", "content": text, "options": {"account": account, **options}}


# --- helpers --------------------------------------------------------------------------------------


class Trial:
    """A delivery in a thread of its own."""

    def __init__(self, call):
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call):
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
            self._error = error

    def error(self):
        """What it raised."""
        self._thread.join(60)
        return self._error


def boost(server, status):
    """The other pseudonym boosts a status; returns when that is listed."""
    server.ask("POST", f"/api/v1/statuses/{status['id']}/reblog", {"visibility": "public"}, nym="alter")
    end = time.monotonic() + 60
    while not any(each["reblog"] for each in server.statuses("nym")):
        assert time.monotonic() < end
        time.sleep(0.05)


def seconds(text):
    return int(datetime.fromisoformat(text).timestamp())


def events(stream):
    """Who, on what, when; an account by its own name."""
    return [(event.actor.partition("@")[0], event.target, event.time) for event in stream]


if __name__ == "__main__":
    accounts, place, text = sys.argv[1:]
    deliver(plugin.Mastodon(Accounts(Path(accounts), place=place)), text)
