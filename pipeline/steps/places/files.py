"""Files of places, each place with the vertex that stands for it."""

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.graph import Limits
from pipeline.config.products.places import PlacesConfig, is_table
from pipeline.config.products.zones import names_cells
from pipeline.errors import BadInput, BadSource
from pipeline.ingest.formats.parquet import is_parquet, reading
from pipeline.ingest.formats.parquet.footer import open_file
from pipeline.ingest.formats.parquet.types import TEXT, is_text
from pipeline.ingest.places import PlaceList, read_places
from pipeline.ingest.source import locate
from pipeline.ingest.zones.detect import names_zones
from pipeline.steps.places import Ground, ground_of, text_of
from pipeline.steps.places.columns import PlaceColumns
from pipeline.steps.places.placed import Placed
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.store.names import UNKNOWN, open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables.row_lookup import positions_in
from pipeline.texts import id_of
from pipeline.units import length


def has_places(file: str, config: PlacesConfig) -> bool:
    """Whether a file is one of places or zones, not of vertices. Raises BadInput for one that is not there, or damaged."""
    if names_cells(file):
        return True
    path = locate(file).require_local()
    if not is_table(path, config.named):
        return False
    if not is_parquet(path, file):
        return True
    with reading(file), open_file(path, file, Limits()) as parquet:
        kinds = parquet.schema_arrow.types
    return len(kinds) > 1


def placed_in(file: str, edges: Folder, graph: Folder, runtime: Runtime) -> Placed | None:
    """The places of a file, with their vertices; None if it is a file of vertices. What was read stays in `runtime`.

    Zones are the places of the vertices that stand for them.

    Raises:
        BadInput, BadConfig: As `read_places`; or a vertex that stands for a place is not in the graph.
        BadSource: A place is too far from every vertex, or from its own.
    The message has the row, from 0.
    """
    if not has_places(file, runtime.places):
        return None
    key = Placed, file, edges.digest, graph.digest
    if names_zones(file, runtime.places, runtime.zones):
        from pipeline.steps.places.zones import placed_zones

        return runtime.derived.get(key, lambda: placed_zones(file, edges, graph, runtime))
    return runtime.derived.get(key, lambda: _placed(file, edges, graph, runtime))


def places_at(file: str | None, edges: Folder, graph: Folder, runtime: Runtime) -> PlaceColumns | None:
    """The places of a file as columns beside vertices; None without a file, or for one of vertices. Raises as `placed_in`."""
    placed = placed_in(file, edges, graph, runtime) if file else None
    return placed.columns if placed else None


def list_of(file: str, runtime: Runtime) -> PlaceList:
    """The places of a file; what was read stays in `runtime`. Raises as `read_places`."""
    return runtime.derived.get((PlaceList, file), lambda: read_places(file, runtime.places))


def _placed(file: str, edges: Folder, graph: Folder, runtime: Runtime) -> Placed:
    places, ground = list_of(file, runtime), ground_of(edges, graph, runtime)
    vertices, metres, free = np.zeros(len(places), np.int64), np.full(len(places), np.nan), np.ones(len(places), np.bool_)
    if places.vertices is not None:
        free = places.vertices.is_null().to_numpy(zero_copy_only=False)
        vertices[~free] = _stated(file, places, edges, graph)
        metres[~free] = _metres(file, places, vertices, np.flatnonzero(~free), ground)
    rows = np.flatnonzero(free)

    def what(number: int) -> str:
        row = int(rows[number])
        return f"{file}: row {row}: {places.text(row)} at {text_of(places.degrees[row])}"

    vertices[free], metres[free] = ground.snap(places.degrees[free], what)
    return Placed(places, vertices, metres, ~free)


def _stated(file: str, places: PlaceList, edges: Folder, graph: Folder) -> Array:
    """The external ids of the vertices that a file states, for the rows that have one. Raises BadInput for an unknown one."""
    assert places.vertices is not None
    given, names = places.vertices.drop_null(), open_names(edges)
    if names is not None:
        numbers = names.find(given.cast(TEXT))
    elif is_text(given.type):
        numbers = np.array([UNKNOWN if (number := id_of(text)) is None else number for text in given.to_pylist()], np.int64)
    else:
        numbers = given.cast(pa.int64(), safe=False).to_numpy()
    ids, rows_by_id, _, _ = open_vertices(graph)
    _, known = positions_in(ids[rows_by_id], numbers)
    if not known.all():
        at = int(np.argmin(known))
        row = int(np.flatnonzero(places.vertices.is_valid())[at])
        raise BadInput(file, f"row {row}: {places.text(row)} is at vertex {given[at].as_py()!r}, which is not in the graph")
    return numbers


def _metres(file: str, places: PlaceList, vertices: Array, rows: Array, ground: Ground) -> Array:
    """Metres from some places to the vertices that the file states. Raises BadSource for one that is too far away."""
    metres = ground.metres_to(places.degrees[rows], vertices[rows])
    with np.errstate(invalid="ignore"):
        far = metres > ground.limit
    if far.any():
        at = int(far.argmax())
        row, apart = int(rows[at]), length(float(metres[at]))
        where = f"{places.text(row)} at {text_of(places.degrees[row])} is {apart} from vertex {vertices[row]}"
        raise BadSource(f"{file}: row {row}: {where}, which the file states; the limit is {ground.limit:,.10g} m (snap_limit)")
    return metres
