"""The board and the receipt page on the server's side: forms, cookies, and no word of an arrival."""

import re
from unittest.mock import Mock

import pytest
from starlette.testclient import TestClient

from tarry.console.board import EVENING, fill_with_an_evening, name_on
from tarry.console.site import create_site
from tarry.core import plugins
from tarry.core.policy import Policy
from tarry.gateway.config import Config
from tarry.gateway.feed import Feed, FeedOutlet
from tarry.gateway.gateway import Submission
from tarry.gateway.limits import Limits
from tarry.gateway.space_changes import open_space
from tarry.gateway.testing import small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Unreachable
from tarry.keep.posts import Post
from tarry.keep.releaser import MOST_ATTEMPTS, Releaser

OURS = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
FIELDS = {"target": "cats", "content": "They do not care."}


@pytest.fixture
def gateway():
    return small_gateway(spaces=("talk", "wiki"))


@pytest.fixture
def visitor(gateway):
    site = create_site(gateway, config=Config(boards="talk"))
    with TestClient(site, "http://localhost", follow_redirects=False) as http:
        yield http


def pass_ticks(gateway, ticks):
    for _ in range(ticks):
        gateway.clock.sleep(1)
        with gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, gateway.keys, gateway.clock)
        Releaser(gateway.vault).release()


def hand_in(visitor, **fields):
    return visitor.post("/board/talk", data={**FIELDS, **fields}, headers=OURS)


@pytest.mark.parametrize(
    "path", ["/", "/board/talk", "/board/talk/promise", "/workbench", "/desk", "/desk/sign-in", "/audit"]
)
def test_no_page_is_shown_under_a_name_that_is_not_ours(gateway, path):
    """Another site cannot have its name point here and read what a visitor's browser may read."""
    site = create_site(gateway, config=Config(hosts="forum.example"))
    with TestClient(site, follow_redirects=False) as http:
        ours = http.get(path, headers={"Host": "Forum.example:443"})
        theirs = http.get(path, headers={"Host": "evil.example:8420"})

    assert ours.status_code in {200, 303}
    assert theirs.status_code == 421
    assert "this gateway does not answer to the host name in this address" in theirs.text


@pytest.mark.parametrize("path", ["/nope", "/boards", "/board/talk/more"])
def test_where_nothing_is_a_browser_gets_a_page_and_a_program_json(visitor, path):
    page = visitor.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    told = visitor.get(path, headers={"Accept": "*/*"})

    assert (page.status_code, told.status_code) == (404, 404)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert '<p class="problem" role="alert">there is nothing at this address' in page.text
    assert told.headers["content-type"] == "application/problem+json"
    assert visitor.get("/v1/nope", headers={"Accept": "text/html"}).json()["status"] == 404


def test_a_wrong_method_is_a_page_for_a_browser_too(visitor):
    answer = visitor.post("/workbench", headers={"Accept": "text/html"})

    assert answer.status_code == 405
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_page_about_nothing_is_not_shown_under_another_name_either(gateway):
    site = create_site(gateway, config=Config(hosts="forum.example"))
    with TestClient(site) as http:
        answer = http.get("/nope", headers={"Host": "evil.example", "Accept": "text/html"})

    assert answer.status_code == 421


def test_a_post_under_another_name_is_refused_unread(visitor):
    answer = visitor.post("/board/talk", data=FIELDS, headers={**OURS, "Host": "evil.example"})

    assert answer.status_code == 421


def test_one_client_posts_so_often_and_no_other_notices(gateway):
    """The same answers, whether or not somebody else is stopped meanwhile."""
    limits = Limits(client_posts_per_min=1, client_burst=3)
    site = create_site(gateway, limits=limits, config=Config(boards="talk"))
    with TestClient(site, "http://localhost", follow_redirects=False) as mine:
        yours = TestClient(site, "http://localhost", follow_redirects=False, client=("2001:db8::1", 4711))
        neighbour = TestClient(
            site, "http://localhost", follow_redirects=False, client=("2001:db8::2", 4711)
        )
        statuses = [hand_in(mine).status_code for _ in range(5)]
        refused = hand_in(mine)

        assert statuses == [303, 303, 303, 429, 429]
        assert "too many posts came from your network address: try again in " in refused.text
        assert [hand_in(each).status_code for each in (yours, neighbour, yours, neighbour)] == [
            303,
            303,
            303,
            429,  # one customer has the whole network
        ]


def test_a_post_is_answered_with_the_way_to_its_receipt(gateway, visitor):
    answer = hand_in(visitor)

    assert answer.status_code == 303
    assert re.fullmatch(r"/receipt/[0-9a-f]{64}", answer.headers["location"])
    cookie = answer.headers["set-cookie"]
    assert re.match(
        r"tarry_me=[0-9a-f]{64}; HttpOnly; Max-Age=31536000; Path=/board; SameSite=strict$", cookie
    )
    pass_ticks(gateway, 200)
    (item,) = Feed(gateway.store, "talk").latest()
    assert item.content == b"They do not care."
    assert item.options["by"]


def test_over_https_the_cookie_says_so(gateway):
    site = create_site(gateway, config=Config(boards="talk", https=True))
    with TestClient(site, base_url="https://localhost", follow_redirects=False) as visitor:
        assert "; Secure" in hand_in(visitor).headers["set-cookie"]


def test_one_browser_is_one_actor(gateway, visitor):
    """Two posts on different threads within the window are batched, and released as such."""
    for target in ("cats", "dogs"):
        hand_in(visitor, target=target)
    with gateway.store.transaction("reading") as transaction:
        rows = transaction._connection.execute("SELECT actor, pseudonym FROM arrivals").fetchall()

    assert len({row["actor"] for row in rows}) == 1
    assert len({row["pseudonym"] for row in rows}) == 2


@pytest.mark.parametrize("cookie", ["", "short", "z" * 64, "A" * 64, "0" * 63])
def test_a_cookie_that_is_not_ours_is_replaced(visitor, cookie):
    answer = visitor.post("/board/talk", data=FIELDS, headers={**OURS, "Cookie": f"tarry_me={cookie}"})

    assert re.search(r"tarry_me=([0-9a-f]{64});", answer.headers["set-cookie"])[1] != cookie


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
)
def test_a_form_from_elsewhere_is_refused(gateway, visitor, headers):
    answer = visitor.post("/board/talk", data=FIELDS, headers=headers)

    assert answer.status_code == 403
    assert "not sent by this site" in answer.text
    with gateway.store.transaction("reading") as transaction:
        assert transaction.one("busy_until")["waiting"] == 0


def test_an_older_browser_tells_by_its_origin(visitor):
    assert (
        visitor.post("/board/talk", data=FIELDS, headers={"Origin": "http://localhost"}).status_code == 303
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"target": ""},
        {"content": "  "},
        {"target": "t" * 201},
        {"content": "c" * 20_001},
    ],
)
def test_what_is_empty_or_too_long_is_refused_in_one_sentence(visitor, fields):
    answer = hand_in(visitor, **fields)

    assert answer.status_code == 422
    assert "1 to 200 characters" in answer.text


def test_only_the_boards_that_the_operator_opened_take_posts(visitor):
    assert visitor.post("/board/wiki", data=FIELDS, headers=OURS).status_code == 403
    assert visitor.post("/board/nowhere", data=FIELDS, headers=OURS).status_code == 404
    assert visitor.get("/board/nowhere").status_code == 404


def test_a_paused_board_says_so(gateway, visitor):
    with gateway.store.transaction("closing") as transaction:
        open_space(transaction, "talk", is_open=False)
    gateway.refresh()

    assert "nobody can post at the moment" in visitor.get("/board/talk").text
    assert hand_in(visitor).status_code == 409


def test_markup_in_posts_and_threads_stays_text(gateway, visitor):
    hand_in(visitor, target="<img src=x onerror=alert(1)>", content="<script>alert(1)</script>")
    pass_ticks(gateway, 200)
    page = visitor.get("/board/talk").text

    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.parametrize("options", [{}, {"by": ""}, {"by": 7}, {"by": ["x"]}, {"title": "other"}])
def test_posts_that_came_another_way_are_shown_too(gateway, visitor, options):
    """What was handed in over the API has no name of the board's, or any that its sender chose."""
    post = Post(actor="ann", target="cats", outlet="", content=b'{"score": 3}', options=options)
    gateway.admit([Submission(space="talk", posts=[post])])
    pass_ticks(gateway, 200)
    answer = visitor.get("/board/talk")

    assert answer.status_code == 200
    assert "{&#34;score&#34;: 3}" in answer.text


def test_no_page_changes_at_an_arrival(gateway, visitor):
    pages = ["/board/talk", "/board/wiki", "/board/talk/promise"]
    before = [(answer.content, answer.headers) for answer in map(visitor.get, pages)]
    for n in range(10):
        hand_in(visitor, target=f"thread {n}")
    after = [(answer.content, answer.headers) for answer in map(visitor.get, pages)]

    assert after == before


def test_every_page_has_the_headers_of_a_page(visitor):
    answer = visitor.get("/board/talk")

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("ends", ["waiting", "parked"])
def test_a_post_that_may_have_appeared_says_so_and_cannot_be_changed(gateway, visitor, monkeypatch, ends):
    """As long as nobody knows, the page offers neither to change it nor to take it back."""
    deliver = Mock(side_effect=Unreachable("it hung up", sent=True))
    monkeypatch.setattr(gateway.vault.outlets["talk"], "deliver", deliver)
    monkeypatch.setattr(FeedOutlet, "in_store", False)  # as a place elsewhere
    where = hand_in(visitor).headers["location"]
    assert "Withdraw" in visitor.get(where).text
    for _ in range(200):
        if not deliver.called:
            pass_ticks(gateway, 1)
    for _ in range(MOST_ATTEMPTS if ends == "parked" else 0):
        gateway.clock.sleep(300)
        Releaser(gateway.vault).sweep()
        Releaser(gateway.vault).release()
    page = visitor.get(where).text

    assert gateway.receipts.status(where[-64:]).state == ends
    assert "may have appeared" in page
    assert "<form" not in page.partition("<main")[2]
    assert "hung up" not in page
    assert "has been told" not in page  # nobody was: it is on a list


def test_a_receipt_page_says_between_which_moments_a_post_appears(monkeypatch):
    """Where its draws must not be told before its label is decided; then it says when."""
    monkeypatch.setitem(plugins._OURS["law"], "loose", "contracts.keeping:loose")
    gateway = small_gateway(Policy(epsilon="1", gap="60s", window="10s", law="loose"))
    site = create_site(gateway, config=Config(boards="talk"))
    with TestClient(site, "http://localhost", follow_redirects=False) as http:
        where = hand_in(http).headers["location"]
        before = http.get(where).text
        pass_ticks(gateway, 10)
        status = gateway.receipts.status(where[-64:])

    assert re.search(r"Your post appears between <strong>.*</strong> and <strong>.*</strong>", before)
    assert "one of two moments" not in before
    assert "When exactly is told once" in before
    assert (status.latest - status.earliest, status.in_between) == (74, True)


def test_a_receipt_never_says_that_a_post_appears_at_a_moment_that_is_over(gateway, visitor, monkeypatch):
    """The place that it goes to is away: from the moment on it was due, and has not appeared yet."""
    monkeypatch.setattr(gateway.vault.outlets["talk"], "deliver", Mock(side_effect=Unreachable("away")))
    monkeypatch.setattr(FeedOutlet, "in_store", False)  # as a place elsewhere
    where = hand_in(visitor).headers["location"]
    shown = "Your post was due at", "Your post appears at"
    before = visitor.get(where).text
    while (status := gateway.receipts.status(where[-64:])).release_at is None:
        pass_ticks(gateway, 1)
    seconds = float(status.release_at) - gateway.clock.read().wall / 1e6
    pass_ticks(gateway, int(seconds) + 2)
    after = visitor.get(where).text

    for page, (hidden, seen) in ((before, shown), (after, shown[::-1])):
        assert re.search(rf"<div data-\w+>\s*<p>{seen}", page)
        assert not re.search(rf"<div data-\w+>\s*<p>{hidden}", page)
    assert "<textarea" in after


def test_nobody_is_told_about_a_post_without_its_receipt(visitor):
    strange = visitor.get(f"/receipt/{'0' * 64}")

    assert strange.status_code == 404
    assert "No post has this receipt" in strange.text
    for change in ("edit", "withdraw"):
        answer = visitor.post(f"/receipt/{'0' * 64}/{change}", data={"content": "x"}, headers=OURS)
        assert answer.status_code == 404


def test_what_has_left_cannot_be_changed(gateway, visitor):
    there = hand_in(visitor).headers["location"]
    pass_ticks(gateway, 200)

    assert "Your post has appeared." in visitor.get(there).text
    answer = visitor.post(f"{there}/withdraw", headers=OURS)
    assert answer.status_code == 409
    assert "cannot be changed any more" in answer.text


def test_into_the_place_that_an_operator_emptied_the_author_puts_something_else(gateway, visitor):
    there = hand_in(visitor).headers["location"]
    gateway.withdraw_on("talk", "cats")
    emptied = visitor.get(there).text
    answer = visitor.post(f"{there}/edit", data={"content": "They do."}, headers=OURS)
    filled = visitor.get(there).text
    visitor.post(f"{there}/withdraw", headers=OURS)
    withdrawn = visitor.get(there).text

    assert "An operator has withdrawn your post." in emptied
    assert f"{there}/withdraw" not in emptied
    assert answer.status_code == 303
    assert "They do.</textarea>" in filled
    assert "Your post was withdrawn." in withdrawn
    assert f"{there}/edit" not in withdrawn


def test_static_files_are_kept_for_ever_under_a_name_that_changes(visitor):
    address = re.search(r'href="(/static/\w+/style.css)"', visitor.get("/board/talk").text)[1]
    answer = visitor.get(address)

    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert visitor.get("/static/000000000000/style.css").status_code == 404
    assert visitor.get(address.replace("style.css", "nothing.css")).status_code == 404
    assert visitor.get(address.replace("style.css", "..%2fsite.py")).status_code == 404


def test_names_on_a_thread_are_steady_and_say_nothing_elsewhere(gateway):
    names = {name_on(gateway.keys, "a" * 64, "talk", f"t{n}") for n in range(50)}

    assert len(names) == 50
    assert name_on(gateway.keys, "a" * 64, "talk", "t1") == name_on(gateway.keys, "a" * 64, "talk", "t1")
    assert name_on(gateway.keys, "a" * 64, "wiki", "t1") not in names


def test_the_evening_is_written_once_and_lies_in_the_past(gateway, visitor):
    assert fill_with_an_evening(gateway, "talk") == len(EVENING)
    assert fill_with_an_evening(gateway, "talk") == 0

    items = Feed(gateway.store, "talk").latest()
    assert len({item.id for item in items}) == len(EVENING)
    assert all(item.at <= gateway.clock.read().wall for item in items)
    assert "Paper 44: maps for the blind" in visitor.get("/board/talk").text
