"""The first page, and the sentence at the head of every page."""

import pytest
from starlette.testclient import TestClient

from tarry.console.pages import texts
from tarry.console.site import create_site
from tarry.gateway.testing import small_gateway

PAGES = ["/", "/board/talk", "/board/talk/promise", "/workbench", "/desk/sign-in", "/nope"]
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
