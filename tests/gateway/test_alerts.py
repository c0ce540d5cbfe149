"""Alerts: at full hours, of what waits for a person, and of nothing that anybody has written or sent."""

import io
import json
import threading

import pytest

from contracts.at_desk import AtDesk
from contracts.http_receiver import HttpReceiver, says
from contracts.mail_server import MailServer
from tarry.core.errors import BadInput
from tarry.gateway.alerts import Alerts, alert_ways
from tarry.gateway.config import Config
from tarry.gateway.monitoring import Log
from tarry.gateway.server import ThreadGroup, alerting, serve
from tarry.gateway.testing import small_gateway
from tarry.keep.errors import Refused, Unreachable
from tarry.testing import ListOutlet


@pytest.fixture
def told():
    return []


@pytest.fixture
def desk(told):
    """Talk refuses what it is sent, the wiki cannot be reached."""
    outlets = {
        "talk": ListOutlet(broken=Refused("the forum said: secret reason")),
        "wiki": ListOutlet(broken=Unreachable("away")),
    }
    with (made := AtDesk(outlets=outlets)).http:
        made.alerts = Alerts(made.gateway, [lambda at, what: told.append((at, what))], lambda *_: None)
        made.alerts.look()
        yield made


def pass_until(desk, second):
    """Time goes by until so many seconds of an hour have, and every while it looks."""
    rest = (second - desk.clock.wall // 1_000_000) % 3600 or 3600
    while rest:
        step = min(rest, 30)
        desk.pass_ticks(1, seconds=step)
        desk.alerts.look()
        rest -= step


def test_nothing_but_a_full_hour_makes_an_alert_and_it_says_space_and_count_alone(desk, told):
    pass_until(desk, 3000)
    for number in range(3):
        desk.post(f"ann{number}", "a secret target")
        desk.alerts.look()
    pass_until(desk, 3599)
    assert len(desk.gateway.parked("talk")) == 3
    assert told == []

    pass_until(desk, 0)
    ((at, what),) = told
    assert at % 3600 == 0
    assert what == {"text": "3 posts are parked in talk.", "parked": {"talk": 3}, "late": []}


def test_it_is_told_again_only_when_there_is_more(desk, told):
    desk.post("ann", "p")
    pass_until(desk, 0)
    assert len(told) == 1
    (first,) = desk.gateway.parked("talk")
    pass_until(desk, 1)
    pass_until(desk, 0)
    assert len(told) == 1  # nothing new

    desk.gateway.withdraw_parked("talk", first.post)
    pass_until(desk, 1)
    pass_until(desk, 0)
    assert len(told) == 1  # less is no news
    desk.post("bob", "p")
    pass_until(desk, 1)
    pass_until(desk, 0)
    assert told[1][1]["text"] == "1 post is parked in talk."


def test_an_outlet_that_is_away_and_ticks_that_nobody_closes_are_told(desk, told):
    pass_until(desk, 3500)
    desk.post("ann", "p", space="wiki")
    pass_until(desk, 0)
    assert told[0][1]["late"] == ["outlets"]
    assert told[0][1]["parked"] == {}

    desk.clock.sleep(3600)
    desk.alerts.look()
    assert told[1][1]["late"] == ["closing", "outlets"]
    assert "1h late" in told[1][1]["text"]


MESSAGE = {"text": "3 posts are parked in talk.", "parked": {"talk": 3}, "late": []}


def test_a_webhook_gets_it_as_json():
    with HttpReceiver() as receiver:
        receiver.answer = says(204)
        (way,) = alert_ways(Config(alert_webhook=f"http://127.0.0.1:{receiver.port}/x?key=7"))
        way(3600, MESSAGE)
        (received,) = receiver.received

        assert received.line == "POST /x?key=7 HTTP/1.1"
        assert json.loads(received.body) == MESSAGE
        receiver.answer = says(404)
        with pytest.raises(BadInput, match="alert_webhook answered 404"):
            way(3600, MESSAGE)


def test_a_mail_gets_its_sentences_and_no_time_but_the_hour():
    with MailServer() as server:
        (way,) = alert_ways(
            Config(
                alert_mail_to="me@example.org, you@example.org",
                alert_mail_from="tarry@example.org",
                alert_mail_server=f"smtp://127.0.0.1:{server.port}",
            )
        )
        way(1_700_000_000 // 3600 * 3600, MESSAGE)
        (received,) = server.received

        assert received.text.strip() == MESSAGE["text"]
        assert received.message["Subject"] == "tarry needs you"
        assert received.message["To"] == "me@example.org, you@example.org"
        assert received.message["Date"].split(" ")[4].endswith(":00:00")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"alert_mail_to": "me@example.org"}, "alert_mail_from and alert_mail_server"),
        ({"alert_mail_from": "me@example.org", "alert_mail_to": "a@b.c"}, "alert_mail_server"),
        ({"alert_webhook": "ftp://x"}, "alert_webhook must begin with http"),
    ],
)
def test_settings_that_could_never_work_are_refused_at_the_start(settings, told):
    with pytest.raises(BadInput, match=told):
        alerting(small_gateway(), Config(**settings), Log(io.StringIO()))


def test_one_way_that_fails_keeps_no_other_from_it_and_is_logged_without_its_address(desk):
    stream, heard = io.StringIO(), []

    def fail(*_):
        raise BadInput("https://secret.example/key answered 404", "")

    alerts = Alerts(desk.gateway, [fail, lambda *one: heard.append(one)], Log(stream))
    alerts.look()
    desk.clock.sleep(3600)
    alerts.look()

    assert len(heard) == 1
    assert [json.loads(line)["detail"] for line in stream.getvalue().splitlines()] == [
        "was not sent: BadInput",
        "sent",
    ]


def test_a_server_looks_beside_its_other_parts_and_ends(monkeypatch):
    looked = threading.Event()
    monkeypatch.setattr(Alerts, "look", lambda _: looked.set())
    monkeypatch.setattr("tarry.gateway.alerts._LOOK_S", 0.01)
    group = ThreadGroup()
    config = Config(port=0, workers_in_server=0, alert_webhook="http://127.0.0.1:9/x")
    serve(small_gateway(), config, Log(io.StringIO()), group, lambda _: (looked.wait(30), group.stop()))

    assert looked.is_set()
