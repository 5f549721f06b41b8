"""The commands on pairs of vertices: `reach`, `matrix` and `trees` read a run or a graph, and write a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pipeline.cli.arguments import Number
from pipeline.cli.options import SNAP, SnapOptions
from pipeline.cli.output import accomplish

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.store.manifest import Folder


def reach(
    index: Path,
    pairs: str,
    /,
    *,
    out: Path,
    witness: Path | None = None,
    unknown: str = "error",
    oracle: Annotated[bool, Parameter(negative="")] = False,
    backend: str = "auto",
    cluster: str = "none",
) -> None:
    """Answer whether a path leads from `src` to `dst`, for every row of a Parquet file with these two columns.

    ```
    graphmill reach out/follows/latest pairs.parquet --out out/answers
    ```

    The rows keep their order. Column `reachable` has the answer, and `decided` how it was found: same (both vertices are in one
    component), filter, positive cut or search.

    Args:
        index: A published run with stage reachability, `DIR/latest` or `DIR/runs/ID`, or the folder of the index in it.
        pairs: The Parquet file; `src` and `dst` are ids as in the graph's source.
        out: Folder of the answers. It is replaced as a whole, or kept if neither the index nor the pairs have changed.
        witness: Another folder, for a table with a shortest path of each pair that has one. Each arc is checked against the
            stored graph, which must still be in the run's output folder.
        unknown: The answer for a vertex that is not in the graph: error (default) or null.
        oracle: Also answer a sample of the pairs by searches without the index, and compare.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The answers are the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    from pipeline.progress.shown import showing
    from pipeline.report.wording import answered, witnessed
    from pipeline.steps.reach import reach_into
    from pipeline.store import manifest
    from pipeline.store.edges import FILES
    from pipeline.store.facts import PathFacts, QueryFacts
    from pipeline.tables import files as tables

    options = {"unknown": unknown, "oracle": oracle, "backend": backend, "cluster": _where(cluster), "witness": witness}
    with showing(live=True) as shown, shown.step("reached"):
        answers = reach_into(index, pairs, out, **options)
    accomplish("the answers are written")

    def show(sentence: str, folder: Path) -> None:
        files = tables.files(folder)
        print(f"{sentence}   {folder / (files[0].name if len(files) == 1 else FILES)}")

    print()
    show(answered(QueryFacts.of(answers)), out)
    if witness:
        show(witnessed(PathFacts.of(manifest.read(witness))), witness)


def matrix(
    graph: str,
    /,
    *,
    out: Path,
    sources: str | None = None,
    targets: str | None = None,
    cutoff: Number | None = None,
    proof: str = "every",
    backend: str = "auto",
    cluster: str = "none",
    snap: SnapOptions = SNAP,
) -> None:
    """Write the shortest distances from sources to targets, as a table with the columns source, target and distance.

    ```
    graphmill matrix out/roads --sources schools.csv --targets homes.parquet --cutoff 9000 --out out/to-schools
    ```

    A file of vertices is Parquet or CSV with one column of ids, or text with one vertex per line.

    Args:
        graph: A run (`DIR/latest`, or its output folder `DIR`) whose stored graph is still there; a graph file; or the `.toml`
            file of a graph.
        out: Folder of the table. It is replaced as a whole, or kept if nothing has changed.
        sources: File of the sources. Default: all vertices.
        targets: File of the targets. Default: all vertices.
        cutoff: Largest distance. Pairs that are farther apart, or not connected, have no row. By default all pairs have a row,
            and the distance is null if they are not connected.
        proof: every (default): prove every shortest-path tree; sample: stop the search at the targets, which is several times as
            fast for few targets, and prove one tree of each batch of sources.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The table is the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    from pipeline.steps.products.commands import matrix_into

    options = {"sources": sources, "targets": targets, "cutoff": cutoff, "proof": proof} | snap.given
    options |= {"backend": backend, "cluster": _where(cluster)}
    _show_product(matrix_into, graph, out, options)


def trees(
    graph: str,
    /,
    *,
    out: Path,
    sources: str | None = None,
    backend: str = "auto",
    cluster: str = "none",
    snap: SnapOptions = SNAP,
) -> None:
    """Write the shortest paths from many sources, as the table of stage `sssp`, byte for byte.

    ```
    graphmill trees out/roads --sources schools.csv --out out/from-schools
    ```

    Args:
        graph: A run (`DIR/latest`, or its output folder `DIR`) whose stored graph is still there; a graph file; or the `.toml`
            file of a graph.
        out: Folder of the table. It is replaced as a whole, or kept if nothing has changed.
        sources: File of the sources: Parquet or CSV with one column of ids, or text with one vertex per line. Default: all
            vertices.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The table is the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    from pipeline.steps.products.commands import trees_into

    _show_product(trees_into, graph, out, {"sources": sources, "backend": backend, "cluster": _where(cluster), **snap.given})


def _where(cluster: str) -> dict[str, Any]:
    """The table `[cluster]` that an option names."""
    from pipeline.config.loading import load_cluster

    return load_cluster(Path(cluster)).model_dump() if cluster.endswith(".toml") else {"scheduler": cluster}


def _show_product(write: "Callable[..., Folder]", graph: str, out: Path, options: dict[str, Any]) -> None:
    """Write a table into a folder, and print its size and path."""
    from pipeline.progress.shown import showing
    from pipeline.report.wording import counted
    from pipeline.store.edges import FILES
    from pipeline.store.facts.products import ProductFacts

    with showing(live=True) as shown, shown.step(write.__name__.removesuffix("_into")):
        made = write(graph, out, **options)
    accomplish("the table is written")
    facts = ProductFacts.of(made)
    proved = "one tree of each batch" if options.get("proof") == "sample" else "every tree"
    print(f"\n{counted(facts.rows, 'row')} from {counted(facts.sources, 'source')}; {proved} proved   {out / FILES}")
