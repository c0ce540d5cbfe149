"""`tarry migrate`: applies what is missing, and says which."""

import pytest


@pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
def test_what_is_new_is_told_once(operator):
    first = operator.ask("migrate")
    assert first["applied"] == first["known"]
    assert first["applied"][0] == 1
    assert operator.ask("migrate") == {"applied": [], "known": first["known"]}
    assert operator.tell("migrate") == "up to date: nothing to apply\n"


def test_for_people_the_numbers_are_listed(operator):
    told = operator.tell("migrate")

    assert told.startswith("applied 1, 2")


def test_a_database_that_cannot_be_reached_is_told_in_one_sentence(operator, monkeypatch):
    monkeypatch.setenv("TARRY_DATABASE", "postgresql://nobody@/none?host=/nowhere")

    assert operator.refusal("migrate").startswith("tarry migrate: the store cannot be opened: ")
