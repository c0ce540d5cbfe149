"""`tarry explain`: the promise in words, and in JSON with its numbers."""

import json
from fractions import Fraction

import pytest

from tarry.cli.main import main
from tarry.core.policy_file import read_policy
from tarry.core.promise import promise

HELD = 'epsilon = 1\ngap = "11m"\n'
FOLLOWER = HELD + 'labels = "follower"\n'
LABEL_FREE = HELD + 'labels = "none"\nlaw = "label-free"\ndelta = 0.001\n'


@pytest.fixture
def explain(tmp_path, capsys):
    """Runs the command on a policy text and gives what it prints."""

    def run(text, *words):
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        code = main(["explain", str(path), *words])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.mark.parametrize("text", [HELD, FOLLOWER, LABEL_FREE], ids=["held", "follower", "label-free"])
def test_every_sentence_of_the_promise_is_printed(text, explain):
    """What is promised and what is not comes out word for word, wrapped for a terminal."""
    out = explain(text)
    told = promise(read_policy(text))
    words = " ".join(out.split())

    for sentence in (*told.promised, *told.not_promised):
        assert " ".join(sentence.split()) in words
    assert out.index("Promised:") < out.index("Not promised:")
    assert max(map(len, out.splitlines())) <= 96


@pytest.mark.parametrize(
    ("text", "reach", "odds"),
    [(HELD, 960, 2.718281), (FOLLOWER, 660, 2.718281), (LABEL_FREE, 660, 2.718281)],
)
def test_the_json_has_numbers_and_sentences(text, reach, odds, explain):
    """Programs get the choices, the reach in seconds, the odds of a pair and both lists."""
    told = json.loads(explain(text, "--json"))
    meant = promise(read_policy(text))

    assert (told["epsilon"], told["gap_s"], told["reach_s"]) == (1, 660, reach)
    assert told["near_s"] == (0 if text == LABEL_FREE else 301)
    assert odds < told["odds"] < odds + 2e-6
    assert told["promised"] == list(meant.promised)
    assert told["not_promised"] == list(meant.not_promised)
    assert Fraction(told["share"]) == meant.share
