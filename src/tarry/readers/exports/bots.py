"""Names that programs act under, where an export does not say it."""

import re

__all__ = ["is_bot_name"]

# A word of its own: there are people called Abbot and Talbot.
_BOT = re.compile(r"(?:^|[^a-z])bots?(?:$|[^a-z])")
_KNOWN = re.compile(
    r"(?:^|[^a-z])(?:buildbot|copybara|dependabot|github-actions|greenkeeper|imgbot|jenkins|mergify"
    r"|pre-commit-ci|renovate|zuul)(?:$|[^a-z])"
)


def is_bot_name(*names: str) -> bool:
    """Whether one of the names of an account is a program's.

    >>> is_bot_name("renovate[bot]", "bot@renovateapp.com"), is_bot_name("Ann Talbot", "ann@nym.example")
    (True, False)
    """
    return any(_BOT.search(name.lower()) or _KNOWN.search(name.lower()) for name in names)
