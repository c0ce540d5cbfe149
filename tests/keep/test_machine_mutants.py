"""The keeper's machine has teeth: each small and plausible mistake in the keeper makes it fail."""

import sqlite3

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from contracts.keeper_machine import KeeperMachine
from tarry.core.policy import LABEL_RULES
from tarry.keep.rows import KEEPER, queries
from tarry.keep.store import Vault
from tarry.testing import memory_store

#: Mistakes by name: the labels under which each shows (all, if None), and changes to statements.
MUTANTS = {
    "labels are fixed one tick early": ("held", ("label fix_releases", "<= :ripe", "<= :ripe + 1")),
    "a window ends one tick early": ("held", ("label", "- :window AND", "- :window + 1 AND")),
    "posts leave one tick early": (None, ("due", "(SELECT closed FROM", "(SELECT closed + 1 FROM")),
    "a child does not wait": (
        None,
        (
            "due",
            "p.state IN ('waiting', ",
            "p.state IN (",
        ),
    ),
    "whoever marks is believed": (None, ("mark_released", "claim = :claim", ":claim = :claim")),
    "what waits for its label stays": ("held", ("shift_pending", "WHERE id", "WHERE id < 0 AND id")),
    "known releases are not moved": (None, ("shift_releases", "+ :ticks", "+ 0 * :ticks")),
    "arrivals are erased a window early": ("held", ("erase spent", ":erasable", ":erasable + 3")),
    "a repost draws anew": (None, ("heirloom", "LIMIT 1", "LIMIT 0")),
    "everybody inherits twice": (
        None,
        ("take_legacy", "DELETE FROM legacies", "UPDATE legacies SET target = target"),
    ),
    "a cut off run is forgotten": (None, ("park_cut_off", "once = 1", "once = 2")),
    "a cut off run is tried again": (
        None,
        ("park_cut_off", "once = 1", "once = 2"),
        ("return_lapsed", "once = 0", "once = 1"),
    ),
    "what may have left is parked as if not": (
        None,
        ("mark_parked", "'delivering_in_doubt' T", "'' T"),
    ),
    "a cut off delivery leaves no doubt": (
        None,
        ("return_lapsed", "= 'in_doubt'", "= 'waiting'"),
    ),
    "what is put back has not left": (None, ("unpark", "'parked_in_doubt' THEN 'in_doubt'", "'' THEN ''")),
    "overdue posts keep their ticks": (None, ("publish_overdue", "release = :tick", "release = release")),
    "followers look at one target": ("follower", ("follows", "pseudonym <>", "pseudonym =")),
    "no request is known again": (None, ("insert_post", ":body", "NULL")),
    "a request is known while its arrival is": (
        None,
        ("by_ids", "WHERE p.id", "WHERE a.id NOTNULL AND p.id"),
    ),
    "hours lose their last arrivals": (None, ("arrivals_by_hour", "<= :erasable", "< :erasable")),
    "the outlook shows what was withdrawn": (
        None,
        ("look_ahead", "state IN (", "state IN ('withdrawn', "),
    ),
    "the outlook keeps what it showed": (
        None,
        ("look_ahead", "INSERT", "INSERT OR IGNORE"),
        ("clear_outlook", "outlook", "outlook WHERE hour = 0"),
    ),
    "declarations are not heard": ("declared", ("declared_before", "declared = 1", "declared = 2")),
}


def fails(labels=None) -> bool:
    """Whether the machine finds something."""

    def new_store():
        store = memory_store()
        return lambda: store

    members = {"new_store": staticmethod(new_store), "label_rules": (labels,) if labels else LABEL_RULES}
    try:
        run_state_machine_as_test(
            type("Machine", (KeeperMachine,), members),
            settings=settings(
                max_examples=4000,  # far more than it takes: which posts meet is partly up to chance
                stateful_step_count=50,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    except (AssertionError, sqlite3.IntegrityError):
        return True
    return False


@pytest.mark.parametrize("mistake", MUTANTS)
def test_a_mistake_in_a_statement_is_found(mistake, monkeypatch):
    """A statement that is nearly right is found out."""
    labels, *changes = MUTANTS[mistake]
    for names, right, wrong in changes:
        for name in names.split():
            text = queries("sqlite", KEEPER)[name]
            assert right in text
            monkeypatch.setitem(queries("sqlite", KEEPER), name, text.replace(right, wrong))

    assert fails(labels)


def test_draws_that_change_at_a_restart_are_found(monkeypatch):
    """A keeper that draws again when it starts is found out."""
    honest = Vault.__init__

    def redraw(self, store, *others):
        honest(self, store, *others)
        with store.transaction("working") as transaction:
            transaction._connection.execute("UPDATE arrivals SET unbatched = unbatched + 1")

    monkeypatch.setattr(Vault, "__init__", redraw)

    assert fails()
