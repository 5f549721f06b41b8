"""The R-MAT edge list from which runs over large graphs start."""

import pyarrow as pa

from benchmarks.generators import LARGEST_WEIGHT
from benchmarks.rmat_parquet import SCHEMA, edges


def test_an_edge_list_is_complete_and_reproducible():
    table = pa.Table.from_batches(edges(17), SCHEMA)
    assert table.num_rows == 16 << 17
    for name, low, high in (("src", 0, (1 << 17) - 1), ("dst", 0, (1 << 17) - 1), ("weight", 1, LARGEST_WEIGHT)):
        column = table[name].to_numpy()
        assert (column.min() >= low) and (column.max() <= high)
    assert table.equals(pa.Table.from_batches(edges(17), SCHEMA))
