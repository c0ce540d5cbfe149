"""What can go wrong, as a small tree.

    TarryError
    ├── BadInput      something given breaks a stated rule
    └── NotPossible   the request is well formed, but no answer exists within its limits

Every text is one plain sentence: what is wrong with which value, and what to do. It is written for the
person who reads it, and the command line prints it as it is.
"""

__all__ = ["BadInput", "NotPossible", "TarryError", "require", "require_possible"]


class TarryError(Exception):
    """The root of every error that tarry raises on purpose.

    >>> issubclass(BadInput, TarryError)
    True
    """


class BadInput(TarryError, ValueError):
    """Something given breaks a rule: `problem` says what is wrong with which value, `fix` what to do.

    Where the problem is a rule (*must*), the rule is the fix.

    >>> print(BadInput("space 'talk' already exists", "choose another name"))
    space 'talk' already exists: choose another name
    >>> print(BadInput("epsilon must be above 0, not -1"))
    epsilon must be above 0, not -1
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        self.problem, self.fix = problem, fix
        super().__init__(f"{problem}: {fix}" if fix else problem)

    def within(self, where: str) -> "BadInput":
        """The same error, with where it was met: a file, a space.

        >>> print(BadInput("epsilon must be above 0, not -1").within("policy.toml"))
        policy.toml: epsilon must be above 0, not -1
        """
        return BadInput(f"{where}: {self.problem}", self.fix)

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip between processes."""
        return BadInput, (self.problem, self.fix)


class NotPossible(TarryError):
    """The request is well formed, but nothing meets it.

    >>> raise NotPossible("no epsilon up to 100 keeps the maximum delay within 1m")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: no epsilon up to 100 keeps the maximum delay within 1m
    """


def require(fact: object, problem: str, fix: str = "") -> None:
    """Refuse with `BadInput` unless something is so.

    >>> require(2 > 1, "epsilon must be above 0, not -1")
    >>> require(not {"talk"}, "space 'talk' already exists", "choose another name")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: space 'talk' already exists: choose another name
    """
    if not fact:
        raise BadInput(problem, fix)


def require_possible(fact: object, problem: str) -> None:
    """Say with `NotPossible` that nothing meets a request, unless something does.

    >>> require_possible([], "no law keeps these delays: allow more delay")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: no law keeps these delays: allow more delay
    """
    if not fact:
        raise NotPossible(problem)
