"""How much memory may be used: what is read from the system, and what a person says instead."""

import resource

import pytest

from tarry.core.errors import BadInput
from tarry.readers import free_memory
from tarry.readers.columns import refusing
from tarry.readers.free_memory import ASSIGNED, Room, is_short, rooms


def test_a_person_says_how_much_may_be_used(monkeypatch):
    """Then nothing else counts."""
    monkeypatch.setenv(ASSIGNED, "3g")

    assert rooms() == [Room(3 << 30, "TARRY_MEMORY allows")]


@pytest.mark.parametrize("text", ["8", "G", "0G", "1.5G", "-2G", "2GB"])
def test_a_size_that_is_none_is_refused(monkeypatch, text):
    """It could mean anything."""
    monkeypatch.setenv(ASSIGNED, text)

    with pytest.raises(BadInput, match="TARRY_MEMORY must be a whole number with K, M, G or T"):
        rooms()


def test_a_limit_of_addresses_is_read(monkeypatch):
    """`ulimit -v`, and what unusually long stacks add."""
    limits = {resource.RLIMIT_AS: 5 << 30, resource.RLIMIT_STACK: 9 << 20}
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (limits.get(kind, resource.RLIM_INFINITY), 0), raising=True
    )

    assert rooms()[0] == Room(5 << 30, "ulimit -v allows", addresses=True, stack=1 << 20)


def test_a_control_group_leaves_what_others_do_not_use(monkeypatch, tmp_path):
    """Files that the system keeps at hand are no use; a group without a limit sets none."""
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 150\n")
    free = tmp_path / "free"
    free.mkdir()
    (free / "memory.max").write_text("max\n")
    names = ("memory.max", "memory.current")
    monkeypatch.setattr(free_memory, "_groups", lambda: [(tmp_path, *names), (free, *names)])
    monkeypatch.setattr(free_memory, "_mine", lambda _: 50)

    assert list(free_memory._group_limits()) == [Room(500, "its control group leaves")]


def test_what_the_machine_has_is_no_limit():
    """It cannot be raised by a word."""
    assert not Room(1 << 30, "this machine has").is_limit
    assert Room(1 << 30, "its control group leaves").is_limit


def test_short_means_that_no_thread_starts(monkeypatch):
    """Libraries start threads of their own, and fail in many ways where they cannot."""

    class Thread:
        def __init__(self, target):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    assert not is_short()
    monkeypatch.setattr("threading.Thread", Thread)
    assert is_short()


@pytest.mark.parametrize(("short", "error"), [(True, MemoryError), (False, BadInput)])
def test_a_file_is_not_blamed_for_too_little_memory(monkeypatch, short, error):
    """Whatever a library raises."""
    monkeypatch.setattr("tarry.readers.columns.is_short", lambda: short)

    with pytest.raises(error), refusing("the times cannot be read", "name another column"):
        raise RuntimeError("something")


def test_too_little_memory_is_never_the_files_fault():
    """Not even where a little is left afterwards."""
    with pytest.raises(MemoryError), refusing("the times cannot be read", "name another column"):
        raise MemoryError
