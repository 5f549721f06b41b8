"""The files of pairs that a run's configuration names, read before any pair is answered, as the steps read them."""

import numpy as np

from kernels.graph import Array
from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig
from pipeline.ingest.source import locate
from pipeline.steps.pairs import batches, blocks
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import positions_in, require_pairs_known


def require_pairs(config: RunConfig, graph: Folder) -> None:
    """Raise BadInput as the queries, the stages and the products of a run do for their files of pairs."""
    if config.queries:
        _require(config.queries.pairs, graph, strict=config.queries.unknown == "error")
    for stage in config.stages:
        if BY_NAME[stage].has_pairs:
            from pipeline.steps.pairs.maximum_flows import read_pairs

            for name in config.of_stages[stage].pair_files.values():
                ends = read_pairs(locate(name).require_local(), name, graph)
                _require_known(name, 0, ends, _ids_of(graph))
    for product in config.of_products.values():
        for name in product.pair_files.values():
            _require(name, graph)


def _require(name: str, graph: Folder, strict: bool = True) -> None:
    """Raise BadInput for a file without pairs or, if `strict`, with vertices that are not in the graph."""
    path, ascending = locate(name).require_local(), _ids_of(graph)
    for block in blocks(path, name, tables.ROWS_PER_FILE):
        first = block.first
        for batch in batches(path, name, block, graph, strict):
            ends = np.stack([column.to_numpy() for column in batch.columns])
            if strict:
                _require_known(name, first, ends, ascending)
            first += len(batch)


def _require_known(name: str, first: int, ends: Array, ascending: Array) -> None:
    """Raise BadInput for the first pair, from row `first` on, with an end that is not among the ascending ids of the graph."""
    known = np.stack([positions_in(ascending, end)[1] for end in ends])
    require_pairs_known(name, first, ends, known, len(ascending))


def _ids_of(graph: Folder) -> Array:
    """All external ids, ascending."""
    ids, rows_by_id, _, _ = open_vertices(graph)
    return ids[rows_by_id]
