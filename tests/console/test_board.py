"""The board on the server's side: threads, forms, cookies, and no word of an arrival."""

import re
from fractions import Fraction
from html import unescape
from itertools import chain
from math import ceil

import pytest
from starlette.testclient import TestClient

from contracts.at_board import FIELDS, OURS, board_visitor, hand_in, pass_ticks, plain
from tarry.console.board import name_on
from tarry.console.demonstration import EVENING, fill_with_an_evening
from tarry.console.site import create_site
from tarry.console.workbench.instrument import about
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.gateway.config import Config
from tarry.gateway.feed import Feed, FeedOutlet
from tarry.gateway.gateway import Submission
from tarry.gateway.limits import Limits
from tarry.gateway.space_changes import open_space
from tarry.gateway.testing import small_gateway
from tarry.keep.posts import Post, Release


@pytest.fixture
def gateway():
    return small_gateway(spaces=("talk", "wiki"))


@pytest.fixture
def visitor(gateway):
    with board_visitor(gateway) as http:
        yield http


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
    thread = visitor.get("/board/talk/thread", params={"of": "<img src=x onerror=alert(1)>"}).text
    assert "<img src=x" not in thread
    assert "<script>alert" not in thread


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
    """Not even that of a thread on which somebody has just posted, or of one that has not appeared."""
    for n in range(25):
        hand_in(visitor, target=f"thread {n}")
    pass_ticks(gateway, 200)
    (newest, *_) = Feed(gateway.store, "talk").latest(1)
    pages = [
        "/board/talk",
        "/board/talk?page=2",
        "/board/wiki",
        "/board/talk/promise",
        "/board/talk/thread?of=thread+3",
        "/board/talk/thread?of=not+there+yet",
        *(
            "/",
            "/story",
            "/board",
            "/audit",
            "/audit/samples/forum",
            "/workbench",
            "/workbench/figures.json",
        ),
        f"/board/talk/post/{newest.id}",
        f"/board/talk/post/{'0' * 32}",
    ]
    before = [(answer.content, answer.headers) for answer in map(visitor.get, pages)]
    for n in range(10):
        hand_in(visitor, target=f"thread {n}")
        hand_in(visitor, target="not there yet")
    after = [(answer.content, answer.headers) for answer in map(visitor.get, pages)]

    assert after == before
    assert [visitor.get(path).status_code for path in pages] == [200] * 5 + [404] + [200] * 7 + [303, 404]


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


# --- threads ------------------------------------------------------------------------------------------


def fill(gateway, posts):
    """Releases as the feed has them: a target and a text each, in this order."""
    by = {"by": "ash owl"}
    releases = [
        Release(id=f"{n:032x}", target=target, content=text.encode(), options=by, at=Fraction(n))
        for n, (target, text) in enumerate(posts, 1)
    ]
    with gateway.store.transaction("closing") as transaction:
        FeedOutlet("talk").record(transaction, releases)


def test_the_list_has_twenty_threads_a_page_and_the_newest_first(gateway, visitor):
    fill(gateway, [(f"thread {n}", f"text {n}") for n in range(45)] + [("thread 3", "again")])
    shown = [
        re.findall(r'data-target="([^"]*)"', visitor.get(f"/board/talk?page={n}").text) for n in (1, 2, 3)
    ]

    assert [len(page) for page in shown] == [20, 20, 5]
    assert [*chain(*shown)] == ["thread 3"] + [f"thread {n}" for n in range(44, -1, -1) if n != 3]
    first = plain(visitor.get("/board/talk").text)
    assert "thread 3 2 posts ash owl · 1970-01-01 00:00:46 UTC again" in first
    assert "Page 1 of 3 Older threads" in first
    assert visitor.get("/board/talk?page=4").status_code == 200  # it is empty, and says so
    for page in ("0", "x", "1&page=2"):
        assert visitor.get(f"/board/talk?page={page}").status_code == 422


def test_a_thread_has_fifty_posts_a_page_oldest_first_and_begins_with_the_last_page(gateway, visitor):
    fill(gateway, [("a/b &c", f"text {n}.") for n in range(120)] + [("other", "elsewhere")])
    thread = {"of": "a/b &c"}
    texts = [
        re.findall(r"text [0-9]+\.", visitor.get("/board/talk/thread", params={**thread, "page": n}).text)
        for n in (1, 2, 3)
    ]

    assert [*chain(*texts)] == [f"text {n}." for n in range(120)]
    last = visitor.get("/board/talk/thread", params=thread).text
    assert re.findall(r"text [0-9]+\.", last) == texts[2]
    assert "elsewhere" not in last
    assert visitor.get("/board/talk/thread", params={**thread, "page": 4}).status_code == 404
    link = re.search(r'<h3><a href="([^"]*)">a/b', visitor.get("/board/talk").text)[1]
    assert visitor.get(unescape(link)).text == last


def test_a_link_to_a_post_leads_to_its_page_and_place(gateway, visitor):
    fill(gateway, [("cats", f"text {n}.") for n in range(120)])
    answer = visitor.get(f"/board/talk/post/{60:032x}")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/board/talk/thread?of=cats&page=2#p-{60:032x}"
    page = visitor.get(answer.headers["location"]).text
    assert re.search(rf'id="p-{60:032x}">.*?text 59\.', page, re.DOTALL)
    missing = visitor.get(f"/board/wiki/post/{60:032x}")  # of another board
    assert (missing.status_code, "no post of this board has this address" in missing.text) == (404, True)


def test_a_long_post_is_shown_in_part(gateway, visitor):
    fill(gateway, [("cats", "ä" * 50_000)])

    assert "ä" * 40_000 + "…" in visitor.get("/board/talk/thread?of=cats").text
    assert "ä" * 600 + "…" in visitor.get("/board/talk").text
    assert "The rest is in the feed." in visitor.get("/board/talk/thread?of=cats").text


def test_feed_readers_find_the_feed_on_each_page_of_a_board(gateway, visitor):
    fill(gateway, [("cats", "text")])
    for path in ("/board/talk", "/board/talk/thread?of=cats"):
        link = re.search(r'type="application/atom\+xml"[^>]* href="([^"]*)"', visitor.get(path).text)
        assert visitor.get(link[1]).headers["content-type"].startswith("application/atom+xml")


# --- the form ------------------------------------------------------------------------------------------


def test_where_labels_are_declared_the_question_has_no_answer_beforehand_and_says_what_each_waits():
    """And a form without an answer is refused: nobody gets one by forgetting."""
    gateway = small_gateway(Policy(epsilon="1", gap="30m", window="10m", labels="declared"))
    with board_visitor(gateway) as http:
        page = http.get("/board/talk").text
        refused, taken = hand_in(http), hand_in(http, more="no")
        costs = plan(gateway.catalog.space("talk").version.policy)

    assert len(re.findall(r'type="radio" name="more"', page)) == 2
    assert "checked" not in page
    for each in (costs.batched, costs.unbatched):
        assert f"waits about {about(float(each.mean))}, {about(float(each.maximum))} at most" in plain(page)
    assert (refused.status_code, taken.status_code) == (422, 303)
    assert "the question whether you will post more has no answer" in refused.text
    assert taken.headers["location"].endswith("?answer=no")


def test_where_labels_are_held_there_is_no_question_but_what_a_post_waits(gateway, visitor):
    page, costs = visitor.get("/board/talk").text, plan(gateway.catalog.space("talk").version.policy)

    assert 'name="more"' not in page
    for each, words in ((costs.unbatched, "A post waits about"), (costs.batched, "it waits about")):
        assert f"{words} {about(float(each.mean))}, and {about(float(each.maximum))} at" in plain(page)


def test_a_reply_goes_to_its_thread(gateway, visitor):
    fill(gateway, [("<cats>", "first")])
    page = visitor.get("/board/talk/thread?of=%3Ccats%3E").text

    assert '<input type="hidden" name="target" value="&lt;cats&gt;">' in page
    hand_in(visitor, target="<cats>", content="a reply")
    pass_ticks(gateway, 200)
    assert "a reply" in visitor.get("/board/talk/thread?of=%3Ccats%3E").text


# --- the promise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "words", "sure"),
    [
        ({}, "You post twice within 5m, on two threads.", 73.11),
        ({"labels": "declared"}, "You say that you will post more, and you post twice within 5m", 73.11),
        ({"labels": "follower"}, "or the second is somebody else&#39;s who wrote up to 11m later", 73.11),
        ({"labels": "simultaneous", "window": "0s"}, "You post twice at the same moment", 73.11),
        (
            {"labels": "none", "law": "label-free", "delta": "0.1", "window": "0s"},
            "except with a chance of 0.1",
            73.11,
        ),
    ],
    ids=lambda value: value.get("labels", "held") if isinstance(value, dict) else "",
)
def test_the_promise_begins_with_an_example_and_rounds_against_us(policy, words, sure):
    """Epsilon 1: an even bet becomes 73.1 % at most, said as 74 %."""
    gateway = small_gateway(Policy(**{"epsilon": "1", "gap": "11m", "window": "5m", **policy}))
    with board_visitor(gateway) as http:
        page = http.get("/board/talk/promise").text
    example = re.search(r'<p class="example">(.*?)</p>', page, re.DOTALL)[1]

    assert words in example
    assert f"they are at most {ceil(sure)} % sure" in example
    assert page.index("example") < page.index("Promised") < page.index("Not promised")
