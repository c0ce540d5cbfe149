"""What a script is given and what it finds: settings and real tables; sentences, tables and charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import altair as alt

from tarry.core.errors import BadInput
from tarry.readers.columns import Columns
from tarry.readers.files import read_history

__all__ = ["Finding", "RunSettings", "Table", "real_tables"]


Cell = str | int | float | None
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run.

    >>> RunSettings().seed
    0
    """

    seed: int = 0  # of everything made up or drawn
    data: Path | None = None  # a folder of real event tables, or one of them; None: made-up ones alone
    tiny: bool = False  # prove that it runs; the figures mean nothing
    progress: Progress | None = None  # called with (done, all) during long work


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

    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of the header: what charts and sentences take.

        >>> Table(title="two", header=("a", "b"), rows=((1, 2),)).records()
        [{'a': 1, 'b': 2}]
        """
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one script.

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


def real_tables(settings: RunSettings, *names: str) -> dict[str, Columns]:
    """The tables of these names in the data folder of a run; or its one file, whatever the name.

    >>> real_tables(RunSettings(), "dao_votes")
    {}
    """
    if settings.data is None:
        return {}
    data = Path(settings.data)
    if data.is_dir():
        matches = {name: sorted(data.glob(f"{name}.*")) for name in names}
        return {name: read_history(files[0]) for name, files in matches.items() if files}
    if not data.exists():
        raise BadInput(f"there is no {data.name}", "give a folder of event tables, or one of them")
    return {data.stem: read_history(data)}
