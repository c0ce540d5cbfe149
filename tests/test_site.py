"""The documentation as a site: built without a warning, every link leads somewhere, and it is searched.

`docs/site/build.py` makes it; the gateway shows it at /docs under the content policy of its pages.
"""

import re
from pathlib import Path
from runpy import run_path

import pytest
from starlette.testclient import TestClient

from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.console import pages
from tarry.console.site import create_site
from tarry.gateway.testing import small_gateway

BUILD = run_path("docs/site/build.py")
LARGEST = 8_000_000  # bytes of the whole site: it is shipped in the wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, made once: Sphinx treats a warning as an error."""
    folder = tmp_path_factory.mktemp("site") / "manual"
    BUILD["build"](folder)
    return folder


@pytest.fixture
def shown(built, monkeypatch):
    """The gateway shows the site that was built here."""
    monkeypatch.setattr(pages, "_MANUAL_FOLDER", built)


@pytest.fixture
def http():
    site = create_site(small_gateway())
    yield TestClient(site, "http://localhost")
    site.state.service.close()


def test_every_link_leads_somewhere_and_nothing_is_refused_by_our_content_policy(built):
    """No dead link or anchor, no inline script or style, nothing from another host."""
    assert BUILD["faults"](built) == []


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ('<a href="nowhere.html">x</a>', "links to nowhere.html, which is no page"),
        ('<a href="#nothing">x</a>', "links to #nothing, which has no such heading"),
        ("<script>alert(1)</script>", "inline script"),
        ('<p style="color: red">x</p>', "p style"),
        ('<img src="https://elsewhere.example/x.png">', "loads https://elsewhere.example/x.png"),
        ('<link rel="stylesheet" href="gone.css">', "lacks gone.css"),
    ],
)
def test_a_fault_of_the_site_is_seen(tmp_path, markup, fault):
    """The check above can fail: each kind of fault is named with its page."""
    (tmp_path / "page.html").write_text(f"<h1 id='here'>Here</h1>{markup}", encoding="utf-8")

    assert BUILD["faults"](tmp_path) == [f"page.html: {fault}"]


def test_the_site_is_small_enough_to_be_shipped(built):
    assert BUILD["size"](built) < LARGEST


def test_a_term_is_one_touch_away_from_its_meaning(built):
    """On each page the first mention is a link, with the meaning to hover over; code is left alone."""
    known = run_path("docs/site/terms.py")["meanings"](Path("docs/glossary.md").read_text(encoding="utf-8"))
    page = (built / "choosing.html").read_text(encoding="utf-8")
    linked = re.findall(r'<a class="term" href="glossary.html#term-([\w-]+)" title="([^"]+)">', page)

    assert len(known) > 20
    assert {"epsilon", "gap", "window"} <= {term for term, _ in linked}
    assert len(linked) == len({term for term, _ in linked})
    assert 'id="term-epsilon"' in (built / "glossary.html").read_text(encoding="utf-8")
    assert not re.search(r"<(code|pre|h\d)[^>]*>[^<]*<a class=.term", page)


def test_what_others_wrote_is_named_with_its_licence(built):
    """Each file that is not made here stands in THIRD-PARTY.md, which a wheel holds beside the licence."""
    notices = Path("THIRD-PARTY.md").read_text(encoding="utf-8")
    ours = {"icon.svg", "site.css", "style.css"}

    assert {file.name for file in (built / "_static").iterdir() if f"`{file.name}`" not in notices} == ours


def test_every_page_of_the_project_is_in_the_list_of_pages(built):
    """What docs/ holds, the proofs and the decisions can be reached from the first page."""
    first = (built / "index.html").read_text(encoding="utf-8")

    assert [name for name in BUILD["pages"]().values() if f'href="{name}.html' not in first] == ["index"]


def test_the_gateway_shows_the_documentation_under_its_own_content_policy(shown, http):
    answer = http.get("/docs/", headers={"Accept-Encoding": "gzip"})

    assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
    assert "script-src 'self'; style-src 'self';" in answer.headers["content-security-policy"]
    assert http.get("/docs", follow_redirects=False).headers["location"].endswith("/docs/")
    assert http.get("/docs/_static/searchtools.js").headers["content-type"].startswith("text/javascript")
    assert http.get("/docs/nowhere.html").status_code == 404
    assert http.get("/docs/..%2f..%2fpages.py").status_code == 404


def test_where_it_was_not_built_the_gateway_says_how(http, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "_MANUAL_FOLDER", tmp_path / "manual")

    answer = http.get("/docs/")

    assert answer.status_code == 404
    assert "run scripts/docs" in answer.text


def test_somebody_searches_and_reads_without_a_complaint_of_the_browser(shown):
    """Search, list of pages and headings work at a gateway; axe has nothing serious to say."""
    with chromium() as browser, console_site() as site:
        with visited(browser, f"{site.url}/docs/") as reader:
            reader.page.fill("#q", "cosine")
            reader.page.press("#q", "Enter")
            reader.page.wait_for_selector("#search-results li a")
            reader.page.click("#search-results li a >> nth=0")
            reader.page.wait_for_selector("h1")
            assert "cosine" in reader.page.inner_text("main").lower()
            assert (reader.complaints, {r for r in reader.requests if not r.startswith(site.url)}) == (
                [],
                set(),
            )
        with visited(browser, f"{site.url}/docs/", size="phone") as reader:
            assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


#: One page of each kind: first pages, tables, long code, pictures, formulas, search results, a decision.
KINDS = (
    *("index", "readme", "study", "http", "production", "glossary", "search", "choosing", "notebook"),
    *("benchmarks", "theory", "decisions/0013-one-accounts-outage"),
)


def test_axe_finds_nothing_serious_on_any_kind_of_page(shown):
    """Light on a desktop and dark on a phone in turn; nothing is wider than the screen."""
    with chromium() as browser, console_site() as site:
        for place, (size, dark) in enumerate([("desktop", False), ("phone", True)]):
            with visited(browser, f"{site.url}/docs/", size=size, dark=dark) as reader:
                for name in KINDS[place::2]:
                    reader.page.goto(f"{site.url}/docs/{name}.html?q=epsilon")
                    check_access(reader.page)
                    assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
