"""Truncated, corrupt and over-compressed files are refused in little memory and leave nothing behind."""

import gzip
import json
import lzma
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.cpu.parallel import cores
from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest import ingest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).parents[2]
ROME = (ROOT / "data" / "rome99.gr.gz").read_bytes()
COMPRESS = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstd.compress}
PACKED = {name: compress(gzip.decompress(ROME)) for name, compress in COMPRESS.items()}
# zstd writes a checksum only on request
PACKED["zst"] = zstd.compress(gzip.decompress(ROME), options={zstd.CompressionParameter.checksum_flag: 1})


def refused(tmp_path, content, **options):
    source = tmp_path / "source"
    source.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        ingest(GraphConfig(source=str(source), **options), tmp_path / "work")
    assert caught.value.file == str(source)
    assert list((tmp_path / "work").glob("*")) == []
    return caught.value


@pytest.mark.parametrize("cut", range(1, 20))
@pytest.mark.parametrize("name", COMPRESS)
def test_truncated_compression_is_refused(name, cut, tmp_path):
    data = PACKED[name]
    error = refused(tmp_path, data[: len(data) * cut // 20], format="dimacs")
    assert "the compressed data is truncated or corrupt" in error.reason


@pytest.mark.parametrize("missing", [1, 4, 8, 9])
@pytest.mark.parametrize("name", COMPRESS)
def test_compression_without_its_last_bytes_is_refused(name, missing, tmp_path):
    assert "the compressed data is truncated or corrupt" in refused(tmp_path, PACKED[name][:-missing]).reason


@pytest.mark.parametrize("name", COMPRESS)
def test_one_flipped_bit_is_always_refused(name, tmp_path):
    random = np.random.default_rng(0)
    data = PACKED[name]
    start = 10 if name == "gz" else 0  # gzip's checksum does not cover its header (time and name)
    for place in random.integers(start, len(data), 60):
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(random.integers(8))
        refused(tmp_path, bytes(flipped))


@pytest.mark.parametrize("name", COMPRESS)
def test_rubbish_after_the_end_is_refused(name, tmp_path):
    assert "truncated or corrupt" in refused(tmp_path, PACKED[name] + b"rubbish").reason


@pytest.mark.parametrize("name", COMPRESS)
def test_several_frames_under_a_misleading_name_are_read(name, tmp_path):
    (tmp_path / "x.csv.xz").write_bytes(COMPRESS[name](b"p sp 3 2\na 1 2 3\n") + COMPRESS[name](b"a 2 3 4\n"))
    assert ingest(GraphConfig(source=str(tmp_path / "x.csv.xz")), tmp_path / "work").facts["edges"] == 2


def test_padding_between_xz_frames_is_skipped(tmp_path):
    (tmp_path / "x").write_bytes(lzma.compress(b"1 2\n") + bytes(2 * MIB) + lzma.compress(b"3 4\n") + bytes(8))
    assert ingest(GraphConfig(source=str(tmp_path / "x")), tmp_path / "work").facts["edges"] == 2


@pytest.mark.parametrize("name", COMPRESS)
def test_a_bomb_is_refused_by_its_ratio(name, tmp_path):
    error = refused(tmp_path, COMPRESS[name](b"1 2\n" * (64 * MIB // 4)))
    assert "more than 200 times, the limit" in error.reason


def test_a_higher_configured_ratio_is_allowed(tmp_path):
    (tmp_path / "x").write_bytes(gzip.compress(b"1 2\n" * (20 * MIB // 4)))
    graph = GraphConfig(source=str(tmp_path / "x"), limits=Limits(ratio=2000))
    assert ingest(graph, tmp_path / "work").facts["edges"] == 5 * MIB


@pytest.mark.parametrize("header", ["p sp {} 1\na 1 2 3\n", "p tw {} 1\n1 2\n"])
def test_a_header_that_declares_too_many_vertices_is_refused(header, tmp_path):
    content = header.format(10**12)
    assert f"{len(content)} bytes declare 1000000000000 vertices" in refused(tmp_path, content.encode()).reason


@pytest.mark.parametrize("name", COMPRESS)
def test_content_over_the_size_limit_is_refused(name, tmp_path):
    error = refused(tmp_path, PACKED[name], limits=Limits(bytes=100_000))
    assert "has more than 100000 bytes of content, the limit" in error.reason


def test_xz_that_requests_a_gibibyte_of_memory_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**30}]
    # The header requests the whole dictionary, however small the content is.
    error = refused(tmp_path, lzma.compress(b"1 2\n", filters=filters))
    assert "emory" in error.reason


CHILD = """
import json, sys
from pathlib import Path
from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from tests.memory import peak_bytes
before = peak_bytes()
try:
    # On a busy machine the content that the ratio allows may take more CPU time than the default limit.
    ingest(GraphConfig(source=sys.argv[1], limits=Limits(seconds=600)), Path(sys.argv[2]))
    reason = "accepted"
except BadInput as error:
    reason = error.reason
print(json.dumps([reason, peak_bytes() - before]))
"""


def write_gzip(path, block, count):
    """Write the block `count` times as one gzip member, compressed once: a full flush makes it independent of its past."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    header = gzip.compress(b"")[:10]
    path.write_bytes(header + count * packed + packer.flush() + struct.pack("<II", checksum, count * len(block)))


def gzip_bomb(path):
    write_gzip(path, bytes(16 * MIB), 64)


def gzip_bomb_of_lines(path):
    write_gzip(path, b"1 2\n" * (4 * MIB), 64)


def zstd_bomb(path):
    path.write_bytes(zstd.compress(b"1 2\n" * (256 * MIB)))


def parquet_bomb(path):
    table = pa.table({"src": pa.nulls(0, pa.int64()), "dst": pa.nulls(0, pa.int64())})
    zeros = pa.table({name: pa.array(np.zeros(5_000_000, np.int64)) for name in ("src", "dst")}, table.schema)
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(zeros, row_group_size=5_000_000)


@pytest.mark.parametrize("bomb", [gzip_bomb, gzip_bomb_of_lines, zstd_bomb, parquet_bomb])
def test_decompression_bombs_need_little_memory(bomb, tmp_path):
    bomb(tmp_path / "bomb")
    command = [sys.executable, "-c", CHILD, tmp_path / "bomb", tmp_path / "work"]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    reason, memory = json.loads(child.stdout)
    assert "200 times" in reason or "is a binary file" in reason
    assert memory < (200 + 60 * cores()) * MIB  # each core parses a chunk
    assert list((tmp_path / "work").glob("*")) == []


def parquet(tmp_path, name="table", **columns):
    pq.write_table(pa.table(columns), tmp_path / name)
    return (tmp_path / name).read_bytes()


IDS = [0, 1, 2]
PARQUET = {
    "null id": ({"src": IDS, "dst": [1, None, 2]}, "row 1: dst is null"),
    "negative id": ({"src": [0, 1, -7], "dst": IDS}, "row 2: src -7 is not in 0..9223372036854775807"),
    "unsigned id": (
        {"src": pa.array([0, 1, 2**63], pa.uint64()), "dst": IDS},
        "row 2: src 9223372036854775808 is not in 0..9223372036854775807",
    ),
    "decimal id": ({"src": [0.0, 1.0, 2.0], "dst": IDS}, "column 'src' is double, not an integer type"),
    "string id": ({"src": ["0", "1", "2"], "dst": IDS}, "column 'src' is string and 'dst' is int64; ids = "),
    "no dst": ({"src": IDS, "to": IDS}, "no column 'dst' among 'src', 'to'"),
    "null weight": ({"src": IDS, "dst": IDS, "weight": [1, 2, None]}, "row 2: weight is null"),
    "negative weight": ({"src": IDS, "dst": IDS, "weight": [1, -2, 3]}, "row 1: weight -2 is not in 0.."),
    "NaN": ({"src": IDS, "dst": IDS, "weight": [1.0, float("nan"), 3]}, "row 1: weight nan is not in 0 or more"),
    "infinity": ({"src": IDS, "dst": IDS, "weight": [1.0, 2.0, float("inf")]}, "row 2: weight inf is not in 0 or more"),
    "unsigned weight": (
        {"src": IDS, "dst": IDS, "weight": pa.array([0, 2**64 - 1, 1], pa.uint64())},
        "row 1: weight 18446744073709551615 is not in",
    ),
    "string weight": ({"src": IDS, "dst": IDS, "weight": ["1", "2", "3"]}, "column 'weight' is string; a weight must be"),
    "decimal weight": (
        {"src": IDS, "dst": IDS, "weight": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2))},
        "column 'weight' is decimal128(21, 2); a weight must be",
    ),
    "list weight": ({"src": IDS, "dst": IDS, "weight": [[1], [2], [3]]}, "a weight must be an integer, float or double"),
}


@pytest.mark.parametrize("name", PARQUET)
def test_bad_parquet_is_refused(name, tmp_path):
    columns, reason = PARQUET[name]
    assert reason in refused(tmp_path, parquet(tmp_path, **columns)).reason


def test_the_row_number_counts_all_batches(tmp_path):
    weights = np.ones(700_000)
    weights[600_000] = -1
    ids = np.arange(700_000)
    assert "row 600000: weight -1.0" in refused(tmp_path, parquet(tmp_path, src=ids, dst=ids, weight=weights)).reason


def test_parquet_over_a_limit_is_refused(tmp_path):
    data = parquet(tmp_path, src=IDS, dst=IDS)
    assert "holds 3 rows, the limit is 2 edges" in refused(tmp_path, data, limits=Limits(edges=2)).reason
    data = parquet(tmp_path, src=np.zeros(10_000, int), dst=np.zeros(10_000, int))
    assert "its rows take 160000 bytes, the limit is 159999" in refused(tmp_path, data, limits=Limits(bytes=159_999)).reason


@pytest.mark.parametrize("cut", range(1, 20))
def test_truncated_parquet_is_refused(cut, tmp_path):
    ids = np.arange(10_000)
    data = parquet(tmp_path, src=ids, dst=ids[::-1])
    assert "not a complete Parquet file" in refused(tmp_path, data[: len(data) * cut // 20]).reason


def test_parquet_with_a_flipped_bit_is_refused(tmp_path):
    random = np.random.default_rng(0)
    ids = pa.array(random.integers(0, 2**40, 10_000))
    pq.write_table(pa.table({"src": ids, "dst": ids}), tmp_path / "table", write_page_checksum=True, use_dictionary=False)
    data = bytearray((tmp_path / "table").read_bytes())
    data[len(data) // 3] ^= 1
    assert "not a complete Parquet file" in refused(tmp_path, bytes(data)).reason


def test_text_configured_as_parquet_is_refused(tmp_path):
    assert "not a complete Parquet file" in refused(tmp_path, b"src,dst\n1,2\n", format="parquet").reason


def test_another_sha256_than_the_stated_one_is_refused(tmp_path):
    assert "its SHA-256 is" in refused(tmp_path, ROME, sha256="0" * 64).reason
