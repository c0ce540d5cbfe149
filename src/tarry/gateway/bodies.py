"""What goes in and out over HTTP, as typed records: checked on the way in, listed in the OpenAPI page."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from tarry.gateway.catalog import Scope
from tarry.keep.admission import Adoption
from tarry.keep.posts import PublicState

__all__ = [
    "SPACE",
    "AccountIn",
    "AccountOut",
    "BatchIn",
    "FeedOut",
    "HealthOut",
    "ItemOut",
    "ParkedListOut",
    "ParkedOut",
    "PolicyOut",
    "PostIn",
    "Problem",
    "ReceiptOut",
    "ReceiptsOut",
    "ReplaceIn",
    "SpaceOut",
    "SpacesOut",
    "StatusOut",
    "TokenIn",
    "TokenListOut",
    "TokenMadeOut",
    "TokenOut",
    "WithdrawIn",
    "WithdrawnOut",
]

#: What the name of a space looks like, in an address too.
SPACE = "^[a-z0-9][a-z0-9-]{0,62}$"

Name = Annotated[str, Meta(min_length=1, max_length=1000, pattern="^[^\\x00]*$")]
SpaceName = Annotated[str, Meta(pattern=SPACE)]
Text = Annotated[str, Meta(max_length=1 << 20)]
Content = Text | dict[str, Any] | list[Any]
Options = Annotated[
    dict[str, Any], Meta(extra_json_schema={"propertyNames": {"not": {"const": "content_type"}}})
]
Moment = Annotated[str, Meta(description="ISO 8601, in UTC")]
ReceiptOf = Annotated[
    str, Meta(min_length=1, max_length=64, description="a receipt, or the id of a release")
]


class PostIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """A post that somebody submits."""

    actor: Annotated[Name, Meta(description="the hidden doer: an account, never shown to anybody")]
    target: Annotated[Name, Meta(description="the visible thing acted on: a paper, page or thread")]
    content: Annotated[Content, Meta(description="text, or JSON")]
    options: Annotated[Options, Meta(description="for the outlet; never an address")] = {}
    track: Annotated[
        Name | None, Meta(description="a kind of act with a gap of its own, if the policy names it")
    ] = None
    more_to_come: Annotated[bool, Meta(description="the author will post more within the window")] = False
    depends_on: Annotated[
        ReceiptOf | None,
        Meta(
            description="a receipt of one's own waiting post on the same target, or the id (or receipt) of "
            "a post that is visible"
        ),
    ] = None


class BatchIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """Several posts, accepted together or not at all."""

    posts: Annotated[
        list[PostIn],
        Meta(min_length=1, max_length=1000, description="100 at most, unless the operator allows others"),
    ]


class ReplaceIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """Other content for a waiting post; when it leaves stays as it is."""

    content: Content
    options: Options | None = None


class StatusOut(Struct, kw_only=True, omit_defaults=True):
    """What the author of a post may know of it."""

    state: PublicState
    release_at: Annotated[Moment | None, Meta(description="when it leaves or left, once that is known")]
    earliest_at: Annotated[
        Moment | None, Meta(description="the earlier of the two moments it may leave at")
    ]
    latest_at: Annotated[Moment | None, Meta(description="the later one")]
    in_doubt: Annotated[
        bool, Meta(description="a delivery has begun and nobody knows how it ended: it may have left")
    ] = False
    in_between: Annotated[
        bool,
        Meta(description="it may leave at any moment from the earlier one to the later one"),
    ] = False


class ReceiptOut(StatusOut, kw_only=True):
    """The answer to an admission. The receipt is a secret: it proves whose post it is."""

    receipt: str

    def __repr__(self) -> str:
        """Not the secret: what is printed ends up in logs."""
        return f"{type(self).__name__}(state={self.state!r})"


class ReceiptsOut(Struct, kw_only=True):
    """The receipts of several posts, in the order of the request."""

    receipts: list[ReceiptOut]


class ItemOut(Struct, kw_only=True, omit_defaults=True):
    """A release."""

    position: Annotated[int, Meta(description="in the order of release, from 1")]
    id: Annotated[str, Meta(description="random")]
    target: str
    at: Annotated[Moment, Meta(description="of its tick")]
    options: dict[str, Any]
    content: Any = None
    content_base64: str | None = None


class FeedOut(Struct, kw_only=True):
    """Releases in the order of release."""

    space: str
    items: list[ItemOut]
    next: Annotated[int, Meta(description="ask for what comes `after` this")]


class SpaceOut(Struct, kw_only=True):
    """A space, as everybody may know it."""

    name: str
    title: str
    version: Annotated[int, Meta(description="of its policy")]
    is_open: Annotated[bool, Meta(description="false: an operator has paused it, or it has ended")]
    has_ended: Annotated[bool, Meta(description="true: it accepts nothing any more")]
    resumes_at: Annotated[
        Moment | None, Meta(description="nothing is accepted until then: the policy changes")
    ]
    window_s: float
    deadline_at: Moment | None
    adoption: Annotated[Adoption, Meta(description="whose posts are delayed")]


class SpacesOut(Struct, kw_only=True):
    """The spaces of a gateway."""

    spaces: list[SpaceOut]


class PolicyOut(Struct, kw_only=True):
    """A policy of a space, and what it promises, in plain words."""

    space: str
    version: int
    holds_from: Annotated[
        Moment | None, Meta(description="admission pauses until then; null: from the start")
    ]
    policy: Annotated[str, Meta(description="the policy file")]
    promised: list[str]
    not_promised: list[str]


class AccountIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """Whether an account's posts are delayed: chosen ahead of time, never for one post."""

    actor: Name
    delayed: bool


class AccountOut(Struct, kw_only=True):
    """When an account's choice begins to apply."""

    delayed: bool
    holds_from: Moment


class WithdrawIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """What an operator withdraws: everything that waits on a target."""

    target: Name


class WithdrawnOut(Struct, kw_only=True):
    """How many posts were withdrawn."""

    withdrawn: int


class ParkedOut(Struct, kw_only=True):
    """A post that could not be delivered and waits for a person."""

    post: Annotated[str, Meta(description="its random id")]
    target: str
    release_at: Moment
    attempts: int
    problem: str


class ParkedListOut(Struct, kw_only=True):
    """The posts that a person has to look at."""

    parked: list[ParkedOut]


class TokenIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """A token to be made."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern="^[^\\x00-\\x1f\\x7f]*$")]
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=3)]
    spaces: Annotated[list[SpaceName], Meta(max_length=1000)] = []


class TokenOut(Struct, kw_only=True):
    """A token, without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    spaces: Annotated[list[str], Meta(description="empty: all of them")]


class TokenMadeOut(TokenOut, kw_only=True):
    """A token that was just made; it cannot be shown again."""

    token: str

    def __repr__(self) -> str:
        """Not the secret."""
        return f"{type(self).__name__}(id={self.id!r})"


class TokenListOut(Struct, kw_only=True):
    """The tokens in use."""

    tokens: list[TokenOut]


class HealthOut(Struct, kw_only=True):
    """Whether the gateway works."""

    status: Literal["ok", "unavailable"]


class Problem(Struct, kw_only=True):
    """Why something was refused, in one sentence (RFC 9457)."""

    title: str
    status: int
    detail: str
