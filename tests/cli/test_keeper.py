"""`tarry keeper`: one at a time, ended gracefully, and never the cause of a second run."""

import json
import os
import signal
from pathlib import Path

import pytest

from contracts.shell import FAST, SLOW, heeds, wait_until
from tarry.keep.clock import MICROS, Reading, SystemClock
from tarry.keep.keeper import Keeper
from tarry.keep.releaser import LEASE_S

#: Says that it has begun, and ends when it is told to.
LONG = "echo begun >> begun; until test -e go; do sleep 0.05; done; echo done >> done"


class LaterClock(SystemClock):
    """The machine's clock when a lease has lapsed."""

    def read(self, database=None):
        now, more = super().read(database), (LEASE_S + 1) * MICROS
        return Reading(now.wall + more, now.steady + more, now.boot)


@pytest.fixture
def busy(shell, monkeypatch):
    """A keeper in the middle of a command that takes as long as it is let."""
    monkeypatch.setattr("tarry.cli.own._start_keeper", shell.started.append)
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
    assert shell.say("keeper") == (0, "a keeper runs already\n", "")
    assert shell.say("keeper", "--json")[1] == '{"said": "a keeper runs already"}\n'
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
    monkeypatch.setattr("tarry.cli.own._start_keeper", shell.started.append)
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
    monkeypatch.setattr("tarry.cli.own._start_keeper", shell.started.append)
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


@pytest.mark.parametrize("words", [["--install", "--remove"], ["--until-empty", "--install"]])
def test_one_thing_at_a_time(shell, words):
    """Options that contradict each other are refused."""
    assert "not allowed with argument" in shell.refusal("keeper", *words)
