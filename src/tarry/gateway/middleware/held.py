"""Held calls: what is sealed of a request, and how the call is made at its release.

A held call is everything that a view needs to know, and nothing about the arrival: method, path,
query, content type, body and user. It is the content of a post, encrypted with a key that lies outside the
database.

**The one place where the actor outlives erasure.** Everywhere else in a store a person is a keyed hash that
is erased with the arrival. A view has to be called as somebody, so here the user's id waits inside the
sealed content until the release, and is wiped with it. A call that is parked keeps it until a person
decides. Who has both the database and the key file can read who will say what.
"""

import base64
import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from sysconfig import get_paths
from traceback import walk_tb
from typing import Any

import tarry
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy_file import write_policy
from tarry.gateway.database import open_store
from tarry.gateway.keyfile import make_key, read_key
from tarry.gateway.middleware.settings import HoldSettings, policy_of
from tarry.keep.changes import adopt
from tarry.keep.errors import Paused, Refused
from tarry.keep.gate import Gate
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Sealed
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Post, Receipt, Release
from tarry.keep.rows import KEEPER
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import Transaction, Vault, snapshot

__all__ = ["OUTLET", "HeldCall", "Hold", "ViewOutlet", "pack", "place_in_app", "unpack"]

OUTLET = "view"
_LOG = logging.getLogger("tarry.middleware")
#: Where libraries lie, and our own code.
_NOT_APP = [
    *(Path(get_paths()[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(tarry.__file__).parent,
]
_CHANGED = "the app's policy has changed and it is being restarted: try again later"
_CLOSED = "nothing is accepted at the moment: try again later"


@dataclass(frozen=True, kw_only=True)
class HeldCall:
    """All that a view will know of a request.

    >>> HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17").language
    ''
    """

    method: str
    path: str  # where the app is mounted, left away
    query: str  # as it was sent, without the question mark
    content_type: str
    body: bytes
    user: str  # the stable id of who was signed in
    language: str = ""  # Accept-Language, if the operator wants it kept


def pack(call: HeldCall) -> bytes:
    """A call as the content of a post.

    >>> pack(HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17"))[:15]
    b'{"body": "aGk="'
    """
    fields = {**asdict(call), "body": base64.b64encode(call.body).decode("ascii")}
    return json.dumps(fields, sort_keys=True).encode()


def unpack(content: bytes) -> HeldCall:
    """The call again.

    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17")
    >>> unpack(pack(call)) == call
    True
    """
    try:
        fields = json.loads(content)
        return HeldCall(**{**fields, "body": base64.b64decode(fields["body"], validate=True)})
    except (ValueError, TypeError, KeyError):
        raise BadInput("this content is no held call", "make it with pack()") from None


class ViewOutlet(Outlet):
    """Calls a view of the app, in its own process. `call` gives the status of the view's answer.

    At most once: a view is not asked whether it has seen a call before. One that was cut off by a crash, or
    that failed, is parked for a person. The reason of a failure never quotes the view: its words may name
    the user.

    >>> from fractions import Fraction
    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17")
    >>> outlet = ViewOutlet(lambda call, release: 403)
    >>> outlet.deliver(Release(id="ab", target="/posts", content=pack(call), at=Fraction(0)))
    Traceback (most recent call last):
    tarry.keep.errors.Refused: the view answered 403
    """

    delivery: Delivery = "at most once"

    def __init__(self, call: Callable[[HeldCall, str], int]) -> None:
        self._call = call

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options: everything is in the content."""
        if options:
            raise BadInput(f"a held call must have no options, not {', '.join(sorted(options))}")

    def deliver(self, release: Release) -> None:
        """Call the view."""
        try:
            self.check(release.options)
            status = self._call(unpack(release.content), release.id)
        except Refused:
            raise
        except BadInput as error:
            raise Refused(f"the view could not be called: {error}") from error
        except Exception as error:
            raised = f"the view raised {type(error).__name__}"
            # For the developer. The author does not see where, and the words may name the user.
            _LOG.warning("%s at %s", raised, place_in_app(error))
            raise Refused(raised) from error
        if status in {307, 308}:
            raise Refused(f"the view answered {status}: it must not redirect to another address")
        if not 200 <= status < 400:
            raise Refused(f"the view answered {status}")


def place_in_app(error: BaseException) -> str:
    """File and line where the app raised an error, or called the library that did; never its message.

    >>> try:
    ...     json.loads("nothing")
    ... except ValueError as error:
    ...     place_in_app(error).startswith("<doctest")
    True
    """
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    in_app = [frame for frame in frames if not any(Path(frame[0]).is_relative_to(p) for p in _NOT_APP)]
    name, line = (in_app or frames or [("", 0)])[-1]
    return f"{'/'.join(Path(name).parts[-2:])}:{line}"


class Hold:
    """The held calls of one app: accepts them, knows their status, and makes them at their release.

    >>> from tempfile import TemporaryDirectory
    >>> from tarry.core.policy import Policy
    >>> policy = Policy(epsilon="1", gap="30s", window="10s")
    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17")
    >>> with TemporaryDirectory() as folder:
    ...     places = {"database": f"{folder}/held.db", "key_file": f"{folder}/held.key"}
    ...     hold = Hold(HoldSettings(**places, policy=policy, paths=["/posts"]), lambda call, release: 200)
    ...     receipt = hold.admit(call, "/posts")
    ...     hold.gate.withdraw(receipt.secret).state
    'withdrawn'
    """

    def __init__(self, settings: HoldSettings, call: Callable[[HeldCall, str], int]) -> None:
        self.settings, self.policy = settings, policy_of(settings.policy)
        store = open_store(str(settings.database), KEEPER)
        clock = settings.clock or store.clock()
        with store.transaction("reading") as transaction:
            is_new = transaction.one("snapshot") is None
        keys = make_key(settings.key_file) if is_new else read_key(settings.key_file)
        Sealed(keys.seal)  # says what is missing before anything is stored
        with store.transaction("closing") as transaction:
            text = write_policy(self.policy)
            begin_store(transaction, StoreSettings.of(self.policy, sealed=True), clock, text)
            _check_store(transaction)
            adopt(transaction, keys, clock, self.policy)
        self.vault = Vault(store, keys, {OUTLET: ViewOutlet(call)}, clock)
        self.gate = Gate(self.vault, self.policy)
        self._text = text
        self._running: tuple[Keeper, threading.Thread] | None = None

    def admit(self, call: HeldCall, target: str) -> Receipt:
        """Seal a call; when this returns it is stored, and the view will be called at its tick."""
        if not self.settings.accepting:
            raise Paused(_CLOSED)
        with self.vault.store.transaction("reading") as transaction:
            if snapshot(transaction).policy != self._text:  # another process, started since, has another
                raise Paused(_CHANGED)
        return self.gate.admit(Post(actor=call.user, target=target, outlet=OUTLET, content=pack(call)))

    def keeper(self, tell: Callable[[str], None] | None = None) -> Keeper:
        """The keeper that calls the views; it runs until `stop`."""
        return Keeper(self.vault, tell=tell or _log)

    def start_keeper(self) -> None:
        """Keep in a thread of this process."""
        if self._running is None:
            keeper = self.keeper()
            # Calls that are running when the process just ends are parked, as after a crash.
            thread = threading.Thread(target=_keep, args=(keeper,), name="tarry keeper", daemon=True)
            self._running = keeper, thread
            thread.start()

    def stop_keeper(self) -> None:
        """Stop the keeper; views that are being called finish first."""
        if self._running is not None:
            keeper, thread = self._running
            keeper.stop()
            thread.join()
            self._running = None


def _keep(keeper: Keeper) -> None:
    try:
        keeper.run()
    except BaseException as error:
        _LOG.critical("the keeper has ended (%s): nothing leaves until it is started again", error)
        raise


def _log(sentence: str) -> None:
    _LOG.warning("%s", sentence)


def _check_store(transaction: Transaction) -> None:
    here = snapshot(transaction)
    if here.settings.sharing.owner_may_act or here.policy is None:
        raise NotPossible("this database is used for something else: give held calls one of their own")
    if not here.settings.is_encrypted:
        raise NotPossible(
            "this store is not encrypted, and held calls name their users: use a new database"
        )
