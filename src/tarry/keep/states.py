"""The state of a post: one value in one column, and the ways from one to the next.

    accept ──▶ WAITING ──claim──▶ DELIVERING ──it arrived──▶ RELEASED
                 ▲  │                │  │  └──refused, or given up──▶ PARKED
                 │  │                │  │
                 │  │   nothing sent │  │ cut off, or no answer:
                 └──┼────────────────┘  │ it may have left
                    │                   ▼
                    │               IN_DOUBT ──claim──▶ DELIVERING_IN_DOUBT ──it arrived──▶ RELEASED
                    │                   ▲                   │  └──refused, or given up──▶ PARKED_IN_DOUBT
                    │                   └── nothing is known ┘
                    └──withdraw──▶ WITHDRAWN

    PARKED           ──a person puts it back──▶ WAITING      ──withdraw──▶ WITHDRAWN
    PARKED_IN_DOUBT  ──a person puts it back──▶ IN_DOUBT     ──withdraw──▶ WITHDRAWN
    WITHDRAWN (by an operator) ──its author puts something else in its place──▶ WAITING

`TRANSITIONS` has every arrow, with those of rare days: a delivery that must not happen twice and was cut
off is parked in doubt, until its worker tells after all; what depends on a parked post in one person's own
store is parked with it; what was due while a store was away is parked in doubt.

Once a post is in doubt nobody may act as if it had not left. Only a delivery, or a person, ends the doubt.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

__all__ = ["GROUPS", "TRANSITIONS", "PublicState", "State"]

#: What people are told: whether it is also in doubt is said beside it.
PublicState = Literal["waiting", "released", "withdrawn", "parked"]


class State(StrEnum):
    """What has become of a post, as the store has it.

    >>> State.DELIVERING_IN_DOUBT.public, State.DELIVERING_IN_DOUBT.in_doubt
    ('waiting', True)
    """

    #: It waits for its tick, or to be tried again. It has not left.
    WAITING = "waiting"
    #: A worker is delivering it, and no earlier try is in doubt.
    DELIVERING = "delivering"
    #: It waits to be tried again, and may have left: a try was cut off, or was sent and not answered.
    IN_DOUBT = "in_doubt"
    #: A worker is delivering it, and an earlier try may have come through.
    DELIVERING_IN_DOUBT = "delivering_in_doubt"
    #: It could not be delivered, and a person has to look. It has not left.
    PARKED = "parked"
    #: A person has to look, and it may have left.
    PARKED_IN_DOUBT = "parked_in_doubt"
    #: It has left: its content is gone from the store.
    RELEASED = "released"
    #: It was taken back: its content is gone, and its tick and draws stay for labels and for a repost.
    WITHDRAWN = "withdrawn"

    @property
    def public(self) -> PublicState:
        """What people are told of it."""
        return _PUBLIC[self]

    @property
    def in_doubt(self) -> bool:
        """Whether it may have left although it waits or is parked."""
        return self in _IN_DOUBT

    @property
    def is_on_its_way(self) -> bool:
        """Whether it is still to leave, without anybody's help."""
        return _PUBLIC[self] == "waiting"


_PUBLIC: Mapping[State, PublicState] = {
    State.WAITING: "waiting",
    State.DELIVERING: "waiting",
    State.IN_DOUBT: "waiting",
    State.DELIVERING_IN_DOUBT: "waiting",
    State.PARKED: "parked",
    State.PARKED_IN_DOUBT: "parked",
    State.RELEASED: "released",
    State.WITHDRAWN: "withdrawn",
}
_IN_DOUBT = frozenset({State.IN_DOUBT, State.DELIVERING_IN_DOUBT, State.PARKED_IN_DOUBT})

#: The states that statements name together: `{ready}` in an .sql file is the first of these.
GROUPS: Mapping[str, tuple[State, ...]] = {
    "ready": (State.WAITING, State.IN_DOUBT),
    "delivering": (State.DELIVERING, State.DELIVERING_IN_DOUBT),
    "on_its_way": (State.WAITING, State.IN_DOUBT, State.DELIVERING, State.DELIVERING_IN_DOUBT),
    "parked": (State.PARKED, State.PARKED_IN_DOUBT),
    "unfinished": tuple(state for state, public in _PUBLIC.items() if public in ("waiting", "parked")),
    "done": (State.RELEASED, State.WITHDRAWN),
}

#: Every change of the column that may happen; a new post is WAITING.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.WAITING: frozenset({State.DELIVERING, State.WITHDRAWN, State.PARKED, State.PARKED_IN_DOUBT}),
    State.DELIVERING: frozenset(
        {State.RELEASED, State.WAITING, State.IN_DOUBT, State.PARKED, State.PARKED_IN_DOUBT}
    ),
    State.IN_DOUBT: frozenset({State.DELIVERING_IN_DOUBT, State.PARKED_IN_DOUBT}),
    State.DELIVERING_IN_DOUBT: frozenset({State.RELEASED, State.IN_DOUBT, State.PARKED_IN_DOUBT}),
    State.PARKED: frozenset({State.WAITING, State.WITHDRAWN}),
    State.PARKED_IN_DOUBT: frozenset({State.IN_DOUBT, State.WITHDRAWN, State.RELEASED, State.PARKED}),
    State.RELEASED: frozenset(),
    State.WITHDRAWN: frozenset({State.WAITING}),
}
