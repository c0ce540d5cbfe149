"""The real event tables that a run was given, by name."""

from pathlib import Path

from tarry.core.errors import BadInput
from tarry.paper.finding import Settings
from tarry.readers.columns import Columns
from tarry.readers.files import read_history

__all__ = ["given_tables"]


def given_tables(settings: Settings, *names: str) -> dict[str, Columns]:
    """Those of some tables that lie in the folder of the settings; or the one file, whatever its name.

    >>> given_tables(Settings(), "dao_votes")
    {}
    """
    if settings.data is None:
        return {}
    data = Path(settings.data)
    if data.is_dir():
        found = {name: sorted(data.glob(f"{name}.*")) for name in names}
        return {name: read_history(files[0]) for name, files in found.items() if files}
    if not data.exists():
        raise BadInput("the data of a run", "is a folder of event tables or one of them", found=data.name)
    return {data.stem: read_history(data)}
