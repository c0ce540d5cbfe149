"""The form of an audit: what it says is taken, what it cannot mean is refused in one sentence."""

import pytest

from tarry.console.audit_choices import HABITS, USUAL, read_choices
from tarry.console.texts import texts
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
        ({"actor": ""}, "the column of the actor is one of the file's, found none"),
        ({"time": "../x"}, "the column of the time is one of the file's"),
        ({"target": "user"}, "must be three different columns"),
        ({"window": "soon"}, "the window"),
        ({"window": ""}, "the window"),
        ({"cutoffs": ""}, "the cutoffs are 1 to 30"),
        ({"cutoffs": ",".join(f"{n}s" for n in range(1, 40))}, "the cutoffs are 1 to 30"),
        ({"cutoffs": "1m, never"}, "a cutoff"),
        ({"epsilons": "1, -1"}, "epsilon"),
        ({"epsilons": "1000"}, "epsilon"),
        ({"epsilons": "x"}, "epsilon"),
        ({"epsilons": "1,2,3,4,5,6"}, "the epsilons are 1 to 5"),
        ({"unit": "fortnights"}, "the unit of times"),
        ({"busy": "0"}, "the most events of an actor"),
        ({"busy": "²"}, "the most events of an actor"),
        ({"policies": "epsilon=1"}, "a policy says its gap"),
        ({"policies": "gap=1h"}, "a policy says its epsilon"),
        ({"policies": "epsilon=1, gap=9m, gap=8m"}, "each once"),
        ({"policies": "epsilon=1, gap=9m, colour=red"}, "has choices among epsilon"),
        ({"policies": "/etc/passwd"}, "has choices among epsilon"),
        ({"policies": "epsilon=1, gap=1ns"}, ""),
        ({"policies": "epsilon=1, gap=" + "9" * 300}, "a line of at most 200 characters"),
        ({"policies": "\n".join(f"epsilon=1, gap={n}m" for n in range(6, 12))}, "are at most 5"),
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
