"""The commands that inspect published runs, and a run before it begins. Each prints text, or one JSON document with `--json`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.arguments import Integer, Json, print_json
from pipeline.options import NO_OPTIONS, RunOptions
from pipeline.units import size

if TYPE_CHECKING:
    from pipeline.comparison.difference import RunDifference, TableDifference


def path(out: Path, src: str, dst: str, /, *, table: str | None = None, as_json: Json = False) -> None:
    """Print the shortest path from one vertex to another, from the tables of a published run.

    ```
    graphmill path out/roads 1 3353
    ```

    Each line has a vertex, its distance from `src`, and its coordinates if the run has them. If `dst` is not reached, the command
    ends with an error.

    Args:
        out: An output folder, whose latest run is used, or a run: `DIR/latest`, `DIR/runs/ID`.
        src: Id of the first vertex, which must be a source of the run.
        dst: Id of the last vertex.
        table: sssp (default, if the run has it): the least sum of weights; or bfs: the fewest arcs.
    """
    from dataclasses import asdict

    from pipeline.inspection.path import shortest_path
    from pipeline.report.wording import counted, number
    from pipeline.steps.published.lookup import find_run

    found = shortest_path(find_run(out), src, dst, table)
    if as_json:
        print_json(asdict(found))
        return
    length, arcs = found.vertices[-1]["distance"], counted(len(found.vertices) - 1, "arc")
    print(f"{src} to {dst}: {number(length)} ({found.table}: {found.unit}), {arcs}; run {found.run}")
    heads = [name for name in ("vertex", "id", "distance", "x", "y") if name in found.vertices[0]]
    _print_rows(heads, ([_plain(row[head]) for head in heads] for row in found.vertices))


def runs(out: Path, /, *, as_json: Json = False) -> None:
    """List the published runs of an output folder, oldest first.

    Args:
        out: The output folder.
    """
    from dataclasses import asdict

    from pipeline.inspection.runs import bytes_of, list_runs
    from pipeline.report.wording import counted
    from pipeline.units import utc

    found, total = list_runs(out), bytes_of(out / "runs")
    if as_json:
        print_json({"runs": [asdict(run) for run in found], "bytes": total})
        return
    _print_rows(
        ["run", "published", "graph", "size", "stages", ""],
        (
            [run.id, run.problem or utc(run.created), run.name, size(run.bytes), ",".join(run.stages), " ".join(run.links)]
            for run in found
        ),
        right=(3,),
    )
    print(f"{counted(len(found), 'run')}, {size(total)} on the disk; files that runs share count once")


def prune(out: Path, /, *, keep: Integer) -> None:
    """Remove all published runs of an output folder but the newest ones, as `keep` in a run's configuration does.

    A run that `latest` or another link of the folder names stays, and so does one that was the latest within the last hour,
    because readers may still use it. Nothing but runs is removed, and nothing while a run works in the folder.

    Args:
        out: The output folder.
        keep: How many runs stay, at least 1.
    """
    from pipeline.errors import BadConfig
    from pipeline.inspection.runs import list_runs, prune
    from pipeline.report.wording import counted

    if keep < 1:
        raise BadConfig(f"--keep: must be at least 1 (got {keep})")
    removed, freed = prune(out, keep)
    for run in removed:
        print(f"removed {run}")
    left = len(list_runs(out))
    more = f", {left - keep} more than asked: a link names them, or readers may still use them" if left > keep else ""
    print(f"{counted(len(removed), 'run')} removed, {size(freed)} freed; {counted(left, 'run')} left{more}")


def diff(a: Path, b: Path | None = None, /, *, out: Path | None = None, examples: Integer = 3, as_json: Json = False) -> None:
    """Compare the tables of two published runs: rows that were added, removed or changed.

    ```
    graphmill diff out/roads                                     # the latest run with the one before it
    graphmill diff out/roads/20260705T031502Z-1a2b3c4d out/roads # an earlier one with the latest
    graphmill diff out/roads out/roads-without-ferries
    ```

    Rows are compared by the columns that sort their table, the rows of `reached` by their number. The exit code is 0 whether or
    not something differs.

    Args:
        a: The old run: an output folder, whose latest run is used, `DIR/latest`, `DIR/runs/ID`, or `DIR/ID` for short.
        b: The new run, or only an id of a run beside `a`. Default: `a` is the new run, and the old one is the run before it.
        out: A folder for change tables, `NAME_changes` for each table NAME. It is replaced as a whole, or kept if neither run's
            tables have changed.
        examples: How many rows of each kind are shown for a table.
    """
    from dataclasses import asdict

    from pipeline.comparison.difference import difference
    from pipeline.comparison.tabulate import tabulate_changes
    from pipeline.comparison.versions import of_run
    from pipeline.inspection.runs import run_before
    from pipeline.steps.published.lookup import find_run

    new = find_run(a)
    old, new = (run_before(new), new) if b is None else (new, find_run(b, new))
    written = tabulate_changes(out, of_run(old), of_run(new)) if out else None
    found = difference(old, new, max(examples, 0))
    if as_json:
        print_json(asdict(found) | ({"out": written.facts} if written else {}))
        return
    _print_difference(found)
    if written:
        for table in written.facts["tables"]:
            print(f"  {written.path / table}_changes")
        for table, why in written.facts["not_compared"].items():
            print(f"  {table} has no change table: {why}")


def check(graph: str, /, *, options: RunOptions = NO_OPTIONS, as_json: Json = False) -> None:
    """Read a graph as a run would, with all checks, say how it was read, and keep nothing.

    ```
    graphmill check streets.csv --src from --dst to
    graphmill check conf/runs/new-york.toml
    ```

    The options are those of `graphmill run`; the output folder is neither read nor written. Until it ends, the command keeps its
    files in a private folder of the machine's temporary folder (TMPDIR).

    Args:
        graph: The `.toml` of a run or a graph, or a graph file: a local path, or a URL that fsspec opens.
    """
    import tempfile

    from pipeline.inspection.check import check
    from pipeline.progress.shown import showing
    from pipeline.report.wording import counted, read_as

    config = options.config(graph, Path(tempfile.gettempdir()))
    with showing(live=True):
        found = check(config)
    if as_json:
        print_json({"vertices": found.vertices, "arcs": found.arcs, "input": found.input.stored()})
        return
    print(f"\n{found.title}: {counted(found.vertices, 'vertex', 'vertices')}, {counted(found.arcs, 'arc')}; the graph is valid")
    for what, sentence in read_as(found.input).items():
        print(f"  {what.lower():<20} {sentence}")


def estimate(run: str, /, *, options: RunOptions = NO_OPTIONS, as_json: Json = False) -> None:
    """Estimate the time, memory, disk and GPU memory of a run, and compare them with what is free.

    ```
    graphmill estimate conf/runs/new-york.toml
    graphmill estimate roads.gr.gz --stages sssp --out /data/roads
    ```

    The options are those of `graphmill run`; only the beginning of the source is read. The exit code is 1 if it does not fit.

    Args:
        run: The `.toml` of a run or a graph, or a graph file: a local path, or a URL that fsspec opens.
    """
    from dataclasses import asdict

    from pipeline.errors import TooLarge
    from pipeline.inspection.estimate import estimate
    from pipeline.units import duration

    config = options.config(run, Path())
    found = estimate(config)
    sizes, title = found.sizes, config.graph.title
    if as_json:
        print_json({**asdict(found), "total": found.total})
    else:
        about = "" if sizes.exact else "about "
        vertices = f"about {sizes.vertices:,} vertices"
        print(f"{title}: {about}{sizes.edges:,} edges ({sizes.origin}), {vertices}; {found.backend}, {found.cores} cores")
        steps = [[step, duration(seconds)] for step, seconds in {**found.seconds, "whole run": found.total}.items()]
        _print_rows(["step", "takes about"], steps, right=(1,))
        origin = "those of the run before" if found.as_before else "from measured rates (docs/performance.md)"
        print(f"  seconds are {origin}\n")
        needs = [[need.what, size(need.needed), size(need.free)] for need in found.needs]
        _print_rows(["", "takes about", "free"], needs, right=(1, 2))
    if short := [need for need in found.needs if not need.fits]:
        words = ", ".join(f"{size(need.needed)} of {need.what} where {size(need.free)} are free" for need in short)
        raise TooLarge(f"{title}: would take about {words}")


def _print_difference(found: "RunDifference") -> None:
    print(f"{found.old} -> {found.new}")
    for sign, names in (("+", found.added), ("-", found.removed)):
        for name in names:
            print(f"  {sign} {name}: this table is only in the {'new' if sign == '+' else 'old'} run")
    for name, table in found.tables.items():
        print(f"  {name}: {_sentence(table)}")
        for sign, kind in (("+", "added"), ("-", "removed"), ("~", "changed")):
            for row in table.examples[kind]:
                print(f"      {sign} " + ", ".join(f"{column} {_change(value)}" for column, value in row.items()))


def _sentence(table: "TableDifference") -> str:
    from pipeline.report.wording import counted, number

    old, new = table.rows
    rows = f"{new:,} rows" if old == new else f"{old:,} -> {new:,} rows"
    if table.equal:
        return f"{rows}, unchanged"
    kinds = [f"{getattr(table, kind):,} {kind}" for kind in ("added", "removed", "changed")]
    columns = [
        f"{name} {counted(count, 'time')}" + (f" by up to {number(table.largest[name])}" if name in table.largest else "")
        for name, count in table.columns.items()
    ]
    columns += [
        f"{word} column {name}" for word, names in (("new", table.new_columns), ("lost", table.lost_columns)) for name in names
    ]
    return f"{rows}: {', '.join(kinds)}" + (f" ({', '.join(columns)})" if columns else "")


def _change(value: Any) -> str:
    return " -> ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)


def _plain(value: Any) -> str:
    return "null" if value is None else str(value)


def _print_rows(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print aligned columns below their heads; those of numbers, `right`, are aligned on the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = [
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(["", *cells]).rstrip())
