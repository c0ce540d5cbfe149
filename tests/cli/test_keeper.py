"""`tarry keeper`: one at a time, ended gracefully, and never the cause of a second run."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.shell import FAST, SLOW, heeds, wait_until
from tarry.keep.keeper import Keeper
from tarry.keep.releaser import LEASE_S
from tarry.keep.store import MICROS, Reading, SystemClock

#: Says that it has begun, and ends when it is told to.
LONG = "echo begun >> begun; until test -e go; do sleep 0.05; done; echo done >> done"
#: A keeper that does not wait long for a store that is gone.
BRISK = "from tarry.cli import keeper, main; keeper._GONE_S = 0.1; main.main(['keeper', '--until-empty'])"


class LaterClock(SystemClock):
    """The machine's clock when a lease has lapsed."""

    def read(self, database=None):
        now, more = super().read(database), (LEASE_S + 1) * MICROS
        return Reading(now.wall + more, now.steady + more, now.boot)


@pytest.fixture
def busy(shell, monkeypatch):
    """A keeper in the middle of a command that takes as long as it is let."""
    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", shell.started.append)
    shell.write_policy(FAST)
    shell.told = shell.ask("run", "--target", "x", "--", "sh", "-c", LONG)
    keeper = shell.process("keeper", start_new_session=True)
    wait_until(Path("begun").exists)
    yield keeper
    Path("go").touch()
    keeper.kill()
    keeper.communicate()
    wait_until(Path("done").exists)


def test_there_is_one_keeper_at_a_time(shell, busy):
    """A second keeper says that one runs, and ends; the first goes on."""
    assert shell.say("keeper") == (0, "a keeper is already running\n", "")
    assert shell.say("keeper", "--json")[1] == '{"said": "a keeper is already running"}\n'
    assert shell.say("keeper", "--until-empty") == (0, "", "")
    assert busy.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_keeper_that_is_ended_does_not_cut_a_command_off(shell, busy, number):
    """Ctrl-C in its terminal or SIGTERM: it waits for the command, marks it as released, ends with 0."""
    os.killpg(busy.pid, number)
    gate = shell.home.gate()
    before = gate.status(shell.told["receipt"]).state
    Path("go").touch()
    _, err = busy.communicate(timeout=60)

    assert (before, gate.status(shell.told["receipt"]).state) == ("waiting", "released")
    assert (busy.returncode, err) == (0, "")
    assert Path("done").read_text() == "done\n"


def test_while_an_ended_keeper_waits_for_a_command_another_one_keeps(shell, busy):
    """What is handed in then finds no keeper, and starts one; a second signal leaves the command alone."""
    busy.terminate()
    wait_until(lambda: not shell.home.is_kept())
    before = busy.poll()
    busy.terminate()
    out, err = busy.communicate(timeout=60)

    assert before is None
    assert (busy.returncode, err) == (0, "")
    assert out.startswith("1 under way: waiting for the end")
    assert not Path("done").exists()


def test_a_keeper_whose_words_nobody_can_write_down_goes_on(shell, monkeypatch):
    """A full disk under its log, or a terminal that is gone, keeps no act from leaving."""
    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", shell.started.append)
    shell.write_policy(FAST)
    shell.ask("run", "--target", "x", "--", "false")  # it will be told that this one failed
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        keeper = shell.process("keeper", stdout=full)
        wait_until(lambda: any(post["state"] == "parked" for post in shell.ask("queue")["posts"]))
        shell.ask("run", "--target", "y", "--", "touch", "left")
        wait_until(Path("left").exists)
        running = keeper.poll()
        keeper.kill()
        keeper.communicate()

    assert running is None


def test_a_policy_with_other_ticks_is_no_outage(shell, monkeypatch):
    """A running keeper counts in the new ticks, and has missed none."""
    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", shell.started.append)
    shell.write_policy(SLOW)
    shell.ask("queue")
    keeper = shell.process("keeper")
    wait_until(lambda: heeds(keeper.pid, signal.SIGTERM) and shell.home.is_kept())
    shell.write_policy(FAST)
    shell.ask("run", "--target", "x", "--", "touch", "left")
    wait_until(Path("left").exists)
    wait_until(lambda: not shell.ask("queue")["posts"])  # else the keeper says that it waits for the end
    keeper.terminate()
    out, _ = keeper.communicate(timeout=60)

    assert out == ""


def test_a_command_whose_keeper_is_killed_is_parked_and_never_run_again(shell, busy):
    """After kill -9 the next keeper parks the act for a person, whose queue says why."""
    busy.kill()
    busy.wait()
    gate = shell.home.gate()
    gate.vault.clock = LaterClock()
    Keeper(gate.vault).run(until_empty=True)
    Path("go").touch()
    wait_until(Path("done").exists)
    (post,) = shell.ask("queue")["posts"]

    assert post["state"] == "parked"
    assert post["problem"].startswith(
        "its delivery was cut off and may or may not have happened: look, then"
    )
    assert (Path("begun").read_text(), Path("done").read_text()) == ("begun\n", "done\n")


def test_a_keeper_in_the_background_can_be_ended_while_something_waits(shell):
    """SIGTERM ends it for good, though it was to stay until nothing waits; the act stays too."""
    shell.write_policy(SLOW)
    told = json.loads(shell.finish("run", "--json", "--target", "x", "--", "true")[1])
    (pid,) = wait_until(lambda: shell.home.is_kept() and shell.keepers())
    wait_until(lambda: heeds(pid, signal.SIGTERM))
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not shell.keepers())

    assert told["keeper_started"]
    assert [post["id"] for post in shell.ask("queue")["posts"]] == [told["id"]]
    assert shell.home.log_path.read_text() == ""


def test_a_keeper_may_be_there_first(shell):
    """On first use it makes and explains the policy, as any command would, and then waits for acts."""
    keeper = shell.process("keeper")
    wait_until(lambda: heeds(keeper.pid, signal.SIGTERM))
    keeper.terminate()
    out, err = keeper.communicate(timeout=60)

    assert (keeper.returncode, out) == (0, "")
    assert err.startswith("From now on each act waits ")
    assert shell.home.policy_path.exists()


def in_the_background(shell):
    """An act that waits, and the process that keeps it."""
    shell.write_policy(SLOW)
    shell.finish("run", "--target", "x", "--", "true")
    return wait_until(lambda: shell.home.keeper().pid)


def test_status_says_whether_a_keeper_runs(shell):
    before = shell.say("keeper", "--status")
    pid = in_the_background(shell)
    told = shell.ask("keeper", "--status")

    assert before == (1, "no keeper runs\n", "")
    assert shell.say("keeper", "--status") == (0, f"a keeper runs (process {pid})\n", "")
    assert told == {"runs": True, "pid": pid, "died": False, "said": None}
    assert shell.keepers() == [pid]


def test_the_lock_does_not_tell_when_the_keeper_began(shell):
    """It began when an act came in, and the file outlives a crash."""
    in_the_background(shell)
    times = [shell.home.lock_path.stat()]

    def moved():
        now = shell.home.lock_path.stat()
        return now.st_mtime_ns > times[0].st_mtime_ns and now.st_ctime_ns > times[0].st_ctime_ns

    assert wait_until(moved)


def test_stop_ends_the_keeper_and_no_other_command_starts_one_behind_its_back(shell):
    pid = in_the_background(shell)
    code, out, err = shell.say("keeper", "stop")
    wait_until(lambda: not shell.keepers())

    assert (code, err) == (0, "")
    assert out.startswith(f"the keeper (process {pid}) has stopped: nothing leaves until another one runs")
    assert shell.say("keeper", "stop") == (0, "no keeper runs\n", "")
    for spelling in ("stop", "--stop"):
        assert shell.ask("keeper", spelling) == {"stopped": False, "pid": None}
    assert shell.say("queue")[1].endswith("no keeper runs: nothing leaves until one does (tarry keeper)\n")
    assert not shell.keepers()


def test_where_a_service_is_installed_stop_says_that_it_comes_back(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    unit = tmp_path / "systemd" / "user" / "tarry-keeper.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    in_the_background(shell)

    assert shell.say("keeper", "stop")[2] == (
        "tarry keeper: the service starts it again: tarry keeper remove ends that\n"
    )


@pytest.mark.parametrize("words", [["queue"], ["run", "--target", "y", "--", "true"]])
def test_the_next_command_notices_a_dead_keeper_and_starts_another(shell, words):
    pid = in_the_background(shell)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not shell.home.is_kept())
    status = shell.say("keeper", "status")
    code, _, err = shell.finish(*words)

    assert status == (1, "no keeper runs: the last keeper ended unexpectedly\n", "")
    assert (code, err) == (0, "tarry: the last keeper ended unexpectedly; another one was started\n")
    assert wait_until(lambda: shell.home.keeper().pid) != pid
    assert shell.finish(*words)[2] == ""


def test_a_keeper_that_broke_leaves_word_of_it(shell):
    """Here its key is gone while it starts: the reason is told though nobody has read its log."""
    os.kill(in_the_background(shell), signal.SIGKILL)
    wait_until(lambda: not shell.home.is_kept())
    key = shell.home.key_path.rename(shell.folder / "key")
    shell.finish("keeper", "--until-empty")
    key.rename(shell.home.key_path)
    gone = f"the key of the store is gone: put {shell.home.key_path} back in its place"

    assert shell.finish("queue")[2] == (
        f"tarry: the last keeper ended unexpectedly; it had said: {gone}; another one was started\n"
    )


@pytest.mark.parametrize("again", [False, True], ids=["for good", "and another one is begun"])
def test_a_keeper_whose_store_was_deleted_ends(shell, monkeypatch, again):
    """It waits for a disk that may come back, but not for ever, and never works on another store."""
    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", shell.started.append)
    shell.write_policy(SLOW)
    shell.ask("run", "--target", "x", "--", "true")
    code = "from tarry.cli.main import main; main(['keeper', '--until-empty'])" if again else BRISK
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as keeper:
        wait_until(lambda: shell.home.keeper().pid)
        shutil.rmtree(shell.home.state.rename(shell.folder / "deleted"), ignore_errors=True)  # all at once
        if again:
            shell.write_policy(SLOW)
            # The old keeper may look at the new file while it is made: then one tries again.
            wait_until(lambda: shell.say("run", "--target", "x", "--", "true")[0] == 0)
            wait_until(lambda: not shell.home.is_kept())
        _, err = keeper.communicate(timeout=60)

    gone = f"tarry keeper: the store {shell.home.store_path} is gone: this keeper ends"
    end = err.splitlines()[-1]  # it may have met the new file half made before, and said so
    assert end == gone or (again and "this key is not the one" in end)  # if it looks at the new one first


def test_the_queue_shows_what_is_running(shell, busy):
    (post,) = shell.ask("queue")["posts"]
    _, out, _ = shell.say("queue")

    assert post["state"] == "running"
    assert out.splitlines()[1].split()[-1] == "running"


def test_what_a_dead_keeper_was_running_is_not_running(shell, busy, monkeypatch):
    busy.kill()
    busy.wait()
    monkeypatch.setattr("tarry.keep.sqlite.SqliteStore.clock", lambda store: LaterClock())
    (post,) = json.loads(shell.say("queue", "--json")[1])["posts"]

    assert post["state"] == "waiting"


@pytest.mark.parametrize("words", [["--install", "--remove"], ["--until-empty", "--install"]])
def test_one_thing_at_a_time(shell, words):
    """Options that contradict each other are refused."""
    assert "not allowed with argument" in shell.refusal("keeper", *words)
