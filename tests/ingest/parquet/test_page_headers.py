"""The headers of pages that are read at once are read as those that are read byte by byte."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest.formats.parquet import pages
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
