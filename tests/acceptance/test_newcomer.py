"""Somebody new, with README.md alone: its lines, as they stand there, in a folder where nothing is.

The tutorials after it, and an operator's drill, likewise.

A port of 8420 may be taken here, so another one stands in its place; nothing else of the lines is changed.
"""

import os
import re
import signal
import socket
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE_S = 300
MOST_WORDS = 950


def blocks_of(heading, page=README, kind="sh"):
    """The lines below a heading for a shell, or of another kind, block by block."""
    section = page[page.index(f"\n## {heading}\n") :].split("\n## ", 2)[1]
    return re.findall(rf"^```{kind}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def page_of(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path):
    """Runs lines in a clean folder, after those by which README.md puts tarry on the PATH."""
    set_up = blocks_of("Install")[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARRY_", "GIT_"))}
    home = tmp_path / "home"
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])

    def run(*lines, **given):
        text = "\n".join([f"cd {ROOT}", set_up, f"cd {tmp_path}", *lines]).replace("8420", port)
        script = f"set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{text}\n"
        done = subprocess.run(
            ["bash", "-c", script],
            env={**kept, "HOME": str(home), "TARRY_PORT": port, **given},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("tarry ")
        return done.stdout

    return run


def test_the_front_page_is_short():
    """At most 950 words outside code blocks."""
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)

    assert len(prose.split()) <= MOST_WORDS


def test_two_commands_stay_the_two_commands():
    assert [line.partition(" ")[0] for line in blocks_of("Install")[0].splitlines()] == [
        "scripts/serve",
        "scripts/test",
    ]


@pytest.mark.needs("curl")
def test_first_the_demonstration(tmp_path, usual_signals):
    """`scripts/serve`, then the two lines that it prints: the post appears."""
    command = blocks_of("Install")[0].split()[0]
    process = subprocess.Popen(
        [ROOT / command, "--port", "0"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        printed = []
        while not printed or (printed[-1] and not printed[-1].startswith("Ctrl-C")):
            printed.append(process.stdout.readline())
        post, read = (line for line in printed if line.startswith("curl "))
        subprocess.run(["sh", "-c", post], check=True, capture_output=True, timeout=PATIENCE_S)
        begun = time.monotonic()
        while b"I agree." not in subprocess.run(["sh", "-c", read], check=True, capture_output=True).stdout:
            assert time.monotonic() - begun < PATIENCE_S, "it does not appear"
            time.sleep(0.2)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


def test_then_an_audit_of_their_own_csv(shell, tmp_path):
    """A file of theirs with three columns; the report lies beside it."""
    draw, moment = Random(24), 1_700_000_000
    rows = ["user,page,timestamp"]
    for _ in range(200):
        user, pages = f"u{draw.randrange(20)}", draw.sample(range(40), 2)
        moment += draw.randrange(1200, 7200)
        rows += [f"{user},page {page},{moment + draw.randrange(120)}" for page in pages]
    (tmp_path / "history.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")

    out = shell(blocks_of("I study such data")[0])

    assert "400 events by 20 actors on 40 targets" in out
    assert "recommendation" in out
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.needs("curl")
def test_then_a_gateway_on_postgresql(shell, tmp_path, postgres_server):
    """Given from outside: the URL of a database, and nothing else. A token, and a released post."""
    begin, look = blocks_of("I run a forum or review system")

    out = shell(
        begin,
        f"until {look.strip()} | grep -q 'I agree.'; do sleep 0.2; done",
        look,
        "kill %1",
        DATABASE_URL=postgres_server.new_schema(),
    )

    assert '"state":"waiting"' in out.replace(" ", "")
    assert '"content":"I agree."' in out.replace('": "', '":"')
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.needs("git")
def test_then_a_delayed_push_to_a_bare_repository(shell):
    """The commit has arrived, and is dated to its release, at the moment that was told or later."""
    (lines,) = blocks_of("I act under several names")

    out = shell(lines)

    told = re.search(r"^leaves +(\S+ \S+)", out, re.MULTILINE)[1]
    (arrived,) = re.findall(r"^Owl  (.*) [+-]\d{4}  A first commit$", out, re.MULTILINE)
    arrived_at = datetime.strptime(arrived, "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007 - both are local
    late = arrived_at - datetime.fromisoformat(told)
    assert timedelta(0) <= late < timedelta(seconds=PATIENCE_S)


def test_a_review_system_in_ten_minutes(shell, tmp_path):
    """The tutorial's policy, gateway and program: both reviews wait, and both appear."""
    page = page_of("tutorial-review-system.md")
    site = "3. Your site hands reviews in"
    (program,) = blocks_of(site, page, "python")
    before = [*blocks_of("1. A policy", page), *blocks_of("2. A gateway", page)]
    ready = "until curl -sf http://127.0.0.1:8420/readyz > ready; do sleep 0.1; done"
    program = f"cat > reviews.py <<'PROGRAM'\n{program}PROGRAM"

    out = shell(*before, ready, program, *blocks_of(site, page), *blocks_of("4. Look at it", page))

    assert "paper 3 waiting\npaper 8 waiting\n" in out
    assert len(re.findall(r"^\S+ paper [38] I like paper [38]\.$", out, re.MULTILINE)) == 2
    assert re.search(r"^tarry_\S+$", out, re.MULTILINE)


def test_an_operators_drill_between_postgresql_and_sqlite(shell, tmp_path, postgres_server):
    """The page's own lines bring a gateway's backup into a file and from there into PostgreSQL, paused."""
    (_, drill) = blocks_of("7. Backups, and a drill", page_of("production.md"))
    begin = blocks_of("I run a forum or review system")[0].split("tarry serve")[0]

    out = shell(
        begin, drill, DATABASE_URL=postgres_server.new_schema(), EMPTY_DATABASE=postgres_server.new_schema()
    )

    assert out.count("paused since it was restored from a backup") == 2
    assert not list(tmp_path.glob("*.db"))


def test_a_second_name_on_a_wiki(shell, tmp_path):
    """Two accounts, a policy, two changes that wait: the wiki hears nothing before they leave."""
    page = page_of("tutorial-second-name.md")
    names = "1. A password for each name"
    (accounts,) = blocks_of(names, page, "toml")
    write = f"cat > ~/.config/tarry/accounts.toml <<'ACCOUNTS'\n{accounts}ACCOUNTS"
    (look,) = blocks_of("4. Look, and change your mind", page)
    lines = [*blocks_of(names, page), write, *blocks_of("2. How long things wait", page)]
    lines += [*blocks_of("3. Two changes", page), look.splitlines()[0], "tarry keeper stop"]

    out = shell(*lines)

    assert out.count("leaves  ") >= 2
    assert "https://wiki.example/w/api.php Nym" in out
    assert "https://wiki.example/w/api.php Owl" in out
