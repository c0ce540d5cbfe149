"""Schemathesis reads the OpenAPI page: what fits is accepted, what does not is refused, nothing breaks."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig

from tarry.gateway.limits import Limits
from tarry.gateway.operations import openapi

LONGEST = 60
CONFIG = {
    "seed": 6,
    "generation": {"deterministic": True, "database": "none", "mode": "all"},
    "dictionaries": {"spaces": {"values": ["choice"]}},
    "parameters": {"path.space": {"dictionary": "spaces", "probability": 0.9}},
    # Without a receipt there is no such post, and no other answer tells less.
    "checks": {"missing_required_header": {"expected-statuses": [401, 404, 422]}},
}


class Stage:
    """An app that hands on to the one of the test that runs now."""

    app = None

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)


STAGE = Stage()
schema = schemathesis.openapi.from_dict(openapi(), config=SchemathesisConfig.from_dict(CONFIG))
schema.app = STAGE
# A stream has no end: it is tested by hand.
schema = schema.exclude(operation_id="follow_feed")


@pytest.fixture
def site(new_site):
    """A gateway with something in it, and a space where accounts may choose."""
    site = new_site(limits=Limits(rate_per_s=1e6, burst=10**6, batch_posts=1000))
    site.add_space("choice", adoption="opt-out")
    site.receipt("ann", "p0", {"a": 1}, space="choice")
    site.pass_ticks(LONGEST)
    STAGE.app = site.app
    yield site
    assert site.told == []


def ground(body: object, visible: str) -> None:
    """No page can say which posts there are: whatever a post depends on is one that is visible."""
    if isinstance(body, dict):
        posts = body["posts"] if isinstance(body.get("posts"), list) else [body]
        for post in posts:
            wanted = post.get("depends_on") if isinstance(post, dict) else None
            if isinstance(wanted, str) and 1 <= len(wanted) <= 64:
                post["depends_on"] = visible


@schema.parametrize()
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_the_api_does_what_its_page_says(case, site):
    """Every operation, with edge cases and with noise; a page that is exact, and no 5xx."""
    headers = {"Authorization": f"Bearer {site.token}", "Tarry-Receipt": site.receipt("bob")}
    ground(case.body, site.feed("choice")["items"][0]["id"])
    case.call_and_validate(headers=headers)


ANY = st.one_of([operation.ok().as_strategy() for operation in schema.get_all_operations()])


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.lists(ANY, min_size=10, max_size=20))
def test_one_thing_after_another_breaks_nothing(site, cases):
    """Posts, receipts, tokens made and revoked, spaces paused: in any order, while time goes by."""
    receipt = site.receipt("bob")
    for case in cases:
        # A token of its own for each call: the last one may have been revoked.
        headers = {**site.as_("submit", "operate", "admin"), "Tarry-Receipt": receipt}
        ground(case.body, site.feed("choice")["items"][0]["id"])
        response = case.call_and_validate(headers=headers)
        if response.status_code == 202:
            told = response.json()
            receipt = told.get("receipts", [told])[-1]["receipt"]
        site.pass_ticks(2)
