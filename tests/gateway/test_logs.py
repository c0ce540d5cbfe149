"""Logs: a closed list, fixed keys, and nothing that is told at a request."""

import io
import json
import logging

import pytest

from tarry.gateway.monitoring import EVENTS, ErrorCounter, Log


class Hours:
    """A clock that knows hours alone."""

    def __init__(self):
        self.hour = 7

    def __call__(self):
        return self.hour


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def hours():
    return Hours()


@pytest.fixture
def mishaps(stream, hours):
    mishaps = ErrorCounter(Log(stream), hours)
    with mishaps.listening():
        yield mishaps


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_line_is_one_object_with_the_same_keys(stream):
    log = Log(stream)
    for event in EVENTS:
        log(event, "two\nlines")
    log("keeper", "7 ticks were missed")

    assert [list(line) for line in lines(stream)] == [["time", "event", "detail"]] * (len(EVENTS) + 1)
    assert [line["event"] for line in lines(stream)] == [*EVENTS, "keeper"]
    assert all(line["time"].endswith("Z") for line in lines(stream))


@pytest.mark.parametrize("event", ["request", "admitted", ""])
def test_what_is_not_on_the_list_is_not_logged(stream, event):
    with pytest.raises(ValueError, match="unknown event"):
        Log(stream)(event)
    assert stream.getvalue() == ""


def test_a_reader_who_has_gone_stops_nothing(stream):
    log = Log(stream)
    stream.close()
    log("started")


def test_a_mishap_is_counted_and_told_after_the_hour_without_its_text(stream, mishaps, hours):
    """Neither the moment nor the words of an error show that somebody has come, or what they sent."""
    for secret in ("/v1/spaces/talk?actor=ann", "from 10.0.0.1"):
        logging.getLogger("uvicorn.error").warning("Invalid request: %s", secret)
    try:
        raise KeyError("ann")  # noqa: TRY301 - somewhere it has to be raised
    except KeyError:
        logging.getLogger("uvicorn.error").exception("for ann")
    mishaps.count("submit_post broke: KeyError")
    mishaps.log()
    assert stream.getvalue() == ""

    hours.hour += 1
    mishaps.log()
    told = [line["detail"] for line in lines(stream)]

    assert told[:1] == [
        "1 x ERROR of uvicorn.error: KeyError at test_logs.py:" + told[0].rpartition(":")[2]
    ]
    assert told[1:] == ["2 x WARNING of uvicorn.error", "1 x submit_post broke: KeyError"]
    assert "ann" not in stream.getvalue()
    mishaps.log(last=True)
    assert len(lines(stream)) == 3  # each is told once


def test_what_is_no_mishap_is_not_even_counted(stream, mishaps):
    logging.getLogger("uvicorn.error").info("Started server process [1]")
    logging.getLogger("uvicorn.access").info('10.0.0.1 - "POST /v1/spaces/talk/posts" 202')
    mishaps.log(last=True)

    assert stream.getvalue() == ""


def test_whoever_has_listened_before_listens_again_afterwards(stream):
    root = logging.getLogger()
    before = root.handlers[:], root.level
    with ErrorCounter(Log(stream)).listening():
        assert len(root.handlers) == 1
    assert (root.handlers[:], root.level) == before
