"""Send a mail after its random delay. The text is read from standard input.

It is plain text, without attachments, Cc, Reply-To or In-Reply-To. Its date is the moment of its release,
and its Message-ID is random. The server comes from --server or $TARRY_SMTP; a password, if it needs one,
from a file that is read when the mail leaves.

  tarry mail --from nym@example.org --to chair@example.net --subject "Paper 3" < review.txt
"""

import argparse
import sys

from tarry.cli.main import UsageError
from tarry.cli.personal_store import add_hand_in, hand_in, open_gate
from tarry.places.mail.form import mail_post

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry mail`."""
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", required=True, help="who writes")
    parser.add_argument(
        "--to", metavar="ADDRESS", action="append", required=True, help="to whom (may be given again)"
    )
    parser.add_argument("--subject", help="the subject; '' for none")
    parser.add_argument("--empty", action="store_true", help="send it without a text")
    parser.add_argument(
        "--server", metavar="URL", help="smtp://[USER@]HOST[:PORT] or smtps://... (default $TARRY_SMTP)"
    )
    parser.add_argument("--password-file", metavar="FILE", help="a file with the password of the server")
    add_hand_in(parser, "the address of the sender, who is the pseudonym")


def run(arguments: argparse.Namespace) -> int:
    """Hand the mail in."""
    if arguments.subject is None:
        raise UsageError("no subject given: use --subject TEXT, or --subject '' for a mail without one")
    options = {"from": arguments.sender, "to": arguments.to, "subject": arguments.subject}
    if arguments.password_file:
        options["password_file"] = arguments.password_file
    text = b"" if arguments.empty else sys.stdin.buffer.read()
    if not text.strip() and not arguments.empty:
        raise UsageError("the mail has no text: write it to standard input, or use --empty")
    post = mail_post(options, text, server=arguments.server, target=arguments.target)
    return hand_in(arguments, open_gate(arguments), post)
