"""What vertices at the ends of a matrix weigh: numbers of the table of nodes, or of the places in the files of these ends."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

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
        given = [(file, placed_in(file, edges, graph, runtime)) for file in (options.sources, options.targets) if file]
        having = {file: placed for file, placed in given if placed and name in placed.places.more.column_names}
        if not having:
            amounts = amounts_of(edges, graph, KEY, name)
            return cls((amounts, amounts))
        if name in columns_of(edges):
            raise BadConfig(f"{KEY}: {name!r} is a column of {next(iter(having))} and of the table of nodes; rename one of them")
        if options.zone_ends != "every":
            reason = f"is a column of places; zone_ends = {options.zone_ends!r} needs one of the table of nodes"
            raise BadConfig(f"{KEY}: {name!r} {reason}")
        of = {file: _added(ids, one.vertices, amounts_at(one.places, file, KEY, name)) for file, one in having.items()}
        return cls((of.get(options.sources or "", alike), of.get(options.targets or "", alike)), by_places=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a step's key says of the amounts of places; those of vertices are in the edge list."""
        return {"weighed": [sha256(end.tobytes()).hexdigest() for end in self.ends]} if self.by_places else {}


def _added(ids: Array, vertices: Array, amounts: Array) -> Array:
    """The sum of the amounts at each vertex, float64 [V]; `ids` are those of the graph's rows."""
    order = np.argsort(ids)
    return np.bincount(order[np.searchsorted(ids[order], vertices)], amounts, len(ids))
