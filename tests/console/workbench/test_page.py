"""The workbench on the server's side: the page, what its script asks for, and the policy file."""

import json
from fractions import Fraction
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tarry.cli.main import main
from tarry.console.site import create_site
from tarry.console.workbench import page as workbench
from tarry.console.workbench.figures import START, read_choices
from tarry.console.workbench.instrument import PRESETS
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.core.promise import promise
from tarry.core.season import Season
from tarry.gateway.testing import small_gateway
from tarry.study.figures import seconds

QUERY = "epsilon=2.5&gap=1h&window=10m&weight=0.25"
CHOSEN = Policy(epsilon="2.5", gap="1h", window="10m", weight="0.25")
SEASON = "law=season&pairs=30&total=4&delta=0.01"
A_SEASON = Policy(
    gap="11m",
    law="cosine",
    blocks=13,
    order="3",
    season=Season(acts=60, epsilon=Fraction(4), delta=Fraction("0.01")),
)
CHARTS = ["frontier", "laws", "evening", "odds", "power", "posterior"]
TOO_MANY = (
    "this season needs more than the 400 blocks that the workbench tries: take a larger total or "
    "delta, or fewer pairs (tarry plan --season tries more)"
)
TOO_LONG = (
    "this season needs delays of up to 952d11h20m, and the workbench shows at most 365d: take a shorter "
    "gap, a larger total or delta, or fewer pairs"
)
BAD = [
    ("law=laplace", "unknown law 'laplace': use pair, season"),
    ("pairs=1.5", "pairs must be a whole number, not 1.5"),
    ("pairs=1001", "pairs must lie between 1 and 1000 on the workbench, not 1001"),
    (
        "law=season&gap=3m",
        "gap must be above the window (5m), not 3m: choose a longer gap or a shorter window",
    ),
    ("law=season&pairs=1000&total=0.5&delta=0.0001", TOO_MANY),
    ("law=season&pairs=1000&gap=7d", TOO_LONG),
    ("epsilon=0", "epsilon must lie between 0.05 and 10 on the workbench, not 0"),
    ("epsilon=much", "epsilon must be a decimal number, not 'much': write it like 0.5 or 2"),
    ("epsilon=1.0000000000000000000", "epsilon must have at most 20 characters, not 21"),
    ("gap=8d", "gap must lie between 1s and 7d on the workbench, not 8d"),
    ("gap=11", "gap must be numbers with units, not '11': write it like 90s, 11m, 1h30m or 500ms"),
    ("gap=3m", "gap must be above the window (5m), not 3m: choose a longer gap or a shorter window"),
    ("window=2d", "window must lie between 0s and 1d on the workbench, not 2d"),
    ("weight=1.1", "weight must lie between 0 and 1 on the workbench, not 1.1"),
    ("suspects=1", "suspects must be a whole number from 2 to 100, not '1'"),
    ("suspects=ten", "suspects must be a whole number from 2 to 100, not 'ten'"),
    ("draw=1000", "draw must be a whole number from 1 to 999, not '1000'"),
    ("cutoff=3m", "unknown cutoff '3m': use 30s, 1m, 2m, 5m, 10m, 30m"),
]


@pytest.fixture
def visitor():
    with TestClient(create_site(small_gateway()), "http://localhost") as http:
        yield http


def shown(text):
    """As the page writes it."""
    return text.replace("&", "&amp;").replace("'", "&#39;").replace(">", "&gt;")


def test_the_page_shows_what_the_chosen_policy_costs_and_promises(visitor):
    answer = visitor.get(f"/workbench?{QUERY}")

    assert answer.status_code == 200
    costs, told = plan(CHOSEN), promise(CHOSEN)
    for delays in (costs.batched, costs.unbatched):
        for value in (delays.mean, delays.median, delays.maximum):
            assert f'<td class="number">{seconds(float(value))}</td>' in answer.text
    for sentence in (*told.promised, *told.not_promised):
        assert f"<li>{shown(sentence)}</li>" in answer.text
    assert 'name="epsilon" value="2.5"' in answer.text
    assert 'formaction="/workbench/policy.toml"' in answer.text


def test_a_page_without_choices_shows_the_policy_of_the_guides(visitor):
    assert visitor.get("/workbench").text == visitor.get(f"/workbench?{START.query}").text
    assert START.policy == Policy(epsilon="1", gap="11m", window="5m")


def test_no_rule_of_the_page_is_loosened_for_its_charts(visitor):
    rules = visitor.get("/workbench").headers["content-security-policy"]

    assert "script-src 'self'; style-src 'self';" in rules
    assert "unsafe" not in rules


@pytest.mark.parametrize(("query", "sentence"), BAD)
def test_a_bad_value_gets_one_sentence_and_a_page_that_can_be_used(visitor, query, sentence):
    answer = visitor.get(f"/workbench?{query}")

    assert answer.status_code == 422
    assert f'<p class="problem small">{shown(sentence)}</p>' in answer.text
    assert 'id="choices"' in answer.text
    assert "Shown below is the policy that this page starts with." in answer.text


def test_what_was_typed_stays_to_be_put_right(visitor):
    answer = visitor.get("/workbench", params={"gap": '"><script>alert(1)</script>'})

    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    assert 'name="gap" value="&#34;&gt;&lt;script&gt;' in answer.text


@pytest.mark.parametrize(("query", "sentence"), BAD)
def test_a_script_is_told_the_same_sentence(visitor, query, sentence):
    answer = visitor.get(f"/workbench/figures.json?{query}")

    assert answer.status_code == 422
    assert answer.json()["detail"] == sentence


@pytest.mark.parametrize("query", [QUERY, SEASON])
def test_a_script_is_told_what_the_page_shows(visitor, query):
    page = visitor.get(f"/workbench?{query}").text
    told = visitor.get(f"/workbench/figures.json?{query}").json()

    for sentence in told["sentences"].values():
        assert shown(sentence) in page
        assert "{" not in sentence  # every number is in its place
    for name, figure in told["figures"].items():
        assert f'data-figure="{name}">{figure}<' in page or name in {"alone", "spread"}
    assert list(told["charts"]) == CHARTS
    for picture in told["charts"].values():
        assert picture in page  # the very same picture, with scripts and without
    assert shown(told["command"]) in page
    assert told["query"].startswith(query.split("&")[0].replace("law=season", "epsilon=1"))


def test_a_season_has_its_own_choices_and_no_weights(visitor):
    """The choices of the other law stay in the form, unseen."""
    page, told = (
        visitor.get(f"/workbench?{SEASON}").text,
        visitor.get(f"/workbench/figures.json?{SEASON}").json(),
    )

    assert told["facts"]["shape"] == [13, 3.0]
    assert list(told["places"]) == ["pairs", "total", "delta", "gap", "window"]
    assert 'type="radio" name="law" value="season" checked' in page
    assert 'type="hidden" name="epsilon" value="1"' in page
    assert "The trade between batched and unbatched" not in page


def test_a_season_says_what_it_promises_and_between_which_stories(visitor):
    page = visitor.get(f"/workbench?{SEASON}").text

    for sentence in promise(A_SEASON).promised:
        assert f"<li>{shown(sentence)}</li>" in page
    assert "somebody else&#39;s and came up to 16m later (gap + window)" in page
    assert "Who is active on the same days stays visible." in page


def test_the_policy_file_of_a_season_has_its_table(visitor):
    text = visitor.get(f"/workbench/policy.toml?{SEASON}").text

    assert "[season]" in text
    assert read_policy(text) == A_SEASON


def test_a_bad_choice_of_a_season_stays_in_its_form(visitor):
    answer = visitor.get("/workbench?law=season&pairs=1.5")

    assert answer.status_code == 422
    assert 'name="law" value="season" checked' in answer.text
    assert 'name="pairs" value="1.5"' in answer.text


def test_a_slider_stands_at_the_stop_nearest_to_what_was_typed(visitor):
    told = visitor.get("/workbench/figures.json?gap=1h2m&epsilon=1.3").json()

    assert told["fields"]["gap"] == "1h2m"
    assert told["places"]["gap"] == 11  # 1h
    assert told["places"]["epsilon"] in {11, 12}  # 1.2 or 1.4


def test_the_policy_file_is_read_back_as_the_policy_that_was_shown(visitor):
    answer = visitor.get(f"/workbench/policy.toml?{QUERY}")

    assert read_policy(answer.text) == CHOSEN
    assert answer.headers["content-disposition"] == 'attachment; filename="policy.toml"'


@pytest.mark.parametrize(
    "query", ["epsilon=0.05&gap=7d&window=1d", "epsilon=1.23456789&weight=0.3333333333"]
)
def test_every_policy_that_can_be_chosen_can_be_written(visitor, query):
    choices = read_choices(dict(part.split("=") for part in query.split("&")))

    assert read_policy(visitor.get(f"/workbench/policy.toml?{query}").text) == choices.policy


def test_a_policy_file_of_a_bad_choice_is_a_page_with_the_sentence(visitor):
    answer = visitor.get("/workbench/policy.toml?gap=3m")

    assert answer.status_code == 422
    assert "gap must be above the window (5m), not 3m" in answer.text


def test_durations_are_understood_as_people_write_them(visitor):
    told = visitor.get("/workbench/figures.json", params={"gap": "1 hour 30 minutes", "window": "90 sec"})

    assert (told.json()["fields"]["gap"], told.json()["fields"]["window"]) == ("1h30m", "1m30s")


def test_locked_axes_stay_and_a_strange_lock_is_left_out(visitor):
    """An axis that is not locked is the narrowest round one that holds what is drawn."""
    free = visitor.get("/workbench/figures.json?gap=2h").json()["charts"]
    query = "gap=2h&axes=laws:11,evening:9,tea:1,frontier:x"
    locked = visitor.get(f"/workbench/figures.json?{query}").json()["charts"]

    assert 'data-x="linear 0 28800"' in free["laws"]
    assert 'data-x="linear 0 345600" data-y' in locked["laws"]
    assert 'data-x="linear 0 345600" data-y' not in free["evening"]
    assert locked["frontier"] == free["frontier"]


def test_weight_is_idle_where_every_weight_leads_to_the_same_delays(visitor):
    for epsilon, counts in (("1", False), ("1.38", False), ("1.5", True), ("3", True)):
        told = visitor.get(f"/workbench/figures.json?epsilon={epsilon}").json()
        ends = {
            plan(Policy(epsilon=epsilon, gap="11m", window="5m", weight=weight)).support_end_ticks
            for weight in ("0", "1")
        }
        assert told["facts"]["weight_counts"] is counts is (len(ends) > 1)


def test_the_command_is_the_policy_at_a_shell(visitor, capsys):
    for query, policy in ((QUERY, CHOSEN), (SEASON, A_SEASON)):
        command = visitor.get(f"/workbench/figures.json?{query}").json()["command"]
        program, *words = command.split()
        assert program == "tarry"
        assert main([*words, "--toml"]) == 0
        made = read_policy(capsys.readouterr().out)
        assert (made.gap, made.window, made.season) == (policy.gap, policy.window, policy.season)
        assert policy.season or made == policy


def test_every_preset_is_a_policy(visitor):
    page = visitor.get("/workbench").text
    for chosen in PRESETS.values():
        query = urlencode(chosen)
        assert f'href="/workbench?{query.replace("&", "&amp;")}"' in page
        assert visitor.get(f"/workbench?{query}").status_code == 200


def test_a_workbench_that_is_asked_too_much_at_once_says_so(visitor, monkeypatch):
    monkeypatch.setattr(workbench, "_MOST_WAITING", 0)
    answer = visitor.get("/workbench")

    assert answer.status_code == 503
    assert "the workbench is busy" in answer.text
    assert (
        visitor.get("/workbench/figures.json").json()["detail"]
        == "the workbench is busy: try again in a moment"
    )


def test_answers_are_compressed_for_those_who_can_read_it(visitor):
    packed = visitor.get("/workbench/figures.json", headers={"Accept-Encoding": "gzip"})
    plain = visitor.get("/workbench/figures.json", headers={"Accept-Encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert json.loads(packed.content) == json.loads(plain.content)
    assert len(plain.content) < 120_000
