"""Texts: the same in every language, without markup. Forms: whose they may be, and how long they take."""

import asyncio
import re
from importlib.resources import files

import pytest

from contracts.at_desk import OURS, AtDesk
from tarry.console.pages import LANGUAGES, texts
from tarry.console.site import create_site
from tarry.gateway.config import Config
from tarry.gateway.limits import Limits
from tarry.gateway.testing import small_gateway

FORMS = ["/desk/sign-in", "/board/talk"]  # of anybody
OTHERS = ["/audit", "/desk", "/desk/sign-out", "/audit/jobs/x/run", "/audit/jobs/x/delete"]
RECEIPTS = [f"/receipt/{'0' * 64}/edit", f"/receipt/{'0' * 64}/withdraw"]

TEMPLATES = {
    file.name: file.read_text(encoding="utf-8")
    for file in files("tarry.console").joinpath("templates").iterdir()
}


@pytest.fixture
def site():
    """Pages that wait a moment for slow senders; `state.told` is what the operator is told."""
    told = []
    made = create_site(
        small_gateway(),
        limits=Limits(body_s=0.1),
        config=Config(boards="talk"),
        tell=told.append,
    )
    made.state.told = told
    yield made
    made.state.service.close()


def send(site, path, receive) -> int:
    """The status that a form gets, whose body comes from `receive`."""
    headers = [(name.lower().encode(), value.encode()) for name, value in OURS.items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("192.0.2.1", 4711),
        "server": ("127.0.0.1", 80),
    }
    statuses = []

    async def hear(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    asyncio.run(site(scope, receive, hear))
    return statuses[0]


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_does_not_come_is_not_waited_for(site, path):
    async def receive():
        await asyncio.sleep(3600)

    assert send(site, path, receive) == 408


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_comes_byte_by_byte_is_not_waited_for_either(site, path):
    async def receive():
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"a", "more_body": True}

    assert send(site, path, receive) == 408


@pytest.mark.parametrize("path", [*OTHERS, *RECEIPTS])
def test_of_who_may_not_send_it_nothing_is_read(site, path):
    async def receive():
        raise AssertionError("it was read")

    assert send(site, path, receive) == (404 if path in RECEIPTS else 303)
    assert site.state.told == []


@pytest.mark.parametrize("path", [*FORMS, "/desk", "/desk/sign-out"])
def test_what_another_site_sends_is_refused_before_anything_else(site, path, monkeypatch):
    """Browsers send no cookie along: nobody is asked to sign in for what they did not do."""
    monkeypatch.setitem(OURS, "Sec-Fetch-Site", "cross-site")

    async def receive():
        raise AssertionError("it was read")

    assert send(site, path, receive) == 403


@pytest.mark.parametrize("path", FORMS)
def test_whoever_leaves_in_the_middle_is_no_mistake_of_ours(site, path):
    parts = [{"type": "http.request", "body": b"target=", "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return parts.pop(0)

    send(site, path, receive)

    assert site.state.told == []


def test_a_sign_in_is_a_short_form():
    """Anybody may send one."""
    with (desk := AtDesk()).http:
        assert desk.try_token("x" * 9000).status_code == 413


def flat(told, before=""):
    for name, value in told.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts_with_the_same_places(language):
    english, other = dict(flat(texts("en"))), dict(flat(texts(language)))

    assert english.keys() == other.keys()
    for name, text in english.items():
        if isinstance(text, str):
            assert sorted(re.findall(r"\{(\w*)", text)) == sorted(re.findall(r"\{(\w*)", other[name])), name


@pytest.mark.parametrize(("name", "text"), [each for each in flat(texts()) if isinstance(each[1], str)])
def test_no_text_holds_markup(name, text):
    assert not re.search(r"</?[a-zA-Z]|&\w+;", text), name


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_has_sentences_of_its_own(name):
    """What a person reads comes from the texts: between tags there are only signs and values."""
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", TEMPLATES[name], flags=re.DOTALL)
    bare = re.sub(r"<[^>]*>|\bUTC\b", "", bare)  # a time zone has one name everywhere

    assert not re.search(r"[A-Za-z]{3,}", bare), bare


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_has_a_script_or_style_of_its_own(name):
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", TEMPLATES[name])
