"""What the study's commands share: practices by name, cutoffs, and how a history is opened."""

from fractions import Fraction

import pytest

from tarry.cli.history import cutoffs_from, microseconds, named_policy, practices_from
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy


def test_cutoffs_are_microseconds_in_the_order_given():
    """Repeated ones too; blanks and empty parts do not matter."""
    assert cutoffs_from("1m, 10s,,500ms,1m") == [60_000_000, 10_000_000, 500_000, 60_000_000]
    assert cutoffs_from("") == []


def test_durations_are_whole_microseconds():
    assert microseconds("1h30m", "the window") == 5_400_000_000
    with pytest.raises(BadInput, match="the window must be a whole number of microseconds"):
        microseconds("0.1us", "the window")


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
        ("epsilon=1", "a policy says its gap, found 'epsilon=1': write epsilon=1,gap=11m"),
        ("gap=5m", "a policy says its epsilon"),
        (
            "epsilon=1,gap=11m,name=x",
            "a policy is a file, or choices among epsilon, gap, .*, found 'name=x'",
        ),
        ("epsilon=1,gap", "a policy is a file, or choices among .*, found 'gap'"),
        ("epsilon=1,gap=11m,", "a policy is a file, or choices among .*, found ''"),
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
    with pytest.raises(BadInput, match="a policy says its epsilon once"):
        named_policy("epsilon=1,epsilon=2,gap=11m")
