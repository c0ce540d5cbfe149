"""`tarry page`: a real process with real HTTP; what of it the rest of the machine can see."""

import json
import re
import signal
import stat
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest

from contracts.own_page import FROM_HERE, LETTER
from contracts.shell import SLOW
from tarry.cli.page import _LinkFile
from tarry.console.pages import texts

OWN = texts()["own"]


def visitor():
    """Something that keeps cookies."""
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))


def get(opener, url):
    with opener.open(url, timeout=30) as answer:
        return answer.read().decode()


def post(opener, url, hidden):
    """A mail, as the form sends it; the page that comes after it."""
    data = urlencode({**hidden, **LETTER}).encode()
    with opener.open(urllib.request.Request(url, data, FROM_HERE), timeout=30) as answer:  # noqa: S310 - ours
        return answer.read().decode()


def begin(shell, *words):
    """A running page, and what it has printed."""
    shell.write_policy(SLOW)
    process = shell.process("page", "--json", *words)
    return process, json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_act_is_handed_in_and_a_signal_ends_the_page(shell, number):
    process, said = begin(shell, "--port", "0")
    own = visitor()
    page = get(own, said["link"])
    room = re.search(r'href="(/[0-9a-f]{16})/"', page)[1]
    form = get(own, f"{said['listening']}{room}/hand-in/mail")
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form))
    assert OWN["done"]["handed_in"] in post(own, f"{said['listening']}{room}/hand-in/mail", hidden)

    assert [each["what"] for each in shell.ask("queue")["posts"]] == ["Paper 3 to chair@example.net"]
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert shell.ask("queue")["keeper"]  # what waits goes on


def test_no_secret_is_where_others_can_see_it(shell):
    """Not in a list of processes, nor in what it logs, nor in any file that it leaves."""
    process, said = begin(shell)
    own = visitor()
    page = get(own, said["link"])
    room = re.search(r'href="(/[0-9a-f]{16})/"', page)[1]
    (cookie,) = next(each for each in own.handlers if hasattr(each, "cookiejar")).cookiejar
    form = get(own, f"{said['listening']}{room}/hand-in/mail")
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form))
    post(own, f"{said['listening']}{room}/hand-in/mail", hidden)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        get(own, said["link"])  # used
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(own, f"{said['listening']}{room}/nothing")

    secrets = [said["link"].rpartition("/")[2], cookie.value, hidden["mark"], room.strip("/")]
    for pid in (process.pid, *shell.keepers()):
        seen = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
        assert not [secret for secret in secrets if secret.encode() in seen]
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("", "")
    for path in shell.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret.encode() in content], path


def test_in_words_it_says_what_the_link_does(shell):
    process = shell.process("page", "--no-open")
    said = process.stdout.readline() + process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert re.match(r"your page is at http://127\.0\.0\.1:\d+/enter/[\w-]{43}\nthe link works once; ", said)


def test_the_browser_is_sent_by_a_private_file_that_goes_away(tmp_path, monkeypatch):
    """The arguments of a browser are for all to see; the file is not."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    link, started = "http://127.0.0.1:8421/enter/word", []
    opener = _LinkFile(link, lambda address: started.append(address) or True)
    opener.open()
    path = Path(started[0].removeprefix("file://"))

    assert link not in started[0]
    assert link in path.read_text()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    opener.remove()
    assert list(tmp_path.iterdir()) == []
    opener.remove()  # once more at the end


def test_a_browser_that_does_not_start_is_told(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opener = _LinkFile("http://127.0.0.1:8421/enter/word", lambda _: False)
    opener.open()
    opener.remove()
    told = "tarry page: no browser could be started: open the link yourself\n"
    assert capsys.readouterr().err == told


def test_a_wrong_port_and_a_taken_one_are_refused(shell):
    assert shell.refusal("page", "--port", "x").startswith("tarry page: --port must be a whole number")
    process, said = begin(shell)
    port = said["listening"].rpartition(":")[2]
    told = shell.refusal("page", "--port", port)
    process.terminate()
    process.communicate(timeout=60)
    assert told.startswith(f"tarry page: cannot listen at 127.0.0.1, port {port} (")
