"""One small history, written in every kind of file and handed over as every kind of frame."""

import gzip
from io import BytesIO
from pathlib import Path

import pandas as pd
import polars as pl

__all__ = ["FILES", "FRAMES", "MOMENTS", "OnlyAStream", "small", "stored_zstd", "write", "zstd_of_runs"]

MOMENTS = [1_700_000_000_123_456, 1_700_000_000_123_456, 1_699_999_999_000_000, 1_700_000_007_000_001]


def small():
    """Four events, not in order of time, with a column that nobody asks for."""
    return pl.DataFrame(
        {
            "actor": ["007", "ann, the first", "ann, the first", "bø\u00df"],
            "target": ["p1", "p1", 'the "other" page', "p2"],
            "time": MOMENTS,
            "note": ["x", None, "two\nlines", "z"],
        }
    )


class OnlyAStream:
    """What another table library hands over: an Arrow stream and nothing else."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


def _gzip(write_plain):
    def write_packed(frame, path):
        plain = BytesIO()
        write_plain(frame, plain)
        path.write_bytes(gzip.compress(plain.getvalue()))

    return write_packed


def _csv(frame, path):
    frame.write_csv(path)


def _tsv(frame, path):
    frame.write_csv(path, separator="\t")


def _jsonl(frame, path):
    frame.write_ndjson(path)


FILES = {
    "a.parquet": pl.DataFrame.write_parquet,
    "a.pq": pl.DataFrame.write_parquet,
    "a.arrow": pl.DataFrame.write_ipc,
    "a.feather": pl.DataFrame.write_ipc,
    "a.ipc": pl.DataFrame.write_ipc_stream,
    "a.csv": _csv,
    "a.tsv": _tsv,
    "a.jsonl": _jsonl,
    "a.ndjson": _jsonl,
    "a.csv.gz": _gzip(_csv),
    "a.tsv.gz": _gzip(_tsv),
    "a.jsonl.gz": _gzip(_jsonl),
    "a.csv.zst": lambda frame, path: frame.lazy().sink_csv(path, compression="zstd"),
    "a.tsv.zst": lambda frame, path: frame.lazy().sink_csv(path, compression="zstd", separator="\t"),
    "a.jsonl.zst": lambda frame, path: frame.lazy().sink_ndjson(path, compression="zstd"),
    "parquet-without-ending": pl.DataFrame.write_parquet,
    "arrow-without-ending": pl.DataFrame.write_ipc,
    "stream-without-ending": pl.DataFrame.write_ipc_stream,
    "csv-without-ending": _csv,
    "tsv-without-ending": _tsv,
    "jsonl-without-ending": _jsonl,
    "csv-of.2024.gz": _gzip(_csv),
    "jsonl-packed": _gzip(_jsonl),
    "UPPER.CSV": _csv,
    "[a]*.csv": _csv,
    "[a]*.jsonl": _jsonl,
    "[a]*.parquet": pl.DataFrame.write_parquet,
}

FRAMES = {
    "frame": lambda frame: frame,
    "lazy": pl.DataFrame.lazy,
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "stream": OnlyAStream,
}


def write(folder: Path, name: str, frame=None):
    """One file of the table, and where it is."""
    path = folder / name
    FILES[name](small() if frame is None else frame, path)
    return path


def stored_zstd(content: bytes):
    """A zstd frame of one block as it is: the one way to pack bytes that are no text."""
    header = b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little")
    return header + (1 | len(content) << 3).to_bytes(3, "little") + content


def zstd_of_runs(size: int, *, stated: bool, text: bytes = b""):
    """A small zstd file that unpacks to a text and so many MiB of the letter x."""
    head = b"\xa0" + (size << 20).to_bytes(4, "little") if stated else b"\x00\x38"
    first = (len(text) << 3).to_bytes(3, "little") + text
    run = (1 << 1 | 1 << 17 << 3).to_bytes(3, "little") + b"x"
    last = (1 | 1 << 1 | 1 << 17 << 3).to_bytes(3, "little") + b"x"
    return b"\x28\xb5\x2f\xfd" + head + first + run * (8 * size - 1) + last
