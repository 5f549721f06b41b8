"""What is known of turns in a road network: files that the step `edges` writes beside its edges, if there is something to say."""

import pyarrow as pa

RESTRICTIONS = "restrictions.parquet"
# A row is a movement over ways, which arrives at the first of `nodes` on the first way, goes on to each next one on the next way,
# and leaves the last one on the last way. It is forbidden or, with `only`, the only one that may follow all ways but the last.
RESTRICTION_SCHEMA = pa.schema([
    pa.field("relation", pa.int64(), False), pa.field("only", pa.bool_(), False),
    pa.field("ways", pa.list_(pa.int64()), False), pa.field("nodes", pa.list_(pa.int64()), False),
])  # fmt: skip
SIGNALS = "signals.parquet"
# A row is a street, by its number in `pipeline.tables.streets.STREETS`, with the traffic signals that its arcs pass.
SIGNAL_SCHEMA = pa.schema([
    pa.field("street", pa.int64(), False), pa.field("along", pa.int64(), False), pa.field("against", pa.int64(), False),
])  # fmt: skip
