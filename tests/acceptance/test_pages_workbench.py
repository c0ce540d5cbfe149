"""The workbench as people use it: a real server, a real browser, with scripts and without."""

import re

import pytest
from playwright.sync_api import expect

from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.console.workbench.evening import watch
from tarry.console.workbench.figures import START, read_choices
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy

SETTLED = "[data-results]:not([aria-busy])"
# Of every chart: its width on the page, and how much is drawn in it.
DRAWN = """() => [...document.querySelectorAll('.chart svg')].map(svg => ({
    right: svg.getBoundingClientRect().right, left: svg.getBoundingClientRect().left,
    lines: [...svg.querySelectorAll('path')].filter(path => path.getBBox().width > 40).length,
}))"""
WORDS = """() => [...document.querySelectorAll('.chart svg text')]
    .filter(text => text.textContent).map(text => getComputedStyle(text).fill)"""

LIGHT, DARK = ("rgb(31, 41, 51)", "rgb(255, 255, 255)"), ("rgb(232, 235, 239)", "rgb(20, 24, 29)")


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site():
    with console_site(keep=False) as served:
        yield served


def settle(page):
    """Until everything that was asked for is drawn."""
    page.wait_for_selector("[data-chart=posterior] svg")
    page.wait_for_selector(SETTLED)


def cells(page, kind):
    """What the headline says of batched or unbatched acts."""
    return page.locator(f"[data-table=delays] tr:has(th:text-is('{kind}')) td").all_inner_texts()


def score(page, side):
    return page.inner_text(f"[data-side={side}] [data-count]")


def counts(side):
    return f"{side.right} right, {side.wrong} wrong"


def test_a_slider_leads_to_a_policy_file(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        before = cells(seen.page, "batched")
        slider = seen.page.locator("[data-for=epsilon]")
        slider.focus()
        for _ in range(4):
            slider.press("ArrowRight")  # 1.2, 1.4, 1.7, 2
        expect(seen.page.locator("#epsilon")).to_have_value("2")
        seen.page.wait_for_url("**/workbench?epsilon=2&*")
        settle(seen.page)

        assert slider.get_attribute("aria-valuetext") == "2"
        assert cells(seen.page, "batched") != before
        assert "7.39 times as likely" in seen.page.inner_text("[data-list=promised]")
        expect(seen.page.locator("[data-sentence=frontier]")).to_contain_text("At weight 0.5 (the diamond)")
        with seen.page.expect_download() as coming:
            seen.page.click("[data-policy]")
        assert coming.value.suggested_filename == "policy.toml"
        text = coming.value.path().read_text(encoding="utf-8")
        assert read_policy(text) == Policy(epsilon="2", gap="11m", window="5m")


def test_the_policy_file_is_never_another_than_the_form_shows(browser, site):
    """As long as an answer is pending, and after a refusal, there is none to get."""
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        get, held = seen.page.locator("[data-policy]"), []
        seen.page.route("**/figures.json?*epsilon=0.9&**", lambda route: held.append(route))  # noqa: PLW0108 - a bound method is no handler
        with seen.page.expect_request("**/figures.json?*epsilon=0.9&**"):
            seen.page.locator("[data-for=epsilon]").press("ArrowLeft")
        expect(get).to_be_disabled()
        held[0].continue_()
        expect(get).to_be_enabled()
        with seen.page.expect_download() as coming:
            get.click()
        text = coming.value.path().read_text(encoding="utf-8")
        assert read_policy(text) == Policy(epsilon="0.9", gap="11m", window="5m")

        seen.page.fill("#gap", "3m")
        seen.page.press("#gap", "Tab")
        expect(seen.page.locator("[data-problem]")).to_contain_text("above the window")
        expect(get).to_be_disabled()
        seen.complaints.clear()  # the browser notes the refusal


def test_a_wrong_address_keeps_its_charts_and_says_what_is_wrong(browser, site):
    with visited(browser, f"{site.url}/workbench?epsilon=abc") as seen:
        settle(seen.page)
        assert len(seen.page.evaluate(DRAWN)) == 5
        assert "epsilon must be a decimal number, not 'abc'" in seen.page.inner_text("[data-problem]")
        assert seen.page.input_value("#epsilon") == "abc"
        expect(seen.page.locator("[data-policy]")).to_be_disabled()
        seen.complaints.clear()  # the browser notes the status of the page


def test_a_season_is_chosen_and_leads_to_its_policy_file(browser, site):
    with visited(browser, f"{site.url}/workbench?epsilon=2") as seen:
        settle(seen.page)
        seen.page.check("input[name=law][value=season]")
        seen.page.wait_for_url("**law=season**")
        settle(seen.page)
        slider = seen.page.locator("[data-for=pairs]")
        slider.focus()
        slider.press("ArrowLeft")  # 150
        seen.page.wait_for_url("**pairs=150**")
        settle(seen.page)

        expect(seen.page.locator("[data-sentence=odds]")).to_contain_text("After 150 batched pairs")
        expect(seen.page.locator("[data-sentence=odds_stories]")).to_contain_text("came up to 16m later")
        assert [chart["lines"] >= 1 for chart in seen.page.evaluate(DRAWN)] == [True] * 4
        with seen.page.expect_download() as coming:
            seen.page.click("[data-policy]")
        policy = read_policy(coming.value.path().read_text(encoding="utf-8"))
        assert (policy.law, policy.season.acts) == ("cosine", 300)

        seen.page.check("input[name=law][value=pair]")  # what was chosen there before is still so
        seen.page.wait_for_url("**law=pair**")
        assert seen.page.input_value("#epsilon") == "2"


def test_an_address_shows_the_policy_that_it_names(browser, site):
    with visited(
        browser, f"{site.url}/workbench?epsilon=3&gap=45m&window=2m&weight=0.2&suspects=4"
    ) as seen:
        settle(seen.page)

        assert seen.page.input_value("#gap") == "45m"
        assert seen.page.input_value("[data-for=gap]") == "10"
        assert seen.page.input_value("#suspects") == "4"
        assert "Among 4 equally likely people" in seen.page.inner_text("[data-sentence=posterior]")
        charts = seen.page.evaluate(DRAWN)
        assert len(charts) == 5
        assert all(chart["lines"] >= 1 for chart in charts)


def test_a_typed_value_moves_its_slider_and_a_bad_one_is_told(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        seen.page.fill("#gap", "62m")
        seen.page.press("#gap", "Enter")
        seen.page.wait_for_url("**gap=1h2m**")
        settle(seen.page)
        assert seen.page.input_value("[data-for=gap]") == "11"

        told = cells(seen.page, "batched")
        seen.page.fill("#gap", "3m")
        seen.page.press("#gap", "Tab")
        expect(seen.page.locator("[data-problem]")).to_contain_text(
            "gap must be above the window (5m), not 3m"
        )
        assert cells(seen.page, "batched") == told
        check_access(seen.page)
        seen.page.fill("#gap", "11m")
        seen.page.press("#gap", "Tab")
        seen.page.wait_for_url("**gap=11m**")
        expect(seen.page.locator("[data-problem]")).to_be_empty()
        # The browser itself notes the two answers that said no.
        assert all("status of 422" in complaint for complaint in seen.complaints)
        seen.complaints.clear()


def test_an_answer_that_comes_too_late_is_not_shown(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        held = []
        seen.page.route("**/figures.json?*epsilon=0.5&**", lambda route: held.append(route))  # noqa: PLW0108 - a bound method is no handler
        seen.page.fill("#epsilon", "0.5")
        with seen.page.expect_request("**/figures.json?*epsilon=0.5&**"):
            seen.page.press("#epsilon", "Enter")
        seen.page.fill("#epsilon", "4")
        seen.page.press("#epsilon", "Enter")
        seen.page.wait_for_url("**/workbench?epsilon=4&*")
        settle(seen.page)
        assert len(held) == 1
        expect(seen.page.locator("[data-sentence=frontier]")).to_contain_text("At weight 0.5")
        expect(seen.page.locator("[data-policy]")).to_be_enabled()


def test_a_server_that_is_gone_is_said_so(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        seen.page.route("**/*.json?*", lambda route: route.abort())
        seen.page.press("[data-for=window]", "ArrowLeft")
        expect(seen.page.locator("[data-problem]")).to_contain_text("The server does not answer.")
        assert cells(seen.page, "batched")[0] == "21m"
        seen.complaints.clear()  # the browser notes what failed


def test_the_evening_is_played_paused_and_moved_by_hand(browser, site):
    evening = watch(START)
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        assert score(page, "without") == counts(evening.without)
        assert score(page, "delayed") == counts(evening.delayed)
        assert page.inner_text("[data-side=without] [data-precision]") == "60 %"

        page.select_option("[data-speed]", "4")
        page.click("[data-play-button]")
        assert page.inner_text("[data-play-button]") == "Pause"
        expect(page.locator("[data-side=without] [data-count]")).to_have_text(re.compile(r"^[1-9] right"))
        page.click("[data-play-button]")
        paused = page.inner_text("[data-now]")
        told = page.locator("[data-told]")
        expect(told).to_contain_text(f"{paused}: ")
        seen_acts = page.locator("[data-side=without] .act.seen").count()
        assert 0 < seen_acts < len(evening.acts)

        page.click("[data-next]")
        total = ".evening .act.seen"
        assert page.locator(total).count() > 0
        scrubber = page.locator("[data-scrubber]")
        scrubber.focus()
        scrubber.press("Home")
        assert score(page, "without") == "0 right, 0 wrong"
        assert page.inner_text("[data-side=without] [data-precision]") == "no guess"
        scrubber.press("End")
        assert score(page, "delayed") == counts(evening.delayed)
        assert "22:19: 30 right, 20 wrong without delays" in scrubber.get_attribute("aria-valuetext")

        page.fill("[data-scrubber]", "930")
        page.press("[data-play-button]", "Enter")
        expect(page.locator("[data-play-button]")).to_have_text("Pause")
        expect(page.locator("[data-play-button]")).to_have_text("Play")  # by itself, at the end
        assert score(page, "delayed") == counts(evening.delayed)


def test_other_delays_and_another_attacker_are_a_click_away(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        seen.page.click("[data-again]")
        seen.page.wait_for_url("**draw=2")
        other = watch(read_choices({"draw": "2"}))
        expect(seen.page.locator("[data-side=delayed] [data-count]")).to_have_text(counts(other.delayed))
        assert score(seen.page, "without") == counts(other.without)

        seen.page.select_option("#cutoff", "10m")
        seen.page.wait_for_url("**cutoff=10m**")
        wide = watch(read_choices({"draw": "2", "cutoff": "10m"}))
        expect(seen.page.locator("[data-side=without] [data-count]")).to_have_text(counts(wide.without))
        # Told apart without colours: a wrong guess is dashed and crossed, a right one neither.
        assert seen.page.locator("[data-side=without] .claim.wrong .mark").count() == wide.without.wrong
        assert seen.page.locator("[data-side=without] .claim.right .mark").count() == 0
        dashes = "selector => getComputedStyle(document.querySelector(selector)).strokeDasharray"
        assert seen.page.evaluate(dashes, ".stage .guess.wrong") != "none"
        assert seen.page.evaluate(dashes, ".stage .guess.right") == "none"


def test_nothing_glides_for_those_who_do_not_want_it(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        seen.page.emulate_media(reduced_motion="reduce")
        settle(seen.page)
        asks = """() => { window.frames_asked = 0; const ask = window.requestAnimationFrame;
            window.requestAnimationFrame = (step) => { window.frames_asked += 1; return ask(step); }; }"""
        seen.page.evaluate(asks)
        seen.page.select_option("[data-speed]", "4")
        seen.page.click("[data-play-button]")
        expect(seen.page.locator("[data-side=without] [data-count]")).to_have_text(
            re.compile(r"^[1-9] right")
        )
        seen.page.click("[data-play-button]")
        assert seen.page.evaluate("window.frames_asked") == 0


def test_a_phone_shows_one_evening_at_a_time(browser, site):
    with visited(browser, f"{site.url}/workbench", size="phone") as seen:
        settle(seen.page)
        sides = {name: seen.page.locator(f"[data-side={name}]") for name in ("without", "delayed")}
        expect(sides["delayed"]).to_be_visible()
        expect(sides["without"]).to_be_hidden()
        seen.page.check("input[name=side][value=without]")
        expect(sides["without"]).to_be_visible()
        expect(sides["delayed"]).to_be_hidden()
        stage = seen.page.locator("[data-side=without] .stage svg").bounding_box()
        assert 300 < stage["width"] <= 390


def test_without_scripts_a_button_loads_the_page_with_the_choices(browser, site):
    with visited(browser, f"{site.url}/workbench", scripts=False, size="phone") as seen:
        page = seen.page
        page.fill("#epsilon", "2")
        page.select_option("#cutoff", "5m")
        page.click("[data-show]")
        page.wait_for_url("**epsilon=2&**")
        page.wait_for_load_state()

        evening = watch(read_choices({"epsilon": "2", "cutoff": "5m"}))
        assert f"{evening.delayed.right} right and {evening.delayed.wrong} wrong" in page.inner_text(
            ".replay"
        )
        moving = page.locator("[data-moving], [data-stage], [data-for], [data-chart]").all()
        assert len(moving) == 17
        assert all(part.is_hidden() for part in moving)
        pictures = page.locator("img.picture")
        assert pictures.count() == 7
        for one in pictures.all():
            one.scroll_into_view_if_needed()
            assert one.get_attribute("alt")
            assert one.bounding_box()["height"] > 150
        page.check("input[name=law][value=season]")
        page.click("[data-show]")
        page.wait_for_selector("#pairs")
        assert "After 200 batched pairs" in page.inner_text("#odds-sentence")
        page.fill("#gap", "1m")
        page.click("[data-show]")
        page.wait_for_selector(".problem")
        assert page.input_value("#gap") == "1m"
        page.fill("#gap", "20m")
        page.click("[data-again]")
        page.wait_for_url("**draw=2**")
        assert page.input_value("#gap") == "20m"
        seen.complaints[:] = [told for told in seen.complaints if "status of 422" not in told]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "desktop"])
@pytest.mark.parametrize("chosen", ["epsilon=2&gap=2d", "law=season"], ids=["pair", "season"])
def test_nothing_keeps_anybody_out(browser, site, chosen, size, dark):
    with visited(browser, f"{site.url}/workbench?{chosen}", size=size, dark=dark) as seen:
        settle(seen.page)
        for summary in seen.page.locator("summary").all() if not dark else ():
            summary.click()
        check_access(seen.page)
        wide = seen.page.evaluate("innerWidth")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= wide
        for chart in seen.page.evaluate(DRAWN):
            assert chart["lines"] >= 1
            assert 0 <= chart["left"] < chart["right"] <= wide
        ink, paper = DARK if dark else LIGHT
        halo = {paper} if seen.page.locator("[data-chart=frontier]").count() else set()
        assert set(seen.page.evaluate(WORDS)) == {ink} | halo  # words, and what is below some of them


def test_a_point_that_one_rests_on_says_what_it_is(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        diamond = seen.page.locator("[data-chart=frontier] path[d*='0L']").last
        diamond.scroll_into_view_if_needed()
        diamond.hover(force=True)
        expect(seen.page.locator(".chart-hint")).to_contain_text("33m20s")


def test_a_cold_page_is_small_beside_the_chart_library(browser, site):
    context = browser.new_context()
    try:
        page, sizes, addresses = context.new_page(), {}, {}
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on(
            "Network.requestWillBeSent", lambda e: addresses.update({e["requestId"]: e["request"]["url"]})
        )
        session.on(
            "Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]})
        )
        page.goto(f"{site.url}/workbench")
        settle(page)

        small = [size for request, size in sizes.items() if not addresses[request].endswith("vega.js")]
        assert 0 < sum(small) <= 100_000
        assert len(small) == len(sizes) - 1
    finally:
        context.close()
