"""The board and the receipt page, as people use them: a real server, a real browser."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.core.policy import Policy
from tarry.gateway.feed import Feed

FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site():
    with console_site(spaces=("talk", "wiki")) as served:
        yield served


def hand_in(page, target, words, *, more=False):
    """Fill the form in and send it."""
    page.fill("#target", target)
    page.fill("#words", words)
    page.check(f"input[name=more][value={'yes' if more else 'no'}]")
    page.click("form[action^='/board'] button")
    page.wait_for_url("**/receipt/*")


def test_a_post_gets_a_receipt_and_appears_on_a_board_that_is_open(browser, site, force_draws):
    force_draws("longest")  # a shorter delay may be over before the page is there
    with (
        visited(browser, f"{site.url}/board/talk") as reader,
        visited(browser, f"{site.url}/board/talk") as author,
    ):
        reader.page.wait_for_selector("[data-live]:not([hidden])")
        hand_in(author.page, "cats", "They do not <b>care</b>.\nAt all.")

        assert "Your post appears at" in author.page.inner_text("main")
        author.page.wait_for_selector("[data-countdown]:not([hidden])")
        reader.page.wait_for_selector("[data-target='cats'] .content")
        assert (
            reader.page.inner_text("[data-target='cats'] .content") == "They do not <b>care</b>.\nAt all."
        )
        assert reader.page.locator("[data-target='cats'] b").count() == 0
        assert "cats" in reader.page.inner_text("[data-news]")
        author.page.wait_for_selector("text=Your post has appeared.")


def test_the_same_person_has_another_name_on_each_thread(browser, site):
    with visited(browser, f"{site.url}/board/talk") as author:
        for target in ("one", "two"):
            hand_in(author.page, target, "me again")
            author.page.click("text=Back to the board")
        for target in ("one", "two"):
            author.page.wait_for_selector(f"[data-target='{target}'] .post")
        names = [author.page.inner_text(f"[data-target='{target}'] strong") for target in ("one", "two")]

        assert len(set(names)) == 2
        cookies = author.page.context.cookies()
        assert [(c["name"], c["httpOnly"], c["sameSite"]) for c in cookies] == [
            ("tarry_me", True, "Strict")
        ]
        key = cookies[0]["value"]
        author.page.goto(f"{site.url}/board/talk")
        assert key not in author.page.content()


def test_a_declared_batch_waits_longer_than_a_lone_post_can(browser, site):
    """Said in advance, a post is one of a batch: it never leaves before batched delays begin."""
    with visited(browser, f"{site.url}/board/talk") as author:
        start = site.gateway.catalog.space("talk").version.policy.start_ticks("1") * 0.1
        before = site.gateway.clock.read().wall / 1e6
        hand_in(author.page, "batch", "the first of two", more=True)
        at = author.page.get_attribute("[data-countdown]", "data-until")
        moment = author.page.evaluate("at => new Date(at).getTime() / 1000", at)

        assert moment - before >= start
        hand_in_again = author.page.goto(f"{site.url}/board/talk")
        assert hand_in_again.ok
        hand_in(author.page, "batch elsewhere", "the second")
        author.page.goto(f"{site.url}/board/talk")
        for target in ("batch", "batch elsewhere"):
            author.page.wait_for_selector(f"[data-target='{target}'] .post", timeout=20_000)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_post_is_changed_and_withdrawn_with_and_without_scripts(browser, scripts):
    with (
        console_site(keep=False) as quiet,
        visited(browser, f"{quiet.url}/board/talk", scripts=scripts) as author,
    ):
        hand_in(author.page, "dogs", "old words")
        assert author.page.input_value("#words") == "old words"
        author.page.fill("#words", "new words")
        author.page.click("form[action$='/edit'] button")
        author.page.wait_for_selector("text=Saved.")
        assert author.page.input_value("#words") == "new words"

        assert not author.page.is_visible("form[action$='/withdraw'] button")
        author.page.click("summary:text-is('Withdraw the post')")
        assert "It will never appear" in author.page.inner_text("form[action$='/withdraw']")
        author.page.click("form[action$='/withdraw'] button")
        author.page.wait_for_selector("text=Your post was withdrawn.")
        assert Feed(quiet.gateway.store, "talk").latest() == []


def test_an_edit_that_was_begun_outlives_the_moment_of_release(browser, site, force_draws):
    """The page says that the post has appeared, and never takes away what somebody is writing."""
    force_draws("longest")
    with visited(browser, f"{site.url}/board/talk") as author:
        page = author.page
        hand_in(page, "begun", "old words")
        page.fill("#words", "a long edit that is not done")
        page.evaluate("window.same_page = true")
        page.wait_for_selector("text=Your post has appeared.")

        assert page.evaluate("window.same_page")
        assert page.input_value("#words") == "a long edit that is not done"
        assert "this text was not saved" in page.inner_text("[data-too-late]")
        assert page.locator("[data-edit] button:enabled").count() == 0
        assert "Your post appears at" not in page.inner_text("main")
        check_access(page)


def test_a_form_that_nobody_touched_goes_with_the_post(browser, site, force_draws):
    force_draws("longest")
    with visited(browser, f"{site.url}/board/talk") as author:
        hand_in(author.page, "untouched", "words")
        author.page.wait_for_selector("text=Your post has appeared.")
        author.page.wait_for_selector("[data-edit]", state="detached")


def test_once_the_moment_is_over_the_page_says_that_it_was_due(browser, force_draws):
    """Nobody delivers: the page does not say any more when the post appears, without another answer."""
    force_draws("longest")
    with (
        console_site(keep=False) as quiet,
        visited(browser, f"{quiet.url}/board/talk") as author,
    ):
        page = author.page
        hand_in(page, "late", "words")
        page.wait_for_selector("[data-before]:not([hidden])")
        page.wait_for_selector("[data-after]:not([hidden])")
        assert "Your post appears" not in page.inner_text("main")
        assert "Your post was due at" in page.inner_text("main")


def test_the_page_says_by_itself_which_of_two_moments_it_is(browser, force_draws):
    """The window is over: asked at a whole minute, and not at a moment that follows from the post's own."""
    force_draws("shortest")  # a lone one below the gap: the other label draws again
    held = Policy(epsilon="1", gap="40m", window="20m", tick="1s")
    with (
        console_site(held, keep=False) as quiet,
        visited(browser, f"{quiet.url}/board/talk") as author,
    ):
        page = author.page
        # Its clock begins early in a minute, so that no whole one is near until time is let go by.
        page.clock.install(time=datetime.now(UTC).replace(second=1, microsecond=0))
        page.fill("#target", "cats")
        page.fill("#words", "They do not care.")
        page.click("form[action^='/board'] button")
        page.wait_for_selector("[data-open=yes] [data-timeline]")
        page.fill("#words", "an edit that is not saved")
        assert len(page.locator(".moments time").all()) == 2
        page.clock.pause_at(datetime.fromtimestamp(page.evaluate("Date.now()") // 1000 + 5, tz=UTC))
        asked = [each for each in author.requests if "/receipt/" in each]
        page.clock.run_for(60_000 - page.evaluate("Date.now() % 60000") - 1500)
        assert [each for each in author.requests if "/receipt/" in each] == asked
        with page.expect_request("**/receipt/*"):
            page.clock.run_for(3000)
        assert page.input_value("#words") == "an edit that is not saved"


def test_a_calendar_file_is_made_only_on_request_and_says_nothing_but_the_moments(browser, force_draws):
    force_draws("longest")
    with (
        console_site(keep=False) as quiet,
        visited(browser, f"{quiet.url}/board/talk") as author,
    ):
        page = author.page
        hand_in(page, "a secret thread", "words")
        at = page.get_attribute("[data-before] time", "datetime")
        assert "proves that the post is yours" not in page.inner_text("main")
        page.click("text=Put the moment into a calendar")
        assert "proves that the post is yours, to anybody" in page.inner_text("[data-calendar]")
        asked = len(author.requests)
        with page.expect_download() as saved:
            page.click("text=Save a calendar file")
        text = Path(saved.value.path()).read_text(encoding="utf-8")

        assert saved.value.suggested_filename == "reminder.ics"
        assert [each for each in author.requests[asked:] if not each.startswith("blob:")] == []
        lines = dict(line.split(":", 1) for line in text.split())
        moment = re.sub(r"[-:]|\.\d+", "", at)
        assert (lines["DTSTART"], lines["DTEND"], lines["DTSTAMP"]) == (moment,) * 3
        assert lines["SUMMARY"] == "Reminder"
        shown = text.lower().replace(lines["UID"].lower(), "")
        name = page.inner_text(".stub dd >> nth=2").lower()
        for told in ("talk", "secret", "thread", "http", "receipt", "tarry", "127.0.0.1", name):
            assert told not in shown, told


def test_a_draft_is_kept_only_if_one_asks_in_this_tab_without_times_until_it_is_posted(browser, site):
    kept = "JSON.stringify([{...sessionStorage}, {...localStorage}])"
    with visited(browser, f"{site.url}/board/talk") as author:
        page = author.page
        page.fill("#target", "drafts")
        page.fill("#words", "not yet")
        page.wait_for_selector("[data-draft]:not([hidden])")
        assert page.evaluate(kept) == "[{},{}]"
        assert not page.is_visible("[data-forget]")
        page.check("[data-keep]")
        page.fill("#words", "not yet done")
        page.reload()
        assert page.input_value("#words") == "not yet done"
        assert page.input_value("#target") == "drafts"
        assert json.loads(json.loads(page.evaluate(kept))[0]["tarry draft"]) == {
            "place": "talk",
            "words": {"target": "drafts", "content": "not yet done"},
            "sent": False,
        }
        other = page.context.new_page()
        other.goto(f"{site.url}/board/talk")
        assert other.input_value("#words") == ""

        page.click("text=Forget the draft")
        assert page.evaluate(kept) == "[{},{}]"
        assert page.input_value("#words") == ""
        page.check("[data-keep]")
        hand_in(page, "drafts", "done")
        assert page.evaluate(kept) == "[{},{}]"


def test_on_a_thread_one_replies_and_the_reply_appears_there(browser, site):
    with visited(browser, f"{site.url}/board/talk") as author:
        page = author.page
        hand_in(page, "a thread / with & signs", "first")
        page.click("text=Back to the board")
        page.click("h3 a:text-is('a thread / with & signs')")
        page.wait_for_url("**/thread?of=**")
        page.wait_for_selector("[data-live]:not([hidden])")
        reader = page.context.new_page()
        reader.goto(page.url)
        page.fill("#words", "second")
        page.check("input[name=more][value=no]")
        page.click("form[action^='/board'] button")
        page.wait_for_url("**/receipt/*")
        reader.wait_for_selector(".post:nth-of-type(2)")
        assert reader.locator("[data-thread] .content").all_inner_texts() == ["first", "second"]
        reader.click(".post:nth-of-type(2) .permalink")
        reader.wait_for_url("**/thread?of=**#p-*")


def test_a_board_is_read_and_written_without_scripts(browser, site):
    with visited(browser, f"{site.url}/board/talk", scripts=False) as author:
        page = author.page
        assert not page.is_visible("[data-draft]")
        hand_in(page, "plain", "without scripts")
        assert not page.is_visible("[data-calendar]")
        assert page.is_visible("[data-timeline] svg")


def test_a_board_that_is_not_open_to_all_has_no_form(browser, site):
    with visited(browser, f"{site.url}/board/wiki") as reader:
        assert reader.page.locator("form[action^='/board']").count() == 0
        assert "Only the forum behind this board" in reader.page.inner_text("main")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_nothing_keeps_anybody_out(browser, site, size, dark):
    with visited(browser, f"{site.url}/board/talk", size=size, dark=dark) as seen:
        check_access(seen.page)
        assert seen.page.evaluate(FITS)
        hand_in(seen.page, f"{size} {dark}", "words")
        check_access(seen.page)
        for summary in seen.page.locator("summary:visible").all():
            summary.click()
        check_access(seen.page)
        assert seen.page.evaluate(FITS)
        seen.page.wait_for_selector("text=See it on the board")
        seen.page.click("text=See it on the board")
        seen.page.wait_for_url("**/thread?of=**")
        check_access(seen.page)
        assert seen.page.evaluate(FITS)
        seen.page.goto(f"{site.url}/board/talk/promise")
        check_access(seen.page)
        assert seen.page.evaluate(FITS)


def test_the_form_is_filled_in_with_the_keyboard_alone(browser, site):
    with visited(browser, f"{site.url}/board/talk") as author:
        author.page.focus("#target")
        author.page.keyboard.type("keys")
        author.page.keyboard.press("Tab")
        author.page.keyboard.type("typed")
        author.page.keyboard.press("Tab")  # the question
        author.page.keyboard.press("ArrowDown")
        author.page.keyboard.press("Tab")  # the button
        author.page.keyboard.press("Enter")
        author.page.wait_for_url("**/receipt/*")


def test_a_cold_page_is_small(browser, site):
    context = browser.new_context()
    try:
        page, sizes = context.new_page(), []
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.goto(f"{site.url}/board/talk")
        page.wait_for_selector("[data-live]:not([hidden])")

        assert 0 < sum(sizes) <= 100_000
    finally:
        context.close()
