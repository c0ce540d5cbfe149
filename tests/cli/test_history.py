"""What the study's commands share: practices by name, cutoffs, and how a history is opened."""

import argparse
from dataclasses import replace
from fractions import Fraction

import pytest

from tarry.cli.history import (
    add_columns,
    add_filters,
    add_practices,
    add_question,
    named_policy,
    practices_from,
    question_from,
)
from tarry.cli.outputs import add_report
from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.study.attack.cutoff import CUTOFF
from tarry.study.baselines.plain import JITTER


def asked(*options):
    """The question that options of `tarry audit` ask."""
    parser = argparse.ArgumentParser()
    for add in (add_columns, add_filters, add_practices, add_question, add_report):
        add(parser)
    return question_from(parser.parse_args(["votes.csv", *options]))


def test_cutoffs_are_microseconds_in_the_order_given():
    """Repeated ones too; blanks and empty parts do not matter."""
    assert asked("--cutoffs", "1m, 10s,,500ms,1m").cutoffs == (60_000_000, 10_000_000, 500_000, 60_000_000)
    with pytest.raises(BadInput, match="no cutoffs given: give at least one"):
        asked("--cutoffs", "")


def test_cutoffs_go_on_unless_they_are_given():
    assert asked().stretch
    assert not asked("--cutoffs", "1m").stretch


def test_durations_are_whole_microseconds():
    assert asked("--window", "1h30m").window == 5_400_000_000
    with pytest.raises(BadInput, match="the window must be a whole number of microseconds"):
        asked("--window", "0.1us")


def test_what_is_asked_for_is_what_the_options_say():
    question = asked(
        "--baseline", "mix:1h", "--observer", "archive", "--attack", "nearest", "--without-bots"
    )

    assert [practice.name for practice in question.practices] == ["nothing", "mix:1h"]
    assert [watcher.name for watcher in question.observers] == ["archive"]
    assert [method.name for method in question.attacks] == ["nearest"]
    assert question.without_bots
    assert not question.recommend


@pytest.mark.parametrize("option", ["--attack", "--baseline"])
def test_code_that_is_not_installed_runs_only_where_that_is_allowed(option, tmp_path, monkeypatch):
    """`module:NAME`, with a parameter after a second colon."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "somebodys.py").write_text(
        "from dataclasses import replace\n"
        "from tarry.study.attack.cutoff import CUTOFF\n"
        "from tarry.study.baselines.plain import JITTER\n"
        "ATTACK, HABIT = replace(CUTOFF, name='mine'), replace(JITTER, name='mine')\n",
        encoding="utf-8",
    )
    text = "somebodys:ATTACK" if option == "--attack" else "somebodys:HABIT:5m-15m"
    with pytest.raises(BadInput, match=r"'somebodys:.*' is code that is not installed.*--allow-code"):
        asked(option, text)

    question = asked(option, text, "--allow-code")
    assert [method.name for method in question.attacks] == ["cutoff"]
    assert question.practices[-1].name == ("nothing" if option == "--attack" else "jitter:5m-15m")
    with pytest.raises(BadInput, match=f"'{text.partition(':')[0]}:replace' is no "):
        asked(option, "somebodys:replace", "--allow-code")


class Installed:
    """An entry point of another package."""

    def __init__(self, name, thing):
        self.name, self.value, self._thing = name, f"theirs:{name}", thing

    def load(self):
        return self._thing


def test_attacks_and_habits_of_installed_packages_join_by_name(monkeypatch):
    """In the options, in the help, and in what an audit says."""
    attack, habit = replace(CUTOFF, name="theirs"), replace(JITTER, name="their-habit")
    groups = {
        "tarry.attacks": [Installed("theirs", attack)],
        "tarry.practices": [Installed("their-habit", habit)],
    }
    monkeypatch.setattr(plugins, "entry_points", lambda group: groups.get(group, []))
    question = asked("--attack", "theirs", "--baseline", "their-habit:1h")
    parser = argparse.ArgumentParser()
    add_practices(parser)
    add_question(parser)
    text = " ".join(parser.format_help().split())

    assert [method.name for method in question.attacks] == ["cutoff"]  # the name that it gives itself
    assert question.practices[-1].name == "jitter:1h"
    assert "nearest, theirs (default cutoff)" in text
    assert "end, their-habit; may be given again" in text


def test_a_policy_is_its_choices_or_a_file(tmp_path):
    """A file goes before choices, whatever its name."""
    policy = Policy(epsilon="0.5", gap="20m", window="2m", labels="follower")
    for name in ("mine.toml", "epsilon=9,gap=9h"):
        (tmp_path / name).write_text(write_policy(policy), encoding="utf-8")
        assert named_policy(str(tmp_path / name)) == policy
    assert named_policy("epsilon=0.5, gap=20m,window=2m,labels=follower") == policy


def test_a_label_free_law_has_no_labels_unasked():
    assert named_policy("epsilon=1,gap=11m,law=label-free,delta=0.1").labels == "none"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("epsilon=1", "the policy 'epsilon=1' has no gap: write it like epsilon=1,gap=11m"),
        ("gap=5m", "the policy 'gap=5m' has no epsilon"),
        (
            "epsilon=1,gap=11m,name=x",
            "'name=x' is no choice of a policy: give a file, or choices among epsilon, gap, ",
        ),
        ("epsilon=1,gap", "'gap' is no choice of a policy"),
        ("epsilon=1,gap=11m,", "'' is no choice of a policy"),
        ("epsilon=x,gap=11m", "epsilon must be a decimal number, not 'x'"),
    ],
)
def test_odd_policies_are_refused(text, told):
    with pytest.raises(BadInput, match=told):
        named_policy(text)


def test_practices_are_baselines_then_policies():
    """Under the names they were given."""
    found = practices_from(["epsilon=1,gap=11m"], ["nothing", "jitter:24h"])

    assert [practice.name for practice in found] == ["nothing", "jitter:1d", "epsilon=1,gap=11m"]
    assert found[2].policy.gap == Fraction(660)


def test_a_choice_of_a_policy_is_made_once():
    """The last one does not win silently."""
    with pytest.raises(BadInput, match="has two values for epsilon: give one"):
        named_policy("epsilon=1,epsilon=2,gap=11m")
