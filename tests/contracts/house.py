"""A gateway under a clock moved by hand, on either kind of database, for tests of operating one."""

from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.gateway.database import open_store
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Submission
from tarry.gateway.testing import small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.posts import Post
from tarry.keep.releaser import Releaser
from tarry.testing import ManualClock

__all__ = ["ALL_GONE", "KINDS", "POLICY", "House", "new_database"]

KINDS = ["sqlite", "postgres"]
POLICY = Policy(epsilon="1", gap="30s", window="10s")
#: Ticks after which whatever came in under it has left.
ALL_GONE = 120


def new_database(request, kind, tmp_path, name="gateway"):
    """Where a new database of this kind is."""
    if kind == "sqlite":
        return str(tmp_path / f"{name}.db")
    return request.getfixturevalue("postgres_server").new_schema()


class House:
    """A gateway in use."""

    def __init__(self, where, clock=None, spaces=("talk",), policy=POLICY, store=None):
        self.where, self.clock = where, clock or ManualClock()
        self.store = store or open_store(where)
        entropy = Seeded(6).stream("a house", "its gateway", time=0)
        self.gateway = small_gateway(policy, self.clock, spaces=spaces, store=self.store, entropy=entropy)

    def admit(self, actor="ann", target="p1", content=b"hello", space="talk"):
        """Hand a post in: its receipt."""
        post = Post(actor=actor, target=target, outlet="", content=content)
        (answer,) = self.gateway.admit([Submission(space=space, posts=[post])])
        assert isinstance(answer, list), answer
        return answer[0]

    def admit_many(self, actors, target="p1", space="talk"):
        """Hand a post in for each of these, together: quicker."""
        posts = [Post(actor=actor, target=target, outlet="", content=b"\0\xff") for actor in actors]
        (answer,) = self.gateway.admit([Submission(space=space, posts=posts)])
        assert isinstance(answer, list), answer
        return answer

    def state(self, receipt):
        return self.gateway.receipts.status(receipt.secret).state

    def jump(self, seconds):
        """Time goes by, and all its ticks close at once."""
        self.clock.sleep(seconds)
        self.close_ticks()
        self.release()

    def close_ticks(self):
        with self.store.transaction("closing") as transaction:
            close_ticks(transaction, self.gateway.keys, self.clock)

    def release(self):
        with self.store.transaction("reading") as transaction:
            self.gateway.vault.now(transaction)  # its settings may have changed
        return Releaser(self.gateway.vault).release()

    def feed(self, space="talk"):
        """What has been published."""
        return [item.content for item in reversed(Feed(self.store, space).latest())]

    def rows(self, table):
        """A whole table."""
        with self.store.transaction("reading"):
            found = self.store.connection().execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - our own names
        return sorted((dict(row) for row in found), key=repr)

    def change(self, do):
        """One change, in a transaction that is alone."""
        with self.store.transaction("closing") as transaction:
            answer = do(transaction)
        self.gateway.refresh()
        return answer
