"""Small files that would cost minutes or gigabytes are refused by a limit, which the message names, and leave nothing behind."""

import gzip
import lzma
import struct
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from pipeline.config.graph import Limits
from pipeline.config.model import MIB
from tests.faults.test_bad_input import ingested, refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def endless_gzip_header():
    """A gzip file whose header has a file name of 16 MiB."""
    return b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * (16 * MIB)


def wide_parquet(columns):
    """A Parquet file without rows."""
    sink = pa.BufferOutputStream()
    ids = pa.array([], pa.int64())
    pq.write_table(pa.table([ids] * columns, ["src", "dst", *(f"c{number}" for number in range(columns - 2))]), sink)
    return sink.getvalue().to_pybytes()


def long_footer():
    content = wide_parquet(3)
    (length,) = struct.unpack("<I", content[-8:-4])
    return content[: -length - 8] + bytes(MIB) + content[-length - 8 : -8] + struct.pack("<I", length + MIB) + b"PAR1"


# file, format, line, what the reason says
COSTLY = {
    "16 million columns": (gzip.compress(b"src,dst" + b"," * (16 * MIB) + b"\n"), "csv", 1, "graph.limits.header"),
    "many columns": (b"src,dst" + b",x" * 10_000 + b"\n", "auto", 1, "10002 columns, the limit is 10000 (graph.limits.columns)"),
    "long Parquet footer": (long_footer(), "auto", None, "bytes, the limit is 1048576 (graph.limits.header)"),
    "endless gzip header": (endless_gzip_header(), "auto", None, "the file ends before its end mark"),
    "empty zstd frames": (zstd.compress(b"") * 70_000, "auto", None, "graph.limits.frames"),
    "empty gzip members": (gzip.compress(b"") * 70_000, "auto", None, "graph.limits.frames"),
    "empty xz streams": (lzma.compress(b"") * 70_000, "auto", None, "graph.limits.frames"),
    "comment lines": (gzip.compress(b"#\n" * (4 * MIB) + b"1 2\n"), "auto", 524289, "graph.limits.header"),
    "comment lines in DIMACS": (gzip.compress(b"c\n" * (4 * MIB) + b"p sp 1 0\n"), "dimacs", 524289, "graph.limits.header"),
    "long title": (b"x" * (2 * MIB) + b"\n1\n0: #\n", "gra", 1, "graph.limits.header"),
    "long line": (b"0\n1\n0: " + b"0" * (20 * MIB), "gra", 3, "graph.limits.line"),
    "long line of SNAP": (b"1 2\n" + b"1" * (20 * MIB), "snap", 2, "graph.limits.line"),
    "long line of fields": (b"src,dst,x\n1,2," + b"x" * MIB + b"\n", "csv", 2, "is longer than 1048576 bytes"),
    "vertices in 22 bytes": (b"p sp 2000000 1\na 1 2 3\n", "auto", None, "declare 2000000 vertices, which need 16000000 bytes"),
    "rows of a matrix": (b"%%MatrixMarket matrix coordinate pattern general\n70000 70000 0\n", "auto", None, "70000 vertices"),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_file_is_refused_by_a_limit(name, tmp_path):
    content, form, line, reason = COSTLY[name]
    error = refused(tmp_path, content, format=form)
    assert reason in error.reason
    assert line == error.line


RAISED = {
    "columns": (b"src,dst" + b",x" * 10_000 + b"\n", Limits(columns=10_002)),
    "header": (b"#\n" * MIB + b"1 2\n", Limits(header=3 * MIB)),
    "line": (b"0\n1\n0: " + b"0 " * (9 * MIB) + b"#\n", Limits(line=20 * MIB)),
    "frames": (zstd.compress(b"") * 70_000 + zstd.compress(b"1 2\n"), Limits(frames=100_000)),
}


@pytest.mark.parametrize("name", RAISED)
def test_a_raised_limit_allows_the_file(name, tmp_path):
    content, limits = RAISED[name]
    ingested(tmp_path, content, limits=limits)


def test_frames_of_a_kibibyte_are_allowed_in_any_number(tmp_path):
    frame = gzip.compress(b"".join(b"%d %d\n" % (zlib.crc32(b"%d" % line), line) for line in range(250)))
    assert len(frame) > 1024
    assert ingested(tmp_path, frame * 50, limits=Limits(frames=10)).facts["edges"] == 50 * 250


def test_a_file_that_takes_too_much_time_for_its_size_is_refused(tmp_path):
    error = refused(tmp_path, gzip.compress(b"1 2\n" * 3_000_000), limits=Limits(seconds=1e-6))
    assert error.reason == "takes more than 1e-06 s of CPU time per MiB, the limit (graph.limits.seconds)"


def test_a_parquet_file_may_have_as_many_columns_as_the_limit(tmp_path):
    ingested(tmp_path, wide_parquet(50), limits=Limits(columns=50))
    error = refused(tmp_path / "work", wide_parquet(51), limits=Limits(columns=50))
    assert error.reason == "has 51 columns, the limit is 50 (graph.limits.columns)"


@pytest.mark.parametrize("limits", [{"ratio": float("inf")}, {"seconds": float("inf")}, {"line": 2**23}, {"edges": 2**63}])
def test_limits_are_finite(limits):
    with pytest.raises(ValidationError):
        Limits(**limits)
