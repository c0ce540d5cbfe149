"""`scripts/serve`: what it prints works as printed, and the post appears within half a minute."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MINUTE_S = 60


@pytest.fixture
def script(tmp_path, usual_signals):
    """The script at work; its private folder is made in ours."""
    process = subprocess.Popen(
        [ROOT / "scripts" / "serve", "--port", "0"],
        env={**os.environ, "TMPDIR": str(tmp_path), "TARRY_PORT": "no port at all"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run(line):
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, timeout=MINUTE_S)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.needs("curl")
def test_the_printed_lines_work_and_ctrl_c_ends_it(script, tmp_path):
    told = []
    for line in script.stdout:
        told.append(line)
        if line.startswith("Ctrl-C"):
            break
    assert "This is a demonstration." in "".join(told)
    hand_in, read = re.findall(r"^curl .*$", "".join(told), re.MULTILINE)
    begun = time.monotonic()

    assert run(hand_in)["state"] == "waiting"
    while "I agree." not in [item["content"] for item in run(read)["items"]]:
        assert time.monotonic() - begun < MINUTE_S, "it does not appear"
        time.sleep(0.2)
    assert len(list(tmp_path.iterdir())) == 1

    os.killpg(script.pid, signal.SIGINT)
    _, err = script.communicate(timeout=MINUTE_S)
    assert script.returncode == 0, err
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["started", "stopping", "stopped"]
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_other_options_are_refused(tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / "serve", "--epsilon", "2"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: scripts/serve does not know '--epsilon 2': see scripts/serve --help.\n"


def test_its_help_makes_nothing_and_names_its_option(tmp_path):
    """Before an environment is made, from any folder."""
    done = subprocess.run(
        [ROOT / "scripts" / "serve", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert "--port N" in done.stdout
    assert done.stderr == ""


def test_a_port_that_is_no_port_ends_it(tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / "serve", "--port", "x"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=MINUTE_S,
    )

    assert done.returncode != 0
    assert "--port must be a whole number" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_ends_it_and_nothing_is_said_to_listen(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run(
            [ROOT / "scripts" / "serve", "--port", str(taken.getsockname()[1])],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=MINUTE_S,
        )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("error: the server has ended.\n")
    assert len(done.stderr.splitlines()) > 1  # why
    assert list(tmp_path.iterdir()) == []
