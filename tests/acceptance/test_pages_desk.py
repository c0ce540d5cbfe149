"""The desk as operators use it: a real server, a real browser, posts that are really refused."""

import gzip
import re
import time
from dataclasses import replace

import httpx2
import pytest

from contracts.browser import chromium
from contracts.console_site import check_access, console_site, visited
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.policy_changes import change_policy
from tarry.gateway.space_changes import add_space, end_space
from tarry.gateway.testing import new_token
from tarry.keep.closing import hour_ticks
from tarry.keep.errors import Refused
from tarry.testing import ListOutlet

LONG = Policy(epsilon="2", gap="2h", window="0.5s", tick="0.1s", labels="declared")
BIG_PAGE = 100 << 10
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: What Chromium itself says of a page with such a status; the page is as it should be.
REFUSED = "Failed to load resource: the server responded with a status of 403 (Forbidden)"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def outlet():
    return ListOutlet(broken=Refused("the forum answered 410: this thread is gone"))


@pytest.fixture(scope="module")
def site(outlet):
    """Talk refuses what it is sent, notes publishes, in reviews posts wait for hours."""
    with console_site(spaces=("notes", "talk"), outlets={"talk": outlet}) as served:
        gateway = served.gateway
        with gateway.store.transaction("closing") as transaction:
            add_space(transaction, gateway.keys, gateway.clock, "reviews", LONG, title="Reviews of 2026")
        gateway.refresh()
        yield served


def sign_in(page, token):
    page.fill("#token", token)
    page.click("form[action='/desk/sign-in'] button")


@pytest.fixture(scope="module")
def admin(browser, site):
    """An administrator who has signed in."""
    with visited(browser, f"{site.url}/desk") as found:
        sign_in(found.page, new_token(site.gateway, "admin"))
        found.page.wait_for_selector("h1:has-text('Desk')")
        yield found


@pytest.fixture
def at_desk(admin, site):
    """The administrator, with the desk as it is now, and with nothing to complain about in the end."""
    admin.page.goto(f"{site.url}/desk")
    yield admin
    assert admin.complaints == []


@pytest.fixture(scope="module")
def api(site):
    with httpx2.Client(base_url=site.url, trust_env=False) as client:
        yield client


def post(api, token, target, space="talk", **more):
    """Somebody hands a post in."""
    return api.post(
        f"/v1/spaces/{space}/posts",
        json={"actor": "ann", "target": target, "content": "I agree.", **more},
        headers={"Authorization": f"Bearer {token}"},
    )


def park(site, api, page, target):
    """A post that is refused; the row in which the desk shows it."""
    assert post(api, new_token(site.gateway, "submit"), target).status_code == 202
    until(lambda: any(parked.target == target for parked in site.gateway.parked("talk")))
    page.goto(f"{site.url}/desk")
    return page.locator(f"tr:has(th:text-is('{target}'))")


def until(happens, seconds=20):
    """Wait by condition."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def confirm(page, button, answer="Yes"):
    """Press a button that asks first: once the page's script is there."""
    page.wait_for_load_state()
    button.click()
    page.click(f"dialog button:text-is('{answer}')")


def told(page) -> str:
    """What the page says after a form."""
    return page.inner_text("[role=status]")


# --- flows --------------------------------------------------------------------------------------------


def test_an_operator_signs_in_sees_the_spaces_and_signs_out(browser, site):
    with visited(browser, f"{site.url}/desk") as found:
        page = found.page
        assert page.url == f"{site.url}/desk/sign-in?then=/desk"
        sign_in(page, "tarry_" + "0" * 64)
        page.wait_for_selector("[role=alert]")
        assert page.inner_text("[role=alert]").count(".") == 1
        assert page.input_value("#token") == ""
        assert found.complaints == [REFUSED]
        found.complaints.clear()

        sign_in(page, new_token(site.gateway, "operate"))
        page.wait_for_url(f"{site.url}/desk")
        assert page.locator(".space h3").all_inner_texts() == ["notes", "Reviews of 2026", "talk"]
        assert "close on time" in page.inner_text("[data-health]")
        assert page.locator("#tokens-heading").count() == 0
        (cookie,) = page.context.cookies()
        assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("tarry_desk", True, "Strict")

        page.click("text=Sign out")
        page.wait_for_url("**/desk/sign-in")
        assert page.context.cookies() == []
        page.context.add_cookies([cookie])
        page.goto(f"{site.url}/desk")
        assert "/desk/sign-in" in page.url


def test_a_parked_post_is_retried_and_gone(site, api, at_desk, outlet):
    page = at_desk.page
    row = park(site, api, page, "a thread that comes back")
    assert "the forum answered 410" in row.inner_text()

    refused, outlet.broken = outlet.broken, None
    row.locator("button:text-is('Retry')").click()
    page.wait_for_url("**/desk?done=retried")
    assert told(page) == "Put back. It leaves at the next chance."
    assert row.count() == 0
    until(lambda: outlet.delivered)
    outlet.broken = refused
    assert [each.target for each in outlet.delivered] == ["a thread that comes back"]


def test_a_parked_post_is_withdrawn_only_after_a_yes(site, api, at_desk, outlet):
    page = at_desk.page
    row = park(site, api, page, "gone for good")
    confirm(page, row.locator("button:text-is('Withdraw')"), "No")
    assert page.locator("dialog[open]").count() == 0
    assert row.count() == 1
    row.locator("button:text-is('Withdraw')").click()
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    assert row.count() == 1

    confirm(page, row.locator("button:text-is('Withdraw')"))
    page.wait_for_url("**/desk?done=withdrawn")
    assert told(page) == "Withdrawn. It will never appear."
    assert row.count() == 0
    assert "gone for good" not in [each.target for each in outlet.delivered]


def test_everything_that_waits_on_a_target_is_withdrawn(site, api, at_desk):
    page, token = at_desk.page, new_token(site.gateway, "submit")
    for _ in range(2):
        assert post(api, token, "a whole thread", "reviews", more_to_come=True).status_code == 202
    card = page.locator("article:has(#space-reviews)")
    card.locator("summary").click()
    card.locator("[name=target]").fill("a whole thread")
    confirm(page, card.locator("button:text-is('Withdraw all')"))
    page.wait_for_url("**/desk?done=withdrawn_on&count=2")

    assert told(page) == "2 posts were taken back."


def test_a_space_is_paused_and_opened_again(site, api, at_desk):
    page, token = at_desk.page, new_token(site.gateway, "submit")
    confirm(page, page.locator("[aria-label='Pause notes']"))
    page.wait_for_url("**/desk?done=paused")
    assert page.locator("article:has(#space-notes) .pill.shut").inner_text() == "paused"
    assert post(api, token, "p1", "notes").status_code == 409

    page.click("[aria-label='Open notes again']")
    page.wait_for_url("**/desk?done=opened")
    assert post(api, token, "p1", "notes").status_code == 202


def test_a_token_is_made_used_and_revoked(site, api, at_desk):
    page = at_desk.page
    page.click("summary:text-is('Make a token')")
    page.fill("#make-name", "the <forum>")
    page.check("[name=scope-submit]")
    page.check("[name=space-notes]")
    page.click("button:text-is('Make a token')")
    page.wait_for_url("**/desk/token")
    token = page.inner_text(".secret")
    assert post(api, token, "p1", "notes").status_code == 202
    assert post(api, token, "p1", "talk").status_code == 403
    page.reload()
    assert page.url == f"{site.url}/desk"
    assert token not in page.content()

    confirm(page, page.locator("[aria-label='Revoke the token the <forum>']"))
    page.wait_for_url("**/desk?done=revoked")
    assert post(api, token, "p1", "notes").status_code == 401


def test_revoking_an_operators_token_ends_the_session(browser, site, at_desk):
    token = new_token(site.gateway, "operate")
    with visited(browser, f"{site.url}/desk") as other:
        sign_in(other.page, token)
        other.page.wait_for_selector("h1:has-text('Desk')")
        (number,) = [each.id for each in site.gateway.catalog.tokens.values() if each.hash == hashed(token)]
        at_desk.page.reload()
        confirm(at_desk.page, at_desk.page.locator(f"tr:has(code:text-is('{number}')) button"))
        at_desk.page.wait_for_url("**/desk?done=revoked")
        confirm(other.page, other.page.locator("[aria-label='Pause notes']"))
        other.page.wait_for_url("**/desk/sign-in?then=/desk")

        assert site.gateway.catalog.space("notes").is_open


# --- forms from elsewhere -------------------------------------------------------------------------------


def send_form(page, address, fields):
    """A page sends a form by itself, as another site's would."""
    page.evaluate(
        """([address, fields]) => {
            const form = document.createElement('form');
            form.method = 'post';
            form.action = address;
            for (const [name, value] of Object.entries(fields)) {
                const input = document.createElement('input');
                input.name = name;
                input.value = value;
                form.append(input);
            }
            document.body.append(form);
            form.submit();
        }""",
        [address, fields],
    )


def test_a_form_without_the_sessions_mark_is_refused(site, at_desk):
    with at_desk.page.expect_navigation() as moved:
        send_form(at_desk.page, "/desk", {"act": "pause", "space": "notes"})

    assert moved.value.status == 403
    assert at_desk.page.inner_text("[role=alert]").startswith("this form is too old or not yours")
    assert site.gateway.catalog.space("notes").is_open
    assert at_desk.complaints == [REFUSED]
    at_desk.complaints.clear()


def test_a_form_from_another_origin_is_refused_even_with_the_sessions_mark(browser, site, at_desk):
    csrf = at_desk.page.get_attribute("[name=csrf] >> nth=0", "value")
    evil = at_desk.page.context.new_page()
    evil.route(
        "**/evil",
        lambda route: route.fulfill(body="<!doctype html><body></body>", content_type="text/html"),
    )
    evil.goto(site.url.replace("127.0.0.1", "localhost") + "/evil")
    with evil.expect_navigation() as moved:
        send_form(evil, f"{site.url}/desk", {"act": "pause", "space": "notes", "csrf": csrf})

    assert moved.value.status == 403
    assert moved.value.request.headers.get("sec-fetch-site", "cross-site") == "cross-site"
    assert site.gateway.catalog.space("notes").is_open


# --- without scripts, for everybody, and small ----------------------------------------------------------


def test_everything_works_without_scripts(browser, site):
    with visited(browser, f"{site.url}/desk", scripts=False) as found:
        page = found.page
        sign_in(page, new_token(site.gateway, "admin"))
        page.wait_for_url(f"{site.url}/desk")
        page.click("[aria-label='Pause notes']")
        page.wait_for_url("**/desk?done=paused")
        page.click("[aria-label='Open notes again']")
        page.wait_for_url("**/desk?done=opened")
        assert re.search(r"\d\d:\d\d UTC", page.inner_text("main"))
        page.click("text=Sign out")
        page.wait_for_url("**/desk/sign-in")


def test_health_is_refreshed_while_the_page_stays_open(browser, site):
    token = new_token(site.gateway, "operate")
    with visited(browser, f"{site.url}/desk") as found:
        page = found.page
        page.clock.install()
        sign_in(page, token)
        page.wait_for_selector("[data-health]")
        page.wait_for_load_state()  # the script has begun to count
        page.evaluate("document.querySelector('[data-health]').replaceChildren()")
        with page.expect_response("**/desk/health"):
            page.clock.run_for(31_000)
        page.wait_for_selector("[data-health] dd:has-text('reached')")

        (number,) = [each.id for each in site.gateway.catalog.tokens.values() if each.hash == hashed(token)]
        site.gateway.revoke_token(number)
        with page.expect_request("**/desk/health"):
            page.clock.run_for(31_000)
        until(lambda: asks_nothing(found))  # there is nobody any more to ask for


def asks_nothing(found) -> bool:
    """Whether half a minute goes by without a request."""
    before = len(found.requests)
    found.page.clock.run_for(31_000)
    return len(found.requests) == before


def hashed(token: str) -> bytes:
    from tarry.gateway.catalog import token_hash

    return token_hash(token)


@pytest.fixture(scope="module")
def full(site, api, browser):
    """Everything that a desk can show: parked posts, waiting ones, a policy about to take effect."""
    gateway, token = site.gateway, new_token(site.gateway, "submit")
    for n in range(7):
        for _ in range(n % 3 + 1):
            post(api, token, f"paper {n}", "reviews", more_to_come=True, actor=f"a{n}")
    with visited(browser, f"{site.url}/desk") as found:
        sign_in(found.page, new_token(gateway, "operate"))
        park(site, api, found.page, "Paper 12: counting birds by ear, and what the neighbours said")
    longer = Policy(epsilon="3", gap="2h", window="0.5s", tick="0.1s", labels="declared")
    with gateway.store.transaction("closing") as transaction:
        transaction.tell("clear_outlook")
        transaction.tell("look_ahead", ticks=hour_ticks(gateway.vault.settings))
        change_policy(transaction, gateway.clock, "reviews", longer)
    gateway.refresh()
    return site


def test_a_policy_of_an_audit_goes_to_a_space_that_is_made_and_changed(at_desk, site):
    """What it costs comes first, and nothing is done before somebody has seen it."""
    page = at_desk.page
    page.goto(f"{site.url}/audit/samples/forum?choice=0")
    page.click("text=Use for a space")
    page.wait_for_url("**/desk/space?policy=*")
    assert page.input_value("#policy").startswith("epsilon = 0.5")
    page.fill("#name", "made")
    page.fill("#title", "Made here")
    page.fill("#policy", write_policy(LONG))
    page.click("button:text-is('Show what it costs')")
    page.wait_for_selector("[data-preview]")
    assert "made" not in site.gateway.catalog.spaces
    page.click("button:text-is('Make this space')")
    page.wait_for_url("**/desk?done=made_space")
    assert told(page) == "The space is made."

    page.click("[aria-label='Change Made here']")
    page.fill("#policy", write_policy(replace(LONG, epsilon="1")))
    page.click("button:text-is('Show what it costs')")
    assert "takes nothing in for 2h" in page.inner_text("[data-preview]")
    page.click("button:text-is('Change it so')")
    page.wait_for_url("**/desk?done=changed_space")
    assert page.locator("article:has-text('Made here') .pill.shut").first.inner_text() == "changes"
    with site.gateway.store.transaction("closing") as transaction:
        end_space(transaction, site.gateway.clock, "made")
    site.gateway.refresh()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_the_desk_keeps_nobody_out(browser, full, size, dark):
    with visited(browser, f"{full.url}/desk", size=size, dark=dark) as found:
        page = found.page
        sign_in(page, new_token(full.gateway, "admin"))
        page.wait_for_selector("h1:has-text('Desk')")
        assert page.locator(".bars rect").count() > 0
        assert "admission pauses until" in page.inner_text("main")
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate(OVERFLOW) == 0
        check_access(page)


@pytest.mark.parametrize(("size", "dark"), [("phone", True), ("desktop", False)])
def test_the_smaller_pages_keep_nobody_out(browser, full, size, dark):
    with visited(browser, f"{full.url}/desk/promise/reviews/1", size=size, dark=dark) as found:
        page = found.page
        check_access(page)
        sign_in(page, new_token(full.gateway, "admin"))
        page.wait_for_url("**/desk/promise/reviews/1")
        assert page.evaluate(OVERFLOW) == 0
        check_access(page)
        page.click("text=Back to the desk")
        page.wait_for_url("**/desk")  # and its script
        page.click("[aria-label='Pause notes']")
        page.wait_for_selector("dialog[open]")
        check_access(page)


def test_a_cold_page_is_small(full, api):
    """As it goes over the wire where a proxy packs pages; scripts and style are packed by us."""
    secret = new_token(full.gateway, "admin")
    ours = {"Sec-Fetch-Site": "same-origin"}
    api.post("/desk/sign-in", data={"token": secret}, headers=ours)
    page = api.get("/desk")
    size = len(gzip.compress(page.content))
    for path in set(re.findall(r'"(/static/[^"]*)"', page.text)):
        with api.stream("GET", path) as answer:
            size += sum(len(part) for part in answer.iter_raw())

    assert page.status_code == 200
    assert size < BIG_PAGE
