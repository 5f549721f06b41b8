"""A split graph, and how its vertices are those of the graph of streets."""

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from kernels.graph import Array, Graph
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.whole_graph import WholeGraph
from pipeline.runtime.backend import bring
from pipeline.steps.turns import COPIES
from pipeline.store.manifest import Folder
from pipeline.tables.row_lookup import rows_of


@dataclass(frozen=True)
class Turned:
    """A split graph: what was split, its edge list, and the stored graph."""

    streets: Folder  # the stored graph of streets
    split: Folder
    graph: Folder

    def split_graph(self, context: TaskContext) -> WholeGraph:
        """Open the split graph."""
        return context.whole_graph(self.graph, self.streets)

    def street_graph(self, context: TaskContext) -> WholeGraph:
        """Open the graph of streets."""
        return context.whole_graph(self.streets, self.graph)

    def rows(self, context: TaskContext) -> "TurnedRows":
        """Its rows and those of the graph of streets, where the context computes."""
        whole, streets = self.split_graph(context).graph, self.street_graph(context).graph
        return whole.derived.get((TurnedRows, self.streets.digest), lambda: self._rows(whole, streets, context))

    def _rows(self, whole: Graph, streets: Graph, context: TaskContext) -> "TurnedRows":
        copies = pq.read_table(self.split.path / COPIES, page_checksum_verification=True)
        ids, vertices = (bring(copies[name].to_numpy(), context.backend) for name in ("id", "vertex"))
        is_end = bring(copies["end"].to_numpy(), context.backend)
        begin = rows_of(whole, streets.ids)
        end, crossing = begin.copy(), begin.copy()
        added, of = rows_of(whole, ids), rows_of(streets, vertices)
        end[of[is_end]] = added[is_end]
        crossing = np.empty(whole.num_vertices, streets.rows_by_id.dtype, like=whole.ids)
        crossing[begin] = np.arange(streets.num_vertices, dtype=crossing.dtype, like=whole.ids)
        crossing[added] = of
        return TurnedRows(begin, end, crossing)


@dataclass(frozen=True)
class TurnedRows:
    """The rows of a split graph.

    Attributes:
        begin, end (index width [V]): Of each crossing, where paths begin that start there, and where those end that lead there.
        crossing (index width [V']): The crossing of each.
    """

    begin: Array
    end: Array
    crossing: Array
