"""The commands of the study need more than a plain `pip install tarry` brings; this says so."""

from importlib.util import find_spec

from tarry.core.errors import NotPossible

__all__ = ["need_study"]


def need_study(*packages: str, extra: str = "study") -> None:
    """Refuse a command whose packages are missing. Call it before importing from `tarry.study`.

    >>> need_study("no_such_package")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this command needs the study extra: ...
    """
    if any(find_spec(package) is None for package in packages or ("polars", "numba")):
        raise NotPossible(
            f"this command needs the {extra} extra: pip install 'tarry[{extra}]', "
            "or scripts/tarry in a checkout"
        )
