"""Wikis that run MediaWiki: changes of their pages, their histories, and dumps of these."""

from collections.abc import Mapping
from typing import Any

from tarry.core.plugins import Option
from tarry.keep.form import Form, FormField
from tarry.keep.outlet import OutletKind
from tarry.places.accounts import ACCOUNTS
from tarry.readers.kind import ReaderKind

__all__ = ["DUMP_READER", "OUTLET", "READER"]


def _what_of(options: Mapping[str, Any]) -> str:
    base = f" (from {options['base_revision']})" if "base_revision" in options else ""
    return f"{options['action']} {options['page']}{base}"


OUTLET = OutletKind(
    name="mediawiki",
    outlet="tarry.places.mediawiki.outlet:MediaWiki",
    delivery="exactly once",
    words="its wiki",
    at_home=True,
    option=Option(
        flag="mediawiki",
        metavar="URL",
        help="change pages of this wiki (its api.php), with --accounts",
        rule="address",
        name="api",
    ),
    options=(ACCOUNTS,),
    what_of=_what_of,
    bound_to=("api",),  # in another wiki nobody would find what was done before
    form=Form(
        fields=(
            FormField(name="account", kind="account", required=True),
            FormField(name="action", kind="choice", choices=("edit", "append", "create"), required=True),
            FormField(name="page", required=True),
            FormField(name="base_revision"),
            FormField(name="heading"),
            FormField(name="text", kind="content", required=True),
            FormField(name="summary"),
            FormField(name="minor", kind="switch"),
        ),
        make="tarry.places.mediawiki.form:make_post",
    ),
)
READER = ReaderKind(
    name="wiki",
    summary="the address of a wiki's api.php",
    read="tarry.places.mediawiki.reader:read_wiki",
    options=(
        Option(
            flag="what",
            metavar="WHAT",
            help=(
                "recentchanges, or revisions of --page or --category (default: by whether these are given)"
            ),
        ),
        Option(flag="category", metavar="NAME", help="the revisions of all pages in it"),
        Option(
            flag="page",
            metavar="TITLE",
            help="the revisions of this page; may be given again",
            repeated=True,
            name="pages",
        ),
        Option(flag="since", metavar="TIME", help="the first moment that counts"),
        Option(flag="until", metavar="TIME", help="the first moment that no longer counts"),
    ),
    tells_bots=True,
    no_bots_with=("pages", "category"),
)
DUMP_READER = ReaderKind(
    name="wiki-dump",
    summary="a stub-meta-history dump of a MediaWiki wiki",
    read="tarry.places.mediawiki.reader:read_wiki_dump",
    in_files=True,
)
