"""Maps of road networks: streets are drawn along their lines, where the step `edges` has these."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.report import maps
from pipeline.report.raster import draw_polylines
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder
from pipeline.tables.streets import STREETS, UNITS, Streets, read_streets


@dataclass(frozen=True)
class DrawnStreets:
    """The streets of a graph."""

    streets: Streets

    @classmethod
    def of(cls, edges: Folder, graph: Folder) -> Self | None:
        """Those of an edge list; None if it is no road network. Raises Damaged."""
        if STREETS not in edges.manifest.files:
            return None
        return cls(Streets(read_streets(edges), GraphFacts.of(graph).weight is not None))

    def network(self, projection: maps.Projection) -> maps.Plane:
        """All streets."""
        return self._drawn(projection, np.arange(len(self.streets.table)))

    def edges(self, projection: maps.Projection, table: pa.Table) -> maps.Plane:
        """Edges, columns `src`, `dst` and `weight`, along the street of either direction; those without one are straight."""
        src, dst, weight = (table[name].to_numpy() for name in ("src", "dst", "weight"))
        street, _ = self.streets.find(src, dst, weight, None)
        against, _ = self.streets.find(dst, src, weight, None)
        street = np.where(street < 0, against, street)
        straight = maps.plane(projection, [(src[street < 0], dst[street < 0])])
        along = self._drawn(projection, np.unique(street[street >= 0]))
        np.minimum(along.entries, straight.entries, out=along.entries)
        return maps.Plane(along.entries, along.edges + straight.edges, along.left_out + straight.left_out)

    def _drawn(self, projection: maps.Projection, rows: Array) -> maps.Plane:
        """Some streets, by their rows."""
        table = self.streets.table.take(pa.array(rows)).combine_chunks()
        (tails, tail_known), (heads, head_known) = (projection.find(table[end].to_numpy()) for end in ("src", "dst"))
        known = tail_known & head_known
        points = table["points"].combine_chunks().filter(pa.array(known))
        places = points.flatten().to_numpy().reshape(-1, 2) / UNITS
        places[:, 0] += 360.0 * (places[:, 0] < projection.cut)
        x, y = np.rint(projection.pixels(places) * maps.FINE).astype(np.int64).T
        offsets = np.concatenate([[0], np.cumsum(points.value_lengths().to_numpy() // 2)])
        entries = maps.blank(projection)
        draw_polylines(entries, np.ascontiguousarray(x), np.ascontiguousarray(y), offsets, tails[known], heads[known])
        count = int(known.sum())
        return maps.Plane(entries, count, len(known) - count)
