"""The form of an audit: what it says is taken, what it cannot mean is refused in one sentence."""

import pytest

from tarry.console.assets import texts
from tarry.console.audit.choices import HABITS, USUAL, read_choices
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.study.baselines import baseline

COLUMNS = ["user", "page", "at"]
FORM = {**USUAL, "actor": "user", "target": "page", "time": "at"}
SPACES = {"talk": write_policy(Policy(epsilon="1", gap="8s", window="3s"))}


def test_a_form_as_it_comes_asks_what_the_command_asks():
    assert read_choices(FORM, COLUMNS, SPACES) == {
        "actor": "user",
        "target": "page",
        "time": "at",
        "window": "5m",
        "cutoffs": ["10s", "1m", "5m", "10m", "30m", "1h", "2h"],
        "is_usual": True,
        "epsilons": ["0.5", "1", "2"],
        "unit": None,
        "busy": None,
        "without_bots": False,
        "collapse": False,
        "habits": [],
        "policies": {},
    }


def test_habits_spaces_and_policies_of_ones_own_are_put_beside():
    lines = "epsilon=1, gap=11m\n\nepsilon=2,gap=1h,law=label-free,delta=0.1\n"
    ticked = {"habit hotcrp": "on", "habit mix:1h": "on", "habit evil": "on", "space talk": "on"}
    chosen = read_choices({**FORM, **ticked, "policies": lines}, COLUMNS, SPACES)

    assert chosen["habits"] == ["hotcrp", "mix:1h"]
    assert list(chosen["policies"]) == ["space talk", *lines.split("\n")[:3:2]]
    assert read_policy(chosen["policies"]["epsilon=1, gap=11m"]) == Policy(epsilon="1", gap="11m")


def test_filters_and_units_are_taken():
    more = {"unit": "ms", "busy": "500", "without_bots": "on", "collapse": "on", "cutoffs": "1m, 1m, 2m"}
    chosen = read_choices({**FORM, **more}, COLUMNS, {})

    assert (chosen["unit"], chosen["busy"], chosen["without_bots"], chosen["collapse"]) == (
        "ms",
        500,
        True,
        True,
    )
    assert (chosen["cutoffs"], chosen["is_usual"]) == (["1m", "2m"], False)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"actor": ""}, "no column is chosen for the actor: choose one"),
        ({"time": "../x"}, "the file has no column '../x' for the time: choose one"),
        ({"target": "user"}, "must be three different columns"),
        ({"window": "soon"}, "the window"),
        ({"window": ""}, "the window"),
        ({"cutoffs": ""}, "cutoffs must be 1 to 30"),
        ({"cutoffs": ",".join(f"{n}s" for n in range(1, 40))}, "cutoffs must be 1 to 30"),
        ({"cutoffs": "1m, never"}, "a cutoff"),
        ({"epsilons": "1, -1"}, "epsilon"),
        ({"epsilons": "1000"}, "epsilon"),
        ({"epsilons": "x"}, "epsilon"),
        ({"epsilons": "1,2,3,4,5,6"}, "epsilons must be 1 to 5"),
        ({"unit": "fortnights"}, "unknown unit of times 'fortnights': choose"),
        ({"busy": "0"}, "the most events of an actor"),
        ({"busy": "²"}, "the most events of an actor"),
        ({"policies": "epsilon=1"}, "the policy 'epsilon=1' has no gap"),
        ({"policies": "gap=1h"}, "the policy 'gap=1h' has no epsilon"),
        ({"policies": "epsilon=1, gap=9m, gap=8m"}, "each once"),
        ({"policies": "epsilon=1, gap=9m, colour=red"}, "must choose among epsilon"),
        ({"policies": "/etc/passwd"}, "must choose among epsilon"),
        ({"policies": "epsilon=1, gap=1ns"}, ""),
        ({"policies": "epsilon=1, gap=" + "9" * 300}, "a policy must have at most 200 characters, not"),
        ({"policies": "\n".join(f"epsilon=1, gap={n}m" for n in range(6, 12))}, "must be at most 5, not 6"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(changed, told):
    with pytest.raises(BadInput) as refused:
        read_choices({**FORM, **changed}, COLUMNS, SPACES)

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_every_habit_has_its_words_and_the_name_that_tables_give_it():
    assert [baseline(habit).name for habit in HABITS] == list(HABITS)
    assert list(texts()["audit"]["habits"]) == list(HABITS)
