"""Operations: each address of the gateway with what it takes and gives, told once.

Routes and the OpenAPI page are made from this list, so that neither can say what the other does not.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tarry.gateway.book import Scope

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tarry.gateway.door import Door

__all__ = ["OPERATIONS", "Handler", "Operation", "operation"]

Handler = Callable[["Door", "Request"], Awaitable["Response"]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one address.

    >>> Operation(method="GET", path="/healthz", name="health", summary="", handler=None).scope is None
    True
    """

    method: str
    path: str  # with {parameters}
    name: str
    summary: str  # one sentence
    handler: Any  # takes the door and the request
    scope: Scope | None = None  # what a token must allow; None: no token
    receipt: bool = False  # needs a receipt in the header Tarry-Receipt
    takes: type[Struct] | None = None  # the JSON of the request
    gives: type[Struct] | None = None  # the JSON of the answer
    status: int = 200  # of the answer
    media: str = "application/json"  # of the answer
    query: dict[str, str] = field(
        default_factory=dict
    )  # parameters that are whole numbers, and their meaning
    key: bool = False  # may come with an Idempotency-Key
    example: dict[str, Any] | None = None  # of the request
    refusals: tuple[int, ...] = ()  # beside the usual ones


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, **told: Any) -> Callable[[Handler], Handler]:
    """List a handler; its docstring is the summary.

    >>> callable(operation("GET", "/nowhere"))
    True
    """

    def listed(handler: Handler) -> Handler:
        summary = " ".join((handler.__doc__ or "").split())
        OPERATIONS.append(
            Operation(
                method=method,
                path=path,
                name=handler.__name__,
                summary=summary,
                handler=handler,
                **told,
            )
        )
        return handler

    return listed
