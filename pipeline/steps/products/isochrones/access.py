"""Table `isochrone_access`: two-step floating catchment areas (2SFCA), what all sources together offer each vertex.

The first step, the ratio of supply to demand of each source, is column `supply_ratio` of table `isochrones`. The second one adds,
for each vertex, the ratios of the sources that it is within a threshold of, times the factors of the distances. Each unit of
supply then reaches a unit of demand, so that access times demand, over all vertices, must give the whole supply.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import ID, Array
from kernels.reductions.decay import Access
from kernels.reductions.decay.constants import PARTS
from kernels.reductions.decay.factors import Decay
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadInput, ProofFailed
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import require_memory
from pipeline.steps.products.isochrones import sources_of, tabulate_isochrones, thresholds_of
from pipeline.steps.products.isochrones.sums import CLOSE, CUT, Demand, decay_of
from pipeline.steps.products.isochrones.supply import RATIO, Supply
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.store.vertices import ids_of
from pipeline.tables import files as tables

STEP = "isochrone_access"  # and the table
RULE = "access times demand, over all vertices, is the supply of the sources that have demand, to 1e-9"
_MOST = 256  # sources of a task, unless there are many
_COPIES = 3  # of the integers of the sums, in memory: of all tasks so far, of one, and as they become floats


@dataclass(frozen=True)
class _Second:
    """The second step; it is sent to workers."""

    sweeps: Sweeps
    thresholds: Array
    ratios: Array  # float64 [S, T]: of the sources, in their order; 0 where there is no demand
    decay: Decay

    def require_memory(self, copies: int, backend: Backend) -> None:
        """Raise TooLarge unless memory holds the integers of the sums so many times."""
        sums = GraphFacts.of(self.sweeps.graph).vertices * len(self.thresholds)
        require_memory(f"{STEP}: {sums:,} sums", copies * PARTS * ID.itemsize * sums, backend)

    def access(self, like: Array) -> Access:
        """Empty sums, where `like` is."""
        largest = self.ratios.max(axis=0, initial=0.0)
        return Access(like, GraphFacts.of(self.sweeps.graph).vertices, self.thresholds, largest, self.decay)


def tabulate_access(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Add the ratios of the sources that each vertex is within a threshold of.

    Args:
        edges: The edge list, which has the table of nodes.
        runtime: The folder is `work / "isochrone_access"`.

    Returns:
        The table: of every vertex and threshold. A sum does not depend on an order, see `kernels.reductions.decay`. Facts:
            `ProductFacts`.

    Raises as `tabulate_isochrones`, and ProofFailed if access times demand is not the supply.
    """
    first = tabulate_isochrones(edges, graph, config, runtime)
    demand, thresholds = Demand.of(edges, graph, config), thresholds_of(config, graph)
    assert demand
    supply, rows = Supply.of(edges, graph, config, runtime), tables.read(first.path, ["source", RATIO]).combine_chunks()
    ratios = supply.at_sources(rows, len(thresholds))
    sources, demanded = sources_of(config, edges, graph, runtime), ~np.isnan(ratios)
    product = _Second(sources, thresholds, np.where(demanded, ratios, 0.0), decay_of(config))
    product.require_memory(_COPIES, "cpu")

    def write(folder: Path) -> dict[str, Any]:
        sweeps = product.sweeps
        tasks, total = sweeps.summing_tasks(_MOST, runtime), Swept()
        totals = product.access(np.empty(0)).totals
        run = partial(_spread, product, sweeps.prepared(runtime), attempts_beside(folder))
        for ((path, swept),) in progress.counted(
            runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True), list(map(len, tasks)), "sources"
        ):
            totals += np.load(path)
            path.unlink()
            total.add(swept)
        access = product.access(np.empty(0)).floats(totals)
        if not np.isfinite(access).all():
            raise BadInput(graph.path, f"{STEP}: a sum exceeds the largest float64")
        _require_supply(product, demand, supply.of_sources(sources.ids), access, demanded)
        total.rows = _write(folder, graph, config, thresholds, access)
        return total.facts(sweeps, runtime, more=[RULE]).stored()

    return make(runtime.work / STEP, STEP, {"graph": graph.digest, "isochrones": first.digest}, {}, write)


def _spread(product: _Second, sweeps: Sweeps, attempts: Path, context: TaskContext, part: range) -> tuple[Path, Swept]:
    """Write the sums of all vertices over some sources."""
    sweeps = sweeps.for_task()
    graph, first = sweeps.graph_at(context), part.start
    product.require_memory(1, context.backend)
    access = product.access(graph.ids)
    for ids, trees in sweeps.batches(context, part):
        access.add(trees.distances, product.ratios[first : first + len(ids)])
        first += len(ids)
        progress.advance(len(ids))
    attempt = new_attempt(attempts).with_suffix(".npy")
    np.save(attempt, to_host(access.totals))
    return attempt, sweeps.swept


def _require_supply(product: _Second, demand: Demand, supply: Array, access: Array, demanded: Array) -> None:
    """Raise ProofFailed unless access [T, V] times demand is the supply [S] of the sources that are demanded, bool [S, T]."""
    (of_vertices,) = demand.sums.values
    for threshold, offered, has_demand, largest in zip(
        product.thresholds, access, demanded.T, product.ratios.max(axis=0, initial=0.0), strict=True
    ):
        due, taken = supply[has_demand].sum(), offered @ of_vertices
        cut = CUT * largest * product.decay.largest * len(supply) * of_vertices.sum()
        if not abs(taken - due) <= CLOSE * due + cut:
            raise ProofFailed(f"{STEP}: within {threshold}, access times demand is {taken}, and the supply is {due}")


def _write(folder: Path, graph: Folder, config: IsochronesConfig, thresholds: Array, access: Array) -> int:
    """Write the sums [T, V], sorted by id and threshold; return their number."""
    facts, (ids, rows_by_id) = GraphFacts.of(graph), ids_of(graph)
    schema = tables.stating(
        tables.schema(STEP, facts.weight, 0, facts.measure), {"access": f"{config.supply} for each of {config.demand}"}
    )
    step = max(1, tables.ROWS_PER_GROUP // len(thresholds))
    per_file = step * (tables.ROWS_PER_FILE // tables.ROWS_PER_GROUP)

    def batches(first: int) -> Iterator[pa.RecordBatch]:
        for begin in range(first, min(first + per_file, len(ids)), step):
            rows = rows_by_id[begin : begin + step]
            columns = [np.repeat(ids[rows], len(thresholds)), np.tile(thresholds, len(rows)), access[:, rows].T.ravel()]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)

    firsts, keys = range(0, max(len(ids), 1), per_file), tables.keys(STEP)
    return sum(tables.write_rows(folder / tables.file_name(n), schema, keys, batches(first)) for n, first in enumerate(firsts))
