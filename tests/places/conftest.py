"""The shells of the commands' own tests: the commands of places are run in the same way."""

from cli.conftest import operator, quiet, shell

__all__ = ["operator", "quiet", "shell"]
