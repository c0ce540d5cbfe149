"""Every sentence that a page shows, in one place: `texts/<language>/`, a file for each page.

A translation is a folder of the same files. Texts never hold markup.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["LANGUAGES", "texts"]

LANGUAGES = ("en",)


@cache
def texts(language: str = "en") -> dict[str, Any]:
    """The texts of a language, by page and name.

    >>> texts()["common"]["name"]
    'tarry'
    """
    folder = files("tarry.console").joinpath("texts", language)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }
