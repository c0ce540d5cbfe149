"""`tarry parked`: what could not be delivered is listed, retried, withdrawn and exported, one or many."""

import json

import pytest

from contracts.operating import FAST
from tarry.gateway.database import open_store, read_key
from tarry.gateway.gateway import Gateway, Submission
from tarry.keep.errors import Refused
from tarry.keep.keeper import Keeper
from tarry.keep.posts import Post
from tarry.testing import ListOutlet

BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
LOST = "its answer was lost"


class Moody(ListOutlet):
    """Refuses what it is told to, each for its own reason."""

    def deliver(self, release):
        if release.content in {b"refuse", b"\xff"}:
            raise Refused("no such mailbox")
        if release.content == b"lose":
            raise Refused(LOST, sent=True)
        super().deliver(release)


@pytest.fixture
def house(operator):
    """Two spaces; what is handed in leaves, or is parked, within seconds."""
    for name in ("talk", "reviews"):
        operator.add_space(name, FAST)
    store = open_store(operator.database)
    operator.outlet = Moody()
    own = {"talk": operator.outlet, "reviews": operator.outlet}
    operator.gateway = Gateway(store, read_key(operator.key), outlets=own)
    yield operator
    store.close()


def hand_in(house, *contents, space="talk", target="p1"):
    """Posts that have left, or are parked."""
    posts = [
        Post(actor=f"actor-{n}", target=target, outlet="", content=text) for n, text in enumerate(contents)
    ]
    (answer,) = house.gateway.admit([Submission(space=space, posts=posts)])
    assert [receipt.status.state for receipt in answer] == ["waiting"] * len(posts)
    keep(house)
    return [receipt.post for receipt in answer]


def keep(house):
    Keeper(house.gateway.vault, workers=2).run(until_empty=True)


def listed(house, *words):
    return {int(each["post"]) for each in house.ask("parked", "list", *words)["parked"]}


@BOTH
def test_what_is_parked_is_listed_by_space_and_target(house):
    (first, second), (third,) = (
        hand_in(house, b"refuse", b"refuse", target="p1"),
        hand_in(house, b"refuse", space="reviews", target="p2"),
    )
    (post,) = house.ask("parked", "list", "--space", "reviews")["parked"]

    assert listed(house) == {first, second, third}
    assert listed(house, "--target", "p1") == {first, second}
    assert listed(house, "--space", "talk", "--target", "p2") == set()
    assert post.pop("release_at").startswith("20")
    assert post == {
        "post": str(third),
        "space": "reviews",
        "target": "p2",
        "attempts": 1,
        "problem": "no such mailbox",
        "may_have_left": False,
    }
    assert house.tell("parked", "list", "--target", "p2").splitlines()[1].split()[0] == str(third)


def test_where_nothing_is_parked_it_says_so(house):
    hand_in(house, b"fine")

    assert house.tell("parked", "list") == "nothing is parked\n"
    assert house.ask("parked", "retry", "--all") == {"changed": [], "left_alone": []}


@BOTH
def test_all_are_retried_but_those_that_may_have_left(house):
    (first, lost) = hand_in(house, b"refuse", b"lose")
    told = house.ask("parked", "retry", "--all")
    house.outlet.deliver = house.outlet.delivered.append
    keep(house)

    assert told == {"changed": [str(first)], "left_alone": [str(lost)]}
    assert [release.content for release in house.outlet.delivered] == [b"refuse"]
    assert listed(house) == {lost}
    code, out, err = house.say("parked", "retry", "--space", "talk")
    assert (code, out) == (0, "0 put back\n")
    assert err.startswith(
        "tarry parked: 1 may have left already: look first, then retry each by its id, or use "
    )


@pytest.mark.parametrize("flag", [True, False], ids=["by a flag", "by their own ids"])
def test_what_may_have_left_is_retried_by_somebody_who_says_so(house, flag):
    lost = hand_in(house, b"lose", b"lose")
    house.outlet.deliver = house.outlet.delivered.append
    for words in [["--all", "--may-have-left"]] if flag else [[post] for post in lost]:
        house.ask("parked", "retry", *words)
    keep(house)

    assert [release.content for release in house.outlet.delivered] == [b"lose"] * 2
    assert listed(house) == set()


def test_several_ids_are_a_bulk_too(house):
    lost = hand_in(house, b"lose", b"lose")

    assert house.ask("parked", "retry", *lost)["changed"] == []
    assert listed(house) == set(lost)


@BOTH
def test_what_is_withdrawn_is_gone_and_the_others_stay(house):
    mine, other = hand_in(house, b"refuse", b"lose"), hand_in(house, b"refuse", target="p2")
    told = house.ask("parked", "withdraw", "--target", "p1")

    assert set(told["changed"]) == set(map(str, mine))
    assert listed(house) == set(other)
    assert house.tell("parked", "withdraw", other[0]) == "1 withdrawn\n"
    assert listed(house) == set()


def test_what_they_say_is_exported_to_a_private_file(house):
    first, second = hand_in(house, b"refuse", b"\xff")
    told = house.ask("parked", "export", "--all", "-o", house.folder / "parked.jsonl")
    path = house.folder / "parked.jsonl"
    lines = {int(line["post"]): line for line in map(json.loads, path.read_text().splitlines())}

    assert told == {"exported": 2, "without_content": 0, "file": str(path)}
    assert (lines[first]["content"], lines[second]["content_base64"]) == ("refuse", "/w==")
    assert lines[first]["target"] == "p1"
    assert not any("actor" in text for text in path.read_text().split('"'))
    assert path.stat().st_mode & 0o777 == 0o600
    assert "already exists" in house.refusal("parked", "export", "--all", "-o", path)
    assert listed(house) == {first, second}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["retry"], "nothing to retry: name posts by id, or use --space, --target or --all"),
        (
            ["withdraw", "7", "--all"],
            "ids and filters are both given: use ids, or --space, --target or --all",
        ),
        (
            ["withdraw", "--all", "--may-have-left"],
            "unrecognized arguments: --may-have-left (see tarry parked withdraw --help)",
        ),
        (
            ["export", "--all"],
            "the following arguments are required: -o/--output (see tarry parked export --help)",
        ),
        (["list", "--output=x"], "unrecognized arguments: --output=x (see tarry parked list --help)"),
        (["retry", "x"], "the id of a post must be a whole number, not 'x'"),
        (["retry", "7"], "no parked post has the id 7: tarry parked list shows them"),
        (["retry", "--space", "nowhere"], "this gateway has no space 'nowhere': check its name"),
    ],
)
def test_what_is_wrong_gets_one_sentence(operator, words, sentence):
    operator.add_space()

    assert operator.refusal("parked", *words) == f"tarry parked: {sentence}"
