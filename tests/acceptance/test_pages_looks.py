"""Every page in all eight looks: phone and desktop, light and dark, with scripts and without.

LOOKS=FOLDER keeps the pictures.
"""

import os
import threading
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from contracts.browser import chromium
from contracts.console_site import SIZES, check_access, console_site
from contracts.own_page import LETTER
from tarry.console.demonstration import EVENING, fill_with_an_evening
from tarry.console.own.door import OwnDoor
from tarry.console.own.page import OwnPages, create_own_page
from tarry.console.own.store import Declared, OwnStore
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.config import Config
from tarry.gateway.server import Listener, bind, url_of
from tarry.gateway.testing import new_token
from tarry.keep.home import Home

LOOKS = list(product(SIZES, ("light", "dark"), ("scripts", "none")))
SLOW = Policy(epsilon="2", gap="2h", window="5m", labels="declared")
OTHER = write_policy(Policy(epsilon="1", gap="4h", window="5m", labels="declared"))
#: By the name of their picture; those of an author and of an operator have addresses of their own.
PAGES = {
    "front": "/",
    "story": "/story",
    "boards": "/board",
    "board": "/board/talk",
    "board-full": "/board/wiki",
    "thread": f"/board/wiki/thread?of={quote(EVENING[0][1])}",
    "thread-of-nobody": "/board/talk/thread?of=cats",
    "promise": "/board/talk/promise",
    "workbench": "/workbench",
    "workbench-season": "/workbench?law=season",
    "workbench-refused": "/workbench?gap=soon",
    "audit": "/audit",
    "audit-sample": "/audit/samples/forum",
    "audit-report": "/audit/samples/forum/report",
    "sign-in": "/desk/sign-in",
    "nothing": "/nope",
}
FOR_OPERATORS = {
    "audit-own": "/audit",
    "desk": "/desk",
    "desk-make": "/desk/space",
    "desk-change": "/desk/space/talk",
    "desk-promise": "/desk/promise/talk/1",
}
CUT_OFF = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: Of what cannot be asked without scripts: whether they are there is asked by the style sheet alone.
SCRIPTING = ("(scripting: enabled)", "not all")
SHIFTS = """() => { window.shifted = 0; new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.shifted += entry.hadRecentInput ? 0 : entry.value;
}).observe({type: 'layout-shift', buffered: true}); }"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site():
    """Posts that wait for hours, and a board with a made-up evening."""
    config = Config(boards="talk, wiki", front="story")
    with console_site(SLOW, config=config, spaces=("talk", "wiki"), keep=False) as served:
        fill_with_an_evening(served.gateway, "wiki")
        yield served


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """One's own page with something that waits; a link for each browser."""
    home = Home.of({"TARRY_HOME": str(tmp_path_factory.mktemp("own") / "home")})
    home.state.mkdir(mode=0o700)
    home.policy_path.write_text('epsilon = "1"\ngap = "2h"\nwindow = "5m"\n', encoding="utf-8")
    store = OwnStore(home, wake=lambda: None)
    form = OwnPages(store, OwnDoor("http://127.0.0.1")).forms["mail"]
    store.hand_in(form, LETTER, Declared())

    @contextmanager
    def serve():
        with bind("127.0.0.1", 0) as sock:
            door = OwnDoor(url_of(sock))
            listener = Listener(create_own_page(store, door), sock)
            thread = threading.Thread(target=listener.run)
            thread.start()
            try:
                yield door
            finally:
                listener.should_exit = True
                thread.join()

    return serve


@contextmanager
def looked_at(browser, size, scheme, scripts, own_host=""):
    """A window with one of the looks; what it asks of others is refused and fails the test."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, outside = context.new_page(), []

    def answer(route):
        url = route.request.url
        if not url.startswith((own_host, "data:", "blob:")):
            outside.append(url)
            route.abort()
        elif scripts == "none" and url.endswith(".js"):
            route.abort()
        elif scripts == "none" and url.endswith(".css"):
            sheet = route.fetch()
            route.fulfill(response=sheet, body=sheet.text().replace(*SCRIPTING))
        else:
            route.continue_()

    page.route("**/*", answer)
    try:
        yield page
        assert outside == []
    finally:
        context.close()


def check_look(page, name, look):
    """Nothing is cut off, nobody is kept out, and there is something to see."""
    size, scheme, scripts = look
    assert page.evaluate(CUT_OFF) <= 0, name
    if name != "audit-report":  # nothing runs in it, axe neither; it has a test of its own
        check_access(page)
    picture = page.screenshot(full_page="LOOKS" in os.environ)
    assert len(picture) > 5_000, name  # an empty page has less
    if folder := os.environ.get("LOOKS"):
        Path(folder, f"{name}-{size}-{scheme}-{scripts}.png").write_bytes(picture)


def settled(page, address, scripts):
    page.goto(address)
    if scripts == "scripts" and "/workbench" in address and "soon" not in address:
        page.wait_for_selector("[data-strip][data-state=exact]")


@pytest.mark.parametrize("look", LOOKS, ids="-".join)
def test_every_page_for_everybody(browser, site, look):
    with looked_at(browser, *look, own_host=site.url) as page:
        for name, path in PAGES.items():
            settled(page, site.url + path, look[2])
            check_look(page, name, look)
        page.goto(f"{site.url}/board/talk")
        page.fill("#target", "cats")
        page.fill("#words", "They do not care.")
        page.check("input[name=more][value=no]")
        page.click("form[action^='/board'] button[type=submit]:not([data-forget])")
        page.wait_for_url("**/receipt/*")
        check_look(page, "receipt", look)


@pytest.mark.parametrize("look", LOOKS, ids="-".join)
def test_every_page_for_operators(browser, site, look):
    with looked_at(browser, *look, own_host=site.url) as page:
        page.goto(f"{site.url}/desk/sign-in")
        page.fill("#token", new_token(site.gateway, "admin"))
        page.click("form[action='/desk/sign-in'] button")
        page.wait_for_url("**/desk")
        for name, path in FOR_OPERATORS.items():
            settled(page, site.url + path, look[2])
            check_look(page, name, look)
        page.goto(f"{site.url}/desk/space/talk")
        page.fill("#policy", OTHER)
        page.click("button:text-is('Show what it costs')")
        page.wait_for_selector("[data-preview]")
        check_look(page, "desk-preview", look)


@pytest.mark.parametrize("look", LOOKS, ids="-".join)
def test_ones_own_page(browser, own, look):
    with own() as door, looked_at(browser, *look, own_host=door.address) as page:
        page.goto(door.link)
        if look[2] == "none":
            page.goto(f"{door.address}{door.room}/")
        page.wait_for_selector("h2:has-text('What waits')")
        check_look(page, "own", look)
        for place in ("git", "mail", "mediawiki", "openreview"):
            page.goto(f"{door.address}{door.room}/hand-in/{place}")
            check_look(page, f"own-{place}", look)
        page.goto(f"{door.address}{door.room}/nowhere")
        check_look(page, "own-nothing", look)


# --- light, still, and on paper -----------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_cold_pages_are_small_and_do_not_shift(browser, site, size):
    with looked_at(browser, size, "light", "scripts", site.url) as page:
        session, sizes = page.context.new_cdp_session(page), []
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.add_init_script(f"({SHIFTS})()")
        for name, path in PAGES.items():
            if name == "audit-report":
                continue
            sizes.clear()
            settled(page, site.url + path, "scripts")
            page.wait_for_load_state("networkidle")

            assert 0 < sum(sizes) <= 150_000, name
            assert page.evaluate("window.shifted") < 0.05, name


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_it_is_ink_on_white_with_nothing_to_press(browser, site, name):
    with looked_at(browser, "desktop", "dark", "scripts", site.url) as page:
        settled(page, site.url + PAGES[name], "scripts")
        page.set_viewport_size({"width": 720, "height": 1000})  # of an A4 sheet
        page.emulate_media(media="print")
        assert page.evaluate(CUT_OFF) <= 0
        if name == "audit-report":
            return
        colours = (
            "() => [getComputedStyle(document.body).color, getComputedStyle(document.documentElement)"
            ".backgroundColor]"
        )
        assert page.evaluate(colours) == ["rgb(31, 41, 51)", "rgb(255, 255, 255)"]
        assert page.locator("nav:visible, button:visible, input[type=range]:visible").count() == 0
        assert page.pdf(width="210mm", height="297mm").startswith(b"%PDF")
