"""What to install where a command needs more than a plain `pip install tarry` brings."""

from importlib.util import find_spec

from tarry.core.errors import NotPossible

__all__ = ["EXTRAS", "need_study", "what_to_install"]

#: The extras of `pyproject.toml`, and the packages by which each is known.
EXTRAS = {
    "fast": ("cryptography",),
    "postgres": ("psycopg",),
    "study": ("polars", "numba", "altair", "vl_convert", "backports.zstd"),
    "paper": ("scipy",),
    "gateway": ("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "httpx2", "jinja2"),
}


def need_study(*packages: str, extra: str = "study") -> None:
    """Refuse a command whose packages are missing. Call it before importing from `tarry.study`.

    >>> need_study("no_such_package")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this command needs the study extra: ...
    """
    if any(find_spec(package) is None for package in packages or ("polars", "numba")):
        raise NotPossible(_sentence(extra))


def what_to_install(error: ModuleNotFoundError) -> str | None:
    """The sentence for a package that is not installed; None if it belongs to no extra.

    >>> what_to_install(ModuleNotFoundError(name="starlette.routing"))
    "this command needs the gateway extra: pip install 'tarry[gateway]', or scripts/tarry in a checkout"
    """
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
    return None if extra is None else _sentence(extra)


def _sentence(extra: str) -> str:
    install = f"pip install 'tarry[{extra}]', or scripts/tarry in a checkout"
    return f"this command needs the {extra} extra: {install}"
