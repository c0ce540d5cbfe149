"""Samples: for everybody, and nothing is computed for them."""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from contracts.at_audit import AtAudit, plain
from tarry.console.audit.frontier import frontier
from tarry.console.audit.samples import SAMPLES, sample_answer, sample_file
from tarry.console.pages import texts
from tarry.console.workbench.figures import read_choices
from tarry.core.policy_file import read_policy
from tarry.study.figures import seconds

TEXTS = texts()["audit"]


@pytest.fixture
def at(monkeypatch):
    """A site, whose audits must not be asked for anything."""
    made = AtAudit()

    def refuse(*_, **__):
        raise AssertionError("a sample is looked at, not computed")

    for name in ("new", "look", "run", "_go"):
        monkeypatch.setattr(made.audits, name, refuse)
    yield made
    made.close()


@pytest.fixture
def anybody(at):
    return TestClient(at.site, "http://localhost", follow_redirects=False)


def test_the_front_page_shows_samples_and_says_where_a_token_comes_from(anybody):
    page = anybody.get("/audit").text

    assert re.findall(r'href="/audit/samples/(\w+)"', page) == list(SAMPLES)
    assert "tarry token add NAME --scope operate" in page
    assert TEXTS["wall"] in page
    assert 'name="history"' not in page
    assert '<input type="hidden" name="then" value="/audit">' in page


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_needs_no_token_and_all_that_it_links_to_is_there(anybody, name):
    answer = anybody.get(f"/audit/samples/{name}")
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers

    for link in set(re.findall(rf'href="(/audit/samples/{name}/[^"]*)"', answer.text)):
        assert anybody.get(link.replace("&amp;", "&")).status_code == 200, link
    assert anybody.get(f"/audit/samples/{name}/report?save").headers["content-disposition"]
    report = anybody.get(f"/audit/samples/{name}/report")
    assert f'<a href="/audit/samples/{name}">{TEXTS["report_back"]}</a>' in report.text
    assert "default-src 'none'" in report.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/audit/samples/x", "/audit/samples/%2e%2e", "/audit/samples/forum/x"])
def test_another_one_is_not_there(anybody, path):
    assert anybody.get(path).status_code == 404
    assert anybody.get("/audit/samples/forum/policy?choice=99").status_code == 200  # the recommended one


@pytest.mark.parametrize("place", [0, 5])
def test_a_policy_is_chosen_by_its_address_and_goes_on_to_the_workbench(anybody, place):
    choice = sample_answer("forum")["advice"]["choices"][place]
    page = anybody.get(f"/audit/samples/forum?choice={place}").text
    query = re.search(r'href="/workbench\?([^"]*)"', page)[1].replace("&amp;", "&")
    policy = read_policy(anybody.get(f"/audit/samples/forum/policy?choice={place}").text)
    chosen = read_choices(dict(part.split("=") for part in query.split("&")))

    assert (chosen.policy.epsilon, chosen.policy.gap) == (policy.epsilon, policy.gap)
    assert seconds(float(policy.gap)) == choice["gap"]
    assert f"<dd>{choice['mean']}</dd>" in page


def test_what_is_measured_stands_apart_from_what_is_promised(anybody):
    words = plain(anybody.get("/audit/samples/forum").text)
    rows = {row["name"]: row for row in sample_answer("forum")["compared"]["rows"]}

    assert TEXTS["measured_group"] in words
    assert TEXTS["promised_group"] in words
    assert TEXTS["mix_note"] in words
    assert rows["recommended"]["is_policy"]
    assert not rows["mix:1h"]["is_policy"]
    assert rows["threshold:100"]["share"] < rows["recommended"]["share"]  # it looks better
    assert rows["threshold:100"]["promise"] == "none"  # and promises nothing


def test_the_picture_has_a_disc_for_each_policy_and_a_square_for_what_promises_nothing():
    answer = sample_answer("review")
    picture = frontier(answer, 2, "/there").__html__()

    assert picture.count("<circle") == len(answer["advice"]["choices"])
    assert picture.count('class="point chosen"') == 1
    assert 'data-to="/there?choice=2#chosen-heading"' in picture
    # Doing nothing is the line, and what waits for no time has no place on the axis.
    others = [row for row in answer["compared"]["rows"] if row["mean_s"] and row["name"] != "recommended"]
    assert picture.count("<rect") == len(others)


def figures(answer):
    """The numbers, as far as another machine adds them up alike; sentences may be those of another day."""
    measured = [
        {name: round(value, 9) for name, value in row.items() if isinstance(value, float)}
        for row in (*answer["advice"]["choices"], *answer["compared"]["rows"])
    ]
    queries = [choice["query"] for choice in answer["advice"]["choices"]]
    return measured, queries, [answer[name] for name in ("events", "actors", "batched", "linked")]


def keys(value):
    """What there is, whatever it says."""
    if isinstance(value, dict):
        return {name: keys(each) for name, each in value.items()}
    return [keys(each) for each in value if isinstance(each, dict)] if isinstance(value, list) else None


def test_what_is_shipped_is_what_the_audit_finds(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "docs"))
    import generate_samples

    made, stored = generate_samples.audited("forum"), generate_samples.FOLDER / "forum"

    assert made["history.csv"] == sample_file("forum", "history.csv")
    again = json.loads(made["answer.json"])
    for look in (figures, keys):
        assert look(again) == look(sample_answer("forum")), "run docs/generate_samples.py"
    assert {path.name.removesuffix(".gz") for path in stored.iterdir()} == {*made}
    assert {*SAMPLES} == {*generate_samples.CHOICES}
