"""Names of programs, and names of people that look like them."""

import pytest

from tarry.readers.exports import is_bot_name


@pytest.mark.parametrize(
    "name", ["dependabot[bot]", "Build Bot", "bot-ci", "lf-jenkins", "Zuul", "my_bot", "x@bots.y"]
)
def test_a_program_is_known_by_a_word_of_its_name(name):
    """Wherever the word stands."""
    assert is_bot_name("", name)


@pytest.mark.parametrize("name", ["Talbot", "abbott@nym.example", "Botha", "Renate", "robotics", ""])
def test_people_are_not_taken_for_programs(name):
    """Three letters inside a name mean nothing."""
    assert not is_bot_name(name)
