"""The pairs of vertices whose paths are counted by table `flows`, and the weights that a file gives them."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from kernels.reductions import Digits, digits_of
from pipeline.config.graph import Limits
from pipeline.config.model import LARGEST
from pipeline.config.products.flows import FlowsConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import read_columns, reading
from pipeline.ingest.formats.parquet.footer import open_file
from pipeline.ingest.formats.parquet.rows import column_as, weight_type
from pipeline.ingest.source import identify, locate, require_same
from pipeline.steps.pairs import batches, blocks
from pipeline.store.manifest import Folder, digest_of
from pipeline.store.vertices import open_vertices
from pipeline.suggestions import did_you_mean
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import positions_in, require_pairs_known


@dataclass(frozen=True)
class Trips:
    """The pairs that paths are counted for, in the order of their sources."""

    sources: Array  # int64 [S]: external ids, ascending
    first: Array  # int64 [S + 1]: where the pairs of each source begin
    heads: Array  # index width: the row of each pair's other vertex
    amounts: Array  # int64 [n, pairs]: the weight of each pair, 1 without weights; of floats the digits
    digits: Digits | None = None  # of floats

    @property
    def content(self) -> str:
        """A digest of the pairs and their weights."""
        arrays = (self.sources, self.first, self.heads, self.amounts)
        exponent = self.digits.exponent if self.digits else None
        return digest_of([exponent, *(sha256(array.astype(np.int64).tobytes()).hexdigest() for array in arrays)])

    def of(self, part: range) -> tuple[Array, Array, Array]:
        """The pairs of some sources: the number of the source among them, the other vertex's row, and the amounts [n, pairs]."""
        cut = slice(self.first[part.start], self.first[part.stop])
        sources = np.repeat(np.arange(len(part)), np.diff(self.first[part.start : part.stop + 1]))
        return sources, self.heads[cut], self.amounts[:, cut]

    def to(self, ends: Array) -> "Trips":
        """The same pairs, whose other vertices have other rows: `ends` [V] of each row."""
        return replace(self, heads=ends[self.heads])

    def sums_of(self, sums: Array) -> Array:
        """The sums of weights by those of the amounts, int64 [m, n]: int64 [m], or float64 [m], each rounded once."""
        if self.digits:
            return self.digits.floats(sums)
        integers: Array = sums[:, 0]
        return integers


def read_trips(config: FlowsConfig, graph: Folder) -> Trips | None:
    """The pairs of a configuration, each of whose vertices is in the graph; None if it names no file.

    Raises BadInput: The file is not there, is no such file, has a vertex that is not in the graph, or a weight that is negative,
    infinite or missing; or the sum of the weights is too large.
    """
    if not (file := config.pairs):
        return None
    source = locate(file)
    path, digest = source.require_local(), identify(source, None)
    read = [batch for block in blocks(path, file, tables.ROWS_PER_FILE) for batch in batches(path, file, block, graph)]
    columns = [np.concatenate([np.empty(0, np.int64), *(batch[name].to_numpy() for batch in read)]) for name in ("src", "dst")]
    weights = _weights(file, path, config.weight) if config.weight else np.ones(len(columns[0]), np.int64)
    require_same(source, digest)
    ids, rows_by_id, _, _ = open_vertices(graph)
    present = ids[rows_by_id]
    positions, known = zip(*(positions_in(present, column) for column in columns), strict=True)
    require_pairs_known(file, 0, columns, np.stack(known), len(present))
    order = np.lexsort(positions[::-1])
    sources, first = np.unique(columns[0][order], return_index=True)
    starts, heads = np.append(first, len(order)).astype(np.int64), rows_by_id[positions[1][order]]
    if weights.dtype.kind != "f":
        return Trips(sources, starts, heads, weights[np.newaxis, order])
    digits = digits_of(weights)
    return Trips(sources, starts, heads, digits.columns[:, order], digits)


def _weights(file: str, path: Path, name: str) -> Array:
    """The weights of the pairs of a file, int64 or float64. Raises BadInput as `read_trips`."""
    with reading(file), open_file(path, file, Limits()) as parquet:
        names = parquet.schema_arrow.names
        if names.count(name) != 1 or name in ("src", "dst"):
            known = [one for one in names if one not in ("src", "dst")]
            stated = f"its other columns are {', '.join(map(repr, known))[:200]}" if known else "it has no other column"
            raise BadInput(file, f"no column {name!r} of weights, or several; {stated}{did_you_mean(name, known)} (flows.weight)")
        kind = weight_type(file, parquet.schema_arrow.field(name))
        wide = pa.float64() if pa.types.is_floating(kind) else pa.int64()
        column = read_columns(path, parquet, [name], Limits())[name].combine_chunks()
        weights: Array = column_as(file, column, name, wide).cast(wide).to_numpy()
    if weights.dtype.kind == "f":
        with np.errstate(over="ignore"):
            most: float | int = float(weights.sum())
        limit: float | int = float(np.finfo(np.float64).max)
    else:
        most, limit = (int((weights >> 32).sum()) << 32) + int((weights & 0xFFFFFFFF).sum()), LARGEST
    if most > limit:
        raise BadInput(file, f"column {name!r}: the sum of the weights exceeds {limit}")
    return weights
