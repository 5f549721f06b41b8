"""The command `matrix`."""

from pathlib import Path

from pipeline.cli.arguments import Number
from pipeline.cli.options import PLACES, SNAP, ZONES, PlaceOptions, SnapOptions, ZoneOptions
from pipeline.cli.products import write


def matrix(
    graph: str,
    /,
    *,
    out: Path,
    sources: str | None = None,
    targets: str | None = None,
    cutoff: Number | None = None,
    proof: str = "every",
    zone: str | None = None,
    zone_weight: str | None = None,
    zone_ends: str = "every",
    named: bool | None = None,
    backend: str = "auto",
    cluster: str = "none",
    snap: SnapOptions = SNAP,
    places: PlaceOptions = PLACES,
    zones: ZoneOptions = ZONES,
) -> None:
    """Write the shortest distances from sources to targets, as a table with the columns source, target and distance.

    ```
    graphmill matrix out/roads --sources schools.csv --targets homes.parquet --cutoff 9000 --out out/to-schools
    ```

    A file of vertices is Parquet or CSV with one column of ids, text with one vertex per line, or a file of places: CSV, Parquet,
    GeoParquet or GeoJSON with columns id, lon and lat, or points. The table then has their ids and names, too.

    Args:
        graph: A run (`DIR/latest`, or its output folder `DIR`) whose stored graph is still there; a graph file; or the `.toml`
            file of a graph.
        out: Folder of the table. It is replaced as a whole, or kept if nothing has changed.
        sources: File of the sources; or zones, a file of polygons or h3:8, each of which the vertex nearest to its centre stands
            for. Default: all vertices.
        targets: File or zones of the targets. Default: all vertices.
        cutoff: Largest distance. Pairs that are farther apart, or not connected, have no row. By default all pairs have a row,
            and the distance is null if they are not connected.
        proof: every (default): prove every shortest-path tree; sample: stop the search at the targets, which is several times as
            fast for few targets, and prove one tree of each batch of sources.
        zone: By what sources and targets are grouped, so that the table has a row for each two zones: a column of the graph's
            nodes; a file of polygons, GeoParquet or GeoJSON; or h3:8, the cells of H3 of this resolution.
        zone_weight: Column of the nodes that weights vertices, or of files of places at these ends, for column `weighted_mean`.
        zone_ends: every (default): all vertices of a zone are its sources and targets; centre: the one that is nearest to the
            mean place of its vertices by `zone_weight`, or without weights to the centroid of its area.
        named: Add a column of names after each column of ids, if the graph's ids are strings. Default: as the run has done.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The table is the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    options = {"sources": sources, "targets": targets, "cutoff": cutoff, "proof": proof, "named": named, "backend": backend}
    options |= {"zone": zone, "zone_weight": zone_weight, "zone_ends": zone_ends}
    write("matrix", graph, out, cluster, **options, **snap.given, **places.given, **zones.given)
