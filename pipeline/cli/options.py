"""Options that describe a run, for the commands `run`, `check` and `estimate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kernels.registry import ALGORITHMS
from pipeline.cli.arguments import Integer, Number
from pipeline.config.formats import FORMATS

if TYPE_CHECKING:
    from pipeline.config.run import RunConfig

NAMES = ", ".join(algorithm.name for algorithm in ALGORITHMS)
ON_REQUEST = ", ".join(algorithm.name for algorithm in ALGORITHMS if not algorithm.by_default)
WITH_PAIRS = [algorithm.name for algorithm in ALGORITHMS if algorithm.has_pairs]
WITH_SOURCES = ", ".join(algorithm.name for algorithm in ALGORITHMS if algorithm.has_sources)


@Parameter(name="*")
@dataclass(frozen=True)
class SnapOptions:
    """How places LON,LAT become vertices.

    Attributes:
        snap_limit: Largest distance in metres from a place LON,LAT to the vertex that stands for it. A place farther away is
            refused. Default: as the run or the `.toml` file has it, or 1000.
        snap_to: Which vertices may stand for a place: those of the largest component, or any. Default: as the run or
            the `.toml` file has it, or largest.
    """

    snap_limit: Number | None = None
    snap_to: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return _given(vars(self))


@Parameter(name="*")
@dataclass(frozen=True)
class PlaceOptions:
    """Columns of files of places, as in table `[places]` of a run. They replace those of the run or `.toml` file that is named.

    Attributes:
        place_id: Column of the places' ids. Default: as the run has it, or id. An empty text, here and below, says that the
            run's own value does not hold.
        place_name: Column of their names. Default: name, if there is one.
        place_vertex: Column of a vertex that stands for the place. Default: vertex, if there is one.
        place_delimiter: Character between the fields of a CSV file of places. Default: a comma, or the one in its header line.
        lon: Column of the longitudes, or eastings. Default: lon, lng, long, longitude or x.
        lat: Column of the latitudes, or northings. Default: lat, latitude or y.
        geometry: Column of points in a Parquet file. Default: GeoParquet's primary column, or geometry.
        crs: Coordinate reference system of these columns, such as EPSG:2263. Default: degrees.
        shapes: points (default), or centroid: geometries may be any shapes, whose centroids are the places.
        attach: vertices (default): the nearest vertex stands for a place; or streets: a new vertex at the nearest point of a
            street, which is divided there.
    """

    place_id: str | None = None
    place_name: str | None = None
    place_vertex: str | None = None
    place_delimiter: str | None = None
    lon: str | None = None
    lat: str | None = None
    geometry: str | None = None
    crs: str | None = None
    shapes: str | None = None
    attach: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The table of the options that were given."""
        columns = {"id": self.place_id, "name": self.place_name, "vertex": self.place_vertex, "delimiter": self.place_delimiter}
        columns |= {"lon": self.lon, "lat": self.lat, "geometry": self.geometry, "crs": self.crs, "shapes": self.shapes}
        columns |= {"attach": self.attach}
        return {"places": _given(columns)}


@Parameter(name="*")
@dataclass(frozen=True)
class ZoneOptions:
    """Columns of a file of zones, as in table `[zones]` of a run. They replace those of the run or `.toml` file that is named.

    Attributes:
        zone_id: Column of the zones' ids. Default: id.
        zone_geometry: Column of polygons in a Parquet file. Default: GeoParquet's primary column, or geometry.
        zone_crs: Coordinate reference system of a Parquet file that states none, such as EPSG:2263.
        zone_centre: Column of the nodes that weights vertices in the centres of zones that are sources or targets. Default: a
            centre is the centroid of the area.
    """

    zone_id: str | None = None
    zone_geometry: str | None = None
    zone_crs: str | None = None
    zone_centre: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The table of the options that were given."""
        columns = {"id": self.zone_id, "geometry": self.zone_geometry, "crs": self.zone_crs, "centre": self.zone_centre}
        return {"zones": _given(columns)}


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """Options of a run; they replace the values of a configuration.

    Attributes:
        out: Folder of the tables; `latest` in it names the newest run. Required for a graph file.
        sources: Text file with one source per line, or a file of places, instead of `--source`.
        snap_limit: Largest distance in metres from a place LON,LAT to the vertex that stands for it. A place farther away is
            refused. Default: 1000.
        snap_to: Which vertices may stand for a place: those of the largest component (default: largest), or any.
        src: Column of the vertex at which an edge begins (CSV, TSV, Parquet, SNAP): its name, or its number from 1 if there is
            no header line. Default: src, or 1.
        dst: Column of the vertex at which an edge ends. Default: dst, or 2.
        weight: Column of the weights. Default: weight, if there is such a column. SNAP's third column is read only with
            `--weight 3`.
        oneway: Column that says in which directions a row is open: yes, -1, no, FT, B, ...; `[graph.oneway]` states other values.
        reverse_weight: Column of the weights from `dst` to `src`; a negative or empty one closes that direction.
        speed: Column of speeds. `weight` then has lengths, and each row weighs its travel time, in whole milliseconds;
            `[graph.speed]` states the units, and the speed of rows without one.
        profile: Who travels on the streets of OpenStreetMap or Overture: car, bicycle or foot.
        no_weight: Ignore weights, in any format: every arc weighs 1.
        no_header: The CSV or TSV file has no header line.
        delimiter: Character between the fields of a CSV file; `tab` is a tab. Default: a comma, or a tab for TSV.
        encoding: Encoding of a text file, such as latin-1, cp1252 or utf-16. Default: UTF-8.
        decimal: Decimal sign of the weights in a CSV or TSV file: a point (default) or a comma.
        thousands: Character between groups of three digits of the weights in a CSV or TSV file. Default: none.
        null: Text that stands for "no value" in a CSV or TSV file. Repeat the option for more texts.
        reject: Number of bad rows, or share of all rows, that are written to table rejected and do not fail the run. Default: 0.
        parallel: What becomes of several rows of the same ends: lightest (default), heaviest, sum, count, first, last, keep or
            error. Without the option, stage max_flow adds their capacities.
        order_by: Column of numbers, dates or texts that says which row is the first or last. Default: the rows' order.
        directed: Whether a line of the file is one arc, or an edge in both directions. Default: as the format states, otherwise
            directed.
        ids: Type of the ids in CSV, TSV, SNAP, KONECT and Parquet: auto (default), integer or string.
        named: Add a column of names after each column of ids in every table, if the source's ids are strings.
        arcs: Publish table `arcs`, the arcs of the stored graph, or leave it out. Default: publish it for a graph of at most
            1,000,000 arcs.
        name: Name of the graph in the manifest and the report. Default: the file's name up to its first dot.
        publish_as: Name of the link to the run in the output folder. Default: latest; or the name of the run's file, or manual,
            if latest is the result of another file, or of that file with other sources, more stages or another graph.
        keep: Number of runs of the same link that are kept; 0 keeps all. Default: 7. Each run is kept for at least an hour after
            the next one was published.
        coordinates: DIMACS `.co` file, or CSV, TSV or Parquet file with columns such as `id`, `lon` and `lat`, in degrees.
        crs: Coordinate reference system of `--coordinates`, such as EPSG:2263. Default: degrees.
        nodes: CSV, TSV or Parquet file with a column of ids, `vertex` or `id`; its other columns are joined to table `vertices`.
        sha256: Expected SHA-256 of the graph file, if it is one.
        order: Order of the rows in the stored graph: degree (default), windowed (for roads) or source.
        oracle: Also compare every answer with that of a second solver.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The tables are the same.
        cluster: none (default); local: Dask workers on this machine; or the address of a Dask scheduler.
        shards: Number of ranks that divide the graph among them; with 0 (default) each worker holds the whole graph. The tables
            are the same.
    """

    out: Path | None = None
    stages: Annotated[str | None, Parameter(help=f"Comma-separated names: {NAMES}. Default: all except {ON_REQUEST}.")] = None
    source: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            allow_leading_hyphen=True,
            help=f"Source of {WITH_SOURCES}: its id, or LON,LAT in degrees for the vertex nearest to a place. Repeat the option "
            "for more sources. Default: the vertex of highest out-degree.",
        ),
    ] = None
    sources: Path | None = None
    snap_limit: Number | None = None
    snap_to: str | None = None
    pairs: Annotated[
        Path | None, Parameter(help=f"Parquet file with columns `src` and `dst`: the pairs of stage {', '.join(WITH_PAIRS)}.")
    ] = None
    src: str | None = None
    dst: str | None = None
    weight: str | None = None
    oneway: str | None = None
    reverse_weight: str | None = None
    speed: str | None = None
    profile: str | None = None
    parallel: str | None = None
    order_by: str | None = None
    no_weight: Annotated[bool, Parameter(negative="")] = False
    no_header: Annotated[bool, Parameter(negative="")] = False
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    null: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None
    reject: Number | None = None
    ids: str | None = None
    named: Annotated[bool | None, Parameter(negative="")] = None
    arcs: bool | None = None
    directed: Annotated[bool | None, Parameter(negative="--undirected")] = None
    format: Annotated[str | None, Parameter(help=f"{', '.join(FORMATS)}. Default: by content and name.")] = None
    name: str | None = None
    publish_as: str | None = None
    keep: Integer | None = None
    coordinates: str | None = None
    crs: str | None = None
    nodes: str | None = None
    sha256: str | None = None
    order: str | None = None
    oracle: Annotated[bool | None, Parameter(negative="")] = None
    backend: str | None = None
    cluster: str | None = None
    shards: Integer | None = None

    def config(self, target: str, output: Path | None = None, *, more: Sequence[str] = ()) -> "RunConfig":
        """The configuration of a `.toml` of a run or a graph, or of a graph; `output` is its output if it states none.

        `more` are further files, folders and patterns of the graph. Raises BadConfig.
        """
        from pipeline.config.effects import require_effect
        from pipeline.config.loading import load_run, run_config
        from pipeline.errors import BadConfig

        for one, other in (("weight", "no_weight"), ("source", "sources")):
            if getattr(self, one) and getattr(self, other):
                raise BadConfig(f"--{one} and --{other.replace('_', '-')} exclude each other")
        columns = _given({
            "src": self.src, "dst": self.dst, "weight": False if self.no_weight else self.weight, "oneway": self.oneway,
            "reverse_weight": self.reverse_weight, "speed": self.speed, "order": self.order_by,
        })  # fmt: skip
        graph = _given({
            "name": self.name, "directed": self.directed, "format": self.format, "coordinates": self.coordinates,
            "sha256": self.sha256, "columns": columns or None, "header": False if self.no_header else None,
            "delimiter": self.delimiter, "ids": self.ids, "nodes": self.nodes, "crs": self.crs, "encoding": self.encoding,
            "decimal": self.decimal, "thousands": self.thousands, "null": self.null, "parallel": self.parallel,
            "osm": {"profile": self.profile} if self.profile else None,
        })  # fmt: skip
        stages = None if self.stages is None else [name.strip() for name in self.stages.split(",") if name.strip()]
        top = _given({
            "output": self.out, "stages": stages, "sources": str(self.sources) if self.sources else self.source,
            "oracle": self.oracle, "named": self.named, "arcs": self.arcs, "backend": self.backend, "keep": self.keep,
            "publish_as": self.publish_as, "snap_limit": self.snap_limit, "snap_to": self.snap_to,
        })  # fmt: skip
        tables = {
            "layout": _given({"order": self.order}), "cluster": _given({"scheduler": self.cluster, "shards": self.shards}),
        }  # fmt: skip
        if self.reject is not None:
            tables["reject"] = {"limit": self.reject}
        if self.pairs is not None:
            tables |= {stage: {"pairs": str(self.pairs)} for stage in WITH_PAIRS}
        if more and (stated := next((one for one in (target, *more) if one.endswith(".toml")), None)):
            raise BadConfig(f"{stated}: is a configuration, and {len(more) + 1} arguments are given; its `source` may be a list")
        if target.endswith(".toml"):
            config = load_run(Path(target), {"graph": graph, **tables}, output, **top)
        else:
            top.setdefault("output", output)
            if top["output"] is None:
                raise BadConfig("--out DIR is missing: a graph file needs a folder for its tables")
            config = run_config("options", graph={"source": [target, *more] if more else target} | graph, **tables, **top)
            require_effect("options", config)
        return config


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def cluster_table(cluster: str) -> dict[str, Any]:
    """The table `[cluster]` that an option names."""
    from pipeline.config.loading import load_cluster

    return load_cluster(Path(cluster)).model_dump() if cluster.endswith(".toml") else {"scheduler": cluster}


NO_OPTIONS, SNAP, PLACES, ZONES = RunOptions(), SnapOptions(), PlaceOptions(), ZoneOptions()
