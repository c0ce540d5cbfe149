"""The settings of held views: which calls are held, under which target, and what is refused."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.gateway.middleware.held import HoldSettings, policy_of

PLACES = {"database": "held.db", "key_file": "held.key", "policy": "policy.toml"}
PART = st.text(min_size=1).filter(lambda text: "/" not in text and not text.endswith("\n"))


def settings(*paths, **others):
    return HoldSettings(**PLACES, paths=list(paths), **others)


@given(paper=PART, slash=st.sampled_from(["", "/", "\n", "/\n"]))
def test_every_spelling_that_a_router_may_take_is_held(paper, slash):
    """Whatever stands for a field, and however the path ends, nobody slips by."""
    held = settings("/papers/{paper}/reviews")

    assert held.target_of("POST", f"/papers/{paper}/reviews{slash}") is not None
    assert held.target_of("POST", f"/papers/{paper}/{paper}/reviews{slash}") is None
    assert held.target_of("POST", f"/papers/{paper}{slash}") is None


def test_only_the_methods_that_are_named_are_held():
    assert settings("/posts").target_of("PUT", "/posts") is None
    assert settings("/posts", methods=["POST", "PUT"]).target_of("PUT", "/posts") == "/posts"


def test_the_target_is_the_path_with_or_without_a_slash_at_its_end():
    assert {settings("/posts/").target_of("POST", path) for path in ("/posts", "/posts/")} == {"/posts"}
    assert settings("/").target_of("POST", "/") == "/"


def test_the_target_may_be_made_from_the_fields():
    """Reviews and comments on one paper, by one pseudonym, act on one target."""
    held = settings("/papers/{paper}/reviews", "/papers/{paper}/comments", target="paper {paper}")

    assert held.target_of("POST", "/papers/3/reviews") == "paper 3"
    assert held.target_of("POST", "/papers/3/comments") == "paper 3"


@pytest.mark.parametrize(
    ("paths", "others", "sentence"),
    [
        ([], {}, "paths must be a list with one path or more, not []"),
        (["posts"], {}, "a held path must begin with a slash"),
        (["/posts/{Post}"], {}, "a held path must begin with a slash and have its fields in braces"),
        (["/{a}/{a}"], {}, "a held path must have each field once"),
        (
            ["/posts"],
            {"target": "paper {paper}"},
            "target names paper, and the path '/posts' has no such field",
        ),
        (["/posts"], {"anonymous": "hold"}, "anonymous must be 'refuse' or 'pass', not 'hold'"),
        (["/posts"], {"most_bytes": 16 << 20}, "most_bytes must be between 1 and"),
        (["/posts"], {"methods": ["GET"]}, "methods must be a list of methods that change"),
        (["/posts"], {"methods": "POST"}, "methods must be a list of methods that change"),
        (
            ["/posts"],
            {"origin": "forum.example.org"},
            "origin must be like https://forum.example.org, not 'forum.example.org'",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(paths, others, sentence):
    with pytest.raises(BadInput) as told:
        settings(*paths, **others)
    assert sentence in str(told.value)


def test_the_paths_are_a_list_and_not_a_text():
    with pytest.raises(BadInput, match="must be a list"):
        HoldSettings(**PLACES, paths="/posts")


def test_a_policy_may_lie_in_a_file(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text('epsilon = "1"\ngap = "11m"\n')

    assert policy_of(file).gap == policy_of(Policy(epsilon="1", gap="11m")).gap


def test_a_policy_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(BadInput, match=r"the policy file .* cannot be read"):
        policy_of(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="must be UTF-8 text"):
        policy_of(tmp_path / "odd.toml")


def test_every_setting_is_in_the_guide():
    guide = (Path(__file__).resolve().parents[3] / "docs" / "middleware.md").read_text(encoding="utf-8")

    assert [each.name for each in fields(HoldSettings) if f"\n| `{each.name}` | " not in guide] == []
