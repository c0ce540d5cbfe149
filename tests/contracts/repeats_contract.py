"""What every store makes of a request that comes again: the same posts, and the same receipts."""

import threading
from collections.abc import Callable

import pytest

from contracts.keeping import WINDOW, World, stiff_policy
from tarry.core.policy import LABEL_RULES
from tarry.keep.admission import Terms
from tarry.keep.closing import RECEIPT_DAYS
from tarry.keep.errors import AlreadyUsed, Paused
from tarry.keep.posts import Receipt

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)

SECRET, BODY = "5e" * 32, b"the hash of it all"
#: What may happen to a post before its request comes again, and the state it then has.
BETWEEN: dict[str, tuple[Callable[[World, Receipt], object], str]] = {
    "nothing": (lambda world, receipt: None, "waiting"),
    "a restart": (lambda world, receipt: world.restart(), "waiting"),
    "another policy": (
        lambda world, receipt: setattr(world, "policy", stiff_policy(world.policy.labels, ends_at=1)),
        "waiting",
    ),
    "replacing": (lambda world, receipt: world.gate.replace(receipt.secret, b"other words"), "waiting"),
    "withdrawal": (lambda world, receipt: world.gate.withdraw(receipt.secret), "withdrawn"),
    "erasure": (lambda world, receipt: world.pass_ticks(3 * WINDOW, release=False), "waiting"),
    "release": (lambda world, receipt: world.pass_ticks(2 * WINDOW + 1), "released"),
}


def pair(world: World, body: bytes = BODY) -> list:
    """A request of two posts that may come again."""
    return [world.candidate(target=f"p{n}", secret=f"{n}" * 64, body=body) for n in (1, 2)]


def at_once(world: World, *calls: list) -> list:
    """What each call is answered, all begun at the same moment with connections of their own."""
    answers, ready = [None] * len(calls), threading.Barrier(len(calls))

    def send(place: int) -> None:
        try:
            with world.store.transaction("reading") as transaction:
                transaction.one("busy_until")
            ready.wait(60)
            answers[place] = world.send(*calls[place])
        except BaseException as error:  # noqa: BLE001 - raised below
            answers[place] = error
        finally:
            world.store.close()

    threads = [threading.Thread(target=send, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


class RepeatsContract:
    """Tests of requests that come again; `new_world` comes from `StoreContract`."""

    @pytest.mark.parametrize("between", BETWEEN)
    @every_rule
    def test_a_request_that_comes_again_gets_the_same_receipt(self, new_world, rule, between):
        """Whatever has happened since, there is one post, and its receipt tells what became of it."""
        world = new_world(stiff_policy(rule))
        happens, state = BETWEEN[between]
        ((first,),) = world.send([world.candidate(secret=SECRET, body=BODY)])
        happens(world, first)
        before = world.dump("posts"), world.dump("arrivals")
        ((again,),) = world.send([world.candidate(secret=SECRET, body=BODY)])

        assert (again.secret, again.post) == (first.secret, first.post)
        assert again.status == world.gate.status(first.secret)
        assert again.status.state == state
        assert between not in ("erasure", "release") or again.status.release_at == first.status.earliest

        (other,) = world.send([world.candidate(secret=SECRET, body=b"another body")])

        assert isinstance(other, AlreadyUsed)
        assert (world.dump("posts"), world.dump("arrivals")) == before

        world.pass_ticks(20)

        assert len(world.delivered) == (0 if state == "withdrawn" else 1)

    @every_rule
    def test_a_request_that_comes_again_first_closes_what_was_missed(self, new_world, rule):
        """To a personal store: its receipt tells what those ticks have moved and decided."""
        world = new_world(stiff_policy(rule), personal=True)
        ((first,),) = world.send([world.candidate(secret=SECRET, body=BODY)])
        world.clock.sleep(3 * WINDOW)
        ((again,),) = world.send([world.candidate(secret=SECRET, body=BODY)])

        assert again.status == world.gate.status(first.secret)
        assert again.status.earliest > first.status.earliest

    @every_rule
    def test_a_request_may_come_twice_in_one_call(self, new_world, rule):
        """The second gets the first one's receipts, and one with another body is refused."""
        world = new_world(stiff_policy(rule))
        first, again, other, alone = world.send(
            pair(world), pair(world), pair(world, b"another"), [world.candidate("bob")]
        )

        assert again == first
        assert isinstance(other, AlreadyUsed)
        assert set(world.rows("posts")) == {receipt.post for receipt in (*first, *alone)}

    def test_more_or_fewer_posts_are_another_request(self, new_world):
        """Under a used key neither a part of the request nor more than it comes in."""
        world = new_world()
        (first,) = world.send(pair(world))
        more = world.candidate(target="p3", secret="3" * 64, body=b"longer")
        answers = world.send(
            pair(world, b"shorter")[:1], [*pair(world, b"longer"), more], [*pair(world), more]
        )

        assert [type(answer) for answer in answers] == [AlreadyUsed] * 3
        assert world.send(pair(world)) == [first]
        assert len(world.dump("posts")) == 2

    def test_a_refused_request_may_come_again(self, new_world):
        """What was refused has used up nothing: sent again when it may come in, it does."""
        world = new_world()
        later = Terms(world.policy, first_tick=world.closed + 2)
        asked = [[world.candidate(terms=later, secret=SECRET, body=BODY)]]
        (refusal,) = world.send(*asked)
        world.clock.sleep(1)
        ((receipt,),) = world.send(*asked)

        assert isinstance(refusal, Paused)
        assert receipt.secret == SECRET

    @pytest.mark.parametrize("rule", ["held", "follower"])
    def test_one_request_from_many_sides_at_once_is_one_request(self, new_world, rule):
        """Sent at the same moment over several connections it gives one post, one receipt, no error."""
        world = new_world(stiff_policy(rule))
        for turn in range(8):
            asked = [[world.candidate(target=f"p{n}", secret=f"{turn}{n}" * 32, body=BODY)] for n in (1, 2)]
            answers = at_once(world, asked, asked[::-1], asked, asked[::-1])

            receipts = [sorted((r.secret, r.post) for (r,) in answer) for answer in answers]
            assert receipts == receipts[:1] * 4
            assert len(world.dump("posts")) == 2 * (turn + 1)

    def test_of_two_requests_under_one_key_at_once_one_comes_in(self, new_world):
        """With two bodies at the same moment one is accepted and the other refused."""
        world = new_world()
        for turn in range(8):
            asked = [world.candidate(secret=f"{turn}" * 64, body=body) for body in (b"one", b"two")]
            answers = at_once(world, *([[each]] for each in asked))

            assert sorted(type(answer).__name__ for (answer,) in answers) == ["AlreadyUsed", "list"]
            assert len(world.dump("posts")) == turn + 1

    def test_after_its_receipt_is_forgotten_a_request_is_new(self, new_world):
        """Until the receipt's time is over a request is known again; then it is a new post."""
        world = new_world()
        world.send([world.candidate(secret=SECRET, body=BODY)])
        world.pass_ticks(10)
        world.clock.sleep(RECEIPT_DAYS * 86_400 - 60)
        world.close()
        ((known,),) = world.send([world.candidate(secret=SECRET, body=BODY)])
        world.clock.sleep(120)
        world.close()
        ((new,),) = world.send([world.candidate(secret=SECRET, body=BODY)])
        world.pass_ticks(10)

        assert (known.status.state, new.status.state) == ("released", "waiting")
        assert len(world.delivered) == 2
