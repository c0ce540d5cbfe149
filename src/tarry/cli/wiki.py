"""Change a page of a MediaWiki after its random delay. The text is read from standard input.

edit puts the text in the place of the revision that it was made from (--base), and is parked if somebody
has changed the page meanwhile; create makes a page that is not there; append adds a section with a heading.

An account is a table of the accounts file: a pseudonym's login with a bot password, and where its wiki is.
The target is the account unless you name another, because the account is the pseudonym: two accounts on one
page must count as two that nobody should link, and one account on two pages as one that everybody links.

  tarry wiki append "Talk:Owls" --account nym --heading "What they eat" < section.txt
"""

import argparse
import sys

from tarry.cli.accounts import add_accounts, with_accounts
from tarry.cli.own import add_hand_in, hand_in, open_gate

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry wiki`."""
    told = "edit, create or append"
    parser.add_argument("action", choices=["edit", "create", "append"], metavar="ACTION", help=told)
    parser.add_argument("page", metavar="PAGE", help="the title of the page, with its namespace")
    told = "who acts: a table of the accounts file"
    parser.add_argument("--account", metavar="NAME", required=True, help=told)
    told = "the revision that an edited text was made from (oldid in the page's permanent link)"
    parser.add_argument("--base", metavar="REVISION", type=int, help=told)
    parser.add_argument("--heading", help="the heading of an appended section")
    parser.add_argument("--summary", default="", help="what was done, for the page's history")
    parser.add_argument("--minor", action="store_true", help="mark it as a minor change")
    add_accounts(parser)
    add_hand_in(parser, "the account, which is the pseudonym")


def run(arguments: argparse.Namespace) -> int:
    """Hand the change in."""
    given = {
        "action": arguments.action,
        "page": arguments.page,
        "account": arguments.account,
        "base_revision": arguments.base,
        "heading": arguments.heading,
        "summary": arguments.summary,
        "minor": arguments.minor,
    }
    return hand_in(
        arguments,
        open_gate(arguments),
        {
            "target": arguments.target or arguments.account,
            "outlet": "mediawiki",
            "content": sys.stdin.buffer.read(),
            "options": with_accounts(arguments, given),
        },
    )
