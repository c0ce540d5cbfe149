import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.core.promise import promise
from tarry.study.advice import Advice
from tarry.study.attack import attack
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.figures import day, factor, number, percent, points, seconds
from tarry.study.practice import observer
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.report import GLOSSARY, report_html
from tarry.study.report.markup import Html, el, inline_svg, join, table
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import event_table
from tarry.study.tried import PRICE

SECOND = 1_000_000
VOID = {"meta", "br", "path", "line", "rect"}
WEIRD = ("Ann<script>", 'O\'Neill & "Sons"', "zażółć-gęślą", "__proto__", "</style>quux")


@pytest.fixture(scope="module")
def events():
    made = synthesize(RECIPES["forum"], seed=3)
    names = [f"{WEIRD[one % len(WEIRD)]}/who-{one}-xyzzy" for one in made.actor]
    targets = [f"what-{one}-plugh" for one in made.target]
    return event_table(actor=names, target=targets, time=made.time)


@pytest.fixture(scope="module")
def found(events):
    return audit(events, Question(practices=[baseline("nothing")]))


@pytest.fixture(scope="module")
def advised(events):
    return audit(events, Question(epsilons=["1"]))


@pytest.fixture(scope="module")
def advice(advised):
    return advised.advice


@pytest.fixture(scope="module")
def page(advised):
    return advised.html()


@pytest.fixture(scope="module")
def wide_audit(events):
    mine = Policy(epsilon="1", gap="11m", target_gaps={"what-1-plugh": "30m"})
    question = Question(
        practices=[baseline("nothing"), replay(mine, "/home/ada/secret place/mine.toml"), baseline("end")],
        observers=[observer("notified"), observer("poller:10m")],
        attacks=[attack("cutoff"), attack("nearest")],
        draws=2,
    )
    return audit(events, question)


@pytest.fixture(scope="module")
def wide_page(wide_audit):
    return wide_audit.html()


class Outline(HTMLParser):
    """What a page is made of; complains about tags that do not close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.tags, self.cells, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag in {"h1", "h2", "h3", "h4"}:
            self.headings.append(int(tag[1]))
        if tag in {"td", "th", "dd"}:
            self.cells.append("")
        if tag not in VOID or self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] in {"td", "th", "dd"}:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        if tag not in VOID or tag == self.open[-1]:
            assert self.open.pop() == tag

    def texts(self):
        return [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in self.cells]


@pytest.mark.parametrize("name", ["page", "wide_page"])
def test_a_report_is_whole_and_small(name, request):
    text = request.getfixturevalue(name)
    outline = Outline(text)

    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert outline.open == []
    assert len(text.encode()) < 600_000
    assert len(outline.ids) == len(set(outline.ids))


@pytest.mark.parametrize("name", ["page", "wide_page"])
def test_a_report_asks_nobody_for_anything(name, request):
    text = request.getfixturevalue(name)
    outline = Outline(text)
    meta = [attrs for tag, attrs in outline.tags if attrs.get("http-equiv") == "Content-Security-Policy"]

    assert "script" not in {tag for tag, _ in outline.tags}
    assert not {"src", "href", "xlink:href", "action"} & {
        name for _, attrs in outline.tags for name in attrs
    }
    assert not [name for _, attrs in outline.tags for name in attrs if name.startswith("on")]
    assert "://" not in text
    assert not re.search(r"@import|url\((?!#)", text)
    assert meta[0]["content"].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


@pytest.mark.parametrize("name", ["page", "wide_page"])
def test_no_name_and_no_path_is_told(name, request):
    text = unescape(request.getfixturevalue(name))

    for secret in ("xyzzy", "plugh", "who-", "quux", "ada", "secret place", "/home"):
        assert secret not in text


@pytest.mark.parametrize("name", ["page", "wide_page"])
def test_headings_tables_and_pictures_are_made_for_every_reader(name, request):
    outline = Outline(request.getfixturevalue(name))
    tags = [tag for tag, _ in outline.tags]

    assert outline.headings.count(1) == 1
    assert all(
        later <= earlier + 1 for earlier, later in zip(outline.headings, outline.headings[1:], strict=False)
    )
    assert tags.count("table") == tags.count("caption") > 3
    assert all(attrs.get("scope") in {"row", "col"} for tag, attrs in outline.tags if tag == "th")
    pictures = [attrs for tag, attrs in outline.tags if tag == "svg"]
    assert len(pictures) > 4
    assert all(attrs["role"] == "img" and len(attrs["aria-label"]) > 20 for attrs in pictures)


def test_the_figures_are_those_of_the_audit(page, found):
    m, cells = found.measures, Outline(page).texts()

    for fact in (m.events, m.actors, m.targets, found.linked_pairs, found.candidate_pairs):
        assert f"{fact:,}" in cells
    assert day(m.first) in cells
    assert day(m.last) in cells
    for gap in [*m.in_batch_gaps_s.values(), *m.null_gaps_s.values()]:
        assert seconds(gap) in cells
    for rate in m.actor_rates.values():
        assert percent(rate) in cells


def test_every_score_stands_in_a_row_of_its_own(page, found):
    joined = "|".join(Outline(page).texts())

    for score in found.runs[0].scores:
        counts = score.counts
        row = [
            seconds(score.cutoff_s),
            number(counts.claims),
            percent(score.right_person),
            percent(counts.precision),
            percent(counts.recall),
            percent(counts.false_positive_rate),
        ]
        assert "|".join(row) in joined


def test_whom_claims_are_about_stands_in_the_page(page, found):
    """How many people can be called, who has most of it, and by activity; sums of sizes are all of them."""
    joined = "|".join(Outline(page).texts())
    calls = found.runs[0].people.calls

    assert calls
    for confidence, one in calls.items():
        shares = (one.top_share, one.top_ten_share, one.mean_right)
        row = [f"{100 * confidence:g} %", f"{one.called:,} of {one.people:,}", *map(percent, shares)]
        assert "|".join(row) in joined
    for size in calls[0.5].sizes:
        called = [each.called for one in calls.values() for each in one.sizes if each.least == size.least]
        acts = f"{size.least} to {size.most}"
        assert (
            not size.people
            or size.least in {1, 1000}
            or "|".join([acts, f"{size.people:,}", *map(str, called)]) in joined
        )


def test_several_draws_are_told_as_mean_and_range(wide_page, wide_audit):
    runs = wide_audit.runs_of("/home/ada/secret place/mine.toml", "cutoff", "notified")
    first, second = (run.scores[2].counts.precision for run in runs)
    low, high = percent(min(first, second)), percent(max(first, second))

    assert first != second
    assert f"{percent((first + second) / 2)} ({low[:-2]} to {high[:-2]})" in Outline(wide_page).texts()


def test_the_recommendation_can_be_copied(page, advice):
    shown = unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)[1])
    told = unescape(page).replace("\N{NO-BREAK SPACE}", " ")

    assert read_policy(shown) == advice.best.policy
    assert advice.sentence in told
    for choice in advice.choices:
        row = [seconds(choice.mean_s), seconds(choice.longest_s), choice.right_words]
        row += [percent(choice.reference), points(choice.excess), percent(choice.precision)]
        row += [percent(choice.reordered), seconds(choice.reply_s)]
        assert "|".join(row) in "|".join(Outline(page).texts())


def test_what_each_practice_does_stands_in_front(wide_page, wide_audit):
    """Reference, excess, order and replies before any other section; then lift beside them."""
    cells = "|".join(Outline(wide_page).texts())
    for line in wide_audit.lines[::4]:
        anyway = [percent(line.reference), points(line.excess)]
        waits = [percent(line.reordered), seconds(line.reply_s)]
        first, later = ("|".join([*anyway, *more]) for more in (waits, [factor(line.lift)]))
        assert 0 <= cells.find(first) < cells.find(later)


def test_the_recommendation_stands_in_front_or_why_there_is_none(page, advised, advice):
    front = unescape(page.partition("What was measured")[0]).replace("\N{NO-BREAK SPACE}", " ")
    none = replace(advised, advice=None, no_advice="too few gaps").html()

    assert advice.sentence in front
    assert "No recommendation: too few gaps." in none.partition("What was measured")[0]


def test_what_is_not_promised_is_told_wherever_there_is_a_policy(page, advice, wide_page, wide_audit):
    for text, policy in ((page, advice.best.policy), (wide_page, wide_audit.question.practices[1].policy)):
        told = promise(policy)
        for sentence in (*told.promised, *told.not_promised):
            assert sentence in unescape(text)


def test_every_practice_and_scene_has_its_place(wide_page):
    told = unescape(wide_page)

    for observer_name in ("notified", "poller:10m"):
        for attack_name in ("cutoff", "nearest"):
            assert f"Observer {observer_name}, attack {attack_name}" in told
    for practice in ("1. nothing", "2. mine.toml", "3. end"):
        assert practice in told
    assert "bound for one pair" not in told  # the bound is about a policy of one gap


def test_the_bound_of_the_nearest_test_is_told_for_a_policy_of_one_gap(events):
    question = Question(practices=[replay(Policy(epsilon="1", gap="11m"))], attacks=[attack("nearest")])

    assert "bound for one pair" in report_html(audit(events, question))


def test_words_are_explained(page):
    outline = unescape(page)

    for word, meaning in GLOSSARY.items():
        assert f"<dt>{word}</dt><dd>{meaning.replace(' %', chr(160) + '%')}</dd>" in outline


def test_what_was_left_out_is_told(found):
    odd = replace(found, remarks=("12 rows cannot be read", "/home/ada/p.toml, seen by archive: too long"))
    cost = replace(found.costs[0], policy="/home/ada/p.toml")
    told = report_html(replace(odd, costs=[*found.costs, cost]))

    assert "<li>12 rows cannot be read</li><li>p.toml, seen by archive: too long</li>" in told
    assert "Every event" not in told
    assert "What to know" not in report_html(found)


def test_what_is_needed_to_make_a_report_again_is_told(found):
    question = replace(
        found.question, seed=7, draws=5, window="90s", recommend=True, without_bots=True, busy_limit=9
    )
    page = report_html(replace(found, question=question))

    assert f"<dt>tarry</dt><dd>{version('tarry')}</dd>" in page
    assert "<dt>seed</dt><dd>7</dd>" in page
    assert "<dt>draws</dt><dd>5; for the recommendation 5</dd>" in page
    assert "<dt>window</dt><dd>1m30s</dd>" in page
    assert "<dd>10s, 1m, 5m, 10m, 30m, 1h, 2h, and on until all linked pairs lie within</dd>" in page
    assert "<dt>filters</dt><dd>without bots, at most 9 events of an actor</dd>" in page
    assert "<dt>filters</dt><dd>none</dd>" in report_html(found)


def test_figures_in_short_say_which_part_they_are_about(page, advice):
    short = page.partition("What was measured")[0].replace("\N{NO-BREAK SPACE}", " ")
    whole, later = short.split("Its later part (3,750 events)")

    assert "The whole history, as it is" in whole
    assert f"<dd>{advice.right_words}</dd>" not in whole
    assert f"<dd>{advice.right_words}</dd>" in later
    assert f"<dd>{advice.best.right_words}</dd>" in later
    assert f"<dd>{percent(advice.best.reference)}</dd>" in later


def test_practices_stand_side_by_side_with_what_they_promise(wide_page):
    short = wide_page.partition("What was measured")[0]
    promised = wide_page.partition("What is promised, and what is not")[2]

    for name, words in (("nothing", "none"), ("mine.toml", "epsilon 1, gap 11m"), ("end", "none")):
        assert re.search(f'row">{name}</th>(<td>[^<]*</td>)+<td>{words}</td></tr>', short)
        assert f'row">{name}</th><td>{words}</td></tr>' in promised
    assert "one person&#x27;s, observer poller:10m, nearest" in short


def test_epsilon_that_has_added_up_is_told(page, advice, wide_page, wide_audit):
    spent = max(cost.spent.actors for cost in wide_audit.costs if cost.spent is not None)

    assert f"Under mine.toml epsilon adds up: {spent} of 400 people batch so often" in wide_page
    assert advice.best.spent_actors > 0
    told = f"<li>Epsilon adds up: {advice.best.spent_actors} of {advice.actors} people in the measured part"
    assert page.count(told) == 2  # at the beginning, and beside the recommendation


def test_a_posterior_is_told_with_its_caution(page):
    assert "Compare histories of one length only." in page


def test_the_rule_of_the_recommendation_is_the_one_that_is_used(page):
    assert PRICE == 1 / 10
    assert "each doubling of the mean delay must remove another 10.0\N{NO-BREAK SPACE}% of them" in page
    assert "of a tie the strongest promise is taken" in page


def test_where_nothing_helps_the_page_shows_what_was_tried(found, advice):
    useless = [replace(choice, right_person=advice.right_before, trials=()) for choice in advice.choices]
    told = report_html(replace(found, advice=replace(advice, choices=useless, best=None, answer="no_help")))

    assert "Delays do not help here" in told
    assert "Policies that were tried" in told
    assert "Chart: What each policy costs" in told
    assert "policy.toml" not in told
    assert "no policy is recommended" in told


def test_a_title_is_only_text(found):
    text = report_html(found, title="</title><script>alert(1)</script>")

    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_without_a_recommendation_the_reason_is_told(found):
    told = report_html(replace(found, no_advice="10 events are too few"))

    assert "No recommendation: 10 events are too few." in told
    assert "Nothing is promised" in told


def test_a_history_in_which_nothing_can_be_found_has_a_report_too():
    lone = event_table(actor=["a", "b"], target=[1, 2], time=[0, 5 * SECOND])
    nothing = Advice(learned_on=1, measured_on=1, before=0.0, right_before=0.0, choices=(), best=None)
    told = report_html(replace(audit(lone, Question(practices=["nothing"])), advice=nothing))

    assert Outline(told).open == []
    assert "nothing to find" in told
    assert nothing.sentence in told


def test_one_event_has_a_report_too():
    lone = event_table(actor=["a"], target=[1], time=[0])

    assert Outline(report_html(audit(lone, Question(practices=[])))).open == []


def test_the_replay_of_the_recommendation_is_what_was_recommended(advised, advice):
    after = advised.after
    mine = [cost for cost in after.costs if cost.policy == "recommended"]

    assert after.measures.events == advice.measured_on
    assert fmean(cost.mean_s for cost in mine) == advice.best.mean_s
    assert list(after.promises) == ["nothing", "recommended"]
    assert after.runs[1].scores[-1].counts.recall == 1  # no linked pair lies beyond the last cutoff


def test_nothing_recommended_is_not_replayed(events):
    lone = event_table(actor=["a", "b"], target=[1, 2], time=[0, 5 * SECOND])

    assert audit(lone).no_advice
    assert audit(lone).after is None
    assert audit(events, Question(practices=["nothing"])).after is None
    assert audit(events, Question(epsilons=["1"], before_after=False)).after is None


@given(st.text())
def test_text_stays_text(text):
    assert Outline(el("p", text, title=text)).tags == [("p", {"title": text})]
    assert unescape(join([text])).replace("\N{NO-BREAK SPACE}%", " %") == text.replace(
        "\N{NO-BREAK SPACE}%", " %"
    )


def test_pictures_share_no_id():
    svg = '<svg viewBox="0 0 1 1"><clipPath id="c"></clipPath><g clip-path="url(#c)"></g></svg>'
    one, two = inline_svg(svg, "one", "1"), inline_svg(svg, "two", "2")

    assert 'id="one-c"' in one
    assert "url(#one-c)" in one
    assert 'id="two-c"' in two


def test_a_long_table_scrolls_in_its_box():
    rows = [[str(place), "x"] for place in range(40)]

    many, few = table("Many", ["no.", "what"], rows), table("Few", ["no.", "what"], rows[:3])

    assert 'class="scroll long"' in many
    assert "(40 rows: scroll for more)" in many
    assert 'class="scroll"' in few
    assert "scroll for more" not in few
    assert isinstance(table("Few", ["no."], []), Html)
