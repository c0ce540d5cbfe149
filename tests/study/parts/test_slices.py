"""Slices on disk: a part is the same events in the same order as of a table in memory."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.study.parts.engine import part_of
from tarry.study.parts.slices import SORTED, Slices, frame_of, keep_columns, store_slice
from tarry.study.table import event_table

few = st.integers(min_value=0, max_value=3)
events = st.lists(
    st.tuples(few, few, st.integers(min_value=-20, max_value=20), few, st.booleans()), min_size=1
)
reach = st.integers(min_value=0, max_value=30)


def history(rows, *, marked):
    """Few actors, targets and moments, so that ties and duplicates are common."""
    actor, target, time, track, declared = zip(*rows, strict=True)
    known = {"track": track, "declared": declared} if marked else {}
    return event_table(actor=actor, target=target, time=time, **known)


def on_disk(table, folder, rows):
    """Its slices, of about so many rows."""
    frame_of(table).write_parquet(folder / SORTED)
    slices = Slices.cut(folder, rows)
    for number in range(len(slices.edges)):
        store_slice(slices, number)
    return slices


def columns_of(table):
    names = ("actor", "target", "time", "track", "declared")
    return {name: getattr(table, name).tolist() for name in names if getattr(table, name) is not None}


@settings(max_examples=40)
@given(events, st.booleans(), st.integers(min_value=1, max_value=9), reach, reach)
def test_a_part_is_what_it_is_in_memory(rows, marked, size, before, after):
    """Cuts on ties, empty slices, halos that reach over several slices and beyond the ends."""
    table = history(rows, marked=marked)
    with tempfile.TemporaryDirectory() as folder:
        slices = on_disk(table, Path(folder), size)
        for number, (start, end) in enumerate(slices.edges):
            part = slices.part(number, before, after)
            expected = part_of(table, start, end, before=before, after=after)

            assert columns_of(part.table) == columns_of(expected.table)
            assert part.own.tolist() == expected.own.tolist()
            assert 0 <= slices.size(number, before, after) - len(part.table) < max(2 * slices.step, 1)


@settings(max_examples=20)
@given(events, st.integers(min_value=1, max_value=9), reach, reach)
def test_what_was_kept_of_an_event_comes_back_with_it(rows, size, before, after):
    """From whatever slice it is; nothing comes back until all slices of a part have given it."""
    table = history(rows, marked=False)

    def number_of(part):
        return part.table.time * 100 + part.table.actor * 10 + part.table.target

    with tempfile.TemporaryDirectory() as folder:
        slices = on_disk(table, Path(folder), size)
        numbers = range(len(slices.edges))
        assert all(slices.part(number, before, after).kept("0/0") is None for number in numbers)
        for number in numbers:
            own = number_of(slices.part(number, 0, 0))
            keep_columns(slices, number, {"0/0": {"one": own, "odd": own % 2 == 1}, "1/0": {"one": own}}, 9)

        for number in numbers:
            part = slices.part(number, before, after)
            if len(part.table):
                assert part.kept("0/0")["one"].tolist() == number_of(part).tolist()
                assert part.kept("0/0")["odd"].tolist() == (number_of(part) % 2 == 1).tolist()
            assert part.kept("1/0") is None  # there was no room for it


@pytest.mark.parametrize(
    ("count", "size", "jobs", "slices"), [(90, 40, 2, 4), (90, 40, 1, 3), (40, 40, 2, 1)]
)
def test_every_process_has_as_many_slices_of_one_size(count, size, jobs, slices):
    """None waits for another at the end; a short history is not cut at all."""
    table = event_table(actor=[1] * count, target=[2] * count, time=range(count))
    with tempfile.TemporaryDirectory() as folder:
        frame_of(table).write_parquet(Path(folder) / SORTED)
        cuts = Slices.cut(Path(folder), size, jobs).cuts
    sizes = np.diff([0, *cuts, count])

    assert len(sizes) == slices
    assert max(sizes) <= min(sizes) + 1
