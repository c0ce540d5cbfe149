"""Post a comment, a review or another note on OpenReview after its random delay.

The text is read from standard input; with --json-content it is a JSON object of fields, such as
{"title": "Review", "rating": 7}. The account is a table of the accounts file, which holds its login and
password and is read when the note leaves. OpenReview is not asked before: a bad invitation shows then.

Unless you name one, the target is the forum with the signature, for that is the pseudonym: one login stands
for all your anonymous names, and it is between them that nobody should see a link.

  tarry openreview post --account me --forum aBcD1234 --signature V.org/2026/Submission3/Reviewer_x9Yz
    --invitation V.org/2026/Submission3/-/Official_Comment < comment.txt
"""

import argparse
import sys

from tarry.cli.accounts import add_accounts, with_accounts
from tarry.cli.own import add_hand_in, hand_in, open_gate
from tarry.core.errors import BadInput

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry openreview`."""
    parser.add_argument("verb", metavar="post", choices=["post"], help="post is all there is")
    parser.add_argument("--account", metavar="NAME", required=True, help="a table of the accounts file")
    told = "the invitation that the note answers, with its /-/"
    parser.add_argument("--invitation", metavar="ID", required=True, help=told)
    told = "the name to sign with: your anonymous group on this paper"
    parser.add_argument("--signature", metavar="ID", required=True, help=told)
    told = "the paper: what stands behind forum?id= in its address"
    parser.add_argument("--forum", metavar="ID", required=True, help=told)
    told = "the note that is answered (default the paper)"
    parser.add_argument("--replyto", metavar="ID", help=told)
    told = "who may read it (may be given again; default as the invitation says)"
    parser.add_argument("--reader", metavar="ID", action="append", help=told)
    parser.add_argument("--field", metavar="NAME", help="where the text goes (default comment)")
    parser.add_argument("--json-content", action="store_true", help="the input is a JSON object of fields")
    add_accounts(parser)
    add_hand_in(parser, "the forum with the signature")


def run(arguments: argparse.Namespace) -> int:
    """Hand the note in."""
    given = {
        "account": arguments.account,
        "invitation": arguments.invitation,
        "signature": arguments.signature,
        "forum": arguments.forum,
        "replyto": arguments.replyto,
        "readers": arguments.reader,
        "field": arguments.field,
        "content_type": "application/json" if arguments.json_content else None,
    }
    return hand_in(
        arguments,
        open_gate(arguments),
        {
            "target": arguments.target or f"{arguments.forum} {arguments.signature}",
            "outlet": "openreview",
            "content": _content(),
            "options": with_accounts(arguments, given),
        },
    )


def _content() -> bytes:
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise BadInput("standard input", "is the text of the note", found="nothing")
    return content
