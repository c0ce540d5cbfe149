"""What a mail is as a post: the same from the command and from the form on one's own page."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.places.checks import read_utf8
from tarry.places.mail.outlet import read_letter

__all__ = ["mail_post", "make_post"]


def make_post(_home: Home, _gate: Gate, said: Mapping[str, str]) -> dict[str, Any]:
    """The post that a filled form stands for. The password stays in its file.

    >>> letter = {"from": "a@example.org", "to": "b@example.org, c@example.org", "text": "Hello."}
    >>> make_post(None, None, {**letter, "server": "smtp://localhost:25"})["options"]["to"]
    ['b@example.org', 'c@example.org']
    """
    if not (said.get("server") or os.environ.get("TARRY_SMTP")):
        raise BadInput("no mail server given", "name one, or set TARRY_SMTP before you start tarry page")
    options = {
        "from": said.get("from", ""),
        "to": [each for each in re.split(r"[,;\s]+", said.get("to", "")) if each],
        "subject": said.get("subject", ""),
    }
    if file := said.get("password_file"):
        options["password_file"] = file
    return mail_post(options, said.get("text", "").encode(), server=said.get("server"))


def mail_post(
    options: Mapping[str, Any], text: bytes, *, server: str | None = None, target: str | None = None
) -> dict[str, Any]:
    """A mail as it is handed in; its server is $TARRY_SMTP where none is named.

    >>> letter = {"from": "Ann <a@example.org>", "to": ["b@example.org"], "subject": "Hello"}
    >>> mail_post(letter, b"Hello.", server="smtp://localhost:25")["target"]
    'a@example.org'
    """
    server = server or os.environ.get("TARRY_SMTP")
    if not server:
        raise BadInput("no mail server given", "use --server smtp://..., or set TARRY_SMTP")
    options = {"server": server, **options}
    if file := options.get("password_file"):
        options["password_file"] = str(Path(file).absolute())
    read_utf8(text, "the text of a mail")
    return {
        # Without the name beside it: one pseudonym is one target, however it signs.
        "target": target or read_letter(options).sender.addr_spec,
        "outlet": "mail",
        "content": text,
        "options": options,
    }
