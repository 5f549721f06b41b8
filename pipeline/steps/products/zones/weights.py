"""What vertices and places weigh in means by zones: numbers of the table of nodes, or of the files of places."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.products.matrix import MatrixOptions
from pipeline.errors import BadConfig
from pipeline.steps.places.files import placed_in
from pipeline.steps.products.attributes import amounts_at, amounts_of, columns_of
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of

KEY = "matrix.zone_weight"


@dataclass(frozen=True)
class PlaceWeights:
    """What places weigh, float64 [p], their ids [p], and the vertices that stand for them, int64 [p]."""

    amounts: Array
    ids: pa.Array
    vertices: Array

    def of(self, places: pa.Array) -> Array:
        """What places weigh, by their ids, float64 [n]."""
        amounts: Array = self.amounts[pc.index_in(places, self.ids.cast(places.type)).to_numpy()]
        return amounts

    def at(self, ids: Array) -> Array:
        """The sums at vertices, float64 [V], whose ids are those of the graph's rows."""
        order = np.argsort(ids)
        sums: Array = np.bincount(order[np.searchsorted(ids[order], self.vertices)], self.amounts, len(ids))
        return sums


def weights_of_places(
    edges: Folder, graph: Folder, file: str | None, key: str, name: str | None, runtime: Runtime
) -> PlaceWeights | None:
    """Those in a column of a file of places; None if it has none, or is a file of vertices.

    Raises BadConfig, for `key`, if the table of nodes has the column, too, and as `placed_in` and `amounts_at`.
    """
    placed = placed_in(file, edges, graph, runtime) if file and name else None
    if not (file and name and placed and name in placed.places.more.column_names):
        return None
    if name in columns_of(edges):
        raise BadConfig(f"{key}: {name!r} is a column of {file} and of the table of nodes; rename one of them")
    return PlaceWeights(amounts_at(placed.places, file, key, name), placed.places.ids, placed.vertices)


@dataclass(frozen=True)
class EndWeights:
    """What sources and targets weigh.

    Attributes:
        ends: float64 [V] each, in the order of the graph's rows.
        by_places: Whether a file of places says so.
    """

    ends: tuple[Array, Array]
    by_places: bool = False

    @classmethod
    def of(cls, edges: Folder, graph: Folder, options: MatrixOptions, runtime: Runtime) -> "EndWeights":
        """Those that `zone_weight` names; each vertex weighs 1 without it, and at an end whose file of places lacks the column.

        Places at one vertex are added. Raises BadConfig for a column that is nowhere, or in two tables, and as `placed_in`.
        """
        name, (ids, _) = options.zone_weight, ids_of(graph)
        alike = np.ones(len(ids))
        if not name:
            return cls((alike, alike))
        files = [file for file in (options.sources, options.targets) if file]
        known = {file: weights_of_places(edges, graph, file, KEY, name, runtime) for file in files}
        of = {file: at_vertices for file, weights in known.items() if weights for at_vertices in [weights.at(ids)]}
        if not of:
            amounts = amounts_of(edges, graph, KEY, name)
            return cls((amounts, amounts))
        if options.zone_ends != "every":
            reason = f"is a column of places; zone_ends = {options.zone_ends!r} needs one of the table of nodes"
            raise BadConfig(f"{KEY}: {name!r} {reason}")
        return cls((of.get(options.sources or "", alike), of.get(options.targets or "", alike)), by_places=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a step's key says of the amounts of places; those of vertices are in the edge list."""
        return {"weighed": [sha256(end.tobytes()).hexdigest() for end in self.ends]} if self.by_places else {}
