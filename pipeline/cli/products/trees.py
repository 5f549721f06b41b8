"""The command `trees`."""

from pathlib import Path

from pipeline.cli.options import PLACES, SNAP, ZONES, PlaceOptions, SnapOptions, ZoneOptions
from pipeline.cli.products import write


def trees(
    graph: str,
    /,
    *,
    out: Path,
    sources: str | None = None,
    named: bool | None = None,
    backend: str = "auto",
    cluster: str = "none",
    snap: SnapOptions = SNAP,
    places: PlaceOptions = PLACES,
    zones: ZoneOptions = ZONES,
) -> None:
    """Write the shortest paths from many sources, as the table of stage `sssp`, byte for byte.

    ```
    graphmill trees out/roads --sources schools.csv --out out/from-schools
    ```

    Args:
        graph: A run (`DIR/latest`, or its output folder `DIR`) whose stored graph is still there; a graph file; or the `.toml`
            file of a graph.
        out: Folder of the table. It is replaced as a whole, or kept if nothing has changed.
        sources: File of the sources: Parquet or CSV with one column of ids, text with one vertex per line, a file of places,
            or zones: a file of polygons, or h3:8. Default: all vertices.
        named: Add a column of names after each column of ids, if the graph's ids are strings. Default: as the run has done.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The table is the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    options = {"sources": sources, "named": named, "backend": backend}
    write("trees", graph, out, cluster, **options, **snap.given, **places.given, **zones.given)
