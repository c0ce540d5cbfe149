"""The story as people read it: a real browser, with scripts and without, by hand and by keyboard."""

import pytest
from playwright.sync_api import expect

from contracts.browser import chromium
from contracts.console_site import console_site, visited
from tarry.console.story.figures import budget, days, delay, gap, laws
from tarry.gateway.config import Config

PARTS = {each.name: each for each in (delay(), laws(), gap(), budget(), days())}
LIVE = "html[data-live]"
#: Everything that a part draws and says.
SHOWN = """name => {
    const part = document.querySelector(`[data-part=${name}]`);
    return [part.querySelector('svg').outerHTML, part.querySelector('[data-sentence]').textContent,
        part.querySelector('[data-value]').textContent];
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site():
    with console_site(config=Config(boards="talk", front="story"), keep=False) as served:
        yield served


# --- you are the observer ---------------------------------------------------------------------------------


def says(page):
    return page.inner_text("[data-says]")


def test_two_posts_are_guessed_to_be_one_persons_and_the_score_is_kept(browser, site):
    with visited(browser, f"{site.url}/story") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        posts = page.locator("[data-buttons] button")
        assert posts.count() == 14
        expect(page.locator(".dots .initial").first).to_be_hidden()

        posts.nth(0).click()
        assert says(page) == "Now choose the other one."
        posts.nth(1).click()
        assert says(page) == "Right: Ben wrote both, 51 s apart."
        assert page.locator(".guess.right").count() == 1
        expect(page.locator(".dots .known .initial")).to_have_text(["B", "B"])
        posts.nth(1).click()
        posts.nth(5).click()
        assert says(page) == "No. One is Ben's, the other Gus's."
        assert page.locator(".guess.wrong").count() == 1
        assert (
            page.inner_text("[data-score-words]") == "Right as it was written: 1 of 2. With tarry: 0 of 0."
        )


def test_with_delays_the_same_posts_lie_elsewhere_and_the_truth_can_be_seen(browser, site):
    place = "() => [...document.querySelectorAll('.dots [data-post]')].map(one => one.style.transform)"
    with visited(browser, f"{site.url}/story") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        before = page.evaluate(place)
        page.check("input[name=side][value=delayed]", force=True)
        after = page.evaluate(place)

        assert all(one != other for one, other in zip(before, after, strict=True))
        expect(page.locator(".dots .truths.delayed")).to_be_hidden()
        page.click("[data-truth]")
        expect(page.locator(".dots .truths.delayed")).to_be_visible()
        expect(page.locator(".dots .truths.without")).to_be_hidden()
        assert page.inner_text("[data-truth]") == "Hide it again"


# --- pictures with a slider -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_a_slider_moves_picture_and_text_by_the_next_frame_and_asks_nobody(browser, site, name):
    part = PARTS[name]
    moves = f"""async name => {{
        const range = document.querySelector(`#${{name}}-slider`), seen = [], shown = {SHOWN};
        for (const place of [0, 1, 2, 3, Number(range.max)]) {{
            range.value = place;
            range.dispatchEvent(new Event('input', {{bubbles: true}}));
            await new Promise(requestAnimationFrame);
            seen.push(shown(name));
        }}
        return seen;
    }}"""
    with visited(browser, f"{site.url}/story") as seen:
        seen.page.wait_for_selector(LIVE)
        asked = len(seen.requests)
        shown = seen.page.evaluate(moves, name)

        assert len(seen.requests) == asked
        assert len({picture for picture, _, _ in shown}) == 5
        stops = [part.stops[place] for place in (0, 1, 2, 3, -1)]
        assert [row[1:] for row in shown] == [[stop.sentence, stop.value] for stop in stops]


@pytest.mark.parametrize("name", PARTS)
def test_the_handle_in_the_picture_is_dragged_too(browser, site, name):
    part = PARTS[name]
    with visited(browser, f"{site.url}/story") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        handle = page.locator(f"[data-part={name}] [data-mark=here]")
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        scale = box["width"] / (2 * part.shown.marks["here"]["r"] + 2.5)
        here, there = part.shown.marks["here"], part.stops[-1].marks["here"]
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(
            x + 1.2 * scale * (there["cx"] - here["cx"]),
            y + 1.2 * scale * (there["cy"] - here["cy"]),
            steps=4,
        )
        page.mouse.up()

        expect(page.locator(f"#{name}-slider")).to_have_value(str(len(part.stops) - 1))
        assert page.inner_text(f"#{name}-sentence") == part.stops[-1].sentence


def test_a_delay_can_be_drawn(browser, site):
    with visited(browser, f"{site.url}/story") as seen:
        seen.page.wait_for_selector(LIVE)
        seen.page.evaluate("Math.random = () => 0.999")
        seen.page.click("[data-draw]")
        assert seen.page.inner_text("#delay-sentence") == delay().stops[199].sentence


# --- by keyboard, without scripts, in every look ----------------------------------------------------------


def test_the_keyboard_walks_through_all_of_it_and_a_screen_reader_is_told(browser, site):
    focused = "() => document.activeElement.id || document.activeElement.getAttribute('aria-label')"
    with visited(browser, f"{site.url}/story") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        page.focus("input[name=side]")
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "post at 19:03"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("[data-status]")).to_have_text("Right: Ben wrote both, 51 s apart.")

        met = []
        for _ in range(40):
            page.keyboard.press("Tab")
            place = page.evaluate(focused)
            if str(place).endswith("-slider"):
                met.append(place.removesuffix("-slider"))
                page.keyboard.press("ArrowRight")
                part = PARTS[met[-1]]
                expect(page.locator("[data-status]")).to_have_text(part.stops[part.start + 1].sentence)
                value = page.get_attribute(f"#{place}", "aria-valuetext")
                assert value == part.stops[part.start + 1].value
        assert met == list(PARTS)
        for each in page.locator("input[type=range]").all():
            described = page.inner_text(f"#{each.get_attribute('aria-describedby')}")
            assert each.get_attribute("aria-valuetext") in PARTS[each.get_attribute("id")[:-7]].json
            assert described


def test_without_scripts_there_are_pictures_with_words(browser, site):
    with visited(browser, f"{site.url}/story", scripts=False) as seen:
        page = seen.page
        assert page.locator("svg[role=img]:visible").count() == 7
        assert page.locator("input:visible, button:visible").count() == 0
        for name, part in PARTS.items():
            assert page.inner_text(f"#{name}-sentence") == part.shown.sentence
        expect(page.locator(".dots .truths.without")).to_be_visible()
        expect(page.locator(".dots .initial").first).to_be_visible()


def test_on_a_small_phone_nothing_is_cut_off(browser, site):
    """All looks: test_pages_looks.py."""
    with visited(browser, f"{site.url}/story", size="phone") as seen:
        page = seen.page
        page.wait_for_selector(LIVE)
        page.set_viewport_size({"width": 360, "height": 740})
        main, body = page.locator("main").bounding_box(), page.locator("html").bounding_box()
        assert main["width"] <= page.viewport_size["width"]
        assert body["width"] <= page.viewport_size["width"]
        for each in page.locator(".story .plate").all():
            box = each.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_the_page_is_light_and_does_not_jump(browser, site):
    sizes = """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
        .reduce((sum, each) => sum + each.transferSize, 0)"""
    shifts = """async () => {
        let sum = 0;
        new PerformanceObserver(list => list.getEntries().forEach(each => { sum += each.value; }))
            .observe({type: 'layout-shift', buffered: true});
        for (const range of document.querySelectorAll('input[type=range]')) {
            for (let place = 0; place <= Number(range.max); place += 1) {
                range.value = place;
                range.dispatchEvent(new Event('input', {bubbles: true}));
                if (place % 5 === 0) await new Promise(requestAnimationFrame);
            }
        }
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return sum;
    }"""
    for size in ("phone", "desktop"):
        with visited(browser, f"{site.url}/", size=size) as seen:
            seen.page.wait_for_selector(LIVE)
            assert 0 < seen.page.evaluate(sizes) < 150_000
            assert seen.page.evaluate(shifts) < 0.05
