"""What can go wrong, as a small tree.

    TarryError
    ├── BadInput      something given breaks a stated rule
    └── NotPossible   the request is well formed, but no answer exists within its limits

Every text says what, which rule, what was found and what to do: it is written for the person who
reads it, and the command line prints it as its one sentence.
"""

from typing import Any

__all__ = ["BadInput", "NotPossible", "Sealed", "TarryError"]


class TarryError(Exception):
    """The root of every error that tarry raises on purpose.

    >>> issubclass(BadInput, TarryError)
    True
    """


class BadInput(TarryError, ValueError):
    """Something given breaks a rule.

    >>> print(BadInput("epsilon", "must be above 0", found="-1", fix="give a number such as 1"))
    epsilon must be above 0, found -1: give a number such as 1
    """

    def __init__(self, what: str, rule: str, *, found: object, fix: str = "") -> None:
        self.what, self.rule, self.found, self.fix = what, rule, found, fix
        super().__init__(f"{what} {rule}, found {found}" + (f": {fix}" if fix else ""))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip between processes, which keyword-only arguments would not."""
        return _rebuild, (self.what, self.rule, self.found, self.fix)


class NotPossible(TarryError):
    """The request is well formed, but nothing meets it.

    >>> raise NotPossible("no epsilon up to 100 keeps the maximum delay within 1m")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: no epsilon up to 100 keeps the maximum delay within 1m
    """


class Sealed:
    """Base of the classes that checking and drawing both read: nobody may derive from these.

    A subclass could answer one way when it is checked and another way when delays are drawn.

    >>> class Checked(Sealed):
    ...     pass
    >>> class Other(Checked):
    ...     pass
    Traceback (most recent call last):
    tarry.core.errors.BadInput: Checked must not have subclasses, found Other: make an instance of it
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__bases__:
            if base is not Sealed and issubclass(base, Sealed):
                raise BadInput(
                    base.__name__,
                    "must not have subclasses",
                    found=cls.__name__,
                    fix="make an instance of it",
                )


def _rebuild(what: str, rule: str, found: object, fix: str) -> BadInput:
    return BadInput(what, rule, found=found, fix=fix)
