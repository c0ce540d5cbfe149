"""The workbench as people use it: a real server, a real browser, with scripts and without."""

import re
from itertools import pairwise, product

import pytest
from playwright.sync_api import expect

from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.console.pages import static_url
from tarry.console.workbench.figures import FIELDS, figures, read_choices
from tarry.console.workbench.instrument import facts
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy

LIVE, EXACT = "html[data-live]", "[data-strip][data-state=exact]"
#: What moves with a slider, as it is drawn and written now.
SHOWN = """() => {
    const mark = (chart, name) => document.querySelector(`svg[data-chart=${chart}] [data-mark=${name}]`);
    const strip = [...document.querySelectorAll('[data-figure]')].map(one => one.textContent).join(' ');
    const here = mark('frontier', 'here');
    return {strip, laws: mark('laws', 'batched').getAttribute('d'),
        here: [here.getAttribute('cx'), here.getAttribute('cy')].map(Number)};
}"""
PICTURES = ["evening", "frontier", "laws", "odds", "posterior", "power"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site():
    with console_site(keep=False) as served:
        yield served


def settle(page):
    """Until what is shown is the server's exact answer."""
    page.wait_for_selector(LIVE)
    page.wait_for_selector(EXACT)


def cells(page, kind):
    """What the table says of batched or unbatched acts."""
    return page.locator(f"[data-table=delays] tr:has(th:text-is('{kind}')) td").all_inner_texts()


def figure(page, name):
    return page.inner_text(f"[data-figure={name}]")


def push(page, name, *places):
    """Move a slider as a hand does that does not let go: the answer is still to come."""
    page.evaluate(
        """([name, places]) => {
            const range = document.querySelector(`[data-for=${name}]`);
            range.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));
            for (const place of places) {
                range.value = place;
                range.dispatchEvent(new Event('input', {bubbles: true}));
            }
        }""",
        [name, list(places)],
    )


def let_go(page):
    page.evaluate("window.dispatchEvent(new PointerEvent('pointerup'))")


# --- a slider under a hand -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "name", "first"), [("pair", "epsilon", 0), ("pair", "gap", 4), ("season", "total", 3)]
)
def test_each_input_of_a_slider_shows_by_the_next_frame_and_asks_nobody(browser, site, law, name, first):
    # No page lets text become code: the function is written into the one that is run.
    moves = f"""async ([name, first]) => {{
        const range = document.querySelector(`[data-for=${{name}}]`), seen = [], shown = {SHOWN};
        range.dispatchEvent(new PointerEvent('pointerdown', {{bubbles: true}}));
        for (const place of Array.from({{length: 20}}, (_, n) => first + (n < 10 ? n : 20 - n))) {{
            range.value = place;
            range.dispatchEvent(new Event('input', {{bubbles: true}}));
            await new Promise(requestAnimationFrame);
            seen.push(shown());
        }}
        return seen;
    }}"""
    with visited(browser, f"{site.url}/workbench?law={law}&gap=2h&window=0s") as seen:
        settle(seen.page)
        asked = len(seen.requests)
        before = seen.page.evaluate(SHOWN)
        shown = [before, *seen.page.evaluate(moves, [name, first])]

        assert len(seen.requests) == asked
        for one, other in pairwise(shown):
            assert one["strip"] != other["strip"]
            assert one["laws"] != other["laws"]
            assert one["here"] != other["here"]
        assert seen.page.get_attribute("[data-strip]", "data-state") == "preview"
        assert seen.page.inner_text("[data-state-words]") == "preview"


def test_when_the_hand_lets_go_the_exact_answer_comes_and_back_undoes_it(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        before = page.evaluate(SHOWN)
        push(page, "epsilon", 12, 13, 14)
        expect(page.locator("[data-policy]")).to_be_disabled()
        previewed = page.evaluate(SHOWN)
        let_go(page)
        page.wait_for_url("**/workbench?epsilon=2&*")
        settle(page)

        assert page.evaluate(SHOWN)["strip"] == previewed["strip"] != before["strip"]
        assert "7.39 times as likely" in page.inner_text("[data-list=promised]")
        assert page.get_attribute("[data-for=epsilon]", "aria-valuetext") == "2"
        assert figure(page, "mean") in page.inner_text("[data-sentence=glance]")
        page.go_back()
        page.wait_for_url(lambda url: "epsilon=2" not in url)
        settle(page)
        assert page.input_value("#epsilon") == "1"
        assert page.evaluate(SHOWN) == before


def test_axes_stay_under_the_hand_and_so_long_as_they_are_locked(browser, site):
    axis = "() => document.querySelector('svg[data-chart=laws]').dataset.x"
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        before, mean = page.evaluate(axis), "svg[data-chart=laws] [data-mark=mean]"
        place = float(page.get_attribute(mean, "x1"))
        push(page, "gap", 7)
        assert page.evaluate(axis) == before
        assert float(page.get_attribute(mean, "x1")) > place  # longer looks longer
        page.check("[data-lock]")
        push(page, "gap", 15)
        let_go(page)
        page.wait_for_url("**gap=4h**")
        settle(page)
        assert page.evaluate(axis) == before
        page.uncheck("[data-lock]")
        page.press("[data-for=gap]", "ArrowLeft")
        page.wait_for_url("**gap=3h**")
        settle(page)
        assert page.evaluate(axis) != before


AGREE = """async ([address, chosen]) => {
    const { preview } = await import(address);
    const form = document.querySelector('[data-form]'), known = JSON.parse(form.dataset.facts);
    const acts = JSON.parse(form.dataset.acts).map(([person, thread, , at]) => ({person, thread, at}));
    const grid = await (await fetch(form.dataset.seasons)).json();
    return chosen.map(each => ({...preview(each, grid, {...known, acts}), at: null}));
}"""


def test_preview_and_exact_answer_agree(browser, site):
    """Waits to the second, successes to a thousandth, on a grid of policies."""
    grid = product(("0.1", "1.5", "8"), ("7m", "2d"), ("0s", "5m"), ("0.1", "1"))
    given = [dict(zip(("epsilon", "gap", "window", "weight"), each, strict=True)) for each in grid]
    stops = product(("1", "30"), ("5",), ("0.001", "0.01"), ("11m", "1h"))
    given += [
        {"law": "season", **dict(zip(("pairs", "total", "delta", "gap"), each, strict=True))}
        for each in stops
    ]
    chosen = [read_choices(each) for each in given]
    budgets = {"pair": "epsilon", "season": "total"}
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        fields = [{**one.fields, "stops": FIELDS[budgets[one.law]].steps.split()} for one in chosen]
        previews = seen.page.evaluate(AGREE, [static_url("preview.js"), fields])

    for one, previewed in zip(chosen, previews, strict=True):
        exact = facts(figures(one))
        for kind, waits in exact.waits.items():
            assert previewed["waits"][kind] == pytest.approx(waits, abs=1)
        for name, told in exact.delayed._asdict().items():
            assert previewed["delayed"][name] == pytest.approx(told, abs=1e-3), one.query
        assert previewed["without"] == pytest.approx(exact.without._asdict())
        assert previewed["epsilon"] == pytest.approx(exact.epsilon, abs=1e-4)
        assert previewed["innocent"] == pytest.approx(exact.innocent, abs=2e-6)
        assert previewed["weight_counts"] is exact.weight_counts
        known = {trade.value: trade for trade in exact.trades}
        assert len(previewed["trades"]) >= len(known) // 3
        for trade in previewed["trades"]:
            assert trade["wait_s"] == pytest.approx(known[trade["value"]].wait_s, abs=1)
            assert trade["right"] == pytest.approx(known[trade["value"]].right, abs=1e-3)


def test_what_the_script_draws_is_what_the_server_draws(browser, site):
    """Nothing jumps when the exact answer replaces the preview: the marks lie where they lay."""
    marks = """() => {
        const places = ['d', 'cx', 'cy', 'x1', 'x2', 'y1', 'y2'];
        return [...document.querySelectorAll(':is([data-mark], [data-act], .stop)')]
            .filter(one => one.closest('svg').dataset.chart !== 'power') // its lines are straight
            .map(one => places.map(name => one.getAttribute(name)).join(' '));
    }"""
    with visited(browser, f"{site.url}/workbench?gap=20m") as seen:
        settle(seen.page)
        exact = seen.page.evaluate(marks)
        push(seen.page, "epsilon", 9, 10)
        previewed = seen.page.evaluate(marks)

        def close(one, other):
            words = [re.sub("[MLHVZ]", " ", text).split() for text in (one, other)]
            return len(words[0]) == len(words[1]) and all(
                a == b or abs(float(a) - float(b)) <= 0.25 for a, b in zip(*words, strict=True)
            )

        different = [pair for pair in zip(exact, previewed, strict=True) if not close(*pair)]
        assert different == []


def test_a_season_between_the_stops_says_that_its_preview_waits(browser, site):
    with visited(browser, f"{site.url}/workbench?law=season") as seen:
        page = seen.page
        settle(page)
        page.route("**/figures.json?**", lambda route: None)
        page.fill("#pairs", "37")
        assert page.inner_text("[data-state-words]") == "computing"
        page.fill("#pairs", "200")
        page.fill("#gap", "45 minutes")
        assert page.inner_text("[data-state-words]") == "preview"


def test_the_dot_of_the_first_picture_is_dragged(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        dot = page.locator("svg[data-chart=frontier] [data-mark=here]")
        dot.scroll_into_view_if_needed()
        stop = page.locator("svg[data-chart=frontier] .stop[data-value='0.3']").bounding_box()
        box = dot.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(stop["x"] + 2, stop["y"] + 2, steps=5)
        expect(page.locator("#epsilon")).to_have_value("0.3")
        page.mouse.up()
        page.wait_for_url("**/workbench?epsilon=0.3&*")
        settle(page)


def test_a_baseline_is_pinned_and_the_difference_told(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        page.click("[data-pin]")
        assert page.get_attribute("[data-pin]", "aria-pressed") == "true"
        assert page.inner_text("[data-change=mean]") == "as pinned"
        assert page.locator("svg .pinned").count() == 1
        push(page, "gap", 8)
        assert page.inner_text("[data-change=mean]") == "+16 min since pinned"
        assert "points since pinned" in page.inner_text("[data-change=right]")
        let_go(page)
        page.wait_for_url("**gap=20m**")
        settle(page)
        assert page.inner_text("[data-change=mean]") == "+16 min since pinned"
        assert page.locator("svg .pinned").count() == 1
        page.click("[data-pin]")
        assert page.inner_text("[data-change=mean]") == ""


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_the_strip_stays_in_view(browser, site, size):
    with visited(browser, f"{site.url}/workbench", size=size) as seen:
        settle(seen.page)
        seen.page.locator("[data-for=window]").scroll_into_view_if_needed()
        seen.page.evaluate("window.scrollBy(0, 400)")
        expect(seen.page.locator("[data-figure=right]")).to_be_in_viewport()
        expect(seen.page.locator("[data-figure=mean]")).to_be_in_viewport()


def test_what_cannot_be_chosen_is_shaded_and_what_changes_nothing_is_idle(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        assert page.locator("[data-slider=gap] [data-forbidden]").is_visible()
        assert "shaded" in page.inner_text("#gap-hint")
        expect(page.locator("[data-for=weight]")).to_be_disabled()
        push(page, "epsilon", 16)
        expect(page.locator("[data-for=weight]")).to_be_enabled()
        push(page, "window", 0)
        expect(page.locator("[data-slider=gap] [data-forbidden]")).to_be_hidden()


def test_the_observers_guesses_are_shown_on_either_evening(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        guesses = {side: page.locator(f".guesses.{side} .guess") for side in ("without", "delayed")}
        assert guesses["without"].count() == 50
        expect(guesses["without"].first).to_be_hidden()
        page.check("input[name=side][value=without]")
        expect(guesses["without"].first).to_be_visible()
        dashes = "selector => getComputedStyle(document.querySelector(selector)).strokeDasharray"
        assert page.evaluate(dashes, ".guesses.without .guess.wrong") != "none"
        assert page.evaluate(dashes, ".guesses.without .guess.right") == "none"
        page.check("input[name=side][value=delayed]")
        before = page.inner_html(".guesses.delayed")
        push(page, "gap", 9)
        assert page.inner_html(".guesses.delayed") != before
        let_go(page)
        settle(page)
        page.click("[data-again]")
        page.wait_for_url("**draw=2")


def test_link_command_and_policy_are_copied(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        settle(page)
        copied = {}
        for kind in ("link", "command", "toml"):
            page.evaluate("document.querySelector('[data-copied]').textContent = ''")
            page.click(f"[data-copy={kind}]")
            expect(page.locator("[data-copied]")).to_have_text("Copied.")
            copied[kind] = page.evaluate("navigator.clipboard.readText()")

        assert copied["link"] == page.url
        assert copied["command"] == "tarry plan --epsilon 1 --weight 0.5 --gap 11m --window 5m"
        assert read_policy(copied["toml"]) == Policy(epsilon="1", gap="11m", window="5m")


# --- the form -----------------------------------------------------------------------------


def test_the_policy_file_is_never_another_than_the_form_shows(browser, site):
    """As long as an answer is pending, and after a refusal, there is none to get."""
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        get, held = page.locator("[data-policy]"), []
        page.route("**/figures.json?*epsilon=0.9&**", lambda route: held.append(route))  # noqa: PLW0108 - a bound method is no handler
        with page.expect_request("**/figures.json?*epsilon=0.9&**"):
            page.locator("[data-for=epsilon]").press("ArrowLeft")
        expect(get).to_be_disabled()
        page.unroute("**/figures.json?*epsilon=0.9&**")
        held[0].continue_()
        expect(get).to_be_enabled()
        with page.expect_download() as coming:
            get.click()
        text = coming.value.path().read_text(encoding="utf-8")
        assert coming.value.suggested_filename == "policy.toml"
        assert read_policy(text) == Policy(epsilon="0.9", gap="11m", window="5m")

        page.fill("#gap", "3m")
        page.press("#gap", "Tab")
        expect(page.locator("[data-problem]")).to_contain_text("above the window")
        expect(get).to_be_disabled()
        seen.complaints.clear()  # the browser notes the refusal


def test_a_wrong_address_keeps_its_charts_and_says_what_is_wrong(browser, site):
    with visited(browser, f"{site.url}/workbench?epsilon=abc") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        names = "[...document.querySelectorAll('svg[data-chart]')].map(one => one.dataset.chart)"
        assert sorted(page.evaluate(names)) == PICTURES
        assert "epsilon must be a decimal number, not 'abc'" in page.inner_text("[data-problem]")
        assert page.input_value("#epsilon") == "abc"
        expect(page.locator("[data-policy]")).to_be_disabled()
        page.fill("#epsilon", "2")
        page.press("#epsilon", "Enter")
        settle(page)
        expect(page.locator("[data-problem]")).to_be_empty()
        seen.complaints.clear()  # the browser notes the status of the page


def test_a_season_is_chosen_and_leads_to_its_policy_file(browser, site):
    with visited(browser, f"{site.url}/workbench?epsilon=2") as seen:
        page = seen.page
        settle(page)
        page.check("input[name=law][value=season]")
        page.wait_for_url("**law=season**")
        settle(page)
        page.locator("[data-for=pairs]").press("ArrowLeft")  # 150
        page.wait_for_url("**pairs=150**")
        settle(page)

        expect(page.locator("[data-sentence=odds]")).to_contain_text("After 150 batched pairs")
        expect(page.locator("[data-sentence=odds_stories]")).to_contain_text("came up to 16m later")
        with page.expect_download() as coming:
            page.click("[data-policy]")
        policy = read_policy(coming.value.path().read_text(encoding="utf-8"))
        assert (policy.law, policy.season.acts) == ("cosine", 300)

        page.check("input[name=law][value=pair]")  # what was chosen there before is still so
        page.wait_for_url("**law=pair**")
        assert page.input_value("#epsilon") == "2"


def test_a_typed_value_moves_its_slider_and_a_bad_one_is_told(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page = seen.page
        settle(page)
        page.fill("#gap", "62 minutes")
        page.press("#gap", "Enter")
        page.wait_for_url("**gap=1h2m**")
        settle(page)
        assert page.input_value("[data-for=gap]") == "11"

        told = cells(page, "batched")
        page.fill("#gap", "3m")
        page.press("#gap", "Tab")
        expect(page.locator("[data-problem]")).to_contain_text("gap must be above the window (5m), not 3m")
        assert cells(page, "batched") == told
        check_access(page)
        page.fill("#gap", "11m")
        page.press("#gap", "Tab")
        page.wait_for_url("**gap=11m**")
        expect(page.locator("[data-problem]")).to_be_empty()
        # The browser itself notes the answers that said no.
        assert all("status of 422" in complaint for complaint in seen.complaints)
        seen.complaints.clear()


def test_an_answer_that_comes_too_late_is_not_shown(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        page, held = seen.page, []
        settle(page)
        page.route("**/figures.json?*epsilon=0.5&**", lambda route: held.append(route))  # noqa: PLW0108 - a bound method is no handler
        page.fill("#epsilon", "0.5")
        with page.expect_request("**/figures.json?*epsilon=0.5&**"):
            page.press("#epsilon", "Enter")
        page.fill("#epsilon", "4")
        page.press("#epsilon", "Enter")
        page.wait_for_url("**/workbench?epsilon=4&*")
        settle(page)
        assert held
        expect(page.locator("[data-sentence=weights]")).to_contain_text("At weight 0.5")
        expect(page.locator("[data-policy]")).to_be_enabled()


def test_a_server_that_is_gone_is_said_so(browser, site):
    with visited(browser, f"{site.url}/workbench") as seen:
        settle(seen.page)
        seen.page.route("**/*.json?*", lambda route: route.abort())
        seen.page.press("[data-for=window]", "ArrowLeft")
        expect(seen.page.locator("[data-problem]")).to_contain_text("The server does not answer.")
        assert cells(seen.page, "batched")[0] == "21m"
        seen.complaints.clear()  # the browser notes what failed


# --- everybody, and any window -------------------------------------------------------------------------


def test_without_scripts_a_button_loads_the_page_with_the_choices(browser, site):
    with visited(browser, f"{site.url}/workbench", scripts=False, size="phone") as seen:
        page = seen.page
        page.fill("#epsilon", "2")
        page.select_option("#cutoff", "5m")
        page.click("[data-show]")
        page.wait_for_url("**epsilon=2&**")
        page.wait_for_load_state()

        assert "Posts within 5m of each other" in page.inner_text("#evening-sentence")
        live = page.locator(".live").all()
        assert len(live) == 7
        assert all(part.is_hidden() for part in live)
        for one in page.locator("svg[data-chart]").all():
            one.scroll_into_view_if_needed()
            assert one.bounding_box()["height"] > 150
        page.check("input[name=side][value=delayed]")
        expect(page.locator(".guesses.delayed .guess").first).to_be_visible()
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


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_with_all_numbers_open_nobody_is_kept_out_and_no_picture_is_cut_off(browser, site, size):
    """Closed, in all looks: test_pages_looks.py."""
    with visited(browser, f"{site.url}/workbench?epsilon=2&gap=2d", size=size) as seen:
        page = seen.page
        settle(page)
        for summary in page.locator("summary").all():
            summary.click()
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for picture in page.locator("svg[data-chart]").all():
            box = picture.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= page.evaluate("innerWidth")
