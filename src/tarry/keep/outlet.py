"""What every outlet is: one class whose answers have defaults, so that nobody asks what it can do."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from tarry.core.errors import BadInput
from tarry.core.plugins import Option, load, load_all, names, resolve
from tarry.keep.errors import Unreachable
from tarry.keep.form import Form
from tarry.keep.posts import Release

if TYPE_CHECKING:
    from tarry.keep.home import Home
    from tarry.keep.store import Transaction

__all__ = ["Delivery", "HomeOutlets", "Outlet", "OutletKind", "check_delivery", "content_fields"]

#: What an outlet promises when a crash cuts a delivery off.
#: "at most once": it is never tried again, but parked for a person.
#: "at least once": it is tried again with the same id, by which the receiver can tell.
#: "exactly once": it is tried again, and a second try changes nothing.
Delivery = Literal["at most once", "at least once", "exactly once"]

_MOST_CONTENT = 16 << 20


class Outlet(ABC):
    """Delivers releases. It sends nothing that is not in the release, and no time but `release.at`.

    >>> class Printer(Outlet):
    ...     delivery = "at least once"
    ...
    ...     def deliver(self, release: Release) -> None:
    ...         print(release.content.decode())
    >>> from fractions import Fraction
    >>> Printer().deliver(Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60)))
    I agree.
    """

    #: What it promises when a crash cuts a delivery off.
    delivery: Delivery
    #: How many posts a worker takes at once. More than one is for what is quick and cannot hang.
    batch: int = 1
    #: Whether it publishes inside the store, and nowhere else: it has a `record` of its own.
    in_store: ClassVar[bool] = False
    #: Whether it logs in on people's behalf: it has an `account` of its own.
    logs_in: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Note what it can do, so that no class can say one thing and do another."""
        super().__init_subclass__()
        cls.in_store = cls.record is not Outlet.record
        cls.logs_in = cls.account is not Outlet.account

    @classmethod
    def for_home(cls, home: "Home") -> Self:  # noqa: ARG003 - for those that need a file of it
        """The outlet of one person's own store."""
        return cls()

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:  # noqa: ARG003 - likewise
        """The outlet of a space: `settings` are what its options were given, by their keys.

        `secret` is 32 bytes that belong to this space alone.
        """
        return cls(**settings)

    @abstractmethod
    def deliver(self, release: Release) -> None:
        """Deliver, or raise `Refused` (never), `Unreachable` (not now) or `LockedOut` (not this account).

        When an account cannot get in, everything that waits for it, at whichever outlet, moves later by the
        same time: it is one person's outage.
        """

    def check(self, options: Mapping[str, Any]) -> None:  # noqa: B027 - the default: anything goes
        """Refuse, with `BadInput`, what could never be delivered: at admission, while somebody reads it."""

    def check_content(  # noqa: B027 - likewise
        self, options: Mapping[str, Any], content: bytes
    ) -> None:
        """Refuse content that could never be delivered, at the same moments as `check`."""

    def account(self, options: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - for those that log in
        """The account that a post with these options needs, with the place it is at; None if none."""
        return None

    def record(  # noqa: B027 - the default: nothing is published in the store
        self, transaction: "Transaction", releases: Sequence[Release]
    ) -> None:
        """Publish in the store, in the transaction that finds these posts due and marks them as released.

        An outlet that does has no other way out: its `deliver` is not called. Where it raises, none left.
        """


def check_delivery(outlet: Outlet, options: Mapping[str, Any], content: bytes) -> None:
    """Refuse what is too large to be kept, or what its outlet could never deliver.

    >>> from tarry.testing import ListOutlet
    >>> check_delivery(ListOutlet(), {}, b"I agree.")
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput(f"content must have at most 16 MiB, not {len(content)} bytes")
    outlet.check(options)
    outlet.check_content(options, content)


def content_fields(content: bytes) -> dict[str, str]:
    """The content of a post in JSON, the same by every outlet: a text, or under another name base64.

    >>> content_fields(b"I agree."), content_fields(bytes([255, 0]))
    ({'content': 'I agree.'}, {'content_base64': '/wA='})
    """
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode()}


@dataclass(frozen=True, kw_only=True)
class OutletKind:
    """What there is to know of an outlet before it is loaded: a place's descriptor.

    >>> option = Option(flag="pigeons", metavar="LOFT", help="send releases by pigeon", rule="address")
    >>> place = "tarry_pigeon.outlet:Pigeon"
    >>> pigeon = OutletKind(
    ...     name="pigeon", outlet=place, delivery="at most once", words="its loft", option=option
    ... )
    >>> pigeon.check_settings({"kind": "pigeon"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: outlet pigeon has no pigeons: give --pigeons LOFT
    """

    name: str  # in stores, settings of spaces, and entry points
    outlet: str  # where its class is, as `module:Class`
    delivery: Delivery  # what its outlet promises
    words: str  # where a space releases to, in a sentence: "its wiki"
    at_home: bool = False  # whether one person's own store has it
    option: Option | None = None  # of `tarry space`, by which a space chooses it; None: no space can
    options: tuple[Option, ...] = ()  # those that may stand beside it
    stored: tuple[str, ...] = ()  # settings that no option gives
    what_of: Callable[[Mapping[str, Any]], str] = field(default=lambda _: "", repr=False)
    shows_posts: bool = False  # as they are, with their options: one such outlet may take over from another
    bound_to: tuple[str, ...] = ()  # settings that must stay as they are while posts wait
    form: Form | None = None  # how its acts are handed in on one's own page, if they can be

    def load(self) -> type[Outlet]:
        """Its class, which is loaded now."""
        outlet: type[Outlet] = resolve(self.outlet)
        return outlet

    @property
    def settings(self) -> tuple[Option, ...]:
        """All options that are settings of a space."""
        chosen_by = () if self.option is None or self.option.rule == "switch" else (self.option,)
        return (*chosen_by, *self.options)

    @property
    def needs_files(self) -> bool:
        """Whether it needs files of the operator's, which may go bad while a gateway runs."""
        return any(option.rule.endswith("file") for option in self.settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse settings that are unknown, missing or of the wrong kind."""
        options = {option.key: option for option in self.settings}
        known = {*options, *self.stored}
        if unknown := sorted(set(settings) - known - {"kind"}):
            fix = f"use {', '.join(sorted(known))}" if known else "leave it out"
            raise BadInput(f"outlet {self.name} has no setting {unknown[0]!r}", fix)
        for key, option in options.items():
            if key in settings:
                _check_value(option, settings[key])
            elif option.required or option is self.option:
                raise BadInput(f"outlet {self.name} has no {key}", f"give --{option.flag} {option.metavar}")

    def may_take_over(self, old: Mapping[str, Any], other: "OutletKind", new: Mapping[str, Any]) -> bool:
        """Whether what was handed in for this outlet may leave by another, as its author meant it."""
        if self.shows_posts and other.shows_posts:
            return True
        return self.name == other.name and all(old.get(key) == new.get(key) for key in self.bound_to)


def _check_value(option: Option, value: Any) -> None:
    if option.rule == "switch":
        if not isinstance(value, bool):
            raise BadInput(f"{option.key} must be true or false, not {value!r}")
    elif not isinstance(value, str):
        raise BadInput(f"{option.key} must be a text, not {value!r}")
    elif option.rule.endswith("file") and ("\0" in value or not value.startswith("/")):
        raise BadInput(f"{option.key} must be an absolute path, not {value!r}")


class HomeOutlets(Mapping[str, Outlet]):
    """The outlets of one person's own store. Each is loaded when it is first used.

    >>> from tarry.keep.home import Home
    >>> outlets = HomeOutlets(Home.of({"TARRY_HOME": "/tmp/t"}))
    >>> outlets["command"].delivery, "feed" in outlets
    ('at most once', False)
    """

    def __init__(self, home: "Home") -> None:
        self._home = home
        self._made: dict[str, Outlet] = {}

    def __getitem__(self, name: str) -> Outlet:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        kinds = load_all("outlet")
        # A package that cannot be loaded keeps its name: what waits for it is not forgotten.
        return tuple(name for name in names("outlet") if name not in kinds or kinds[name].at_home)

    def _make(self, name: str) -> Outlet:
        try:
            kind: OutletKind = load("outlet", name)
        except BadInput as error:
            if name not in names("outlet"):
                raise KeyError(name) from None
            return _Unloadable(error)
        if not kind.at_home:
            raise KeyError(name)
        return kind.load().for_home(self._home)


class _Unloadable(Outlet):
    """Stands for the outlet of a package that cannot be loaded: nobody else's posts wait for it."""

    delivery: Delivery = "at least once"

    def __init__(self, error: BadInput) -> None:
        self._error = error

    def check(self, options: Mapping[str, Any]) -> None:  # noqa: ARG002 - whatever they are
        raise self._error

    def deliver(self, release: Release) -> None:  # noqa: ARG002 - whatever it is
        raise Unreachable(str(self._error))
