"""What cannot be done by parts, each in one sentence that says what to use instead."""

from tarry.core.errors import BadInput
from tarry.study.question import Question

__all__ = ["NO_DIFFERENT", "NO_WATCH", "check_by_parts"]

_MEMORY = "use the engine memory, on a shorter history if need be"
#: Of what is left out, beside which the audit stands.
NO_WATCH = f"the long watch cannot be done by parts of a history: {_MEMORY}"
NO_DIFFERENT = (
    "how often different people act close together cannot be counted by parts, and is left out: "
    "the engine memory counts it"
)


def check_by_parts(question: Question) -> None:
    """Refuse a question that cannot be answered by parts.

    >>> check_by_parts(Question(practices=["pool"]))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the practice pool looks at a whole history, and cannot be replayed by ...
    """
    if question.different:
        raise BadInput(
            "how often different people act close together (--different) cannot be counted by parts",
            _MEMORY,
        )
    for practice in (*question.practices, *question.compared):
        if practice.looks() is None:
            raise BadInput(
                f"the practice {practice.name} looks at a whole history, and cannot be replayed by parts",
                _MEMORY,
            )
    for method in question.attacks:
        if not method.by_parts:
            raise BadInput(f"the attack {method.name} cannot be done by parts of a history", _MEMORY)
