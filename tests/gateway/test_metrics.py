"""The metrics: right, guarded, and deaf to arrivals."""

import re

import pytest
from starlette.testclient import TestClient

from tarry.gateway.app import create_app, create_metrics_app
from tarry.gateway.gateway import Submission
from tarry.gateway.monitoring import metrics
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Refused
from tarry.keep.posts import Post
from tarry.keep.releaser import Releaser
from tarry.testing import ListOutlet

LINE = re.compile(r'^(tarry_\w+)(?:\{space="([\w-]+)"\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$')


def numbers(text):
    """Every sample; a line that is neither a comment nor a sample fails."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            name, space, number = LINE.match(line).groups()
            found[name, space] = float(number)
    return found


def admit(gateway, actor, target, space="talk"):
    post = Post(actor=actor, target=target, outlet="", content=b"words")
    return gateway.admit([Submission(space=space, posts=[post])])[0][0]


def pass_ticks(gateway, ticks, *, release=True):
    for _ in range(ticks):
        gateway.clock.sleep(1)
        with gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, gateway.keys, gateway.clock)
        if release:
            Releaser(gateway.vault).release()


def test_releases_and_parked_posts_are_counted_by_space():
    broken = ListOutlet(delivery="at most once", broken=Refused("never"))
    gateway = small_gateway(spaces=("talk", "hook"), outlets={"hook": broken})
    for n in range(3):
        admit(gateway, f"a{n}", "p")
    admit(gateway, "b", "p", space="hook")
    pass_ticks(gateway, 200)

    told = numbers(metrics(gateway))
    assert told["tarry_releases_total", "talk"] == 3
    assert told["tarry_releases_total", "hook"] == 0
    assert (told["tarry_parked", "talk"], told["tarry_parked", "hook"]) == (0, 1)
    assert told["tarry_overdue_seconds", None] == 0
    assert told["tarry_paused", None] == 0


def test_no_metric_changes_at_an_arrival():
    gateway = small_gateway()
    pass_ticks(gateway, 5)
    before = metrics(gateway)
    for n in range(20):
        admit(gateway, "ann", f"p{n}")

    assert metrics(gateway) == before


def test_an_hour_is_told_when_it_is_over_and_erased():
    gateway = small_gateway()
    for n in range(7):
        admit(gateway, f"a{n}", "p")
    pass_ticks(gateway, 3600)
    assert numbers(metrics(gateway))["tarry_admissions_of_an_hour", None] == 0
    pass_ticks(gateway, 21)  # two windows

    told = numbers(metrics(gateway))
    assert told["tarry_admissions_of_an_hour", None] == 7
    assert told["tarry_admissions_hour_start_seconds", None] == 1_767_225_600


def test_what_is_late_is_told():
    gateway = small_gateway()
    admit(gateway, "ann", "p")
    pass_ticks(gateway, 200, release=False)

    assert numbers(metrics(gateway))["tarry_overdue_seconds", None] > 60
    gateway.clock.sleep(30)
    assert numbers(metrics(gateway))["tarry_closing_lag_seconds", None] >= 30


@pytest.mark.parametrize(("scopes", "status"), [((), 401), (("submit",), 403), (("operate",), 200)])
def test_the_main_listener_tells_operators_only(scopes, status):
    gateway = small_gateway()
    headers = {"Authorization": f"Bearer {new_token(gateway, *scopes)}"} if scopes else {}
    with TestClient(create_app(gateway)) as http:
        assert http.get("/metrics", headers=headers).status_code == status


def test_a_listener_of_its_own_needs_no_token_and_serves_nothing_else():
    gateway = small_gateway()
    with TestClient(create_metrics_app(gateway), "http://127.0.0.1:9000") as http:
        assert http.get("/metrics").text == metrics(gateway)
        assert http.get("/v1/spaces").status_code == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9000", 200),
        ("[::1]:9000", 200),
        ("192.168.1.5", 200),
        ("localhost", 200),
        ("LOCALHOST.:9000", 200),
        ("tarry.localhost", 200),
        ("watch.example:9000", 200),
        ("Watch.Example.", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("watch.example.evil.example", 421),
        ("watch.example, evil.example", 421),
        ("", 421),
        ("evil.example#watch.example", 421),
    ],
)
def test_a_name_that_points_here_without_our_knowing_gets_nothing(host, status):
    """Somebody's browser was made to believe that this machine is theirs."""
    with TestClient(create_metrics_app(small_gateway(), {"watch.example"})) as http:
        answer = http.get("/metrics", headers={"Host": host})

    assert answer.status_code == status
    if status == 421:
        assert answer.json()["detail"].startswith(
            "this gateway does not answer to the host name in this address"
        )
