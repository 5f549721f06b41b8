"""Table `isochrone_zones`: what is within the thresholds of the sources of each zone, on average."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig
from pipeline.steps.places.files import placed_in
from pipeline.steps.products.attributes import digest_by_id
from pipeline.steps.products.isochrones import require_isochrones, tabulate_isochrones
from pipeline.steps.products.zones import Zones, parameters, write_batch
from pipeline.steps.products.zones.recount import RULE, require_rows
from pipeline.steps.products.zones.weights import PlaceWeights, weights_of_places
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.vertices import ids_of
from pipeline.tables import files as tables
from pipeline.tables.definitions import PLACE, TABLES, geometry_of
from pipeline.tables.points import GEOMETRY
from pipeline.tables.row_lookup import positions_in

STEP = "isochrone_zones"  # and the table


def require_isochrones_and_zones(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> None:
    """Raise what `require_isochrones` and `Zones.of` raise, before anything is searched."""
    require_isochrones(edges, graph, config, runtime)
    if config.zone:
        for name in config.sums:
            if name in {column.name for column in TABLES[STEP]}:
                raise BadConfig(f"isochrones.sums: {name!r} is the name of another column of table {STEP}")
        _weighed(edges, graph, config, runtime)


def tabulate_isochrone_zones(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Write the means of the columns of table `isochrones` over the sources of each zone, for each threshold.

    A source is in the zone of its vertex; or, if it is a place with coordinates and the zones are areas, of these.

    Args:
        edges: The edge list, which has the table of nodes.
        runtime: The folder is `work / "isochrone_zones"`; table `isochrones` is made if it is not there.

    Returns:
        The table. A mean is that of exact sums of rounded products. Facts: those of table `isochrones`.

    Raises as `tabulate_isochrones`, and what `Zones.of` raises.
    """
    first, (zones, of_places) = tabulate_isochrones(edges, graph, config, runtime), _weighed(edges, graph, config, runtime)
    schema = _schema(graph, config, zones)

    def write(folder: Path) -> dict[str, Any]:
        rows = tables.read(first.path)
        numbers, weights, names = _zones_of_rows(edges, graph, config, zones, rows, runtime)
        if of_places:
            weights = of_places.of(rows[f"source{PLACE}"].combine_chunks())
        batch = _means(schema, config, rows, numbers, weights, names)
        if GEOMETRY in schema.names:
            assert zones.shapes
            outlines = zones.shapes.outlines(names).take(pc.index_in(batch["zone"], names))
            batch = pa.RecordBatch.from_arrays([*batch.columns, outlines], schema=schema)
        facts = ProductFacts.of(first).with_rules(RULE, *zones.rules)
        facts = facts.model_copy(update={"rows": write_batch(folder, batch), **zones.figures})
        means = {name: (name, True) for name in ("vertices", *config.sums)}
        columns = {"zone": names.take(pa.array(numbers)), "threshold": rows["threshold"], "weight": weights}
        require_rows(STEP, tables.read(folder), pa.table(columns | {name: rows[name] for name in means}), means, "sources")
        return facts.stored()

    inputs = {"edges": edges.digest, "graph": graph.digest, "isochrones": first.digest}
    keys = parameters(config.zone, config.zone_weight, zones) | _where(edges, graph, config, runtime)
    keys |= {"weighed": digest_by_id(of_places.ids, of_places.amounts)} if of_places else {}
    return make(runtime.work / STEP, STEP, inputs, keys, write)


def _weighed(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> tuple[Zones, PlaceWeights | None]:
    """The zones, and what the places of the sources' file weigh, if it says so."""
    assert config.zone
    keys, name = ("isochrones.zone", "isochrones.zone_weight"), config.zone_weight
    of_places = weights_of_places(edges, graph, config.sources, keys[1], name, runtime)
    return Zones.of(edges, graph, keys, config.zone, None if of_places else name, runtime.zones), of_places


def _where(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> dict[str, Any]:
    """Where the sources are, as a parameter of the step's key, if they are places."""
    placed = placed_in(config.sources, edges, graph, runtime) if config.sources else None
    return {"places": digest_by_id(placed.places.ids, *placed.places.degrees.T)} if placed else {}


def _schema(graph: Folder, config: IsochronesConfig, zones: Zones) -> pa.Schema:
    facts = GraphFacts.of(graph)
    plain = tables.schema(STEP, facts.weight, 0, facts.measure)
    by = f", weighted by {config.zone_weight}" if config.zone_weight else ""
    fields = [field.with_type(zones.names.type) if field.name == "zone" else field for field in plain]
    summed = [pa.field(name, pa.float64()) for name in config.sums]
    fields = [*fields[:-1], *summed, *(fields[-1:] if zones.shapes else ())]
    units = {name: f"mean of column {name} of table isochrones{by}" for name in ("vertices", *config.sums)}
    return tables.stating(tables.of_fields(fields, geometry_of(STEP)), tables.units_of(plain) | units)


def _zones_of_rows(
    edges: Folder, graph: Folder, config: IsochronesConfig, zones: Zones, rows: pa.Table, runtime: Runtime
) -> tuple[Array, Array, pa.Array]:
    """The number of the zone of each row of table `isochrones`, its weight, and the names of all zones, null last."""
    ids, rows_by_id = ids_of(graph)
    at = rows_by_id[np.searchsorted(ids[rows_by_id], rows["source"].to_numpy())]
    placed = placed_in(config.sources, edges, graph, runtime) if config.sources else None
    if placed is None or zones.shapes is None:
        return zones.numbers[at], zones.weights[at], zones.names
    zone_of, _ = zones.shapes.zones_at(placed.places.degrees)
    of_vertices = zones.names.take(pa.array(zones.numbers[positions_in(ids, placed.vertices)[0]]))
    zone_of = pc.if_else(pa.array(np.isnan(placed.places.degrees[:, 0])), of_vertices, zone_of)
    names = pc.unique(zone_of)
    names = names.take(pc.sort_indices(names))
    given = rows[f"source{PLACE}"].combine_chunks()
    row_of = pc.index_in(given, placed.places.ids.cast(given.type))
    numbers = pc.index_in(zone_of.take(row_of), names)
    return numbers.to_numpy(), zones.weights[at], names


def _means(
    schema: pa.Schema, config: IsochronesConfig, rows: pa.Table, numbers: Array, weights: Array, names: pa.Array
) -> pa.RecordBatch:
    """The rows of the table without areas."""
    thresholds = len(config.thresholds)
    groups = numbers * thresholds + np.arange(len(rows)) % thresholds
    order = np.argsort(groups, kind="stable")
    kept, begins = np.unique(groups[order], return_index=True)
    parts = np.split(order, begins[1:]) if len(kept) else []
    totals = [math.fsum(weights[part].tolist()) for part in parts]
    columns = [
        names.take(pa.array(kept // thresholds)),
        pa.array(rows["threshold"].to_numpy()[order[begins]]),
        pa.array([len(part) for part in parts], pa.int64()),
    ]
    for name in ("vertices", *config.sums):
        products = rows[name].to_numpy() * weights
        sums = [math.fsum(products[part].tolist()) for part in parts]
        means = [total / of if of > 0 else None for total, of in zip(sums, totals, strict=True)]
        columns.append(pa.array(means, pa.float64()))
    own = [field for field in schema if field.name != GEOMETRY]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(own))
