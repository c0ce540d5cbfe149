"""`tarry backup`, `tarry restore`, `tarry resume`: there and back, paused in between."""

import pytest

from contracts.house import House, new_database
from tarry.testing import ManualClock

BOTH = pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def house(operator, monkeypatch):
    """The operator's gateway in use, under a clock moved by hand."""
    clock = ManualClock()
    for store in ("sqlite.SqliteStore", "postgres.PostgresStore"):
        monkeypatch.setattr(f"tarry.keep.{store}.clock", lambda _: clock)
    operator.key.write_bytes(bytes(range(32)))  # as the house has it
    operator.key.chmod(0o600)
    house = House(operator.database, clock)
    yield house
    house.store.close()


@BOTH
@pytest.mark.parametrize("into", ["sqlite", "postgres"])
def test_a_backup_comes_back_and_what_may_have_left_is_parked(request, operator, house, monkeypatch, into):
    receipt = house.admit("ann", "a\x1bthread")
    told = operator.ask("backup", "b.db")
    assert (told["file"], told["rows"]["posts"]) == ("b.db", 1)
    house.clock.sleep(600)

    other = new_database(request, into, operator.folder, "other")
    monkeypatch.setenv("TARRY_DATABASE", other)
    told = operator.ask("restore", "b.db")
    assert told["paused"] is True
    (post,) = told["may_have_left"]
    assert (post["space"], post["target"]) == ("talk", "a\x1bthread")
    assert post["post"] == str(receipt.post)  # a number of this size is rounded by many readers of JSON
    assert post["due_at"] <= house.clock.wall / 1_000_000
    assert operator.ask("status")["paused"] is True

    assert operator.ask("resume") == {"paused": False, "parked": 1}
    found = operator.ask("status")
    assert (found["paused"], found["parked"]) == (False, {"talk": 1})
    assert (
        operator.refusal("resume") == "tarry resume: this gateway is not paused: there is nothing to resume"
    )


def test_for_people_what_may_have_left_is_a_table(operator, house, monkeypatch):
    house.admit("ann", "a\x1bthread")
    assert operator.tell("backup", "b.db").endswith("rows to b.db\n")
    house.clock.sleep(600)
    monkeypatch.setenv("TARRY_DATABASE", "other.db")
    lines = operator.tell("restore", "b.db").splitlines()

    assert lines[0].endswith("rows; paused until tarry resume")
    assert lines[1].startswith("these may have left already")
    assert lines[3].split()[1:4] == ["talk", "a?thread", lines[3].split()[3]]
    assert operator.tell("resume") == "it works again; 1 posts that may have left are parked\n"


def test_with_nothing_due_nothing_is_listed(operator, house, monkeypatch):
    operator.tell("backup", "b.db")
    monkeypatch.setenv("TARRY_DATABASE", "other.db")

    assert operator.tell("restore", "b.db").splitlines()[1] == "nothing was to leave meanwhile"
    assert operator.tell("resume") == "it works again\n"


def test_another_key_does_not_resume_it(operator, house, monkeypatch):
    operator.tell("backup", "b.db")
    monkeypatch.setenv("TARRY_DATABASE", "other.db")
    operator.tell("restore", "b.db")
    operator.key.write_bytes(bytes(32))

    assert "this key is not the one that this store was begun with" in operator.refusal("resume")


def test_what_is_not_there_yet_is_made_by_adding_a_space(operator):
    operator.tell("migrate")
    operator.key.write_bytes(bytes(32))
    operator.key.chmod(0o600)

    for command in ("status", "resume"):
        assert operator.refusal(command).endswith("has no space yet: make one with tarry space add")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["backup"], "tarry backup: the following arguments are required: FILE"),
        (
            ["backup", "there"],
            "tarry backup: 'there' already exists: write the backup to a new file",
        ),
        (
            ["backup", "no/where"],
            "tarry backup: no backup can be written to 'no/where': make its folder first",
        ),
        (
            ["restore", "none"],
            "tarry restore: 'none' is no backup: give a file that tarry backup has written",
        ),
        (
            ["restore", "gateway.db"],
            "tarry restore: 'gateway.db' is a database in use, no backup: tarry backup makes one of it",
        ),
        (["restore", "there"], "tarry restore: the store cannot be opened: file is not a database"),
        (["resume"], "tarry resume: this gateway is not paused: there is nothing to resume"),
    ],
)
def test_what_is_wrong_gets_one_sentence(operator, house, words, sentence):
    operator.file("there", "something else")

    assert operator.refusal(*words).startswith(sentence)
