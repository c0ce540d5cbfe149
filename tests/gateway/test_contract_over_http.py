"""The promises of the keeper hold over HTTP too: two servers, four workers, one database."""

import threading
from collections import Counter
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from contracts.closing_contract import ClosingContract
from contracts.gate_contract import GateContract
from contracts.http_gate import HttpWorld, LoopbackServer, policies_without_files
from contracts.keeper_machine import ACTORS, OUTLETS, TARGETS, KeeperMachine, Low
from contracts.keeper_model import KeeperModel
from contracts.keeping import WINDOW
from contracts.kinship_contract import KinshipContract
from contracts.releaser_contract import ReleaserContract
from tarry.core.entropy import Seeded
from tarry.gateway.database import open_store
from tarry.keep.errors import AlreadyUsed, Paused, Refused, Unreachable
from tarry.keep.posts import Post

PERSONAL = "one person's own store has no server"
#: Parts of the contract that mean nothing over HTTP, and why.
LEFT_OUT = {
    "test_a_personal_store_moves_every_release_by_the_ticks_missed": PERSONAL,
    "test_a_personal_store_moves_a_withdrawn_post_too": PERSONAL,
    "test_missed_ticks_do_not_move_a_post_that_arrives_after_them": PERSONAL,
    "test_a_delivery_that_fails_holds_the_others_up": PERSONAL,
    "test_what_arrives_in_an_outage_does_not_overtake_what_waits": PERSONAL,
    "test_a_delivery_that_hangs_holds_the_others_up": PERSONAL,
    "test_a_command_that_has_begun_holds_nobody_up": PERSONAL,
    "test_what_depends_on_a_parked_post_is_parked_with_it": PERSONAL,
    "test_a_parked_post_is_not_put_back_in_ones_own_store": PERSONAL,
    "test_a_parked_post_is_repeated_as_a_new_act": "repeating is for one's own store: operators retry",
    "test_the_owner_sees_what_waits_and_what_is_parked": "operators see what is parked, not what waits",
    "test_a_withdrawn_parent_holds_nobody_up": "it depends on a post of another space: none may",
}


@pytest.fixture(scope="module")
def servers():
    """Two real servers; each test gives them an app of its own."""
    servers = [LoopbackServer(), LoopbackServer()]
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture(autouse=True)
def _shelf(monkeypatch):
    with policies_without_files(monkeypatch.setattr):
        yield


class HttpContract(GateContract, KinshipContract, ClosingContract, ReleaserContract):
    """The keeper's contract, and what HTTP adds; `where` names a fresh database."""

    @pytest.fixture
    def new_world(self, where, servers):
        """Builds the world of a test, and closes it in the end."""
        worlds = []

        def build(*arguments, **more):
            worlds.append(HttpWorld(lambda: open_store(where), servers, *arguments, **more))
            return worlds[-1]

        yield build
        for world in worlds:
            world.leave()

    # --- in place of what is left out ---------------------------------------------------------------

    def test_the_operator_sees_what_is_parked(self, new_world):
        """The operator's list holds parked posts with the reason, and no waiting or withdrawn ones."""
        world = new_world()
        world.admit(target="p1")
        parked = world.admit(actor="bob", target="p2", outlet="once")
        world.gate.withdraw(world.admit(actor="cem", target="p3").secret)
        world.outlets["once"].broken = Refused("it broke")
        world.outlets["list"].broken = Unreachable("for now")
        world.pass_ticks(WINDOW + 1)

        assert world.gate.parked() == {parked.post: "it broke"}

    def test_a_withdrawn_parent_in_the_same_space_holds_nobody_up(self, new_world):
        """When its parent is withdrawn a child leaves at its own tick."""
        world = new_world()
        parent = world.admit()
        world.clock.sleep(1)
        child = world.admit(depends_on=parent.secret, content=b"child")
        world.gate.withdraw(parent.secret)
        world.pass_ticks(10)

        assert world.delivered == [("p1", child.status.earliest)]

    # --- two servers --------------------------------------------------------------------------------

    def test_a_request_that_comes_again_to_the_other_server_is_known(self, new_world):
        """The same key with the same body gets the same receipt from either server, and makes one post."""
        world = new_world()
        post = Post(actor="ann", target="p1", outlet="list", content=b"words")
        receipts = [world.gate.admit(post, idempotency_key="k") for _ in range(4)]

        assert receipts == receipts[:1] * 4
        assert len(world.dump("posts")) == 1

        other = Post(actor="ann", target="p1", outlet="list", content=b"other words")
        for _ in range(2):
            with pytest.raises(AlreadyUsed):
                world.gate.admit(other, idempotency_key="k")
        world.pass_ticks(10)
        again = [world.gate.admit(post, idempotency_key="k") for _ in range(2)]

        assert {receipt.status.state for receipt in again} == {"released"}
        assert {receipt.secret for receipt in again} == {receipts[0].secret}
        assert len(world.delivered) == 1

    def test_one_request_to_both_servers_at_once_makes_one_post(self, new_world):
        """Sent from many sides at the same moment it gives one post, one receipt and no error."""
        world = new_world()
        for turn in range(5):
            post = Post(actor="ann", target=f"p{turn}", outlet="list", content=b"words")
            receipts = at_once(8, partial(world.gate.admit, post, idempotency_key=f"k{turn}"))

            assert len({receipt.secret for receipt in receipts}) == 1
            assert len(world.dump("posts")) == turn + 1

    def test_posts_to_both_servers_at_once_all_come_in(self, new_world):
        """What comes to two servers at the same moment is admitted, and each post leaves once."""
        world = new_world()
        names = iter(range(40))
        receipts = at_once(40, lambda: world.admit(actor=f"a{next(names)}"))
        world.pass_ticks(10)

        assert len({receipt.post for receipt in receipts}) == 40
        assert len(world.delivered) == 40

    def test_a_change_at_one_server_holds_at_the_other(self, new_world):
        """A pause holds at once at both, and so does its end; what came in before is known meanwhile."""
        world = new_world()
        early = Post(actor="ann", target="p1", outlet="list", content=b"early")
        known = world.gate.admit(early, idempotency_key="k").secret
        for _ in range(3):  # an odd number of requests in each round: the servers take turns at each
            world.gate.ask("POST", "/v1/spaces/list/pause")
            for _ in range(2):
                with pytest.raises(Paused, match="is paused by its operator"):
                    world.admit()
                assert world.gate.admit(early, idempotency_key="k").secret == known
            world.gate.ask("POST", "/v1/spaces/list/open")
            for _ in range(3):
                world.admit()

        assert len(world.dump("posts")) == 10


for name in LEFT_OUT:
    assert hasattr(HttpContract, name), f"the contract has no {name} any more"
    setattr(HttpContract, name, None)


class TestHttpOnSqlite(HttpContract):
    """A file."""

    @pytest.fixture
    def where(self, tmp_path):
        """Where the file lies."""
        return str(tmp_path / "store")


class TestHttpOnPostgres(HttpContract):
    """A real database server."""

    @pytest.fixture
    def where(self, postgres_server):
        """Where a fresh schema is reached."""
        return postgres_server.new_schema()


def at_once(count, step):
    """What each of several threads is answered, all begun at the same moment."""
    answers, ready = [], threading.Barrier(count)

    def run():
        ready.wait(60)
        answers.append(step())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == count
    return answers


# --- the machine ------------------------------------------------------------------------------------


class HttpMachine(KeeperMachine):
    """Authors and operators come over HTTP. A target lies in one space, so its name has the space in it."""

    servers: list[LoopbackServer]

    @initialize(data=st.data())
    def found(self, data):
        """A store begins: nobody's own."""
        policy = self.policy(data)
        draws = Seeded(1).stream("all", "draws", 0)
        self.world = HttpWorld(type(self).new_store(), self.servers, policy, entropy=draws, retries=Low())
        self.model = KeeperModel(policy, personal=False, closed=self.world.closed)
        self.claims, self.requests, self.contents = [], [], 0

    def _enter(self):
        """The world has its own gate and workers."""

    @rule(
        actor=st.sampled_from(ACTORS),
        first=st.sampled_from(TARGETS),
        second=st.sampled_from(TARGETS),
        outlet=st.sampled_from(OUTLETS),
        requests=st.integers(1, 2),
    )
    def admit_two(self, actor, first, second, outlet, requests):
        """Somebody posts twice at once to one space, in one request or in two."""
        asked = [(actor, target, outlet, False, None) for target in (first, second)]
        self._admit(*([asked] if requests == 1 else [[each] for each in asked]))

    def _may_follow(self, entry, actor, target):
        mine = entry.actor == actor and entry.target.split()[0] == target
        return entry.state == "released" or (entry.state == "waiting" and mine)

    def _admit(self, *asked):
        super()._admit(*([self._placed(*each) for each in request] for request in asked))

    def _placed(self, actor, target, outlet, more, parent):
        name = f"{target.split()[0]} {outlet}"
        follows = parent is None or parent.state == "released" or parent.target == name
        return actor, name, outlet, more, parent if follows else None

    def _post(self, *asked):
        return {**super()._post(*asked), "key": f"request-{self.contents + 1}"}

    def _candidates(self, request):
        return request

    @invariant()
    def ledger_matches(self):
        """Batched acts are counted once, for their actor and for the policy of their space."""
        living, keys = set(self.model.living_events().values()), self.world.keys
        expected = Counter(
            (keys.account(keys.actor(event.actor)), f"{event.target.split()[1]} 1")
            for event, batched in self.model.labels().items()
            if batched and event not in living
        )
        rows = self.world.dump("ledger")
        assert {(bytes(row["account"]), row["period"]): row["batched"] for row in rows} == expected


def run_machine(new_store, servers, examples):
    """Let the machine run; a failure is shown as it was found."""
    members = {"new_store": staticmethod(new_store), "servers": servers}
    how = settings(
        max_examples=examples,
        stateful_step_count=50,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(type("Machine", (HttpMachine,), members), settings=how)


class TestHttpMachine:
    """The keeper's machine, with servers between it and the authors."""

    def test_on_sqlite(self, tmp_path, servers):
        """Nothing is lost, early or doubled on a file."""
        files = iter(range(10**6))

        def new_store():
            path = str(tmp_path / f"store {next(files)}")
            return lambda: open_store(path)

        run_machine(new_store, servers, examples=12)

    def test_on_postgres(self, postgres_server, servers):
        """Nor on a database server."""

        def new_store():
            where = postgres_server.new_schema()
            return lambda: open_store(where)

        run_machine(new_store, servers, examples=8)
