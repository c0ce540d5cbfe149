"""What a script finds: sentences, tables and charts, with the settings that give them again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import altair as alt

__all__ = ["Finding", "Script", "Settings", "Table"]

Cell = str | int | float | None
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run is made with.

    >>> Settings().seed
    0
    """

    seed: int = 0  # of everything made up or drawn
    data: Path | None = None  # a folder of real event tables, or one of them; None: made-up ones alone
    tiny: bool = False  # prove that it runs; the figures mean nothing
    progress: Progress | None = None  # told (done, all) of long work


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as it is printed: a header and rows of texts and numbers.

    >>> Table(title="two", header=("a",), rows=((1,), (2,))).column("a")
    [1, 2]
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def column(self, name: str) -> list[Cell]:
        """One column by its name."""
        place = list(self.header).index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one script found.

    >>> Finding(name="queue", title="The queue", says=["It keeps order."]).tables
    {}
    """

    name: str  # of the script, and of the files written
    title: str
    says: Sequence[str]  # what it shows, in sentences; where the paper is wrong, how and by how much
    tables: Mapping[str, Table] = field(default_factory=dict)
    charts: Mapping[str, alt.LayerChart] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "says": list(self.says),
            "tables": {
                name: {
                    "title": table.title,
                    "header": list(table.header),
                    "rows": [list(row) for row in table.rows],
                }
                for name, table in self.tables.items()
            },
        }


class Script(Protocol):
    """A module of this folder: what it is called, and how it finds."""

    NAME: str
    TITLE: str

    def find(self, settings: Settings) -> Finding:
        """Run it."""
        ...
