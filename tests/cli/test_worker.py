"""`tarry worker`: releases beside servers, several at a time, and ends with 0 when asked to."""

import json
import signal

import pytest

from contracts.operating import FAST
from contracts.shell import wait_until

POST = {"actor": "ann", "target": "p1", "content": "I agree."}


@pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
def test_two_workers_release_what_a_server_takes_in_and_each_post_once(operator, monkeypatch):
    monkeypatch.setenv("TARRY_WORKERS_IN_SERVER", "0")
    operator.add_space(policy=FAST)
    token = operator.ask("token", "add", "me", "--scope", "submit")["token"]
    server = operator.process("serve", "--port", "0", "--json")
    workers = [operator.process("worker", "--threads", "2") for _ in range(2)]
    address = json.loads(server.stdout.readline())["listening"]
    batch = {"posts": [{**POST, "target": f"p{number}"} for number in range(30)]}
    operator.call(f"{address}/v1/spaces/talk/batches", token, batch)

    def published():
        items = operator.call(f"{address}/v1/spaces/talk/feed")["items"]
        return items if len(items) >= 30 else None

    assert sorted(item["target"] for item in wait_until(published)) == sorted(f"p{n}" for n in range(30))
    for process in (*workers, server):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "")
        assert [json.loads(line)["event"] for line in err.splitlines()] == [
            "started",
            "stopping",
            "stopped",
        ]


@pytest.mark.parametrize("threads", ["0", "65", "x", ""])
def test_a_wrong_number_of_threads_is_refused(operator, threads):
    operator.add_space()

    assert operator.refusal("worker", "--threads", threads).startswith(
        f"tarry worker: --threads must be a whole number from 1 to 64, not {threads!r}"
    )
