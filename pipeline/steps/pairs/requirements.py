"""The files of pairs that a run's configuration names, read before any pair is answered, as the steps read them."""

import numpy as np

from pipeline.config.run import RunConfig
from pipeline.config.stages import QueriesConfig
from pipeline.ingest.source import locate
from pipeline.steps.pairs import batches, blocks
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import places_in, require_pairs_known


def require_pairs(config: RunConfig, graph: Folder) -> None:
    """Raise BadInput as the queries, the flows and stage `max_flow` of a run do for their files."""
    if config.queries:
        _require_queries(config.queries, graph)
    if config.max_flow and "max_flow" in config.stages:
        from pipeline.steps.pairs.maximum_flows import read_pairs

        name = config.max_flow.pairs
        ids, ascending = read_pairs(locate(name).require_local(), name, graph), _ids_of(graph)
        require_pairs_known(name, 0, ids, np.stack([places_in(ascending, end)[1] for end in ids]), len(ascending))
    if config.flows and config.flows.pairs:
        from pipeline.steps.products.flows import read_trips

        read_trips(config.flows.pairs, graph)


def _require_queries(queries: QueriesConfig, graph: Folder) -> None:
    name, strict, ascending = queries.pairs, queries.unknown == "error", _ids_of(graph)
    path = locate(name).require_local()
    for block in blocks(path, name, tables.ROWS_PER_FILE):
        first = block.first
        for batch in batches(path, name, block, graph, strict):
            ends = np.stack([column.to_numpy() for column in batch.columns])
            if strict:
                require_pairs_known(name, first, ends, np.stack([places_in(ascending, end)[1] for end in ends]), len(ascending))
            first += len(batch)


def _ids_of(graph: Folder) -> np.ndarray:
    """All external ids, ascending."""
    ids, rows_by_id, _, _ = open_vertices(graph)
    return ids[rows_by_id]
