"""Files of places: CSV, TSV, Parquet, GeoParquet or GeoJSON with the id of each, its coordinates, and what else is known of it.

`read_places` reads one; `columns` finds its columns, `points` and `geojson` read geometries, `crs` makes degrees of coordinates.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kernels.graph import ID as INTEGER
from kernels.graph import Array
from pipeline.config.graph import Limits
from pipeline.config.products.places import PlacesConfig, begins_geojson
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import is_parquet, read_columns, reading
from pipeline.ingest.formats.parquet.footer import Footer, open_file
from pipeline.ingest.formats.parquet.rows import require_no_null, require_utf8
from pipeline.ingest.formats.parquet.types import TEXT, attribute_type, is_id, is_number, is_text, plain, plain_type
from pipeline.ingest.nodes import delimiter_of
from pipeline.ingest.places.columns import Roles, key_of_crs, roles_of, roles_of_features, roles_of_parquet
from pipeline.ingest.places.crs import are_degrees, to_degrees
from pipeline.ingest.places.geojson import read_geojson
from pipeline.ingest.places.points import axes_of, coordinates_of
from pipeline.ingest.source import locate
from pipeline.texts import id_of

LARGEST_FILE = 2**30  # bytes; the file is read into memory


@dataclass(frozen=True)
class PlaceList:
    """The places of a file, in its order.

    Attributes:
        ids: int64 or large_string [n], each once.
        names: large_string [n], null where a place has none; None if the file has no names.
        vertices: Integers or texts [n], as users name vertices, null where the coordinates decide; None if the file has none.
        degrees: float64 [n, 2]: longitude and latitude, NaN where the file has none.
        more: The other columns.
        roles: Which columns of the file these are.
    """

    ids: pa.Array
    names: pa.Array | None
    vertices: pa.Array | None
    degrees: Array
    more: pa.Table
    roles: Roles

    def __len__(self) -> int:
        return len(self.ids)

    def text(self, row: int) -> str:
        """A place for messages: `'H7'`."""
        return repr(self.ids[row].as_py())[:80]


def read_places(file: str, config: PlacesConfig) -> PlaceList:
    """Read a file of places.

    Raises:
        BadInput: The file is no such table, has no or several columns that may be the ids or the coordinates, or has a row, from
            0, with a wrong, a missing or a repeated id, or without a vertex and without coordinates on the globe.
        BadConfig: As `to_degrees`.
    """
    table, roles, points = _read(file, config, locate(file).require_local())
    if not len(table):
        raise BadInput(file, "contains no place")
    ids = unique_ids(file, roles.id, table[roles.id].combine_chunks())
    names = _attribute(file, roles.name, table[roles.name]).combine_chunks().cast(TEXT) if roles.name else None
    vertices = _vertices(file, roles.vertex, table[roles.vertex].combine_chunks()) if roles.vertex else None
    degrees = to_degrees(file, points, roles.crs, key_of_crs(file, roles.crs, config.crs))
    _require_located(file, roles, vertices, degrees)
    more = {name: _attribute(file, name, table[name]) for name in roles.others}
    return PlaceList(ids, names, vertices, degrees, pa.table(more), roles)


def count_places(file: str, path: Path) -> int:
    """About how many places a file has, without reading them. Raises BadInput."""
    if is_parquet(path, file):
        with reading(file), open_file(path, file, Limits()) as parquet:
            rows: int = parquet.metadata.num_rows
            return rows
    content = content_of(file, path)
    return content.count(b'"Feature"') if begins_geojson(content) else max(content.count(b"\n") - 1, 0)


def content_of(file: str, path: Path, what: str = "places") -> bytes:
    """The bytes of a file of places or zones. Raises BadInput if they are too many."""
    if (size := path.stat().st_size) > LARGEST_FILE:
        raise BadInput(file, f"has {size} bytes, the limit for a file of {what} is {LARGEST_FILE}")
    return path.read_bytes()


def _read(file: str, config: PlacesConfig, path: Path) -> tuple[pa.Table, Roles, Array]:
    """The columns of a file, what they are, and the coordinates of its rows, float64 [n, 2]."""
    if is_parquet(path, file):
        return _of_parquet(file, config, path)
    content = content_of(file, path)
    if begins_geojson(content):
        table, points = read_geojson(file, content, config.centroids)
        return table, roles_of_features(file, table.schema, config), points
    table = _of_csv(file, config, content)
    roles = roles_of(file, table.schema, config)
    table = _typed(file, table, roles)
    return table, roles, _columns_of_points(file, table, roles)


def _of_parquet(file: str, config: PlacesConfig, path: Path) -> tuple[pa.Table, Roles, Array]:
    with reading(file), open_file(path, file, Limits()) as parquet:
        roles = roles_of_parquet(file, parquet.schema_arrow, config)
        table = read_columns(path, parquet, [name for name in roles.read if name != roles.geometry], Limits())
        if roles.geometry is None:
            return table, roles, _columns_of_points(file, table, roles)
        axes = axes_of(parquet.schema_arrow.field(roles.geometry).type)
        leaves = [f"{roles.geometry}.{axis}" for axis in axes] or [roles.geometry]
        Footer(path, parquet.schema, leaves, Limits()).check_all_pages()
        column = parquet.read([roles.geometry])[roles.geometry]
    values = pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    return table, roles, coordinates_of(file, roles.geometry, values, config.centroids, are_degrees(roles.crs))


def _of_csv(file: str, config: PlacesConfig, content: bytes) -> pa.Table:
    """All columns as they are read, those of ids, vertices and coordinates as texts."""
    parse = csv.ParseOptions(delimiter=config.delimiter or _delimiter_in(file, content))
    options = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    try:
        with reading(file):
            head = csv.open_csv(io.BytesIO(content), parse_options=parse, convert_options=options).schema
            for name in head.names:
                if head.names.count(name) > 1:
                    raise BadInput(file, f"two columns have the name {name!r}")
            roles = roles_of(file, pa.schema([(name, pa.string()) for name in head.names]), config)
            named = [name for name in (roles.id, roles.vertex, roles.lon, roles.lat, roles.name) if name]
            options = csv.ConvertOptions(
                column_types=dict.fromkeys(named, pa.string()), null_values=[""], strings_can_be_null=True
            )
            return csv.read_csv(io.BytesIO(content), parse_options=parse, convert_options=options)
    except BadInput as error:
        if error.__cause__ is None:
            raise
        raise BadInput(file, str(error.__cause__)) from None


def _delimiter_in(file: str, content: bytes) -> str:
    """The character between the fields: by the file's name or, if the header line does not have it, the one that it has."""
    header = content.lstrip(b"\r\n").partition(b"\n")[0].decode(errors="replace")
    usual = delimiter_of(file)
    return usual if usual in header else next((other for other in ",;\t|" if other in header), usual)


def _typed(file: str, table: pa.Table, roles: Roles) -> pa.Table:
    """A table of texts with numbers for coordinates."""
    for name in filter(None, (roles.lon, roles.lat)):
        texts = pc.utf8_trim_whitespace(table[name].combine_chunks())
        try:
            numbers = texts.cast(pa.float64())
        except pa.ArrowInvalid:
            row = next(row for row, text in enumerate(texts.to_pylist()) if text is not None and not _is_float(text))
            raise BadInput(file, f"row {row}: {name} {texts[row].as_py()[:40]!r} is not a number") from None
        table = table.set_column(table.schema.get_field_index(name), name, numbers)
    return table


def _is_float(text: str) -> bool:
    try:
        pa.array([text]).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _columns_of_points(file: str, table: pa.Table, roles: Roles) -> Array:
    if not roles.lon or not roles.lat:
        return np.full((len(table), 2), np.nan)
    for name in (roles.lon, roles.lat):
        if not is_number(table[name].type):
            raise BadInput(file, f"column {name!r} is {table[name].type}, not numbers; write it as one")
    axes = [table[name].combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False) for name in (roles.lon, roles.lat)]
    return np.stack(axes, axis=-1)


def unique_ids(file: str, name: str, ids: pa.Array, what: str = "place") -> pa.Array:
    """The ids as int64 if all are integers as ids are written, otherwise as texts. Raises BadInput."""
    ids = plain(ids)
    if not is_id(ids.type):
        raise BadInput(file, f"column {name!r} is {ids.type}, not an integer type or string; write it as one of both")
    require_no_null(file, ids, f"{name}, the id,")
    if is_text(ids.type):
        require_utf8(file, ids, name)
        texts = ids.to_pylist()
        if (row := next((row for row, text in enumerate(texts) if not text), None)) is not None:
            raise BadInput(file, f"row {row}: {name}, the id, is empty")
        numbers = [id_of(text) for text in texts]
        ids = ids.cast(TEXT) if None in numbers else pa.array(numbers, pa.int64())
    else:
        try:
            ids = ids.cast(pa.from_numpy_dtype(INTEGER))
        except pa.ArrowInvalid as error:
            raise BadInput(file, f"column {name!r} has an id beyond 64 bits: {str(error)[:80]}") from None
    order = pc.sort_indices(ids)
    ordered = ids.take(order)
    again = pc.equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    if again.any():
        at = int(again.argmax())
        rows = sorted(order[at : at + 2].to_pylist())
        raise BadInput(
            file, f"row {rows[1]}: {name} {ordered[at].as_py()!r} is that of row {rows[0]}, too; each {what} has its own id"
        )
    return ids


def _vertices(file: str, name: str, vertices: pa.Array) -> pa.Array:
    vertices = plain(vertices)
    if not (is_id(vertices.type) or pa.types.is_null(vertices.type)):
        raise BadInput(file, f"column {name!r} is {vertices.type}, not an integer type or string; write it as one of both")
    if is_text(vertices.type):
        require_utf8(file, vertices, name)
    return vertices


def _require_located(file: str, roles: Roles, vertices: pa.Array | None, degrees: Array) -> None:
    """Raise BadInput for the first row that has neither a vertex nor coordinates, or only one of both coordinates."""
    half = np.isnan(degrees).any(axis=1)
    lacking = half if vertices is None else half & vertices.is_null().to_numpy(zero_copy_only=False)
    if lacking.any():
        where = roles.geometry or (f"{roles.lon} and {roles.lat}" if roles.lon else "its geometry")
        or_vertex = f", nor a {roles.vertex}" if roles.vertex else ""
        raise BadInput(
            file, f"row {int(lacking.argmax())}: has no coordinates ({where}){or_vertex}; leave the row out, or add them"
        )


def _attribute(file: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of another column, of a type that table `places` can have. Raises BadInput."""
    if (kind := attribute_type(column.type)) is None:
        how = "which is neither a number, a text nor a time; write it as a text, or leave it out"
        raise BadInput(file, f"column {name!r} is {plain_type(column.type)}, {how}")
    values = column.cast(kind)
    if kind == TEXT:
        require_utf8(file, values, name)
    return values
