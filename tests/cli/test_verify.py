"""`tarry verify`: exit 0 when a promise holds, 1 with a witness when it is broken."""

import io
import json
import sys
from fractions import Fraction

import pytest

from tarry.cli.main import main
from tarry.core.law import Law, Run
from tarry.core.mechanism import LawPair

SMALL = ["--events", "2"]
POLICIES = {
    "held": 'epsilon = 1\ngap = "11m"\n',
    "bridge": 'epsilon = 1\ngap = "11m"\ncover = "bridge"\n',
    "declared": 'epsilon = 1\ngap = "11m"\nlabels = "declared"\n',
    "follower": 'epsilon = 1\ngap = "11m"\nlabels = "follower"\n',
    "simultaneous": 'epsilon = 1\ngap = "11m"\nlabels = "simultaneous"\n',
    "endless": 'epsilon = 1\ngap = "11m"\nlaw = "exponential"\n',
    "gaps": 'epsilon = 1\ngap = "11m"\ngaps.track.slow = "1h"\n',
    "label-free": 'epsilon = 1\ngap = "11m"\nlabels = "none"\nlaw = "label-free"\ndelta = 0.01\n',
}


@pytest.fixture
def policy(tmp_path):
    """Writes a policy file and gives its path."""

    def write(text):
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def too_short(ask):
    """A broken law: the unbatched delay stops where the batched one starts."""
    return LawPair(
        batched=Law((Run(ask.start, Fraction(0)), Run(10, Fraction(1, 10)))),
        unbatched=Law((Run(ask.start, Fraction(1, ask.start)),)),
        start=ask.start,
    )


def too_steep(ask):
    """A broken law: every batched delay is likelier than allowed, but none impossible without a batch."""
    end = 2 * ask.start
    return LawPair(
        batched=Law((Run(ask.start, Fraction(0)), Run(ask.start, Fraction(1, ask.start)))),
        unbatched=Law((Run(end, Fraction(1, end)),)),
        start=ask.start,
    )


@pytest.mark.parametrize("name", POLICIES)
def test_every_kind_of_policy_holds(name, policy, capsys):
    """The policies that tarry offers keep their promise: exit 0, a margin, no witness."""
    code = main(["verify", policy(POLICIES[name]), *SMALL, "--json"])
    out, err = capsys.readouterr()
    told = json.loads(out)

    assert (code, err) == (0, "")
    assert (told["verdict"], told["witness"]) == ("holds", None)
    assert 0 <= told["margin"] < 0.1
    assert "exactly" in told["scope"]


def test_a_clean_search_says_how_far_it_went(policy, capsys):
    """The laws are decided; the rules are searched, and the size of the search is told."""
    code = main(["verify", policy(POLICIES["held"]), *SMALL])
    out = capsys.readouterr().out

    assert code == 0
    assert out.startswith("holds")
    assert "every delay and every shift, exactly" in out
    assert "no witness up to 2 events" in out


def test_a_broken_law_exits_with_1_and_a_witness(policy, monkeypatch, capsys):
    """A finite violation is told with its inputs, the release and the ratio."""
    monkeypatch.setattr("tarry.core.laws.uniform.uniform", too_steep)
    code = main(["verify", policy(POLICIES["held"] + 'law = "uniform"\n'), *SMALL, "--json"])
    told = json.loads(capsys.readouterr().out)

    assert (code, told["verdict"]) == (1, "broken")
    assert told["margin"] < 0
    assert set(told["witness"]) == {"batched", "other", "seen", "ratio", "allowed"}
    assert told["witness"]["ratio"] == pytest.approx(2)
    assert told["witness"]["allowed"] < 2


def test_an_impossible_release_is_an_infinite_ratio(policy, monkeypatch, capsys):
    """A release that only a batch explains has no ratio in JSON, and can never be otherwise in words."""
    monkeypatch.setattr("tarry.core.laws.uniform.uniform", too_short)
    path = policy(POLICIES["held"] + 'law = "uniform"\n')
    code = main(["verify", path, *SMALL])
    words = capsys.readouterr().out

    assert (code, words.split()[0].strip(":")) == (1, "broken")
    assert "never" in words
    assert main(["verify", path, *SMALL, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["witness"]["ratio"] is told["margin"] is None


def test_a_policy_comes_from_standard_input(monkeypatch, capsys):
    """`-` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(POLICIES["held"]))

    assert main(["verify", "-", *SMALL]) == 0
    assert capsys.readouterr().out.startswith("holds")


@pytest.mark.parametrize("events", ["0", "5", "-1", "2.5", "many", "", "\u0662"])
def test_the_size_of_the_search_is_a_small_number(events, policy, capsys):
    """A search over no events, or too many, is refused in one line."""
    code = main(["verify", policy(POLICIES["held"]), "--events", events])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert err == f"tarry verify: --events must be a whole number from 1 to 4, not {events!r}\n"
