"""`tarry attest --gateway`: a running gateway, seen through its feed alone, and a broken one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.gateway_process import ask_http
from contracts.real_server import RealServer, free_port
from tarry.cli.main import main

POLICY = 'epsilon = 2\ngap = "1s"\nwindow = "500ms"\ntick = "500ms"\nlabels = "declared"\n'
SECONDS, RATES = "14", ("600", "400", "250")
AS_IT_IS = "import sys; from tarry.cli.main import main; sys.exit(main(sys.argv[1:]))"
ALL_UNBATCHED = f"""
import tarry.core.release as release

def one_draw(pair, draw):
    delay = draw(pair.unbatched)
    return release.Draws(delay, delay)

release.coupled_draws = one_draw
{AS_IT_IS}
"""


@pytest.fixture
def gateway(tmp_path, request):
    """The address of a gateway that runs this program, and a file with a token for its space."""
    settings = {"TARRY_DATABASE": f"{tmp_path}/lab.db", "TARRY_KEY_FILE": f"{tmp_path}/key"}
    settings["TARRY_RATE_PER_S"] = "10000"
    # Settings of the tests are none of a gateway's.
    others = [word for name in os.environ if name.startswith("TARRY_") for word in ("-u", name)]
    python = ["env", *others, *(f"{name}={value}" for name, value in settings.items()), sys.executable]
    policy, token = tmp_path / "policy.toml", tmp_path / "token"
    policy.write_text(POLICY, encoding="utf-8")

    def tarry(*words):
        return subprocess.run(
            [*python, "-m", "tarry", *words], check=True, capture_output=True, text=True
        ).stdout

    tarry("space", "add", "lab", "--policy", str(policy))
    token.write_text(
        json.loads(tarry("token", "add", "lab", "--scope", "submit", "--space", "lab", "--json"))["token"],
        encoding="utf-8",
    )
    port = free_port()
    server = RealServer(
        [*python, "-c", request.param, "serve", "--port", port],
        port=port,
        log=Path(tmp_path / "log"),
        answers=lambda: ask_http(port, "GET", "/v1/spaces/lab/feed") is not None,
    )
    with server:
        yield ["--gateway", f"http://127.0.0.1:{port}", "--space", "lab", "--token-file", str(token)]


def attest(capsys, gateway, level):
    """On a busy machine posts are sent too late, and do not count: then again with fewer a second."""
    for rate in RATES:
        code = main(["attest", *gateway, "--seconds", SECONDS, "--rate", rate, "--level", level, "--json"])
        found = json.loads(capsys.readouterr().out)
        if found["left_out"] < found["drawn"] / 4:
            break
    return code, found


@pytest.mark.parametrize("gateway", [AS_IT_IS], indirect=True, ids=["as it is"])
def test_a_gateway_keeps_its_promise_and_the_bound_comes_near(gateway, capsys):
    """Wrong with a chance of at most one in a thousand million: so the bound is a little lower."""
    code, found = attest(capsys, gateway, "0.000000001")

    assert (code, found["verdict"]) == (0, "consistent")
    assert found["best"]["promised"] == 2
    assert 0.5 < found["best"]["epsilon_at_least"] < 2
    assert 0 <= found["left_out"] < found["drawn"]


@pytest.mark.parametrize("gateway", [ALL_UNBATCHED], indirect=True, ids=["all unbatched"])
def test_a_gateway_without_batched_delays_is_caught(gateway, capsys):
    """By a pair of which one act might have come later: it left before it could have."""
    code, found = attest(capsys, gateway, "0.05")

    assert (code, found["verdict"]) == (1, "broken")
    assert found["best"]["other"]["acts"][1]["at"] > 0


@pytest.mark.parametrize("gateway", [AS_IT_IS], indirect=True, ids=["as it is"])
def test_a_refusal_is_a_sentence(gateway, capsys, tmp_path):
    """A wrong token is noticed at the first post, a wrong space at the first question."""
    (tmp_path / "wrong").write_text("tarry_nobody", encoding="utf-8")

    for words, sentence in (
        ([*gateway[:3], "elsewhere", *gateway[4:]], "answered 404 Not Found"),
        ([*gateway[:5], str(tmp_path / "wrong")], "answered 401 Unauthorized"),
        ([*gateway, "--seconds", "5"], "5 seconds are too few"),
    ):
        assert main(["attest", *words]) == 2
        assert sentence in capsys.readouterr().err
