"""Readers of exports: events a second against a bare parser over the same bytes, and flat memory.

Makes up a wiki's dump, a Stack Exchange file and lines of JSON, reads each in a process of its own, and
once more with nothing but the parser: expat with empty handlers, or json on every line. Peak memory is that
of a file of a quarter of the size and of the whole one. The files are deleted at the end.

python bench/readers.py [--size MIB] [--folder FOLDER]
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.parsers import expat

from tarry.places.exports.json_lines import read_json_lines
from tarry.places.exports.stack_exchange import read_stack_exchange
from tarry.places.mediawiki.reader import read_wiki_dump

MIB = 1 << 20
TINY, USUAL = 3, 2048  # MiB of the dump; the other files have a quarter of it
FLAT = 8 * 1024  # KiB that a file four times as large may take more

REVISION = """    <revision>
      <id>{n}</id>
      <parentid>{before}</parentid>
      <timestamp>20{year:02}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z</timestamp>
      <contributor>
        <username>Somebody {who}</username>
        <id>{who}</id>
      </contributor>
      <comment>/* History */ a remark of the usual length, &quot;quoted&quot; here and there</comment>
      <origin>{n}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" sha1="0123456789abcdefghijklmnopqrstu" location="tt:{n}" id="{n}" />
      <sha1>0123456789abcdefghijklmnopqrstu</sha1>
    </revision>
"""
ROW = (
    '  <row Id="{n}" PostId="{page}" Score="0" Text="A comment of the usual length, with '
    '&lt;code&gt;x&lt;/code&gt; in it and not much more." CreationDate="20{year:02}-{month:02}-{day:02}'
    'T{hour:02}:{minute:02}:{second:02}.123" UserId="{who}" ContentLicense="CC BY-SA 4.0" />\n'
)
LINE = (
    '{{"id": {n}, "user": {{"login": "somebody{who}", "id": {who}}}, "page": {{"title": "Page {page}"}}, '
    '"created_at": "20{year:02}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", '
    '"body": "A comment of the usual length and not much more."}}\n'
)


def fields(n):
    """Somebody who acts somewhere at some time."""
    return {
        "n": n,
        "before": n - 1,
        "page": n // 20,
        "who": n * 7919 % 30_011,
        "size": n % 9973,
        "year": 3 + n % 20,
        "month": 1 + n % 12,
        "day": 1 + n % 28,
        "hour": n % 24,
        "minute": n % 60,
        "second": n * 7 % 60,
    }


def dump_parts():
    for page in count():
        rows = "".join(REVISION.format(**fields(n)) for n in range(page * 20, page * 20 + 20))
        head = f"    <title>Page {page}</title>\n    <ns>0</ns>\n    <id>{page}</id>\n"
        yield f"  <page>\n{head}{rows}  </page>\n", 20


def parts_of(template):
    for n in count():
        yield template.format(**fields(n)), 1


MAKERS = {
    "wiki dump": ("<mediawiki>\n", dump_parts, "</mediawiki>\n"),
    "stack exchange": ("<comments>\n", lambda: parts_of(ROW), "</comments>\n"),
    "json lines": ("", lambda: parts_of(LINE), ""),
}


def make(kind, path, size):
    """Write a file of about this size; how many events it holds."""
    head, parts, tail = MAKERS[kind]
    events, left = 0, size
    with path.open("w", encoding="ascii") as file:
        file.write(head)
        for text, inside in parts():
            file.write(text)
            events, left = events + inside, left - len(text)
            if left <= 0:
                break
        file.write(tail)
    return events


READERS = {
    "wiki dump": read_wiki_dump,
    "stack exchange": read_stack_exchange,
    "json lines": lambda path: read_json_lines(
        path, actor="user.login", target="page.title", time="created_at"
    ),
}


def read(kind, path):
    """With tarry: how many events."""
    return sum(1 for _ in READERS[kind](path))


def parse(kind, path):
    """With the parser alone."""
    with path.open("rb") as file:
        if kind == "json lines":
            return sum(1 for line in file if json.loads(line))
        parser = expat.ParserCreate("UTF-8")
        parser.StartElementHandler = lambda *_: None
        parser.EndElementHandler = lambda *_: None
        while block := file.read(1 << 18):
            parser.Parse(block, False)  # noqa: FBT003 - expat takes no name
        parser.Parse(b"", True)  # noqa: FBT003 - likewise
    return None


WAYS = {"tarry": read, "bare": parse}


def child(way, kind, path):
    """Run one contestant and print what it took."""
    start = time.perf_counter()
    events = WAYS[way](kind, Path(path))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"events": events, "seconds": seconds, "peak": peak}))


def measured(way, kind, path):
    """One contestant in a process of its own."""
    words = [sys.executable, __file__, "--child", way, kind, str(path)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def compare(kind, folder, size):
    path = folder / "export"
    make(kind, path, size // 4)
    small = measured("tarry", kind, path)["peak"]
    events = make(kind, path, size)
    bare, ours = measured("bare", kind, path), measured("tarry", kind, path)
    assert ours["events"] == events, (kind, events, ours)
    assert ours["peak"] - small < FLAT, (kind, small, ours)
    print(
        f"{kind:<16}{path.stat().st_size / MIB:>8,.0f} MiB{events:>12,}{events / ours['seconds']:>12,.0f}"
        f"{bare['seconds'] / ours['seconds']:>10.2f}{small / 1024:>12.1f}{ours['peak'] / 1024:>8.1f}"
    )
    path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--size", metavar="MIB", type=int, default=USUAL, help="of the dump")
    parser.add_argument("--folder", help="where to put the files for a while")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return child(*asked.child)
    size = (TINY if asked.tiny else asked.size) * MIB
    with TemporaryDirectory(dir=asked.folder) as folder:
        assert shutil.disk_usage(folder).free > 2 * size, "not enough room: give another --folder"
        print(
            f"{'':<16}{'size':>12}{'events':>12}{'events/s':>12}{'x bare':>10}{'MiB at 1/4':>12}{'at 1':>8}"
        )
        for kind in MAKERS:
            compare(kind, Path(folder), size if kind == "wiki dump" else size // 4)
    return None


if __name__ == "__main__":
    sys.exit(main())
