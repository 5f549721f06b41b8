"""Table `nearest_zones`: how far the vertices of each zone are from their nearest facilities."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.graph import UNREACHED, Array
from kernels.reductions.groups import GroupSums
from pipeline.config.products.nearest import NearestConfig
from pipeline.runtime.memory import require_memory
from pipeline.steps.products.nearest import tabulate_nearest
from pipeline.steps.products.zones import Zones, parameters, require_finite, schema_of, write_zones
from pipeline.steps.products.zones.recount import RULE, require_rows
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.vertices import ids_of
from pipeline.tables import files as tables

STEP = "nearest_zones"  # and the table


def require_zones(edges: Folder, graph: Folder, config: NearestConfig, runtime: Runtime) -> None:
    """Raise what `Zones.of` raises, before anything is searched."""
    if config.zone:
        _zones_of(edges, graph, config, runtime)


def tabulate_nearest_zones(edges: Folder, graph: Folder, config: NearestConfig, runtime: Runtime) -> Folder:
    """Write the least and the mean distance of the vertices of each zone, for each rank of table `nearest`.

    Args:
        edges: The edge list, which has the table of nodes.
        runtime: The folder is `work / "nearest_zones"`; table `nearest` is made if it is not there.

    Returns:
        The table. Sums are added in the order of the vertices, see `kernels.reductions.groups`. Facts: those of table `nearest`.

    Raises as `tabulate_nearest`, and BadConfig as `require_zones`.
    """
    nearest, facts = tabulate_nearest(edges, graph, config, runtime), GraphFacts.of(graph)
    zones = _zones_of(edges, graph, config, runtime)
    schema = schema_of(STEP, facts.weight, facts.measure, zones, bool(config.zone_weight))
    ranks = config.count
    require_memory(f"{STEP}: {len(zones):,} zones with {ranks:,} ranks", zones.memory_for(len(zones) * ranks), "cpu")

    def write(folder: Path) -> dict[str, Any]:
        table = tables.read(nearest.path, ["vertex", "rank", "distance"])
        at = _rows_of(graph, table["vertex"].to_numpy())
        known = _known(table, at, zones, ranks, dtype_of(schema.field("min").type))
        numbers = np.arange(len(zones) * ranks)
        columns = [zones.names.take(pa.array(numbers // ranks)), pa.array(numbers % ranks + 1)]
        counted = {"vertices": known.counts[:, 0], "unreached": known.counts[:, 1]}
        outlines = zones.outlines.take(pa.array(numbers // ranks)) if zones.shapes else None
        require_finite(STEP, known)
        rows = write_zones(folder, schema, columns, known, counted, outlines)
        _prove(folder, table, at, zones)
        return ProductFacts.of(nearest).with_rules(RULE, *zones.rules).model_copy(update={"rows": rows, **zones.figures}).stored()

    inputs = {"edges": edges.digest, "graph": graph.digest, "nearest": nearest.digest}
    return make(runtime.work / STEP, STEP, inputs, parameters(config.zone, config.zone_weight, zones), write)


def _zones_of(edges: Folder, graph: Folder, config: NearestConfig, runtime: Runtime) -> Zones:
    assert config.zone
    keys = "nearest.zone", "nearest.zone_weight"
    return Zones.of(edges, graph, keys, config.zone, config.zone_weight, runtime.zones)


def _rows_of(graph: Folder, vertices: Array) -> Array:
    """The rows of vertices of the graph."""
    ids, rows_by_id = ids_of(graph)
    rows: Array = rows_by_id[np.searchsorted(ids[rows_by_id], vertices)]
    return rows


def _known(table: pa.Table, at: Array, zones: Zones, ranks: int, kind: Any) -> GroupSums:
    """What is known of each zone and rank, by the rows of table `nearest`, of vertices `at` rows of the graph."""
    known = GroupSums.empty((len(zones) * ranks,), kind)
    distances: Array = table["distance"].combine_chunks().fill_null(UNREACHED).to_numpy()
    known.add(distances, zones.numbers[at] * ranks + table["rank"].to_numpy() - 1, zones.weights[at])
    return known


def _prove(folder: Path, table: pa.Table, at: Array, zones: Zones) -> None:
    """Compare what was written with the rows of table `nearest`. Raises ProofFailed."""
    columns = {"zone": zones.names.take(pa.array(zones.numbers[at])), "rank": table["rank"], "distance": table["distance"]}
    stated = tables.read(folder)
    means = {name: ("distance", name != "mean") for name in ("mean", "weighted_mean") if name in stated.column_names}
    require_rows(STEP, stated, pa.table(columns | {"weight": zones.weights[at]}), means, "vertices")
