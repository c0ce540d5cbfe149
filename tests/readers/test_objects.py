"""The slow way through lines of JSON reads what the fast way reads."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tarry.readers.jsonl import _fast
from tarry.readers.lines import TextFile
from tarry.readers.objects import read_objects
from tarry.readers.rows import Wanted

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
MORE = st.dictionaries(st.sampled_from("xyz"), st.one_of(st.none(), st.integers(-9, 9)))


@given(st.lists(st.tuples(TEXTS, st.integers(-9, 9), st.integers(-9, 9), MORE), min_size=1, max_size=6))
def test_the_fast_and_the_slow_way_read_the_same(events):
    """The same table, of the same kinds, on the same lines."""
    rows = [
        {"actor": actor, "target": target, "time": time, **more} for actor, target, time, more in events
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n\n".join(json.dumps(row) for row in rows))
        text = TextFile(path=path, what="it")
        fast, slow = _fast(text, Wanted()), read_objects(text, Wanted())

    assert fast is not None
    assert fast.frame.equals(slow.frame)
    assert fast.frame.schema == slow.frame.schema
    assert fast.lines.tolist() == slow.lines.tolist() == list(range(1, 2 * len(rows), 2))
    assert slow.faults.count == 0
