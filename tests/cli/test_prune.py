"""`tarry prune`: old rows go when an operator says so, and a dry run only counts them."""

import pytest

from contracts.operating import FAST
from tarry.keep.store import MICROS

YEAR_S = 365 * 24 * 3600
RELEASE = {"space": "talk", "target": "p1", "content": b"!", "options": "{}"}


@pytest.fixture
def old(operator):
    """A space whose feed has a release of long ago, one of a year ago, and one of now."""
    operator.add_space("talk", FAST)

    def publish(transaction):
        row = transaction.one("snapshot")
        for position, age in enumerate((2 * YEAR_S, YEAR_S, 0), 1):
            at = row["time"] - age * MICROS
            transaction.tell("publish", **RELEASE, position=position, id=str(position), at=at)

    operator.change(publish)
    return operator


@pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
def test_what_is_old_goes_and_a_dry_run_counts_it(old):
    words = ("prune", "feed", "hours", "--older-than", "500d")

    assert old.ask(*words, "--dry-run") == {"rows": {"feed": 1, "hours": 0}, "dry_run": True}
    assert old.tell(*words, "--dry-run").splitlines()[0].split(maxsplit=1) == ["what", "rows that would go"]
    assert old.ask(*words) == {"rows": {"feed": 1, "hours": 0}, "dry_run": False}
    assert old.ask("prune", "feed", "--space", "talk", "--older-than", "30d")["rows"] == {"feed": 1}
    assert old.tell("prune", "feed", "--older-than", "30d").splitlines()[1].split() == ["feed", "0"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["feed"], "the following arguments are required: --older-than (see tarry prune --help)"),
        (["feed", "--older-than", "6d"], "only what is 7d old or older may be pruned, not 6d"),
        (["feed", "--older-than", "old"], "--older-than "),
        (["posts", "--older-than", "30d"], "argument WHAT: invalid choice: 'posts'"),
        (
            ["hours", "--space", "talk", "--older-than", "30d"],
            "hours cannot be pruned for space 'talk' alone",
        ),
        (
            ["feed", "--space", "none", "--older-than", "30d"],
            "this gateway has no space 'none': check its name",
        ),
    ],
)
def test_what_is_wrong_gets_one_sentence(operator, words, sentence):
    operator.add_space()

    assert operator.refusal("prune", *words).startswith(f"tarry prune: {sentence}")
