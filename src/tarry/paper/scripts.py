"""Every script by name, in the order of the paper."""

from importlib import import_module
from types import ModuleType

from tarry.core.errors import BadInput

__all__ = ["SCRIPTS", "script"]

#: The name of each script, and what it shows.
SCRIPTS: dict[str, str] = {}


def script(name: str) -> ModuleType:
    """The module of a script: its NAME, its TITLE and `find(settings)`.

    >>> script("nonsense")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a script of the paper is one of all, found 'nonsense'
    """
    if name not in SCRIPTS:
        raise BadInput(
            "a script of the paper", f"is one of {', '.join(['all', *SCRIPTS])}", found=repr(name)
        )
    return import_module(f"tarry.paper.{name}")
