"""The first page, and the sentence at the head of every page."""

import pytest
from starlette.testclient import TestClient

from tarry.console.pages import texts
from tarry.console.site import create_site
from tarry.console.story.figures import budget, days, delay, gap, laws
from tarry.core.errors import BadInput
from tarry.gateway.config import Config, read_config
from tarry.gateway.testing import small_gateway

PAGES = ["/", "/board/talk", "/board/talk/promise", "/story", "/workbench", "/desk/sign-in", "/nope"]
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def visitor():
    with TestClient(create_site(small_gateway()), "http://localhost", follow_redirects=False) as http:
        yield http


def test_the_first_page_has_the_boards_by_their_titles(visitor):
    answer = visitor.get("/")

    assert answer.status_code == 200
    assert '<li><a href="/board/talk">' in answer.text


@pytest.mark.parametrize("path", PAGES)
def test_at_the_head_of_every_page_one_sentence_says_what_this_is(visitor, path):
    head = visitor.get(path, headers=BROWSER).text.partition("<main")[0]

    assert texts()["common"]["what"] in head


def test_one_board_is_shown_at_once_and_several_as_a_list(visitor):
    assert visitor.get("/board").headers["location"] == "/board/talk"
    with TestClient(create_site(small_gateway(spaces=("talk", "tea"))), "http://localhost") as other:
        assert '<a href="/board/tea">' in other.get("/board").text


def test_the_first_page_is_the_story_where_the_operator_has_set_it(visitor):
    site = create_site(small_gateway(), config=Config(front="story"))
    with TestClient(site, "http://localhost") as http:
        assert http.get("/").text == visitor.get("/story").text

    with pytest.raises(BadInput, match="unknown front 'tales': use boards or story"):
        read_config({"TARRY_FRONT": "tales"})


def test_the_story_is_read_without_a_script(visitor):
    """Each picture is in the page, and so is the sentence that says what it shows."""
    page = visitor.get("/story").text

    for part in (delay(), laws(), gap(), budget(), days()):
        assert part.picture in page
        assert f'id="{part.name}-sentence" data-sentence>{part.shown.sentence}<' in page
    assert page.count('role="img"') == 7
    for name in ("observer", "observer-delayed"):
        assert f'id="{name}-sentence"' in page


def test_the_story_is_small_and_the_same_for_everybody(visitor):
    plain = visitor.get("/story", headers={"Accept-Encoding": "identity"})
    packed = visitor.get("/story", headers={"Accept-Encoding": "gzip"})

    assert plain.text == packed.text
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 40_000
    assert "unsafe" not in packed.headers["content-security-policy"]
    assert "set-cookie" not in packed.headers
