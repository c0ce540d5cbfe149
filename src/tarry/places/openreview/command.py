r"""Post a comment, a review or another note on OpenReview after its random delay.

The text is read from standard input; with --json-content it is a JSON object of fields, such as
{"title": "Review", "rating": 7}. The account is a table of the accounts file, which holds its login and
password and is read when the note leaves. OpenReview is not asked before: a bad invitation shows then.

Unless you name one, the target is the place with forum and signature, for that is the pseudonym: one login
stands for all your anonymous names, and it is between them that nobody should see a link.

  tarry openreview post --account me --forum aBcD1234 --signature V.org/2026/Submission3/Reviewer_x9Yz \
    --invitation V.org/2026/Submission3/-/Official_Comment < comment.txt
"""

import argparse
import sys

from tarry.cli.personal_store import add_hand_in, hand_in, open_gate
from tarry.core.errors import BadInput
from tarry.places.accounts import add_accounts, named_account, with_accounts
from tarry.places.openreview.form import check_id, note_pseudonym

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry openreview`."""
    parser.add_argument("verb", metavar="post", choices=["post"], help="post is all there is")
    for flag, metavar, text in (
        ("--account", "NAME", "a table of the accounts file"),
        ("--invitation", "ID", "the invitation that the note answers, with its /-/"),
        ("--signature", "ID", "the name to sign with: your anonymous group on this paper"),
        ("--forum", "ID", "the paper: what stands behind forum?id= in its address"),
    ):
        parser.add_argument(flag, metavar=metavar, required=True, help=text)
    parser.add_argument("--replyto", metavar="ID", help="the note that is answered (default the paper)")
    parser.add_argument(
        "--reader",
        metavar="ID",
        action="append",
        help="who may read it (may be given again; default as the invitation says)",
    )
    parser.add_argument("--field", metavar="NAME", help="where the text goes (default comment)")
    parser.add_argument("--json-content", action="store_true", help="the input is a JSON object of fields")
    add_accounts(parser)
    add_hand_in(parser, "the place with forum and signature")


def run(arguments: argparse.Namespace) -> int:
    """Hand the note in."""
    ids = {"forum": arguments.forum, "replyto": arguments.replyto, "signature": arguments.signature}
    for name, value in ids.items():
        check_id(f"--{name}", value)
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise BadInput("standard input is empty", "give the text of the note there")
    options = {
        "account": arguments.account,
        "invitation": arguments.invitation,
        "signature": arguments.signature,
        "forum": arguments.forum,
        "replyto": arguments.replyto,
        "readers": arguments.reader,
        "field": arguments.field,
        "content_type": "application/json" if arguments.json_content else None,
    }
    post = {
        "target": arguments.target
        or note_pseudonym(named_account(arguments), arguments.forum, arguments.signature),
        "outlet": "openreview",
        "content": content,
        "options": with_accounts(arguments, options),
    }
    return hand_in(arguments, open_gate(arguments), post)
