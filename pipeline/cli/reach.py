"""The command `reach`: whether paths lead from one vertex to another, by the index of a run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.cli.options import cluster_table
from pipeline.cli.output import accomplish


def reach(
    index: Path,
    pairs: str,
    /,
    *,
    out: Path,
    witness: Path | None = None,
    unknown: str = "error",
    oracle: Annotated[bool, Parameter(negative="")] = False,
    named: bool | None = None,
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
        named: Add a column of names after each column of ids, if the graph's ids are strings. Default: as the run has done.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The answers are the same.
        cluster: none (default); local: Dask workers on this machine; the address of a Dask scheduler; or a run's `.toml` file
            with a table `[cluster]`.
    """
    from pipeline.report.wording import answered, witnessed
    from pipeline.runtime.memory_watch import followed
    from pipeline.steps.reach import reach_into
    from pipeline.store import manifest
    from pipeline.store.edges import FILES
    from pipeline.store.facts import PathFacts, QueryFacts
    from pipeline.tables import files as tables

    options = {"unknown": unknown, "oracle": oracle, "named": named, "backend": backend, "witness": witness}
    with followed() as shown, shown.step("reached"):
        answers = reach_into(index, pairs, out, cluster=cluster_table(cluster), **options)
    accomplish("the answers are written")

    def show(sentence: str, folder: Path) -> None:
        files = tables.files(folder)
        print(f"{sentence}   {folder / (files[0].name if len(files) == 1 else FILES)}")

    print()
    show(answered(QueryFacts.of(answers)), out)
    if witness:
        show(witnessed(PathFacts.of(manifest.read(witness))), witness)
