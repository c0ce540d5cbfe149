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
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from string import Formatter
from sysconfig import get_paths
from traceback import walk_tb
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

import tarry
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import describes, read_policy, write_policy
from tarry.gateway.database import make_key, open_store, read_key
from tarry.keep.changes import adopt
from tarry.keep.errors import Paused, Refused
from tarry.keep.gate import Gate
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Sealed
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Post, Receipt, Release
from tarry.keep.rows import KEEPER
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import Clock, Transaction, Vault, snapshot

__all__ = [
    "OUTLET",
    "PORTS",
    "HeldCall",
    "Hold",
    "HoldSettings",
    "ViewOutlet",
    "pack",
    "place_in_app",
    "policy_of",
    "unpack",
]

OUTLET = "view"
#: Where a site is reached whose address names no port.
PORTS = {"http": 80, "https": 443}
_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
#: A store takes 16 MiB; the body lies in it as base64, beside the path and the user.
_MOST_BODY = 11 << 20
_SAFE = {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"}
_LOG = logging.getLogger("tarry.middleware")
#: Where libraries lie, and our own code.
_NOT_APP = [
    *(Path(get_paths()[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(tarry.__file__).parent,
]


# --- the settings for the held views of one app; the same for every framework ---------------------


@dataclass(frozen=True, kw_only=True)
class HoldSettings:
    """Which calls are held, and where they wait.

    >>> settings = HoldSettings(
    ...     database="held.db", key_file="held.key", policy="policy.toml", paths=["/papers/{paper}/reviews"]
    ... )
    >>> settings.target_of("POST", "/papers/3/reviews/")
    '/papers/3/reviews'
    >>> settings.target_of("GET", "/papers/3/reviews"), settings.target_of("POST", "/papers")
    (None, None)
    """

    database: str | Path  # of its own: the path of a SQLite file, or a postgresql:// URL
    key_file: str | Path  # outside the database; made, private, when the store is
    policy: Policy | str | Path  # or its file
    paths: Sequence[str]  # such as /papers/{paper}/reviews; a slash at the end makes no difference
    target: str | None = None  # such as "paper {paper}", from the fields of the paths; None: the path
    methods: Sequence[str] = ("POST",)
    origin: str = "http://localhost"  # the app's public address, which a released call is made to
    anonymous: Literal["refuse", "pass"] = "refuse"  # what becomes of calls without a user
    most_bytes: int = 1 << 20  # of a body
    keep_language: bool = False  # whether Accept-Language is sealed with the call
    accepting: bool = True  # False: nothing is accepted, and what waits leaves (to change the policy)
    clock: Clock | None = None  # the store's own, unless a test moves one by hand

    def __post_init__(self) -> None:
        """Refuse what cannot work, while somebody reads why."""
        is_list = not isinstance(self.methods, str) and bool(self.methods)
        is_site = self.address.scheme in PORTS and bool(self.address.hostname)
        rules = {
            "paths": (not isinstance(self.paths, str) and self.paths, "a list with one path or more"),
            "anonymous": (self.anonymous in {"refuse", "pass"}, "'refuse' or 'pass'"),
            "most_bytes": (0 < self.most_bytes <= _MOST_BODY, f"between 1 and {_MOST_BODY}"),
            "methods": (
                is_list and not _SAFE & {*self.methods},
                "a list of methods that change something, such as POST",
            ),
            "origin": (is_site, "like https://forum.example.org"),
        }
        for name, (is_kept, rule) in rules.items():
            if not is_kept:
                raise BadInput(f"{name} must be {rule}, not {getattr(self, name)!r}")
        for path in self.paths:
            self._check(path)

    @cached_property
    def address(self) -> SplitResult:
        """The app's public address; its path is where the app is mounted."""
        return urlsplit(self.origin.rstrip("/"))

    def target_of(self, method: str, path: str) -> str | None:
        """The target of a call that is held; None for one that is not."""
        for pattern in self._patterns if method in self.methods else ():
            if match := pattern.fullmatch(path):
                target = path.rstrip("/") or "/"
                return target if self.target is None else self.target.format_map(match.groupdict())
        return None

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(_expression(path)) for path in self.paths]

    def _check(self, path: str) -> None:
        if not path.startswith("/") or set("{}") & set(_FIELD.sub("", path)):
            raise BadInput(
                "a held path must begin with a slash and have its fields in braces, like /papers/{paper}, "
                f"not {path!r}"
            )
        fields = _FIELD.findall(path)
        if len(fields) > len(set(fields)):
            raise BadInput(f"a held path must have each field once, not {path!r}")
        named = {name for _, name, _, _ in Formatter().parse(self.target or "") if name is not None}
        if missing := ", ".join(sorted(named - set(fields))):
            raise BadInput(
                f"target names {missing}, and the path {path!r} has no such field", "add it there"
            )


def policy_of(policy: Policy | str | Path) -> Policy:
    """A policy, or the one in a file.

    >>> policy_of(Policy(epsilon="1", gap="11m")).gap
    Fraction(660, 1)
    """
    if isinstance(policy, Policy):
        return policy
    try:
        return read_policy(Path(policy).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            f"the policy file {str(policy)!r} cannot be read ({error.strerror})", "give the path of one"
        ) from None
    except UnicodeDecodeError:
        raise BadInput(f"the policy file {str(policy)!r} must be UTF-8 text") from None


def _expression(path: str) -> str:
    """A field is one part of a path. Routers that end in `$` take a line end there too: nobody slips by."""
    parts = _FIELD.split(path.rstrip("/"))
    patterns = (f"(?P<{part}>[^/]+)" if n % 2 else re.escape(part) for n, part in enumerate(parts))
    return "".join(patterns) + "/?\\n?"


# --- the calls ------------------------------------------------------------------------------------


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
    return json.dumps(
        {**asdict(call), "body": base64.b64encode(call.body).decode("ascii")}, sort_keys=True
    ).encode()


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
            begin_store(
                transaction, StoreSettings.of(self.policy, sealed=True), clock, write_policy(self.policy)
            )
            _check_store(transaction)
            adopt(transaction, keys, clock, self.policy)
        self.vault = Vault(store, keys, {OUTLET: ViewOutlet(call)}, clock)
        self.gate = Gate(self.vault, self.policy)
        self._running: tuple[Keeper, threading.Thread] | None = None

    def admit(self, call: HeldCall, target: str) -> Receipt:
        """Seal a call; when this returns it is stored, and the view will be called at its tick."""
        if not self.settings.accepting:
            raise Paused("nothing is accepted at the moment: try again later")
        with self.vault.store.transaction("reading") as transaction:
            if not describes(snapshot(transaction).policy, self.policy):  # of a process that started since
                raise Paused("the app's policy has changed and it is being restarted: try again later")
        return self.gate.admit(Post(actor=call.user, target=target, outlet=OUTLET, content=pack(call)))

    def keeper(self, tell: Callable[[str], None] | None = None) -> Keeper:
        """The keeper that calls the views; it runs until `stop`."""
        return Keeper(self.vault, tell=tell or partial(_LOG.warning, "%s"))

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


def _check_store(transaction: Transaction) -> None:
    here = snapshot(transaction)
    if here.settings.sharing.owner_may_act or here.policy is None:
        raise NotPossible("this database is used for something else: give held calls one of their own")
    if not here.settings.is_encrypted:
        raise NotPossible(
            "this store is not encrypted, and held calls name their users: use a new database"
        )
