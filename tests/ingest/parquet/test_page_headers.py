"""The headers of pages that are read at once are read as those that are read byte by byte."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import Limits
from pipeline.ingest.formats.parquet import pages
from pipeline.ingest.formats.parquet.footer import Footer
from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.ingest.formats.parquet.thrift import MALFORMED, read_struct

OF_DATA, STATISTICS = 5, 5  # fields


def headers_of(path, columns, **options):
    """The bytes from each page's header on, of one row group."""
    pq.write_table(pa.table(columns), path, data_page_size=4096, use_dictionary=False, **options)
    content, group = path.read_bytes(), pq.read_metadata(path).row_group(0)
    for number in range(group.num_columns):
        column = group.column(number)
        at = column.data_page_offset
        while at < column.data_page_offset + column.total_compressed_size:
            yield content[at : at + 4096]
            header, length = read_struct(content[at : at + 4096])
            at += length + header[3]


def by_bytes(data):
    """What `read_struct` returns, without statistics; None if it raises."""
    try:
        header, length = read_struct(data)
    except MALFORMED:
        return None
    if isinstance(header.get(OF_DATA), dict):
        header[OF_DATA].pop(STATISTICS, None)
    return header, length


def at_once(data):
    """What `_read_usual` returns; None if it raises, or the header is not a usual one."""
    try:
        return pages._read_usual(data)
    except MALFORMED:
        return None


@pytest.mark.parametrize("options", [{}, {"write_statistics": False}, {"write_page_checksum": True}, {"compression": "zstd"}])
@pytest.mark.parametrize("kind", ["int32", "int64", "float", "double"])
def test_usual_headers_and_mutants(kind, options, tmp_path):
    random = np.random.default_rng(1)
    columns = {
        "all": pa.array(random.integers(0, 99, 4000)).cast(kind),
        "some": pa.array([None, 1] * 2000).cast(kind),
        "none": pa.nulls(4000).cast(kind),
    }
    headers = [*headers_of(tmp_path / "table", columns, **options)]
    assert len(headers) > 3
    for data in headers:
        assert at_once(data) == by_bytes(data) != None  # noqa: E711
        for _ in range(100):
            mutant = bytearray(data)
            mutant[random.integers(by_bytes(data)[1] + 2)] = random.integers(256)
            found = at_once(bytes(mutant))
            assert found is None or found == by_bytes(bytes(mutant))


def counted(path, chunk, checksums):
    """What `count_pages` says of a column chunk: the number of its pages, or why it is refused."""
    with path.open("rb") as content:
        try:
            return pages.count_pages(content.fileno(), "here", chunk, chunk.values, checksums)
        except (Contradiction, Unreadable) as problem:
            return str(problem)


@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("kind", ["int64", "int32 with nulls"])
def test_pages_like_accepted_ones_are_refused_as_others_are(kind, compression, checksums, tmp_path, monkeypatch):
    random, path = np.random.default_rng(1), tmp_path / "table"
    values = pa.array(random.integers(0, 99, 20000)) if kind == "int64" else pa.array([None, 1] * 10000, pa.int32())
    headers_of_pages = [*headers_of(path, {"a": values}, compression=compression, write_page_checksum=checksums)]
    intact = path.read_bytes()
    chunk = Footer(path, pq.ParquetFile(path).schema, ["a"], Limits())._chunks[0]["a"]
    assert counted(path, chunk, checksums) == len(headers_of_pages) > 5
    found = dict[bool, list[object]]()
    for by_bytes_only in (False, True):
        if by_bytes_only:
            monkeypatch.setattr(pages, "_USUAL", re.compile(rb"(?!)"))
        random, found[by_bytes_only] = np.random.default_rng(2), []
        for _ in range(300):
            mutant = bytearray(intact)
            header = headers_of_pages[random.integers(len(headers_of_pages))]
            mutant[intact.index(header) + random.integers(by_bytes(header)[1])] = random.integers(256)
            path.write_bytes(mutant)
            found[by_bytes_only].append(counted(path, chunk, checksums))
    assert found[False] == found[True]
    assert {type(one) for one in found[True]} == {int, str}
