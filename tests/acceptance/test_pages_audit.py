"""The audit as operators use it: a real server, a real browser, a real process that reads what is sent."""

import gzip
import json
import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import polars as pl
import pytest

from contracts.at_audit import until
from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.core.policy_file import read_policy
from tarry.gateway.config import Config
from tarry.gateway.testing import new_token
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe

BIG_PAGE = 100 << 10
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LONG_MS = 240_000  # only a broken audit takes so long
LARGEST = 1 << 20
DROP = """([text, name]) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([text], name, { type: 'text/csv' }));
    return dropped;
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def private(tmp_path_factory):
    """Folders that no other test looks into."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("private")))
        yield


@pytest.fixture(scope="module")
def site(private):
    config = Config(audit_bytes=LARGEST, audit_seconds=600)
    with console_site(config=config, spaces=("reviews", "talk"), keep=False) as served:
        yield served


@pytest.fixture(scope="module")
def history():
    """A made-up forum as a CSV file: who posted in which thread, and when."""
    recipe = Recipe(
        events=3_000, actors=200, targets=300, days=40, bots=0, acts=1.6, bursts=0.2, burst_gap=150.0
    )
    frame = synthesize(recipe, seed=5).frame()
    moments = pl.from_epoch("time", time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    return frame.select(
        author=pl.format("person-{}", "actor"), thread="target", posted_at=moments
    ).write_csv()


def sign_in(page, token):
    page.fill("#token", token)
    page.click("form[action='/desk/sign-in'] button")
    page.wait_for_url("**/audit")


@pytest.fixture
def at_audit(browser, site):
    """An operator who has just signed in."""
    with visited(browser, f"{site.url}/audit") as found:
        sign_in(found.page, new_token(site.gateway, "operate"))
        yield found


@dataclass(frozen=True)
class Audited:
    """An audit that is done, who did it, and what was seen on the way."""

    place: str
    cookies: list
    seen: dict[str, object]


@pytest.fixture(scope="module")
def audited(browser, site, history):
    """A file is dropped, its columns are chosen, once wrongly, and it is audited."""
    with visited(browser, f"{site.url}/audit") as found:
        page, seen = found.page, {"asked to": found.page.url}
        sign_in(page, new_token(site.gateway, "operate"))
        dropped = page.evaluate_handle(DROP, [history, "forum.csv"])
        page.dispatch_event("[data-drop]", "drop", {"dataTransfer": dropped})
        page.click("[data-upload] button")
        page.wait_for_selector("#actor", timeout=LONG_MS)
        seen["columns"] = [page.input_value(f"#{role}") for role in ("actor", "target", "time")]
        seen["form"] = page.content()
        page.fill("#window", "soon")
        with page.expect_navigation() as answer:
            page.click("button:text-is('Audit')")
        seen["refused"] = answer.value.status, page.inner_text("[role=alert]")
        found.complaints.clear()  # Chromium's own, about the status
        page.fill("#window", "5m")
        page.fill("#epsilons", "1")
        page.check("[name='habit hotcrp']")
        page.check("[name='space talk']")
        page.click("button:text-is('Audit')")
        page.wait_for_selector("[data-line]")
        seen["line"] = page.inner_text("[data-line]")
        page.wait_for_selector("[data-advice]", timeout=LONG_MS)
        return Audited(page.url, page.context.cookies(), seen)


@contextmanager
def back_at(browser, audited, **more):
    """The same operator again, at the audit that is done."""
    with visited(browser, audited.place, **more) as found:
        found.page.context.add_cookies(audited.cookies)
        found.page.goto(audited.place)
        yield found


def upload(page, name, text):
    page.set_input_files("#history", {"name": name, "mimeType": "text/csv", "buffer": text.encode()})
    page.click("[data-upload] button")


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def left_over():
    """What lies in the private folders of servers."""
    return [path for path in Path(tempfile.gettempdir()).glob("tarry-audit-*/*") if path.is_dir()]


# --- flows --------------------------------------------------------------------------------------------


def test_a_dropped_history_is_looked_at_and_its_columns_are_proposed_without_a_value(site, audited):
    assert audited.seen["asked to"] == f"{site.url}/audit"
    assert audited.seen["columns"] == ["author", "thread", "posted_at"]
    assert "posted_at (moments)" in audited.seen["form"]
    assert "person-" not in audited.seen["form"]


def test_a_choice_that_cannot_be_meant_is_told_and_an_audit_tells_how_far_it_is(audited):
    status, sentence = audited.seen["refused"]

    assert (status, sentence.startswith("the window")) == (422, True)
    assert audited.seen["line"].startswith("Step ")


def test_the_recommendation_and_the_comparison_are_shown_and_the_upload_is_gone(browser, audited):
    with back_at(browser, audited) as found:
        names = found.page.locator("section:has(#compared-heading) tbody th").all_inner_texts()

        assert found.page.inner_text("[data-advice]").startswith("Take epsilon 1 with a gap of ")
        assert names == [
            *(
                "nothing",
                "recommended",
                "HotCRP: visible at once, printed as noon of the day",
                "space talk",
            ),
        ]
        assert found.page.locator("tr.best").count() == 2
        (folder,) = [path for path in left_over() if "report.html" in names_in(path)]
        assert names_in(folder / "upload") == set()


def test_the_report_opens_and_everything_can_be_taken_away(browser, audited):
    with back_at(browser, audited) as found:
        page, sentence = found.page, found.page.inner_text("[data-advice]")
        with page.expect_download() as saved:
            page.click("a:text-is('Recommended policy (policy.toml)') >> nth=0")
        policy = read_policy(saved.value.path().read_text(encoding="utf-8"))
        assert (saved.value.suggested_filename, policy.epsilon) == ("policy.toml", 1)
        with page.expect_download() as saved:
            page.click("a:text-is('Figures (JSON)')")
        assert json.loads(saved.value.path().read_text(encoding="utf-8"))["advice"]["sentence"] == sentence
        with page.expect_download() as saved:
            page.click("a:text-is('Report (HTML)')")
        assert saved.value.path().read_text(encoding="utf-8").startswith("<!doctype html>")

        page.click("text=Open the report")
        page.wait_for_selector("h1:has-text('How linkable are these people')")
        assert sentence in page.inner_text("body").replace("\N{NO-BREAK SPACE}", " ")
        assert page.locator("svg").count() >= 6
        page.go_back()
        page.click("text=Open the comparison")
        page.wait_for_selector("text=hotcrp >> nth=0")


def test_another_operator_finds_nothing_there(browser, audited, at_audit):
    at_audit.page.goto(audited.place)

    assert at_audit.page.inner_text("[role=alert]").startswith("there is no such audit")
    at_audit.complaints.clear()


def test_an_upload_is_deleted_when_one_says_so(at_audit, history):
    page, before = at_audit.page, left_over()
    upload(page, "forum.csv", history)
    page.wait_for_selector("#actor", timeout=LONG_MS)
    place = page.url
    page.click("text=Delete everything now")
    page.wait_for_url("**/audit?deleted")

    assert page.inner_text("[role=status] >> nth=0") == "Deleted: the file, and all that was found."
    assert left_over() == before
    page.goto(place)
    assert page.inner_text("[role=alert]").startswith("there is no such audit")
    at_audit.complaints.clear()


def test_everything_works_without_scripts(browser, site, audited, history):
    with back_at(browser, audited, scripts=False) as found:
        page = found.page
        assert page.inner_text("[data-advice]").startswith("Take epsilon 1 with a gap of ")
        page.click("text=All audits")
        assert page.inner_text("table").split("\t")[-1] == "done"
        upload(page, "again.csv", history)
        page.wait_for_selector("#actor", timeout=LONG_MS)  # the page has loaded itself again
        page.click("button:text-is('Audit')")
        page.wait_for_selector("[data-line]")
        page.click("text=Stop and delete")
        page.wait_for_url("**/audit?deleted")
        assert page.locator("tbody tr").count() == 1


def test_a_file_that_is_too_large_is_not_even_sent(site, at_audit):
    page = at_audit.page
    upload(page, "large.csv", "x" * (LARGEST + 1))

    assert page.inner_text("[data-problem]").startswith("a history must have at most 1 MiB here")
    assert page.url == f"{site.url}/audit"
    assert at_audit.requests.count(page.url) == 2  # the way to sign in, and back


def test_a_file_that_is_too_large_gets_its_sentence_without_scripts(browser, site):
    with visited(browser, f"{site.url}/audit", scripts=False) as found:
        sign_in(found.page, new_token(site.gateway, "operate"))
        upload(found.page, "large.csv", "x" * (3 * LARGEST))
        found.page.wait_for_selector("[role=alert]:visible")

        assert found.page.inner_text("[role=alert]").startswith("a history must have at most 1 MiB here")
        found.complaints.clear()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rubbish.csv", "\0" * 99_999, "must begin with a line of column names"),
        ("cut.parquet", "PAR1 and no more", "is missing: copy it again"),
    ],
)
def test_a_bad_file_gets_one_sentence(at_audit, name, text, told):
    page = at_audit.page
    upload(page, name, text)
    page.wait_for_selector(".problem[role=alert]", timeout=LONG_MS)

    assert told in page.inner_text("[role=alert]")
    assert f"the history {name} " in page.inner_text("[role=alert]")
    page.click("text=Audit another history")
    page.wait_for_selector("text=did not work")


# --- samples, and what can be chosen ------------------------------------------------------------------


def test_a_sample_is_hovered_chosen_from_and_opened_in_the_workbench_without_a_token(browser, site):
    with visited(browser, f"{site.url}/audit") as found:
        page = found.page
        page.click("text=A forum")
        page.wait_for_load_state()
        says, still = page.locator("[data-says]:not(svg *)"), page.inner_text("p[data-says]")
        discs = page.locator("[data-frontier] circle")
        page.locator("[data-frontier]").scroll_into_view_if_needed()
        discs.nth(3).hover()
        assert "of claims are right, for" in says.inner_text()
        page.locator("[data-frontier] rect").first.hover()
        assert "Promise: none" in says.inner_text()
        page.mouse.move(1, 1)
        assert says.inner_text() == still

        discs.nth(3).click()
        page.wait_for_url("**/audit/samples/forum?choice=3**")
        name = page.inner_text(".pick h3").partition(", gap")[0]
        page.click("text=Open in the workbench")
        page.wait_for_url("**/workbench?**")
        page.wait_for_selector("html[data-live]")
        assert name == f"epsilon {page.input_value('#epsilon')}"
        assert page.locator(".problem").count() == 0


def without_the_drivers(complaints):
    """In a report nothing runs: the browser says so of scripts that its driver brings."""
    complaints[:] = [told for told in complaints if "document's frame is sandboxed" not in told]


def test_the_report_of_a_sample_leads_back(browser, site):
    with visited(browser, f"{site.url}/audit/samples/wiki") as found:
        found.page.click("text=Open the report")
        found.page.wait_for_selector("h1:has-text('How linkable are these people')")
        found.page.click("text=Back to the audit")
        found.page.wait_for_url("**/audit/samples/wiki")
        without_the_drivers(found.complaints)


def test_the_report_of_an_upload_leads_back_to_who_is_signed_in(browser, audited):
    with back_at(browser, audited) as found:
        found.page.click("text=Open the report")
        found.page.click("text=Back to the audit")
        found.page.wait_for_selector("[data-advice]")
        without_the_drivers(found.complaints)


def test_a_policy_is_chosen_without_scripts_too(browser, site):
    with visited(browser, f"{site.url}/audit/samples/review", scripts=False) as found:
        found.page.select_option("#choice", "4")
        found.page.click(".pick button")
        found.page.wait_for_url("**?choice=4**")
        assert found.page.locator(".point.chosen").count() == 1


# --- for everybody, and small -----------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_the_audit_keeps_nobody_out(browser, site, audited, size, dark):
    with back_at(browser, audited, size=size, dark=dark) as found:
        for address in (audited.place, f"{site.url}/audit"):
            found.page.goto(address)
            assert found.page.evaluate(OVERFLOW) == 0
            check_access(found.page)


@pytest.mark.parametrize(("size", "dark"), [("phone", False), ("desktop", True)])
def test_the_choice_and_the_waiting_keep_nobody_out(browser, site, history, size, dark):
    with visited(browser, f"{site.url}/audit", size=size, dark=dark) as found:
        page = found.page
        sign_in(page, new_token(site.gateway, "operate"))
        upload(page, "forum.csv", history)
        page.wait_for_selector("[data-line], #actor")
        check_access(page)
        page.wait_for_selector("#actor", timeout=LONG_MS)
        page.click("summary")
        assert page.evaluate(OVERFLOW) == 0
        check_access(page)
        page.click("text=Delete everything now")
        page.wait_for_url("**/audit?deleted")


def test_a_cold_page_is_small(site, audited):
    """As it goes over the wire where a proxy packs pages; scripts and style are packed by us."""
    with httpx2.Client(base_url=site.url, trust_env=False) as client:
        client.cookies.set("tarry_desk", audited.cookies[0]["value"])
        for address in ("/audit", audited.place):
            page = client.get(address)
            size = len(gzip.compress(page.content))
            for path in set(re.findall(r'"(/static/[^"]*)"', page.text)):
                with client.stream("GET", path) as answer:
                    size += sum(len(part) for part in answer.iter_raw())

            assert page.status_code == 200
            assert size < BIG_PAGE


def test_a_server_that_ends_leaves_nothing_behind(browser, history):
    before = left_over()
    with (
        console_site(keep=False) as site,
        visited(browser, f"{site.url}/audit") as found,
    ):
        sign_in(found.page, new_token(site.gateway, "operate"))
        upload(found.page, "forum.csv", history)
        found.page.wait_for_selector("#actor", timeout=LONG_MS)
        assert len(left_over()) == len(before) + 1
    until(lambda: left_over() == before)
