"""The commands of `graphmill`: the pipeline on this machine, without a server."""

from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from kernels.algorithm import Column
from kernels.registry import ALGORITHMS
from pipeline.cli import before, runs
from pipeline.cli.generate import generate
from pipeline.cli.graphalytics import graphalytics
from pipeline.cli.init.init import init
from pipeline.cli.options import NO_OPTIONS, RunOptions
from pipeline.cli.output import summarise
from pipeline.cli.reach import reach
from pipeline.cli.tiles import tiles
from pipeline.config.formats import FORMATS
from pipeline.registry.products import PRODUCTS


def _columns(columns: tuple[Column, ...]) -> str:
    names = [f"{column.name}_0" if column.each else column.name for column in columns]
    return ", ".join([*names, *(["..."] if any(column.each for column in columns) else [])])


STAGES = "\n".join(f"* `{stage.name}`: {stage.help}; columns {_columns(stage.columns)}" for stage in ALGORITHMS)
ON_REQUEST = "\n".join(
    f"* `{product.name}`: {product.help}; columns {_columns(product.tables[0].columns)}"
    for product in PRODUCTS.values()
    if product.configuration
)
COMMANDS = ", and ".join(
    f"`graphmill {product.name}` writes the {product.help}" for product in PRODUCTS.values() if product.command
)
HELP = f"""
Turn a road or social graph into proven Parquet tables.

A run reads a graph (formats {", ".join(FORMATS)}; plain, .gz, .bz2, .xz, .zst, .zip or .tar; a path or a URL),
lays it out, computes its stages, proves every answer, and publishes one table per stage:

{STAGES}

A table of one of these names in a run's configuration asks for a product, made from the shortest paths from many vertices:

{ON_REQUEST}

With the index of stage `reachability`, `graphmill reach` answers for millions of pairs of vertices whether a path leads from one
to the other. For thousands of sources, {COMMANDS}.

Read a table with `pandas.read_parquet("DIR/latest/bfs")`, or in DuckDB with `FROM 'DIR/latest/bfs/*.parquet'`. The page
`DIR/latest/report.html` shows the results. A second run repeats only the steps whose input, parameters or code have changed.
"""

app = App(name="graphmill", help=HELP, help_format="markdown", version=lambda: version("graphmill"))


@app.command
def run(graph: str, /, *more: str, trace: Path | None = None, options: RunOptions = NO_OPTIONS) -> None:
    """Compute and publish the tables of a configuration, or of any graph file.

    ```
    graphmill run conf/runs/new-york.toml
    graphmill run roads.gr.gz --source 1 --source 17 --out out/roads
    graphmill run follows.txt --stages wcc,scc --directed --out out/follows
    graphmill run streets.csv --src from --dst to --weight seconds --sources crossings.txt --out out/streets
    graphmill run "feed/day=*/*.parquet" --out out/feed
    ```

    Options replace the values of a configuration.

    Args:
        graph: The `.toml` file of a run or a graph, or a graph: a file, a folder of files or a pattern such as `parts/*.csv`; a
            path, or a URL that fsspec opens.
        more: Further files, folders and patterns of the same graph.
        trace: A file, .json or .json.gz, for a timeline of what each thread did, which ui.perfetto.dev shows.
    """
    _begin_cuda(graph, options)
    config = options.config(graph, more=more)
    with _traced(trace) if trace else nullcontext():
        from pipeline.runtime.early import prepare_gpu, prepare_source

        prepare_gpu(config)
        prepare_source(config)
        from pipeline.progress.shown import showing
        from pipeline.run import run as run_all

        with showing(live=True):
            published = run_all(config)
    summarise(published, config.output)


def _begin_cuda(graph: str, options: RunOptions) -> None:
    """Begin to initialise CUDA before configurations are imported, if the command line says that a GPU may compute."""
    if options.backend != "cpu" and not graph.endswith(".toml"):
        from kernels.gpu.devices import obstacle
        from pipeline.signals import beside

        beside(obstacle)


def _traced(file: Path) -> AbstractContextManager[None]:
    from pipeline.cli.tracing import traced

    return traced(file)


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
    trace: Path | None = None,
) -> None:
    """Apply a file of changes to the graph of the newest run, and publish the next run with the same stages and sources.

    ```
    graphmill change out/follows changes.csv
    ```

    The file has the columns `op` (insert, delete or update), `src`, `dst` and, if the graph has weights, `weight`. The tables
    equal those of a run over the changed source.

    Args:
        out: The output folder of the graph's runs, or their output URL.
        changes: A Parquet, CSV or TSV file, plain or compressed: a local path, or a URL that fsspec opens. Of a graph from
            OpenStreetMap also `.osc`; its extract is then read again.
        snapshot: Take a new snapshot of the source, in the source's own format and also of several files, instead of a file of
            changes, and compute the changes.
        count_violations: Skip rows that cannot be applied, such as the deletion of an edge that the graph does not have, and
            count them in the manifest. By default the first such row is an error.
        again: Apply the file even if it was already applied to this graph.
        publish_as: Link in the output folder that names the newest run, and afterwards the new one. Default: latest.
        backend: cpu, gpu, or auto. Default: as in the newest run's configuration.
        cluster: none; local: Dask workers on this machine; or the address of a Dask scheduler. Default: as in the newest run's
            configuration.
        trace: A file, .json or .json.gz, for a timeline of what each thread did, which ui.perfetto.dev shows.
    """
    from pipeline.changes import change as apply
    from pipeline.config.run import output_folder
    from pipeline.errors import BadConfig
    from pipeline.progress.shown import showing

    if snapshot and count_violations:
        raise BadConfig("--count-violations has no effect with --snapshot, whose changes can all be applied; leave one out")
    output = output_folder(out).absolute()
    scheduler = None if cluster is None else {"scheduler": cluster}
    options: dict[str, Any] = {"publish_as": publish_as, "backend": backend, "cluster": scheduler}
    flags: dict[str, Any] = {"snapshot": snapshot, "count_violations": count_violations, "again": again}
    with _traced(trace) if trace else nullcontext(), showing(live=True):
        given = {name: value for name, value in options.items() if value is not None}
        published = apply(output, changes, **flags, **given)
    summarise(published, output)


for command in (
    init,
    reach,
    *(product.resolve("command") for product in PRODUCTS.values() if product.command),
    before.check,
    before.estimate,
    runs.path,
    runs.runs,
    runs.prune,
    runs.diff,
    tiles,
    graphalytics,
    generate,
):
    app.command(command)
