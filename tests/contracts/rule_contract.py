"""What every store says in SQL of the release rule is what `core/release.py` says."""

import random

import pytest

from contracts.keeping import World
from tarry.core.release import Draws, after_parents, release_ticks
from tarry.keep.store import Transaction

__all__ = ["RuleContract"]

CASES, POSTS, SPAN = 25, 8, 12


def insert(
    transaction: Transaction, releases: list[int | None], parents: list[int | None], outlet: str = "list"
) -> None:
    """Posts that wait at an outlet, one for each release; the key of a post is its number, at "list"."""
    first = 0 if outlet == "list" else 1_000_000
    rows = [
        {
            "id": first + number,
            "target": "p1",
            "outlet": outlet,
            "options": b"{}",
            "content": b"",
            "release": release,
            "parent": parent,
            "receipt": b"%d" % number,
            "pseudonym": None,
            "body": None,
        }
        for number, (release, parent) in enumerate(zip(releases, parents, strict=True))
    ]
    transaction.many("insert_post", rows)


def stored(world: World) -> list[int | None]:
    """The releases of all posts, by their numbers."""
    rows = world.rows("posts")
    return [rows[number]["release"] for number in sorted(rows)]


def by_the_rule(releases: list[int | None], parents: list[int | None]) -> list[int | None]:
    """The same from the rule itself: parents have lower numbers than their children."""
    found: list[int | None] = []
    for release, parent in zip(releases, parents, strict=True):
        above = None if parent is None else found[parent]
        found.append(release if release is None or above is None else after_parents(release, above))
    return found


def arrival(number: int, chance: random.Random) -> dict[str, object]:
    """An arrival whose label is known."""
    came = chance.randrange(3, 10)
    return {
        "id": number,
        "actor": b"somebody",
        "pseudonym": b"%d" % number,
        "arrival": came,
        "declared": 0,
        "unbatched": chance.randrange(SPAN),
        "batched": chance.randrange(SPAN),
        "deadline": chance.choice([None, came + chance.randrange(2 * SPAN)]),
        "shift": chance.choice([0, 5]),
        "label": chance.randrange(2),
        "period": "",
        "earliest": None,
        "latest": None,
    }


def ruled(row: dict, hold: int) -> int:
    """Its release from the rule itself."""
    draws = Draws(row["unbatched"], row["batched"])
    plain = release_ticks(row["arrival"], draws, batched=row["label"], hold=hold, deadline=row["deadline"])
    return plain + row["shift"]


class RuleContract:
    """Tests of the parts of the rule that are repeated in SQL; `new_world` comes from `StoreContract`."""

    @pytest.mark.parametrize("case", range(CASES))
    def test_children_are_raised_as_the_rule_says(self, new_world, case):
        """Whatever the family and the releases, those that are not known yet included."""
        world, chance = new_world(), random.Random(case)
        parents = [chance.choice([None, *range(number)]) for number in range(POSTS)]
        releases = [chance.choice([None, *[chance.randrange(SPAN)] * 5]) for _ in range(POSTS)]
        with world.store.transaction("closing") as transaction:
            insert(transaction, releases, parents)
            while transaction.run("raise_children"):
                pass

        assert stored(world) == by_the_rule(releases, parents)

    @pytest.mark.parametrize("case", range(CASES))
    def test_labels_fix_the_releases_that_the_rule_gives(self, new_world, case):
        """Whatever the draws, the deadline, the hold and the outage; what was fixed before stays."""
        world, chance = new_world(), random.Random(case)
        releases = [chance.choice([None, None, SPAN]) for _ in range(POSTS)]
        hold = chance.choice([0, 3])
        rows = [arrival(number, chance) for number in range(POSTS)]
        with world.store.transaction("closing") as transaction:
            insert(transaction, releases, [None] * POSTS)
            transaction.many("insert_arrival", rows)
            transaction.tell("fix_releases", labelled=4, ripe=8, hold=hold)

        assert stored(world) == [
            release if release is not None or not 4 < row["arrival"] <= 8 else ruled(row, hold)
            for release, row in zip(releases, rows, strict=True)
        ]

    @pytest.mark.parametrize("case", range(5))
    def test_what_fell_due_while_ticks_were_missed_waits_for_the_tick_of_recovery(self, new_world, case):
        """As it would for a parent that leaves then; what was due before stays where it is."""
        world, chance = new_world(), random.Random(case)
        releases = [chance.choice([None, chance.randrange(SPAN)]) for _ in range(POSTS)]
        closed, tick = SPAN // 3, SPAN // 2
        with world.store.transaction("closing") as transaction:
            insert(transaction, releases, [None] * POSTS)
            transaction.tell("publish_overdue", closed=closed, tick=tick)

        assert stored(world) == [
            after_parents(release, tick) if release is not None and closed < release else release
            for release in releases
        ]
