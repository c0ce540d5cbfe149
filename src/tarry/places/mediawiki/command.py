"""Change a page of a MediaWiki after its random delay. The text is read from standard input.

edit replaces the text of the revision that it was made from (--base). It is parked if somebody has changed
the page meanwhile. create makes a page that is not there. append adds a section with a heading.

An account is a table of the accounts file: a pseudonym's login with a bot password, and where its wiki is.
Unless you name another target, it is the wiki with the account's name there, because that is the pseudonym.
Two accounts on one page count as two that nobody should link. One account on two pages counts as one.

  tarry wiki append "Talk:Owls" --account nym --heading "What they eat" < section.txt
"""

import argparse
import sys

from tarry.cli.personal_store import add_hand_in, hand_in, open_gate
from tarry.core.errors import BadInput
from tarry.places.accounts import add_accounts, named_account, with_accounts
from tarry.places.mediawiki.form import wiki_pseudonym

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry wiki`."""
    parser.add_argument(
        "action", choices=["edit", "create", "append"], metavar="ACTION", help="edit, create or append"
    )
    parser.add_argument("page", metavar="PAGE", help="the title of the page, with its namespace")
    parser.add_argument(
        "--account", metavar="NAME", required=True, help="who acts: a table of the accounts file"
    )
    parser.add_argument(
        "--base",
        metavar="REVISION",
        type=int,
        help="the revision that an edited text was made from (oldid in the page's permanent link)",
    )
    parser.add_argument("--heading", help="the heading of an appended section")
    parser.add_argument("--summary", default="", help="what was done, for the page's history")
    parser.add_argument("--minor", action="store_true", help="mark it as a minor change")
    add_accounts(parser)
    add_hand_in(parser, "the wiki with the account's name there, which is the pseudonym")


def run(arguments: argparse.Namespace) -> int:
    """Hand the change in."""
    _check(arguments)
    options = {
        "action": arguments.action,
        "page": arguments.page,
        "account": arguments.account,
        "base_revision": arguments.base,
        "heading": arguments.heading,
        "summary": arguments.summary,
        "minor": arguments.minor,
    }
    post = {
        "target": arguments.target or wiki_pseudonym(named_account(arguments)),
        "outlet": "mediawiki",
        "content": sys.stdin.buffer.read(),
        "options": with_accounts(arguments, options),
    }
    return hand_in(arguments, open_gate(arguments), post)


def _check(arguments: argparse.Namespace) -> None:
    """What the outlet would refuse too, but in words that nobody has written here."""
    if arguments.action == "edit" and (arguments.base is None or arguments.base < 1):
        raise BadInput(
            (
                "edit has no --base"
                if arguments.base is None
                else f"--base must be 1 or more, not {arguments.base}"
            ),
            (
                "give the revision that your text was made from: the number after oldid= in the permanent "
                "link of the page, when you copied its text"
            ),
        )
    if arguments.action == "append" and arguments.heading is None:
        raise BadInput("append has no --heading", "name the new section")
    for option, value, action in (
        ("--base", arguments.base, "edit"),
        ("--heading", arguments.heading, "append"),
    ):
        if value is not None and arguments.action != action:
            raise BadInput(f"{option} goes with {action}, not with {arguments.action}", "leave it out")
