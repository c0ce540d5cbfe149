"""`tarry serve`: starts, answers, and ends with 0 when asked to."""

import json
import os
import signal

import pytest

from contracts.operating import FAST
from contracts.shell import wait_until

POST = {"actor": "ann", "target": "p1", "content": "I agree."}
BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)


@pytest.fixture(autouse=True)
def handlers():
    """What runs in this process leaves its signals as they were."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_post_comes_in_and_appears_and_a_signal_ends_it(operator, number):
    operator.add_space(policy=FAST)
    token = operator.ask("token", "add", "me", "--scope", "submit")["token"]
    server = operator.process("serve", "--port", "0", "--json")
    address = json.loads(server.stdout.readline())["listening"]

    assert operator.call(f"{address}/healthz") == {"status": "ok"}
    assert operator.call(f"{address}/v1/spaces/talk/posts", token, POST)["state"] == "waiting"
    items = wait_until(lambda: operator.call(f"{address}/v1/spaces/talk/feed")["items"])
    assert [item["content"] for item in items] == ["I agree."]

    os.killpg(server.pid, number)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, "")
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["started", "stopping", "stopped"]


def test_it_tells_its_address_in_words(operator):
    operator.add_space()
    server = operator.process("serve", "--port=0")
    told = server.stdout.readline()
    server.terminate()
    server.communicate(timeout=60)

    assert told.startswith("listening at http://127.0.0.1:")
    assert server.returncode == 0


def test_what_is_missing_is_told_in_one_sentence(operator, tmp_path):
    assert operator.refusal("serve").startswith("tarry serve: there is no database ")
    operator.tell("migrate")
    assert operator.refusal("serve").startswith("tarry serve: there is no key file ")
    operator.add_space()
    operator.key.rename(tmp_path / "elsewhere")
    assert operator.refusal("serve").startswith("tarry serve: there is no key file ")


@pytest.mark.parametrize("port", ["x", "-1", "70000", "", "1.5", "٣"])
def test_a_wrong_port_is_refused(operator, port):
    assert operator.refusal("serve", f"--port={port}").startswith(
        f"tarry serve: --port must be a whole number from 0 to 65535, not {port!r}"
    )


def test_it_listens_at_the_host_it_is_told_to(operator, monkeypatch):
    """--host goes before the settings."""
    monkeypatch.setenv("TARRY_HOST", "127.0.0.1")
    operator.add_space()
    server = operator.process("serve", "--host", "127.0.0.2", "--port=0", "--json")
    address = json.loads(server.stdout.readline())["listening"]
    server.terminate()
    server.communicate(timeout=60)

    assert address.startswith("http://127.0.0.2:")
    assert operator.refusal("serve", "--host=") == (
        "tarry serve: --host must be an address of this machine, not ''"
    )


def test_a_port_that_is_taken_is_told(operator):
    operator.add_space()
    server = operator.process("serve", "--port", "0", "--json")
    port = json.loads(server.stdout.readline())["listening"].rpartition(":")[2]
    sentence = operator.refusal("serve", "--port", port)

    problem = f"cannot listen at 127.0.0.1, port {port} (Address already in use)"
    assert sentence == f"tarry serve: {problem}: use another address or port"


def test_settings_come_from_a_file_as_well(operator, monkeypatch, tmp_path):
    operator.add_space()
    monkeypatch.delenv("TARRY_DATABASE")
    path = operator.file("gateway.toml", f'database = "{operator.database}"\n')

    assert operator.ask("space", "list", "--config", path)["spaces"][0]["name"] == "talk"
    wrong = operator.file("wrong.toml", "prot = 1\n")
    told = "tarry serve: unknown setting prot: did you mean port?"
    assert operator.refusal("serve", "--config", wrong) == told


def test_several_processes_on_sqlite_are_refused(operator):
    operator.add_space()
    assert operator.refusal("serve", "--processes", "2") == (
        f"tarry serve: several processes need PostgreSQL, not the SQLite file {str(operator.database)!r}: "
        "leave --processes at 1"
    )


@pytest.mark.parametrize("number", ["0", "65", "x"])
def test_a_wrong_number_of_processes_is_refused(operator, number):
    assert operator.refusal("serve", "--processes", number).startswith(
        f"tarry serve: --processes must be a whole number from 1 to 64, not {number!r}"
    )
