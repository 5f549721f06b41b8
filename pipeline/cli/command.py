"""The commands of `graphmill`: the pipeline on this machine, without a server."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from kernels.registry import ALGORITHMS
from pipeline.cli import runs
from pipeline.cli.arguments import Number
from pipeline.cli.init.commands import init
from pipeline.cli.options import NO_OPTIONS, SNAP, RunOptions, SnapOptions
from pipeline.cli.output import accomplish
from pipeline.cli.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.store.manifest import Folder

STAGES = "\n".join(
    f"* `{algorithm.name}`: {algorithm.help}; columns "
    + ", ".join(f"{column.name}_0" if column.each else column.name for column in algorithm.columns)
    + (", ..." if any(column.each for column in algorithm.columns) else "")
    for algorithm in ALGORITHMS
)
HELP = f"""
Turn a road or social graph into proven Parquet tables.

A run reads a graph (DIMACS, SNAP, Matrix Market, GRAIL, PACE, CSV, TSV or Parquet; plain, .gz, .xz or .zst; a path or a URL),
lays it out, computes its stages, proves every answer, and publishes one table per stage:

{STAGES}

With the index of stage `reachability`, `graphmill reach` answers for millions of pairs of vertices whether a path leads from one
to the other. `graphmill matrix` and `graphmill trees` write the distances and paths from thousands of sources.

Read a table with `pandas.read_parquet("DIR/latest/bfs")`, or in DuckDB with `FROM 'DIR/latest/bfs/*.parquet'`. The page
`DIR/latest/report.html` shows the results. A second run repeats only the steps whose input, parameters or code have changed.
"""

app = App(name="graphmill", help=HELP, help_format="markdown", version=lambda: version("graphmill"))


@app.command
def run(graph: str, /, *, options: RunOptions = NO_OPTIONS) -> None:
    """Compute and publish the tables of a configuration, or of any graph file.

    ```
    graphmill run conf/runs/new-york.toml
    graphmill run roads.gr.gz --source 1 --source 17 --out out/roads
    graphmill run follows.txt --stages wcc,scc --directed --out out/follows
    graphmill run streets.csv --src from --dst to --weight seconds --sources crossings.txt --out out/streets
    ```

    Options replace the values of a configuration.

    Args:
        graph: The `.toml` file of a run or a graph, or a graph file: a local path, or a URL that fsspec opens.
    """
    config = options.config(graph)
    from pipeline.runtime.early import prepare_gpu

    prepare_gpu(config)
    from pipeline.progress.shown import showing
    from pipeline.run import run as run_all

    with showing(live=True):
        published = run_all(config)
    summarise(published, config.output)


@app.command
def change(
    out: Path,
    changes: str,
    /,
    *,
    snapshot: Annotated[bool, Parameter(negative="")] = False,
    count_violations: Annotated[bool, Parameter(negative="")] = False,
    again: Annotated[bool, Parameter(negative="")] = False,
    publish_as: str | None = None,
    backend: str | None = None,
    cluster: str | None = None,
) -> None:
    """Apply a file of changes to the graph of the newest run, and publish the next run with the same stages and sources.

    ```
    graphmill change out/follows changes.csv
    ```

    The file has the columns `op` (insert, delete or update), `src`, `dst` and, if the graph has weights, `weight`. The tables
    equal those of a run over the changed source.

    Args:
        out: The output folder of the graph's runs, or their output URL.
        changes: A Parquet, CSV or TSV file, plain or compressed: a local path, or a URL that fsspec opens.
        snapshot: Take a new snapshot of the source, in the source's own format, instead of a file of changes, and compute the
            changes.
        count_violations: Skip rows that cannot be applied, such as the deletion of an edge that the graph does not have, and
            count them in the manifest. By default the first such row is an error.
        again: Apply the file even if it was already applied to this graph.
        publish_as: Link in the output folder that names the newest run, and afterwards the new one. Default: latest.
        backend: cpu, gpu, or auto. Default: as in the newest run's configuration.
        cluster: none; local: Dask workers on this machine; or the address of a Dask scheduler. Default: as in the newest run's
            configuration.
    """
    from pipeline.changes import change as apply
    from pipeline.config.run import output_folder
    from pipeline.errors import BadConfig
    from pipeline.progress.shown import showing

    if snapshot and count_violations:
        raise BadConfig("--count-violations has no effect with --snapshot, whose changes can all be applied; leave one out")
    place = output_folder(out).absolute()
    scheduler = None if cluster is None else {"scheduler": cluster}
    options: dict[str, Any] = {"publish_as": publish_as, "backend": backend, "cluster": scheduler}
    flags: dict[str, Any] = {"snapshot": snapshot, "count_violations": count_violations, "again": again}
    with showing(live=True):
        given = {name: value for name, value in options.items() if value is not None}
        published = apply(place, changes, **flags, **given)
    summarise(published, place)


@app.command
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

    asked = {"unknown": unknown, "oracle": oracle, "backend": backend, "cluster": _where(cluster), "witness": witness}
    with showing(live=True) as shown:
        answers = shown.follow("reached", reach_into)(index, pairs, out, **asked)
    accomplish("the answers are written")

    def show(sentence: str, folder: Path) -> None:
        files = tables.files(folder)
        print(f"{sentence}   {folder / (files[0].name if len(files) == 1 else FILES)}")

    print()
    show(answered(QueryFacts.of(answers)), out)
    if witness:
        show(witnessed(PathFacts.of(manifest.read(witness))), witness)


@app.command
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

    asked = {"sources": sources, "targets": targets, "cutoff": cutoff, "proof": proof} | snap.given
    asked |= {"backend": backend, "cluster": _where(cluster)}
    _show_product(matrix_into, graph, out, asked)


@app.command
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


def _show_product(write: "Callable[..., Folder]", graph: str, out: Path, asked: dict[str, Any]) -> None:
    """Write a table into a folder, and print its size and path."""
    from pipeline.progress.shown import showing
    from pipeline.report.wording import counted
    from pipeline.store.edges import FILES
    from pipeline.store.facts.products import ProductFacts

    with showing(live=True) as shown:
        made = shown.follow(write.__name__.removesuffix("_into"), write)(graph, out, **asked)
    accomplish("the table is written")
    facts = ProductFacts.of(made)
    proved = "one tree of each batch" if asked.get("proof") == "sample" else "every tree"
    print(f"\n{counted(facts.rows, 'row')} from {counted(facts.sources, 'source')}; {proved} proved   {out / FILES}")


for command in (init, runs.check, runs.estimate, runs.path, runs.runs, runs.prune, runs.diff):
    app.command(command)
