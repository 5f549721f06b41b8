"""Files of pairs whose ends are coordinates: each becomes a file of the vertices nearest to them, with the same rows."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.config.graph import Limits
from pipeline.config.model import Model
from pipeline.config.run import RunConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import is_parquet, reading
from pipeline.ingest.formats.parquet.footer import Footer, open_file
from pipeline.ingest.formats.parquet.types import is_number
from pipeline.ingest.places.crs import to_degrees
from pipeline.ingest.source import identify, locate, require_same
from pipeline.steps.pairs import BATCH, ENDS
from pipeline.steps.places import Ground, ground_of, text_of
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.units import length

STEP = "pairs"
AXES = {end: (f"{end}_lon", f"{end}_lat") for end in ENDS}
_ALL_AXES = [name for end in ENDS for name in AXES[end]]
_CRS = "places.crs"
log = logging.getLogger(__name__)


def with_vertices(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> RunConfig:
    """The configuration with files of vertices in the place of files of pairs that have coordinates.

    Such a file has columns `src_lon`, `src_lat`, `dst_lon` and `dst_lat`, and neither `src` nor `dst`.

    Raises:
        BadInput: A coordinate is null, or not on the globe; the message has the row, from 0.
        BadSource: A place is too far from every vertex, as `Ground.snap`.
    """
    tables_with_pairs = {"queries": config.queries, **config.of_stages, **config.of_products}
    changed = dict[str, Model]()
    for name, table in tables_with_pairs.items():
        for key in table.PAIRS if table else ():
            file = getattr(table, key)
            if table and file and has_coordinates(file):
                placed = _placed(f"{STEP}-{name}", file, edges, graph, runtime)
                changed[name] = table.model_copy(update={key: str(tables.files(placed.path)[0])})
    return config.model_copy(update=changed) if changed else config


def has_coordinates(file: str) -> bool:
    """Whether the pairs of a file are coordinates. Raises BadInput."""
    path = locate(file).require_local()
    if not is_parquet(path, file):
        return False
    with reading(file), open_file(path, file, Limits()) as parquet:
        names = parquet.schema_arrow.names
    return not {*ENDS} & {*names} and {*AXES["src"], *AXES["dst"]} <= {*names}


def _placed(step: str, file: str, edges: Folder, graph: Folder, runtime: Runtime) -> Folder:
    source = locate(file)
    inputs = {"edges": edges.digest, "graph": graph.digest, "file": identify(source, None)}
    ground = ground_of(edges, graph, runtime)

    def write(folder: Path) -> dict[str, Any]:
        rows, farthest = _write(folder / tables.file_name(0), file, ground, runtime)
        require_same(source, inputs["file"])
        log.info("%s: %d pairs; no place is farther than %s from the vertex that stands for it", file, rows, length(farthest))
        return {"rows": rows}

    parameters = {"limit": runtime.snap.limit, "to": runtime.snap.to, "crs": runtime.places.crs}
    return make(runtime.work / step, step, inputs, parameters, write)


def _write(path: Path, file: str, ground: Ground, runtime: Runtime) -> tuple[int, float]:
    """Write the pairs of a file; return their number, and the metres of the place that is farthest from its vertex."""
    rows, farthest = 0, 0.0
    with reading(file), open_file(locate(file).require_local(), file, Limits()) as parquet:
        others = [field for field in parquet.schema_arrow if field.name not in _ALL_AXES]
    schema = pa.schema([*(pa.field(end, pa.int64(), nullable=False) for end in ENDS), *others])
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as written:
        for first, degrees, batch in points_of_pairs(file, runtime.places.crs):
            ends = [_vertices(file, degrees[end], end, first, ground) for end in ENDS]
            farthest = max(farthest, *(metres.max(initial=0.0) for _, metres in ends))
            columns = [*(pa.array(vertices) for vertices, _ in ends), *(batch[field.name] for field in others)]
            written.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            rows = first + len(batch)
    return rows, farthest


def points_of_pairs(file: str, crs: str | None) -> Iterator[tuple[int, dict[str, Array], pa.RecordBatch]]:
    """The pairs of a file, some at a time: the first row, the degrees of each end, float64 [n, 2], and the rows.

    Raises BadInput as `with_vertices`.
    """
    first = 0
    with reading(file), open_file(locate(file).require_local(), file, Limits()) as parquet:
        for name in _ALL_AXES:
            if not is_number(parquet.schema_arrow.field(name).type):
                raise BadInput(file, f"column {name!r} is {parquet.schema_arrow.field(name).type}, not numbers; write it as one")
        Footer(locate(file).require_local(), parquet.schema, _ALL_AXES, Limits()).check_all_pages()
        for batch in parquet.iter_batches(BATCH):
            yield first, {end: _degrees(file, batch, end, first, crs) for end in ENDS}, batch
            first += len(batch)


def _degrees(file: str, batch: pa.RecordBatch, end: str, first: int, crs: str | None) -> Array:
    """The degrees of one end of some pairs, from row `first` on."""

    def what(row: int) -> str:
        return f"row {first + row}"

    axes = [batch[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for name in AXES[end]]
    places = np.stack(axes, axis=-1)
    if (missing := np.isnan(places).any(axis=1)).any():
        raise BadInput(file, f"{what(int(missing.argmax()))}: {' or '.join(AXES[end])} is null")
    return to_degrees(file, places, crs, _CRS, what)


def _vertices(file: str, degrees: Array, end: str, first: int, ground: Ground) -> tuple[Array, Array]:
    """The vertices nearest to one end of some pairs, from row `first` on, and metres, int64 and float64 [n]."""
    return ground.snap(degrees, lambda row: f"{file}: row {first + row}: {end} {text_of(degrees[row])}")
