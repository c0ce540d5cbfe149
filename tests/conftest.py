"""Properties are searched the same way on every run: a red test is red again tomorrow."""

import shutil
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from contracts.forced_draws import ForcedDraws
from contracts.refusals import Refusals

settings.register_profile("house", derandomize=True, deadline=None, print_blob=False)
settings.register_profile("quick", settings.get_profile("house"), max_examples=15)
settings.load_profile("house")

#: What has written the fixtures runs in an earlier version.
collect_ignore = ["fixtures"]

_DRAWS = pytest.StashKey[ForcedDraws | None]()
_REFUSALS = pytest.StashKey[Refusals]()
_TESTS = Path(__file__).parent
#: What whole folders and files are; single tests are marked where they stand.
MARKS = {
    "acceptance": "server",
    "acceptance/test_pages_audit.py": "browser",
    "acceptance/test_pages_board.py": "browser",
    "acceptance/test_pages_desk.py": "browser",
    "acceptance/test_pages_story.py": "browser",
    "acceptance/test_pages_workbench.py": "browser",
    "acceptance/test_report.py": "browser",
    "cli/test_bounded.py": "server",
    "cli/test_extras.py": "server",
    "cli/test_keeper.py": "server",
    "cli/test_reproduce.py": "slow",
    "cli/test_serve.py": "server",
    "cli/test_worker.py": "server",
    "console/audit/test_jobs.py": "server",
    "console/audit/test_work.py": "slow",
    "core/test_machine_proofs.py": "slow",
    "core/test_season_plan.py": "slow",
    "core/verify/test_sentence.py": "slow",
    "gateway/test_connection.py": "server",
    "gateway/test_contract_over_http.py": "slow",
    "gateway/test_feeds.py": "slow",
    "gateway/test_leaks.py": "slow",
    "gateway/test_schemathesis.py": "slow",
    "gateway/test_stalls.py": "server",
    "keep/test_erasure.py": "slow",
    "keep/test_keeper_machine.py": "slow",
    "keep/test_lockouts.py": "slow",
    "keep/test_machine_mutants.py": "slow",
    "paper": "slow",
    "places/command/test_command.py": "server",
    "places/git/test_outlet.py": "slow",
    "statistical": "slow",
    "study/attest/test_attest.py": "slow",
    "study/parts/test_equal.py": "slow",
    "study/parts/test_stream.py": "server",
    "study/test_charts.py": "slow",
    "study/test_report.py": "slow",
    "study/test_watch_pages.py": "slow",
    "test_deploy.py": "server",
    "test_docs.py": "slow",
    "test_scripts.py": "server",
}


def pytest_addoption(parser):
    """`--draws` forces what the secure source gives: tests must pass whatever it is."""
    parser.addoption("--draws", metavar="HOW", help="force secure draws: shortest, longest or seed:NUMBER")
    parser.addoption(
        "--note-draws", metavar="FILE", help="with --draws: add the tests that draw to this file"
    )
    parser.addoption("--only-noted", metavar="FILE", help="run only the tests that this file names")


def pytest_configure(config):
    how = config.getoption("--draws")
    config.stash[_DRAWS] = ForcedDraws(how) if how else None
    config.stash[_REFUSALS] = Refusals()
    config.stash[_REFUSALS].start()


def pytest_unconfigure(config):
    if refusals := config.stash.get(_REFUSALS, None):
        refusals.stop()
    if forced := config.stash.get(_DRAWS, None):
        forced.undo()


def _marks_of(path):
    """What a file is as a whole."""
    return [mark for place, mark in MARKS.items() if path.is_relative_to(_TESTS / place)]


@pytest.hookimpl(tryfirst=True)  # before those are left out that -m does not want
def pytest_collection_modifyitems(config, items):
    if noted := config.getoption("--only-noted"):
        names = set(Path(noted).read_text(encoding="utf-8").splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
        items[:] = [item for item in items if item.nodeid in names]
    marks_of = cache(_marks_of)  # thousands of tests share a few hundred files
    for item in items:
        for mark in marks_of(item.path):
            item.add_marker(mark)
        if "postgres" in item.nodeid.lower() or "postgres_server" in getattr(item, "fixturenames", ()):
            item.add_marker("server")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            if shutil.which(program) is None:
                pytest.skip(f"NO {program.upper()} HERE: scripts/test installs it, as root with apt-get")
    if forced := item.config.stash[_DRAWS]:
        for mark in item.iter_markers("needs_real_draws"):
            pytest.skip(f"draws are forced, and {mark.args[0]}")
        forced.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note which tests draw; and whatever was refused, its sentence must help whoever reads it."""
    refusals = item.config.stash[_REFUSALS]
    refusals.begin()
    result = yield
    forced, noted = item.config.stash[_DRAWS], item.config.getoption("--note-draws")
    if noted and forced and forced.drew:
        with Path(noted).open("a", encoding="utf-8") as file:
            file.write(f"{item.nodeid}\n")
    if found := refusals.faults():
        pytest.fail("\n".join(["a refusal is not as it must be (tests/contracts/refusals.py)", *found]))
    return result


@pytest.fixture(scope="session")
def postgres_server():
    """A running PostgreSQL, one for each process of tests; a test that stops it starts it again."""
    from contracts.postgres_server import PostgresServer

    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def usual_signals():
    """What a test starts heeds Ctrl-C and a closed terminal, though nohup or `&` told us to ignore them.

    A child inherits a signal that is ignored, but not a handler.
    """
    ignored = [each for each in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def force_draws():
    """Forces secure draws from now on until the test ends: `shortest`, `longest` or `seed:NUMBER`."""
    forced = []

    def begin(how):
        forced.append(ForcedDraws(how))
        forced[-1].begin("a test")

    yield begin
    for each in reversed(forced):
        each.undo()
