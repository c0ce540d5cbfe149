"""Every sentence by which the core promises is one of the texts, whatever the policy."""

from itertools import product

import pytest

from contracts.policies import SEASON_RULES, policy_with
from tarry.console import said as module
from tarry.console.pages import texts
from tarry.console.said import said
from tarry.core.policy import Policy
from tarry.core.promise import promise

POLICIES = [
    *(
        Policy(epsilon="1", gap="11m", window=window, labels=labels, tick=tick)
        for labels, window, tick in product(("held", "declared", "follower"), ("0s", "5m"), ("1s", "2m"))
        if labels != "follower" or window != "0s"
    ),
    Policy(epsilon="8", gap="11m", window="0s", labels="simultaneous", deadline_at=10**6),
    Policy(epsilon="1", gap="11m", window="5m", target_gaps={"a": "7m"}),
    Policy(epsilon="1", gap="11m", window="0s", labels="simultaneous", target_gaps={"a": "7m"}),
    Policy(epsilon="1", gap="11.5s", window="5s", target_gaps={"a": "7.5s"}),
    Policy(epsilon="1", gap="11.5s", window="5s"),
    Policy(epsilon="1", gap="1h", window="0s", labels="none", law="label-free", delta="0.01"),
    *(
        policy_with("cosine", gap="1h", window="5m" if each != "simultaneous" else "0s", labels=each)
        for each in SEASON_RULES
    ),
]


@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_every_sentence_of_a_promise_is_known_and_said_as_it_is(number, monkeypatch):
    promised = promise(POLICIES[number])
    sentences = [*promised.promised, *promised.not_promised]

    assert [said(each) for each in sentences] == sentences
    english = texts("en")["promise"]
    other = {kind: dict.fromkeys(known, "αβγ") for kind, known in english.items()}
    monkeypatch.setattr(
        module, "texts", lambda language="": texts("en") if language else {"promise": other}
    )
    assert {said(each) for each in sentences} == {"αβγ"}


def test_places_are_kept_and_phrases_within_them_are_said_too(monkeypatch):
    sentence = promise(Policy(epsilon="1", gap="11m")).promised[0]
    other = {
        "sentences": {"pair": "[{together}] [{near}] [{odds}] [{which}] [{until}]"},
        "phrases": {"within": "<{window}>", "either": "|", "gap_and_window": "{length}!"},
    }
    monkeypatch.setattr(
        module, "texts", lambda language="": texts("en") if language else {"promise": other}
    )

    assert said(sentence) == "[<5m>] [5m1s] [2.72] [|] [16m!]"


def test_what_nobody_has_translated_stays():
    assert said("Something else.") == "Something else."
