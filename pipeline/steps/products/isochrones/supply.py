"""What sources supply, for two-step floating catchment areas: a column of the table of nodes, or of the sources' own file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.steps.places.files import placed_in
from pipeline.steps.places.placed import Placed
from pipeline.steps.products.attributes import amounts_at, amounts_of, digest_by_id
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import TreeTable
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of
from pipeline.suggestions import did_you_mean
from pipeline.tables.definitions import PLACE
from pipeline.tables.points import NODES
from pipeline.tables.row_lookup import positions_in

RATIO = "supply_ratio"  # the column
_KEY = "isochrones.supply"


@dataclass(frozen=True)
class Supply:
    """What is supplied at vertices and, if the sources' file says so, by each place at them.

    Attributes:
        at_vertices: float64 [n]: of all vertices, ascending by id.
        vertices: int64 [n]: their ids.
        by_places: float64 [p]: of the places of the file; None if the vertices supply it, each once.
        places: Their ids [p].
    """

    vertices: Array
    at_vertices: Array
    by_places: Array | None = None
    places: pa.Array | None = None

    @classmethod
    def of(cls, edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> "Supply":
        """That of a configuration. Raises BadConfig, BadInput, and as `placed_in`."""
        assert config.supply
        ids, rows_by_id = ids_of(graph)
        vertices = ids[rows_by_id]
        placed = placed_in(config.sources, edges, graph, runtime) if config.sources else None
        if not _is_of_places(config, edges, placed):
            return cls(vertices, amounts_of(edges, graph, _KEY, config.supply)[rows_by_id])
        assert placed and config.sources
        supplied = amounts_at(placed.places, config.sources, _KEY, config.supply)
        at, _ = positions_in(vertices, placed.vertices)
        return cls(vertices, np.bincount(at, supplied, len(vertices)), supplied, placed.places.ids)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a step's key says of the amounts of places; those of vertices are in the edge list."""
        return {} if self.by_places is None else {"supplied": digest_by_id(self.places, self.by_places)}

    def of_sources(self, sources: Array) -> Array:
        """What is supplied at vertices by their ids, float64 [k]."""
        supplied: Array = self.at_vertices[np.searchsorted(self.vertices, sources)]
        return supplied

    def of_rows(self, rows: pa.RecordBatch) -> Array:
        """What the source, or the place, of each row supplies, float64."""
        if self.by_places is None or self.places is None:
            return self.of_sources(rows["source"].to_numpy())
        given = rows[f"source{PLACE}"]
        supplied: Array = self.by_places[pc.index_in(given, self.places.cast(given.type)).to_numpy()]
        return supplied

    def at_sources(self, rows: pa.Table, thresholds: int) -> Array:
        """The ratios of the sources, float64 [S, T], NaN where they are null: those of the places at each are added.

        Args:
            rows: Those of table `isochrones`, which has each source's for every place there.
        """
        ratios = rows[RATIO].to_numpy().reshape(-1, thresholds)
        _, first = np.unique(rows["source"].to_numpy()[::thresholds], return_index=True)
        added: Array = ratios[first] if self.by_places is None else np.add.reduceat(ratios, first)
        return added


@dataclass(frozen=True)
class WithRatios:
    """A product whose column RATIO has demands, null where there is none, with ratios of supply to demand instead."""

    product: TreeTable
    supply: Supply

    @property
    def sweeps(self) -> Sweeps:
        """See `TreeTable`."""
        return self.product.sweeps

    @property
    def schema(self) -> pa.Schema:
        """See `TreeTable`."""
        return self.product.schema

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        """See `TreeTable`. Raises BadInput for a ratio that is too large."""
        for rows in self.product.rows_of(graph, ids, trees):
            demand = rows[RATIO].to_numpy(zero_copy_only=False)
            with np.errstate(over="ignore"):
                ratios = self.supply.of_rows(rows) / demand
            if np.isinf(ratios).any():
                raise BadInput("isochrones", "a supply over the demand within a threshold exceeds the largest float64")
            at = rows.schema.get_field_index(RATIO)
            yield rows.set_column(at, rows.schema.field(at), pa.array(ratios, mask=np.isnan(demand)))


def _is_of_places(config: IsochronesConfig, edges: Folder, placed: Placed | None) -> bool:
    """Whether the column is one of the sources' file. Raises BadConfig if it is nowhere, or in two tables."""
    name, stated = config.supply or "", config.supply_from
    of_nodes = pq.read_schema(edges.path / NODES).names[1:] if NODES in edges.manifest.files else []
    of_places = placed.places.more.column_names if placed else []
    if stated == "nodes" or not placed:
        if stated == "sources":
            raise BadConfig(f"isochrones.supply_from: {config.sources} is a file of vertices, not one of places with columns")
        return False
    if stated is None and name in of_places and name in of_nodes:
        both = f"{config.sources} and the table of nodes have this column"
        raise BadConfig(f'{_KEY}: {name!r}: {both}; say which by supply_from = "sources" or "nodes" below [isochrones]')
    if name in of_places:
        return True
    if stated is None and name in of_nodes:
        return False
    has = f"has the columns {', '.join(of_places)}" if of_places else "has no column besides those of its places"
    known = [*of_places, *([] if stated else of_nodes)]
    more = f"; the table of nodes has {', '.join(of_nodes)}" if of_nodes and not stated else ""
    raise BadConfig(f"{_KEY}: {name!r}: {config.sources} {has}{more}{did_you_mean(name, known)}")
