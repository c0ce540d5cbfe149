"""Releases in the words of the public API, and as an Atom feed."""

import base64
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from tarry.gateway.bodies import ItemOut
from tarry.gateway.book import Space
from tarry.gateway.feed import Item

__all__ = ["JSON", "atom", "content_of", "item_out"]

#: The reserved option that tells JSON from text, and its value.
JSON = {"content_type": "application/json"}
_ATOM = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def content_of(content: str | dict[str, Any] | list[Any]) -> tuple[bytes, dict[str, Any]]:
    """Content as it is stored, and the option that tells what it is.

    >>> content_of("I agree."), content_of({"score": 3})
    ((b'I agree.', {}), (b'{"score":3}', {'content_type': 'application/json'}))
    """
    if isinstance(content, str):
        return content.encode(), {}
    return msgspec.json.encode(content), dict(JSON)


def item_out(item: Item) -> ItemOut:
    """A release as the API tells it.

    >>> item_out(Item(position=1, id="ab", target="t", content=b"[1]", options=JSON, at=0)).content
    [1]
    """
    told = ItemOut(
        position=item.position,
        id=item.id,
        target=item.target,
        at=item.moment,
        options={name: value for name, value in item.options.items() if name not in JSON},
    )
    try:
        text = item.content.decode()
        told.content = msgspec.json.decode(text) if item.options.items() >= JSON.items() else text
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        told.content_base64 = base64.b64encode(item.content).decode()
    return told


def atom(space: Space, items: Sequence[Item], here: str) -> bytes:
    """The feed for readers of Atom (RFC 4287), newest first. `here` is its own address.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=())
    >>> atom(space, [], "/v1/spaces/talk/feed.atom")[:22]
    b"<?xml version='1.0' en"
    """
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"urn:tarry:{space.name}")
    _add(feed, "title", space.title)
    _add(feed, "updated", items[0].moment if items else "1970-01-01T00:00:00Z")
    ET.SubElement(feed, f"{{{_ATOM}}}link", rel="self", href=here)
    author = ET.SubElement(feed, f"{{{_ATOM}}}author")
    _add(author, "name", space.title)
    for item in items:
        entry = ET.SubElement(feed, f"{{{_ATOM}}}entry")
        _add(entry, "id", f"urn:tarry:{space.name}:{item.id}")
        _add(entry, "title", item.target)
        _add(entry, "updated", item.moment)
        _add(entry, "content", item.content.decode(errors="replace")).set("type", "text")
    return bytes(ET.tostring(feed, encoding="utf-8", xml_declaration=True))


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    child = ET.SubElement(parent, f"{{{_ATOM}}}{name}")
    child.text = _NOT_XML.sub("\ufffd", text)
    return child
