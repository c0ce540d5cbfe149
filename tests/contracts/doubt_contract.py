"""What every store does with a post that may have left: nobody changes it until somebody knows."""

import pytest

from contracts.keeping import World, as_long_as
from contracts.releaser_contract import due
from tarry.keep.errors import LockedOut, Refused, TooLate, Unreachable
from tarry.keep.posts import IN_DOUBT
from tarry.keep.releaser import LEASE_S, MOST_ATTEMPTS

__all__ = ["DoubtContract"]


def try_again(world: World, trouble: Exception | None, outlet: str = "list") -> None:
    """The time to try again has come, and a worker does."""
    world.clock.sleep(300)
    world.releaser.sweep()
    world.outlets[outlet].broken = trouble
    world.releaser.release()


def open_to_doubt(world: World, how: str) -> None:
    """The first try ends, and nobody knows how."""
    if how == "no answer":
        try_again(world, Unreachable("it hung up", sent=True))
        return
    world.releaser.claim("list")
    world.clock.sleep(LEASE_S)
    world.releaser.sweep()


def check_unchangeable(world: World, receipt) -> None:
    """Its author is told why it can be neither replaced nor withdrawn."""
    for change in (world.gate.withdraw, lambda secret: world.gate.replace(secret, b"other")):
        with pytest.raises(TooLate, match="how its delivery ended is not known yet"):
            change(receipt.secret)
    status = world.gate.status(receipt.secret)
    assert (status.state, status.problem, status.in_doubt) == ("waiting", IN_DOUBT, True)


class DoubtContract:
    """Tests of what may have left; `new_world` comes from `StoreContract`."""

    @pytest.mark.parametrize("how", ["cut off", "no answer"])
    def test_what_may_have_left_cannot_be_changed_until_a_try_has_shown(self, new_world, how):
        """Neither replaced nor withdrawn; and a later try that sends nothing has shown nothing."""
        world = new_world()
        (receipt,) = due(world)
        open_to_doubt(world, how)
        check_unchangeable(world, receipt)
        for _ in range(2):
            try_again(world, Unreachable("not now"))
            check_unchangeable(world, receipt)
        try_again(world, None)

        assert world.gate.status(receipt.secret).state == "released"
        assert not world.gate.status(receipt.secret).in_doubt

    def test_what_sent_nothing_may_be_changed(self, new_world):
        """A connection that was refused delivered nothing."""
        world = new_world()
        (receipt,) = due(world)
        try_again(world, Unreachable("not now"))
        world.gate.replace(receipt.secret, b"other")

        assert not world.gate.status(receipt.secret).in_doubt
        assert world.gate.withdraw(receipt.secret).state == "withdrawn"

    @pytest.mark.parametrize("how", ["cut off", "no answer"])
    @pytest.mark.parametrize("last", [Refused("no such page"), Unreachable("not now")])
    def test_what_may_have_left_is_parked_with_both_sentences(self, new_world, how, last):
        """What happened last, and that it may have left all the same; also when it is put back."""
        world = new_world()
        (receipt,) = due(world)
        open_to_doubt(world, how)
        for _ in as_long_as(lambda: world.gate.status(receipt.secret).state == "waiting"):
            try_again(world, last)
        problem = world.gate.status(receipt.secret).problem

        assert problem.startswith(f"{last}; it may have left")

        world.gate.unpark_post(receipt.post)
        check_unchangeable(world, receipt)

    @pytest.mark.parametrize(("outlet", "tries"), [("list", MOST_ATTEMPTS), ("once", 1)])
    def test_tries_without_an_answer_end_parked(self, new_world, outlet, tries):
        """After as many as any others; at once where it must not happen twice."""
        world = new_world()
        (receipt,) = due(world, outlet=outlet)
        for _ in range(tries):
            assert world.gate.status(receipt.secret).state == "waiting"
            try_again(world, Unreachable("it hung up", sent=True), outlet)
        status = world.gate.status(receipt.secret)

        assert (status.state, status.in_doubt) == ("parked", True)
        assert status.problem.startswith("it hung up; it may have left")

    def test_what_was_refused_for_certain_may_be_changed_when_it_is_put_back(self, new_world):
        """Nobody doubts that it has not left."""
        world = new_world()
        (receipt,) = due(world)
        try_again(world, Refused("no such page"))
        world.gate.unpark_post(receipt.post)

        assert world.gate.withdraw(receipt.secret).state == "withdrawn"

    @pytest.mark.parametrize("words", ["no l\udcfcgin,\x00 no\nentry\x1b[2J" + "!" * 10_000, "\x00"])
    @pytest.mark.parametrize("error", [Refused, Unreachable, LockedOut, RuntimeError])
    def test_any_words_of_a_failure_can_be_stored(self, new_world, error, words):
        """A text that no store takes would end the keeper, and the next one, at the same post."""
        world = new_world()
        (receipt,) = due(world)
        try_again(world, error(words))
        status = world.gate.status(receipt.secret)

        assert status.state == ("parked" if error is Refused else "waiting")
        assert status.problem.isprintable()
        assert 0 < len(status.problem) <= 500

    @pytest.mark.parametrize("last", [None, Refused("no such page"), Unreachable("not now")])
    def test_a_late_word_does_not_end_the_doubt_of_an_earlier_try(self, new_world, last):
        """A worker that was taken for dead tells how its own try ended, and not how the one before did."""
        world = new_world()
        (receipt,) = due(world, outlet="once")
        try_again(world, Unreachable("it hung up", sent=True), "once")
        world.gate.unpark_post(receipt.post)
        world.outlets["once"].broken = last
        claim = world.releaser.claim("once")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        world.releaser.mark(claim, world.releaser.deliver(claim))
        status = world.gate.status(receipt.secret)

        assert (status.state, status.in_doubt) == ("parked", True)

    def test_an_error_that_nobody_foresaw_leaves_it_in_doubt(self, new_world):
        """It does not tell how far the outlet had come."""
        world = new_world()
        (receipt,) = due(world)
        try_again(world, RuntimeError("it broke"))

        check_unchangeable(world, receipt)

    # --- accounts -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("personal", [False, True])
    def test_a_try_that_was_sent_counts_although_the_account_is_shut_out(self, new_world, personal):
        """The next one looks whether it has arrived; what waits for the account moves all the same."""
        world = new_world(personal=personal)
        (receipt,) = due(world)
        before = world.gate.status(receipt.secret).latest
        try_again(world, LockedOut("too many", sent=True))
        check_unchangeable(world, receipt)
        status, row = world.gate.status(receipt.secret), world.rows("posts")[receipt.post]

        assert (row["attempts"], row["claim"], row["until"]) == (1, None, None)
        assert status.latest >= before + 300

    @pytest.mark.parametrize(("outlet", "tries"), [("list", MOST_ATTEMPTS), ("once", 1)])
    def test_even_an_account_that_is_shut_out_sends_only_so_often(self, new_world, outlet, tries):
        """Tries that sent it end as all do."""
        world = new_world()
        (receipt,) = due(world, outlet=outlet)
        for _ in range(tries):
            assert world.gate.status(receipt.secret).state == "waiting"
            world.clock.sleep(1000)
            world.close()
            try_again(world, LockedOut("too many", sent=True), outlet)
        status = world.gate.status(receipt.secret)

        assert (status.state, status.in_doubt) == ("parked", True)
