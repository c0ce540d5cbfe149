"""The examples, run for real: somebody posts under two pseudonyms, and the posts appear later."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DEADLINE_S = 60
THREADS = ("cats", "dogs")


@pytest.fixture
def forum(request, tmp_path):
    """A running forum: a browser at its front page, and the folder where its posts wait."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, EXAMPLES / f"{request.param}_forum.py", "--port", port, "--folder", tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    browser = httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers={"Sec-Fetch-Site": "same-origin"})
    try:
        wait_for(lambda: is_up(browser, process))
        yield browser, tmp_path
    finally:
        browser.close()
        process.terminate()
        told = process.communicate(timeout=DEADLINE_S)[0]
    assert "Traceback" not in told
    assert "/threads" not in told  # no log tells that somebody has posted


def is_up(browser, process):
    assert process.poll() is None, process.stdout.read()
    try:
        return browser.get("/").status_code == 200
    except httpx2.TransportError:
        return False


def wait_for(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def submit(browser, address, **form):
    """Send a form as the page has it, with its hidden token if there is one."""
    token = re.search(r'name="(csrfmiddlewaretoken)" value="(\w+)"', browser.get("/").text)
    return browser.post(address, data=form | dict([token.groups()] if token else []))


def state_of(browser, answer):
    return browser.get("/_tarry/receipt", headers={"Tarry-Receipt": answer["receipt"]}).json()["state"]


@pytest.mark.parametrize("forum", ["fastapi", "django"], indirect=True)
def test_posts_appear_at_moments_of_their_own(forum):
    browser, folder = forum
    assert submit(browser, "/sign-in", name="ann").status_code in {302, 303}
    answers = [submit(browser, f"/threads/{each}/posts", text=f"I like {each}!") for each in THREADS]
    assert [answer.status_code for answer in answers] == [202, 202]
    waiting = dict(zip(THREADS, (answer.json() for answer in answers), strict=True))
    assert not any(b"I like" in path.read_bytes() for path in folder.iterdir())

    shown = {}
    while len(shown) < len(THREADS):
        wait_for(lambda: set(re.findall(r"I like (\w+)!", browser.get("/").text)) - set(shown))
        now, page = datetime.now(tz=UTC), browser.get("/").text
        for thread in set(re.findall(r"I like (\w+)!", page)) - set(shown):
            assert now >= datetime.fromisoformat(waiting[thread]["earliest_at"])
            shown[thread] = re.search(rf"(\w{{6}})(?:</b>)?: I like {thread}!", page)[1]
    assert shown["cats"] != shown["dogs"]  # two pseudonyms
    wait_for(lambda: {state_of(browser, answer) for answer in waiting.values()} == {"released"})


@pytest.mark.parametrize("forum", ["fastapi", "django"], indirect=True)
def test_a_post_without_a_user_or_from_elsewhere_is_refused(forum):
    browser, _ = forum
    assert submit(browser, "/threads/cats/posts", text="boo").status_code == 401
    submit(browser, "/sign-in", name="ann")
    elsewhere = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert browser.post("/threads/cats/posts", data={"text": "boo"}, headers=elsewhere).status_code == 403


@pytest.mark.parametrize("name", ["fastapi", "django"])
def test_ctrl_c_leaves_nothing_behind(name, tmp_path, usual_signals):
    """Unless a folder was named: the key of what waits would lie in it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    told = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, EXAMPLES / f"{name}_forum.py", "--port", port]
    process = subprocess.Popen(
        command, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as browser:
        wait_for(lambda: is_up(browser, process))
    assert list(tmp_path.glob("forum-*/held.key"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE_S)

    assert list(tmp_path.iterdir()) == []
