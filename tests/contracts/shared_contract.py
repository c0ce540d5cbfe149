"""What every store does for the many who share it: it hears their choices, pauses, and counts by hour."""

import random
from collections import Counter

import pytest

from contracts.keeping import BATCHED, UNBATCHED, WINDOW, World, stiff_policy
from tarry.core.policy import LABEL_RULES
from tarry.keep.admission import Adoption, Terms
from tarry.keep.closing import hour_ticks
from tarry.keep.errors import Paused
from tarry.keep.gate import Gate
from tarry.keep.posts import Post, Receipt
from tarry.keep.releaser import Releaser
from tarry.keep.store import Vault
from tarry.testing import ManualClock

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)
looking_rule = pytest.mark.parametrize("rule", [rule for rule in LABEL_RULES if rule != "none"])

HOUR = 3600  # ticks


def choose(world: World, *, delayed: bool, first_tick: int, actor: str = "ann") -> None:
    """An account decides, ahead of time."""
    account = world.keys.account(world.keys.actor(actor))
    world.tell("adopt_delays", account=account, first_tick=first_tick, delayed=int(delayed))


def admit_under(world: World, adoption: Adoption, *asked: object, **others: object) -> Receipt:
    """Hand a post in where accounts may choose."""
    terms = Terms(world.policy, adoption=adoption)
    ((receipt,),) = world.send([world.candidate(*asked, terms=terms, **others)])
    return receipt


def go_to(world: World, tick: int) -> None:
    """Time goes by until a tick has closed."""
    world.clock.sleep(float((tick - world.closed) * world.policy.tick))
    world.close()


def hours_of(world: World) -> Counter:
    """How many arrivals the store has counted, by hour."""
    return Counter({row["hour"]: row["arrivals"] for row in world.dump("hours")})


def outlook_of(world: World) -> dict[tuple[str, int], int]:
    """The store's table of what waited."""
    return {(row["outlet"], row["hour"]): row["posts"] for row in world.dump("outlook")}


def waiting_in(world: World, hour: int) -> dict[tuple[str, int], int]:
    """The same from the posts as they are."""
    waiting = [row for row in world.dump("posts") if row["state"] == "waiting"]
    return Counter((row["outlet"], (row["release"] or 0) // hour) for row in waiting)


class SharedContract:
    """Tests of what many share; `new_world` comes from `StoreContract`."""

    # --- several gateways -----------------------------------------------------------------------------

    @every_rule
    def test_no_stamp_is_before_one_acknowledged_earlier_by_another_gateway(self, new_world, reopen, rule):
        """Two machines whose clocks are set at random admit in turn: what is stamped never goes back."""
        world, chance, stamps = new_world(stiff_policy(rule)), random.Random(11), []
        clock, store = ManualClock(boot="elsewhere"), reopen()
        elsewhere = Gate(Vault(store, world.keys, world.outlets, clock), world.policy)
        for number in range(60):
            for each in (world.clock, clock):
                each.sleep(chance.uniform(0, 1))
                each.set_wall(chance.uniform(-20, 20))
            if chance.random() < 0.1:
                world.close()
            gate = chance.choice((world.gate, elsewhere))
            post = Post(actor=chance.choice("abc"), target=f"p{number}", outlet="list", content=b"")
            receipt = gate.admit(post)
            if chance.random() < 0.1:
                gate.withdraw(receipt.secret)  # whoever posts next looks back
            stamps.append(world.rows("arrivals")[receipt.post]["arrival"])
        store.close()

        assert stamps == sorted(stamps)
        assert len(set(stamps)) > 5

    # --- who is delayed -------------------------------------------------------------------------------

    @pytest.mark.parametrize("adoption", ["opt-out", "opt-in"])
    def test_a_choice_holds_from_its_first_tick_on(self, new_world, adoption):
        """Before it an account has what its space gives everybody; later choices go before earlier ones."""
        world = new_world()
        start, default = world.closed + 1, adoption == "opt-out"
        choose(world, delayed=not default, first_tick=start + 1)
        choose(world, delayed=default, first_tick=start + 3)
        releases = []
        for _ in range(4):
            releases.append(admit_under(world, adoption).status.earliest - world.closed - 1)
            world.pass_ticks(1)
        others = admit_under(world, adoption, "bob").status.earliest - world.closed - 1

        delay = {True: UNBATCHED["held"], False: 0}
        assert [*releases, others] == [delay[default is same] for same in (True, False, False, True, True)]

    @every_rule
    def test_an_undelayed_post_leaves_when_its_own_tick_closes(self, new_world, rule):
        """Who has opted out waits neither for a hold nor for a draw; and everybody is told so at once."""
        world = new_world(stiff_policy(rule))
        choose(world, delayed=False, first_tick=0)
        arrival = world.closed + 1
        receipts = [admit_under(world, "opt-out", "ann", target) for target in ("p1", "p2")]

        assert [receipt.status.release_at for receipt in receipts] == [arrival, arrival]

        world.pass_ticks(1)

        assert sorted(world.delivered) == [("p1", arrival), ("p2", arrival)]

        world.pass_ticks(20)

        assert len(world.delivered) == 2

    @looking_rule
    def test_an_undelayed_post_counts_for_the_labels_of_others(self, new_world, rule):
        """The actor's post elsewhere is batched with it, though it has long left."""
        world = new_world(stiff_policy(rule))
        choose(world, delayed=False, first_tick=0)
        admit_under(world, "opt-out", target="p1")
        if rule != "simultaneous":
            world.pass_ticks(WINDOW)
        arrival = world.closed + 1
        world.admit(target="p2")
        world.pass_ticks(20)

        assert dict(world.delivered)["p2"] == arrival + BATCHED[rule]

    def test_where_everyone_is_delayed_no_choice_is_asked_for(self, new_world):
        """An account's choice for other spaces changes nothing where everyone is delayed."""
        world = new_world()
        choose(world, delayed=False, first_tick=0)
        arrival = world.closed + 1

        assert admit_under(world, "everyone").status.earliest == arrival + UNBATCHED["held"]

    def test_an_undelayed_post_does_not_go_before_its_parent(self, new_world):
        """It leaves with the waiting post that it depends on, and is told so."""
        world = new_world()
        parent = world.admit(content=b"parent")
        child = admit_under(world, "opt-in", depends_on=parent.secret, content=b"child")

        assert (child.status.earliest, child.status.latest) == (
            parent.status.earliest,
            parent.status.latest,
        )

        world.pass_ticks(20)

        delivered = [(release.content, int(release.at)) for release in world.outlets["list"].delivered]
        assert sorted(delivered) == [(each, parent.status.earliest) for each in (b"child", b"parent")]

    # --- a paused store -------------------------------------------------------------------------------

    def test_a_paused_store_takes_nothing_in_and_lets_nothing_out(self, new_world):
        """No post is admitted, no tick closes, nothing is claimed, whoever looks; also after a restart."""
        world = new_world()
        world.send([world.candidate("bob", secret="b" * 64, body=b"body")])
        world.admit(target="p1")
        world.pass_ticks(WINDOW + 1, release=False)
        world.admit("cem", "p3")
        world.tell("pause", paused=1)
        before = {table: world.dump(table) for table in ("posts", "arrivals", "clock", "ledger")}
        for _ in range(2):
            for post in (world.candidate(), world.candidate("bob", secret="b" * 64, body=b"body")):
                with pytest.raises(Paused, match="restored from a backup"):
                    world.send([post])
            with pytest.raises(Paused):
                world.admit()
            with world.store.transaction("working") as transaction:
                # A worker that has not looked at the settings since.
                assert Releaser(world.vault).claim_within(transaction, "list", 0) is None
            world.pass_ticks(3)
            assert {table: world.dump(table) for table in before} == before
            world.restart()

    def test_what_was_due_leaves_when_a_pause_is_over(self, new_world):
        """What was due before leaves under its own tick, what fell due meanwhile under the next."""
        world = new_world()
        due = world.admit(target="p1")
        world.pass_ticks(WINDOW + 1, release=False)
        world.admit(actor="bob", target="p2")
        world.tell("pause", paused=1)
        world.pass_ticks(10)

        assert world.delivered == []

        world.tell("pause", paused=0)
        world.pass_ticks(1)

        assert sorted(world.delivered) == [("p1", due.status.earliest), ("p2", world.closed)]
        assert world.admit(actor="cem").status.state == "waiting"

    # --- counts by hour -------------------------------------------------------------------------------

    @every_rule
    def test_arrivals_are_counted_by_the_hour_when_they_are_erased(self, new_world, rule):
        """What is counted and what is not erased yet are all arrivals there were, at every tick."""
        world, chance = new_world(stiff_policy(rule)), random.Random(7)
        arrivals = Counter()
        for number in range(40):
            world.clock.sleep(chance.choice((0, 1, 2, 700)))
            receipt = world.admit(actor=f"a{number % 5}", target=f"p{number % 2}")
            arrivals[world.rows("arrivals")[receipt.post]["arrival"] // HOUR] += 1
            world.close()
            living = Counter(row["arrival"] // HOUR for row in world.dump("arrivals"))
            assert hours_of(world) + living == arrivals
        world.pass_ticks(2 * WINDOW + 1)

        assert len(arrivals) > 1
        assert hours_of(world) == arrivals

    @pytest.mark.parametrize("tick", [1, 7])
    def test_the_outlook_changes_when_an_hour_ends_and_at_no_other_time(self, new_world, tick):
        """It shows what waited then, by outlet and hour of release; nothing that comes or goes moves it."""
        world = new_world(stiff_policy(tick=f"{tick}s"))
        hour = hour_ticks(world.vault.settings)
        end, before = (world.closed // hour + 2) * hour, outlook_of(world)
        for _ in range(3):
            go_to(world, end - 2)
            for number, outlet in enumerate(("list", "list", "once")):  # some wait for their labels
                world.admit(f"a{number}", f"p{number}", outlet)
                choose(world, actor=f"a{number}", delayed=False, first_tick=0)
                admit_under(world, "opt-out", f"a{number}", "p0", outlet)
            world.gate.withdraw(world.admit("zoe", "p1").secret)
            go_to(world, end - 1)
            world.releaser.release()

            assert outlook_of(world) == before

            go_to(world, end)
            before = outlook_of(world)

            assert before == waiting_in(world, hour)
            assert sum(before.values()) > 2

            world.releaser.release()
            end += hour

    def test_one_persons_own_store_counts_no_hours(self, new_world):
        """Neither arrivals nor what waits are written down by the hour there."""
        world = new_world(personal=True)
        for _ in range(3):
            world.admit()
            world.clock.sleep(HOUR)
            world.close()

        assert (world.dump("hours"), world.dump("outlook")) == ([], [])
