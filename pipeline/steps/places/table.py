"""Table `places`: the places of the files that a run or a command names, with the vertices that stand for them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import BadInput, ProofFailed
from pipeline.steps.places import Ground, ground_of
from pipeline.steps.places.files import placed_in
from pipeline.steps.places.placed import Placed
from pipeline.steps.places.proof import CENTRAL, ON_STREETS, RULES, require_nearest
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import CheckFacts
from pipeline.store.facts.run import PlaceFacts, PlaceTableFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.definitions import PLACES
from pipeline.tables.points import points

STEP = PLACES  # and the table


@dataclass(frozen=True)
class PlaceTable:
    """The table of some files, by the keys that name them."""

    placed: Mapping[str, Placed]
    ground: Ground

    @cached_property
    def rows(self) -> pa.Table:
        """All rows in the order of the table. Raises BadInput if two files have columns of one name and different types."""
        texts = any(pa.types.is_large_string(of.places.ids.type) for of in self.placed.values())
        parts = [self._part(key, self.placed[key], texts) for key in sorted(self.placed)]
        try:
            rows = pa.concat_tables(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise BadInput(" and ".join(sorted(self.placed)), f"have columns of one name and different types: {error}") from None
        own = tables.schema(STEP, None)
        fields = [field.with_type(rows.schema.field(field.name).type) for field in own if field.name in rows.schema.names]
        more = [rows.schema.field(name) for name in rows.schema.names if name not in own.names]
        of_more = [field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field for field in more]
        schema = tables.of_fields([*fields, *(field.with_nullable(True) for field in of_more)])
        return rows.select(schema.names).cast(schema).combine_chunks()

    @property
    def digest(self) -> str:
        """Of all rows, and of the names and types of their columns."""
        hashed = sha256(self.rows.schema.serialize())
        for batch in self.rows.to_batches():
            hashed.update(batch.serialize())
        return hashed.hexdigest()

    def write(self, folder: Path) -> PlaceTableFacts:
        """Write the table, and check it. Raises ProofFailed."""
        rows, keys = self.rows, tables.keys(STEP)
        for number in range(tables.files_of(len(rows))):
            part = rows[number * tables.ROWS_PER_FILE : (number + 1) * tables.ROWS_PER_FILE]
            batches = part.to_batches(tables.ROWS_PER_GROUP)
            tables.write_rows(folder / tables.file_name(number), rows.schema, keys, batches)
        started = time.perf_counter()
        if not tables.read(folder).equals(rows):
            raise ProofFailed(f"{STEP}: the table, read back, has other rows than were written")
        for of in self.placed.values():
            require_nearest(of, self.ground)
        counts = {key: len(of.places) for key, of in self.placed.items()}
        central = [CENTRAL] if any(of.zones for of in self.placed.values()) else []
        rules = [*(ON_STREETS if self.ground.attached else RULES), *central]
        proof = CheckFacts(rules=rules, seconds=round(time.perf_counter() - started, 6))
        return PlaceTableFacts(rows=len(rows), files=counts, farthest=self._farthest(), proof=proof)

    def _part(self, key: str, of: Placed, texts: bool) -> pa.Table:
        """The rows of one file, ascending by id."""
        places, unknown = of.places, np.isnan(of.places.degrees[:, 0])
        lon, lat = places.degrees.T
        columns: dict[str, Any] = {
            "key": pa.array([key] * len(places), pa.string()),
            "id": places.ids.cast(pa.string()) if texts else places.ids,
        }
        if places.names is not None:
            columns["name"] = places.names.cast(pa.string())
        columns |= {
            "vertex": of.vertices,
            "lon": pa.array(lon, mask=unknown),
            "lat": pa.array(lat, mask=unknown),
            "metres": pa.array(of.metres, mask=np.isnan(of.metres)),
            **self.ground.streets_of(places.degrees, ~of.stated),
            "component": self.ground.components_of(of.vertices),
            "geometry": points(np.where(unknown, 0.0, lon), np.where(unknown, 0.0, lat), ~unknown),
        }
        more = {name: places.more[name] for name in places.more.schema.names}
        return pa.table(columns | more).sort_by("id")

    def _farthest(self) -> PlaceFacts | None:
        metres = self.rows["metres"]
        if metres.null_count == len(metres):
            return None
        row = self.rows.slice(pc.index(metres, pc.max(metres)).as_py(), 1).to_pylist()[0]
        place = [row["lon"], row["lat"]]
        return PlaceFacts(key=row["key"], id=str(row["id"]), place=place, vertex=row["vertex"], metres=row["metres"])


def place_table(files: Mapping[str, str], edges: Folder, graph: Folder, runtime: Runtime) -> PlaceTable | None:
    """The table of the places in files, by the keys that name them; None if none is a file of places. Raises as `placed_in`."""
    placed = {key: of for key, file in files.items() if (of := placed_in(file, edges, graph, runtime)) is not None}
    return PlaceTable(placed, ground_of(edges, graph, runtime)) if placed else None


def tabulate_places(edges: Folder, graph: Folder, files: Mapping[str, str], runtime: Runtime) -> Folder:
    """Write table `places`.

    Args:
        files: By the keys of the configuration that name them; at least one has places.
        runtime: The folder is `work / "places"`.

    Returns:
        The table. Facts: `PlaceTableFacts`.

    Raises:
        ProofFailed: A place has a vertex that is not the nearest, or another distance. Nothing is written.
    Otherwise as `placed_in`.
    """
    table = place_table(files, edges, graph, runtime)
    assert table is not None
    inputs = {"edges": edges.digest, "graph": graph.digest}
    parameters = {"rows": table.digest, "limit": runtime.snap.limit}
    return make(runtime.work / STEP, STEP, inputs, parameters, lambda folder: table.write(folder).stored())
