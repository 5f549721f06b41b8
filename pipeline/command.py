"""The commands of `graphmill`: the pipeline on this machine, without a server."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from kernels.registry import ALGORITHMS
from pipeline.arguments import Integer
from pipeline.inspection import commands as inspection

if TYPE_CHECKING:
    from pipeline.config.run import RunConfig
    from pipeline.store.manifest import Folder

STAGES = "\n".join(
    f"* `{algorithm.name}`: {algorithm.help}; columns "
    + ", ".join(f"{column.name}_0" if column.each else column.name for column in algorithm.columns)
    + (", ..." if any(column.each for column in algorithm.columns) else "")
    for algorithm in ALGORITHMS
)
NAMES = ", ".join(algorithm.name for algorithm in ALGORITHMS)
WITH_SOURCES = ", ".join(algorithm.name for algorithm in ALGORITHMS if algorithm.has_sources)
HELP = f"""
Turn a road or social graph into proven Parquet tables.

A run reads a graph (DIMACS, SNAP, Matrix Market, GRAIL, PACE, CSV, TSV or Parquet; plain, .gz, .xz or .zst; a path or a URL),
lays it out, runs its stages, proves every answer, and publishes one table per stage:

{STAGES}

With the index of stage `reachability`, `graphmill reach` decides for millions of pairs of vertices whether a path connects them.

Read the tables with `pandas.read_parquet("DIR/latest/bfs")`, or in DuckDB with `FROM 'DIR/latest/bfs/*.parquet'`. The page
`DIR/latest/report.html` shows the results. A second run over the same graph repeats only the steps whose input has changed.
"""

app = App(name="graphmill", help=HELP, help_format="markdown", version=lambda: version("graphmill"))


@app.command
def run(
    graph: str,
    /,
    *,
    out: Path | None = None,
    stages: Annotated[str | None, Parameter(help=f"Comma-separated names: {NAMES}. Default: all.")] = None,
    source: Annotated[
        list[Integer] | None,
        Parameter(
            negative="",
            help=f"External id of a source of {WITH_SOURCES}; repeat it for more. Default: the vertex of highest out-degree.",
        ),
    ] = None,
    sources: Path | None = None,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    no_weight: Annotated[bool, Parameter(negative="")] = False,
    no_header: Annotated[bool, Parameter(negative="")] = False,
    delimiter: str | None = None,
    directed: Annotated[bool | None, Parameter(negative="--undirected")] = None,
    format: str | None = None,
    name: str | None = None,
    keep: Integer | None = None,
    coordinates: str | None = None,
    sha256: str | None = None,
    order: str | None = None,
    oracle: Annotated[bool | None, Parameter(negative="")] = None,
    backend: str | None = None,
    cluster: str | None = None,
    shards: Integer | None = None,
) -> None:
    """Run a configuration, or any graph file directly.

    ```
    graphmill run conf/runs/new-york.toml
    graphmill run roads.gr.gz --source 1 --source 17 --out out/roads
    graphmill run follows.txt --stages wcc,scc --directed --out out/follows
    graphmill run streets.csv --src from --dst to --weight seconds --sources crossings.txt --out out/streets
    ```

    Options replace the values of a configuration.

    Args:
        graph: A run's `.toml`, or a graph file: a local path, or a URL that fsspec opens.
        out: Folder of the tables; `latest` in it is the newest run. Required for a graph file.
        sources: Text file with an external id of a source on each line, instead of `--source`.
        src: Column of CSV, TSV and Parquet where an edge begins; its number from 1 if there is no header line. Default: src.
        dst: Column where it ends. Default: dst.
        weight: Column of the weights. Default: weight, if there is such a column. SNAP's third column is read only with
            `--weight 3`.
        no_weight: Read no weights, in any format: every arc weighs 1.
        no_header: CSV or TSV without a header line.
        delimiter: Character between the fields of a CSV file; `tab` is a tab. Default: a comma, or in TSV a tab.
        directed: Whether a line of the file is one arc, or an edge in both directions. Default: as the format states; otherwise
            directed.
        format: dimacs, arcs, snap, matrix-market, gra, pace, csv, tsv or parquet. Default: by content and name.
        name: Name of the graph in manifest and report. Default: the file's name up to its first dot.
        keep: Number of runs that stay in the output folder; 0 keeps all. Default: 7. Each stays for an hour after the next one.
        coordinates: DIMACS `.co` file of the vertices' coordinates, for the report's maps.
        sha256: Expected SHA-256 of the graph file.
        order: Row order of the stored graph: degree (default), windowed (for roads) or source.
        oracle: Also compare every answer with a second solver.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The tables are the same.
        cluster: none (default); local: Dask workers on this machine; or the address of a Dask scheduler.
        shards: Number of ranks that hold the graph together, each a part of it; 0 (default): each worker holds all of it. The
            tables are the same.
    """
    from pipeline.errors import BadConfig

    if weight is not None and no_weight:
        raise BadConfig("--weight and --no-weight exclude each other")
    if source and sources:
        raise BadConfig("--source and --sources exclude each other")
    columns = _given({"src": src, "dst": dst, "weight": False if no_weight else weight})
    config = _config(
        graph,
        {
            "source": graph, "name": name, "directed": directed, "format": format, "coordinates": coordinates, "sha256": sha256,
            "columns": columns or None, "header": False if no_header else None, "delimiter": delimiter,
        },
        {
            "output": out, "stages": _listed(stages), "sources": str(sources) if sources else source, "oracle": oracle,
            "backend": backend, "keep": keep,
        },
        {"layout": {"order": order}, "cluster": {"scheduler": cluster, "shards": shards}},
    )  # fmt: skip
    from pipeline.runtime.early import prepare_gpu

    prepare_gpu(config)
    from pipeline.progress.shown import showing
    from pipeline.run import run as run_all

    with showing(live=True):
        published = run_all(config)
    summarise(published, config.output)


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
    """Decide whether a path leads from `src` to `dst`, for every row of a Parquet file with these columns.

    ```
    graphmill reach out/follows/latest pairs.parquet --out out/answers
    ```

    The rows keep their order and get columns `reachable` and `decided`: same (component), filter, positive cut or search.

    Args:
        index: A published run with stage reachability, `DIR/latest` or `DIR/runs/ID`, or the index's folder in it.
        pairs: The Parquet file; `src` and `dst` are external ids.
        out: Folder of the answers. It is replaced as a whole, or kept if neither the index nor the pairs have changed.
        witness: Another folder, for a table with the shortest path of each pair that has one. Each arc is checked against the
            stored graph, which must still be in the run's output folder.
        unknown: error (default) or null: what a vertex that is not in the graph gives.
        oracle: Also search for a sample of the pairs without the index, and compare.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The answers are the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` with a
            table `[cluster]`.
    """
    from pipeline.config.loading import load_cluster
    from pipeline.progress.shown import showing
    from pipeline.report.wording import answered, witnessed
    from pipeline.steps.reach import reach_into
    from pipeline.store import manifest
    from pipeline.store.edges import FILES
    from pipeline.store.facts import PathFacts, QueryFacts
    from pipeline.tables import files as tables

    where = load_cluster(Path(cluster)) if cluster.endswith(".toml") else {"scheduler": cluster}
    asked = {"unknown": unknown, "oracle": oracle, "backend": backend, "cluster": where, "witness": witness}
    with showing(live=True) as shown:
        answers = shown.follow("reached", reach_into)(index, pairs, out, **asked)

    def show(sentence: str, folder: Path) -> None:
        files = tables.files(folder)
        print(f"{sentence}   {folder / (files[0].name if len(files) == 1 else FILES)}")

    print()
    show(answered(QueryFacts.of(answers)), out)
    if witness:
        show(witnessed(PathFacts.of(manifest.read(witness))), witness)


for inspecting in (inspection.path, inspection.runs, inspection.prune, inspection.diff):
    app.command(inspecting)


def _config(target: str, graph: dict[str, Any], top: dict[str, Any], tables: dict[str, dict[str, Any]]) -> "RunConfig":
    from pipeline.config.loading import load_run, run_config
    from pipeline.errors import BadConfig

    graph, top = _given(graph), _given(top)
    tables = {name: _given(table) for name, table in tables.items()}
    if target.endswith(".toml"):
        del graph["source"]
        return load_run(Path(target), {"graph": graph, **tables}, **top)
    if "output" not in top:
        raise BadConfig("--out DIR is missing: the folder for the tables of a graph file")
    return run_config("options", graph=graph, **tables, **top)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def summarise(published: "Folder", output: Path) -> None:
    """Print the tables of a published run and their paths."""
    from pipeline.report.wording import answered, read_as, witnessed
    from pipeline.store.facts.run import RunFacts

    facts = RunFacts.of(published)
    graph = facts.graph
    print(f"\n{graph.name}: {graph.vertices:,} vertices, {graph.arcs:,} arcs; every answer proved")
    for what, sentence in read_as(facts.input).items():
        print(f"  {what.lower():<20} {sentence}")
    for table, described in facts.tables.items():
        print(f"  {table:<20} {described.rows:>13,} rows   {output / 'latest' / table}")
    if facts.reached:
        print(f"  {answered(facts.reached)}")
    if facts.paths:
        print(f"  {witnessed(facts.paths)}")
    print(f"  {'report':<20} {'':>18}   {output / 'latest' / 'report.html'}")
