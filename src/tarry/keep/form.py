"""Forms: what a place asks of somebody who hands an act in on a page of their own, and not at a shell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tarry.core.plugins import resolve

if TYPE_CHECKING:
    from tarry.keep.gate import Gate
    from tarry.keep.home import Home

__all__ = ["FieldKind", "Form", "FormField", "MakePost"]

#: "line" is one line, "content" what the act will say, "switch" yes or no, "choice" one of several words,
#: and "account" a table of the accounts file.
FieldKind = Literal["line", "content", "switch", "choice", "account"]
#: From the store and what was written into the form: a post, but for who acts and whether more will come.
MakePost = Callable[["Home", "Gate", Mapping[str, str]], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class FormField:
    """One thing that a form asks for. What is left empty is not sent along; a switch says "yes".

    >>> FormField(name="loft", label="Where the pigeon flies").kind
    'line'
    """

    name: str
    label: str = ""  # for pages that know no word for it in their language, as they do for our own places
    kind: FieldKind = "line"
    required: bool = False
    choices: tuple[str, ...] = ()  # the first one is chosen until somebody chooses


@dataclass(frozen=True, kw_only=True)
class Form:
    """How an act of a place is handed in.

    >>> from tarry.core.plugins import load
    >>> [field.name for field in load("outlet", "git").form.fields]
    ['repository', 'remote', 'branch', 'redate']
    """

    fields: tuple[FormField, ...]
    make: str  # where its `MakePost` is, as `module:function`: it is loaded when somebody hands in

    @property
    def has_content(self) -> bool:
        """Whether an act of this place says something that can be edited while it waits.

        >>> Form(fields=(FormField(name="text", kind="content"),), make="").has_content
        True
        """
        return any(field.kind == "content" for field in self.fields)

    def post(self, home: "Home", gate: "Gate", said: Mapping[str, str]) -> dict[str, Any]:
        """The post that a filled form stands for, or `BadInput`."""
        make: MakePost = resolve(self.make)
        return make(home, gate, {name: text for name, text in said.items() if text})
