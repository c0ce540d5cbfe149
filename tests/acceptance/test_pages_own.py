"""One's own page in a real browser: a push is handed in, and leaves to a real repository."""

import json
import signal

import pytest

from contracts.browser import chromium
from contracts.console_site import check_access, visited
from contracts.echo import hearing_cookies
from contracts.git_places import Repository, new_bare
from contracts.shell import FAST, SLOW, Shell, wait_until
from tarry.cli.page import _LinkFile
from tarry.console.pages import texts

pytestmark = pytest.mark.needs("git")
OWN = texts()["own"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    shell = Shell(tmp_path, capsys)
    monkeypatch.setenv("TARRY_HOME", str(shell.home.state))
    monkeypatch.setenv("HOME", str(tmp_path))
    yield shell
    shell.end_keepers()


@pytest.fixture
def begin(shell):
    """Starts a page, and ends it after the test; its link."""
    processes = []

    def start(policy):
        shell.write_policy(policy)
        processes.append(shell.process("page", "--json", "--no-open"))
        return json.loads(processes[-1].stdout.readline())["link"]

    yield start
    for process in processes:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0


def come_in(page):
    """The link leads on by itself, with and without scripts."""
    page.wait_for_selector(f"h1:has-text('{OWN['title']}')")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_push_is_handed_in_and_leaves(browser, shell, begin, tmp_path, scripts):
    remote = new_bare(tmp_path / "remote.git")
    repository = Repository(tmp_path / "mine", remote)
    commit = repository.commit("a review")
    with visited(browser, begin(FAST), scripts=scripts) as own:
        page = own.page
        come_in(page)
        page.click(f"text={OWN['forms']['git']['title']}")
        page.fill("[name=repository]", "~/mine")
        page.check("[name=redate]")
        page.click("button[type=submit]")
        page.wait_for_selector(".good, h1:has-text('not here any more')")

        wait_until(lambda: not shell.ask("queue")["posts"])
        tip = repository("--git-dir", str(remote), "rev-parse", "main")
        assert tip != commit  # it was dated to the release
        assert repository("--git-dir", str(remote), "log", "--format=%s", "main") == "Say a review"
        page.click(f"text={OWN['back']}")
        assert OWN["nothing_waits"] in page.inner_text("main")


def test_edited_and_withdrawn_after_a_question(browser, shell, begin):
    with visited(browser, begin(SLOW)) as own:
        page = own.page
        come_in(page)
        page.click(f"text={OWN['forms']['mail']['title']}")
        for name, value in {
            "from": "nym@example.org",
            "to": "b@example.org",
            "server": "smtp://localhost",
        }.items():
            page.fill(f"[name={name}]", value)
        page.fill("[name=text]", "old words")
        page.click("button[type=submit]")
        page.fill("#text", "new words")
        page.click(f"button:has-text('{OWN['edit']}')")
        page.wait_for_selector(f"text={OWN['done']['edited']}")
        assert page.input_value("#text") == "new words"

        page.click(f"text={OWN['withdraw']}")
        assert OWN["withdraw_sure"] in page.inner_text("main")
        assert len(shell.ask("queue")["posts"]) == 1
        page.click(f"text={OWN['withdraw_yes']}")
        page.wait_for_selector(f"text={OWN['done']['withdrawn']}")
        assert shell.ask("queue")["posts"] == []


def test_the_history_of_the_browser_opens_nothing(browser, begin):
    """The link is used, and the address of the room is nothing without the cookie."""
    link = begin(SLOW)
    with visited(browser, link) as own:
        come_in(own.page)
        room = own.page.url
        own.page.wait_for_selector(f"text={OWN['nothing_waits']}")
        referrers = own.page.evaluate("document.referrer")
        assert referrers == ""
    for address in (link, room):
        context = browser.new_context()
        try:
            page = context.new_page()
            assert page.goto(address).status == 403
            assert OWN["closed"] in page.inner_text("main")
            check_access(page)
        finally:
            context.close()


def test_another_port_of_the_machine_is_sent_no_cookie(browser, begin):
    """Browsers send cookies to all ports of a host: this one has a path that no other program knows."""
    with visited(browser, begin(SLOW)) as own, hearing_cookies() as other:
        come_in(own.page)
        context = own.page.context
        page = context.new_page()
        page.goto(other.url)
        page.goto(f"{other.url}/enter/x")
        assert other.cookies == ["", ""]
        assert [cookie["name"] for cookie in context.cookies()] == ["tarry_own"]


def test_the_browser_comes_in_from_the_private_file(browser, begin, tmp_path):
    """As --open sends it: from a page of a file, whose browser would not bring a strict cookie along."""
    started = []
    opener = _LinkFile(begin(SLOW), lambda address: started.append(address) or True)
    opener.open()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(started[0])
        come_in(page)
    finally:
        context.close()
        opener.remove()
