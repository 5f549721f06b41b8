"""The commands that inspect published runs. They print text, or one JSON document with `--json`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pipeline.cli.arguments import Integer, Json, print_json
from pipeline.cli.output import accomplish, print_rows
from pipeline.units import size

if TYPE_CHECKING:
    from pipeline.comparison.difference import RunDifference, TableDifference

End = Annotated[str, Parameter(allow_leading_hyphen=True)]  # of a path: a place may have a negative longitude


def path(out: Path, src: End, dst: End, /, *, table: str | None = None, as_json: Json = False) -> None:
    """Print a shortest path from one vertex to another, read from the tables of a published run.

    ```
    graphmill path out/roads 1 3353
    graphmill path out/roads H7 -73.98,40.75
    ```

    Each line has a vertex, its distance from `src`, and its coordinates, if there are some. Without a path it is an error.

    Args:
        out: A run (`DIR/latest` or `DIR/runs/ID`), or an output folder, which stands for its latest run.
        src: The first vertex, a source of the run: its id, the id of a place in table `places`, or LON,LAT in degrees for the
            vertex nearest to a place. `vertex:ID` and `place:ID` say which of both an id is.
        dst: The last vertex.
        table: Table of the path: sssp (default, if the run has it) for the least sum of weights, bfs for the fewest arcs.
    """
    from dataclasses import asdict

    from pipeline.inspection.path import shortest_path
    from pipeline.report.wording import counted, number
    from pipeline.store.workspace import find_run

    shortest = shortest_path(find_run(out), src, dst, table)
    if as_json:
        print_json(asdict(shortest))
        return
    length, arcs = shortest.vertices[-1]["distance"], counted(len(shortest.vertices) - 1, "arc")
    print(f"{src} to {dst}: {number(length)} ({shortest.table}: {shortest.unit}), {arcs}; run {shortest.run}")
    heads = [name for name in ("vertex", "id", "distance", "x", "y") if name in shortest.vertices[0]]
    print_rows(heads, ([_plain(row[head]) for head in heads] for row in shortest.vertices))


def runs(out: Path, /, *, as_json: Json = False) -> None:
    """List the published runs of an output folder, oldest first.

    Args:
        out: The output folder.
    """
    from dataclasses import asdict

    from pipeline.config.run import output_folder
    from pipeline.inspection.runs import bytes_of, list_runs
    from pipeline.report.wording import counted
    from pipeline.units import utc

    out = output_folder(out)
    listed, total = list_runs(out), bytes_of(out / "runs")
    if as_json:
        print_json({"runs": [asdict(run) for run in listed], "bytes": total})
        return
    print_rows(
        ["run", "published", "graph", "size", "stages", ""],
        (
            [run.id, run.problem or utc(run.created), run.name, size(run.bytes), ",".join(run.stages), " ".join(run.links)]
            for run in listed
        ),
        right=(3,),
    )
    print(f"{counted(len(listed), 'run')}, {size(total)} on the disk; files that runs share count once")


def prune(out: Path, /, *, keep: Integer, at_least: str = "1h") -> None:
    """Remove the oldest published runs of an output folder, as `keep` in a run's configuration does.

    Runs that `latest` or another link names are kept. So are runs that were the latest within the last hour, because readers may
    still use them. Only runs are removed. While a run works in the folder, the command ends with an error.

    Args:
        out: The output folder.
        keep: Number of runs to keep, at least 1.
        at_least: How long a run stays after the next one was published, such as 90s, 10m, 2h or 1d; 0 removes it at once.
    """
    from pipeline.errors import BadConfig
    from pipeline.inspection.runs import list_runs, prune
    from pipeline.report.wording import counted
    from pipeline.units import time_of

    if keep < 1:
        raise BadConfig(f"--keep: must be at least 1 (got {keep})")
    stays = time_of(at_least)
    if stays is None:
        raise BadConfig(f"--at-least {at_least}: is not a time such as 90s, 10m, 2h, 1d or 0")
    done = prune(out, keep, stays)
    accomplish("the runs are removed")
    for run in done.removed:
        print(f"removed {run}")
    for run, reason in done.kept.items():
        print(f"kept {run}: {reason}")
    left = len(list_runs(out))
    more = f", {left - keep} more than --keep" if left > keep else ""
    print(f"{counted(len(done.removed), 'run')} removed, {size(done.freed)} freed; {counted(left, 'run')} left{more}")


def diff(a: Path, b: Path | None = None, /, *, out: Path | None = None, examples: Integer = 3, as_json: Json = False) -> None:
    """Compare the tables of two published runs, and count the rows that were added, removed or changed.

    ```
    graphmill diff out/roads                                     # the latest run with the previous one
    graphmill diff out/roads/20260705T031502Z-1a2b3c4d out/roads # an earlier one with the latest
    graphmill diff out/roads out/roads-without-ferries
    ```

    Rows are matched by the columns that sort their table, those of `reached` by their number. The exit code is 0 even if there
    are differences.

    Args:
        a: The old run: `DIR/latest`, `DIR/runs/ID` or `DIR/ID`, or an output folder, which stands for its latest run.
        b: The new run, or the id of a run in the folder of `a`. Default: `a` is the new run, the old one the run before it.
        out: A folder for change tables, `NAME_changes` for each table NAME. It is replaced as a whole, or kept if neither run's
            tables have changed.
        examples: Number of rows of each kind that are shown for a table.
    """
    from dataclasses import asdict

    from pipeline.comparison.difference import difference
    from pipeline.comparison.tabulate import STEP, tabulate_changes
    from pipeline.comparison.versions import of_run
    from pipeline.config.changes import DiffOptions
    from pipeline.config.loading import checked
    from pipeline.inspection.runs import run_before
    from pipeline.runtime.early import hide_pandas
    from pipeline.runtime.memory_watch import followed
    from pipeline.steps.destination import flushed, prepare
    from pipeline.store.workspace import find_run

    hide_pandas()
    new = find_run(a)
    old, new = (run_before(new), new) if b is None else (new, find_run(b, new))
    written = None
    with followed() as shown, shown.step("diff"):
        if out:
            folder = checked(DiffOptions, "options", output=out).output
            prepare(folder, STEP)
            written = flushed(tabulate_changes(folder, of_run(old), of_run(new)))
            accomplish("the change tables are written")
        differences = difference(old, new, max(examples, 0))
    if as_json:
        print_json(asdict(differences) | ({"out": written.facts} if written else {}))
        return
    _print_difference(differences)
    if out and written:
        for table in written.facts["tables"]:
            print(f"  {out / table}_changes")
        for table, why in written.facts["not_compared"].items():
            print(f"  {table} has no change table: {why}")


def _print_difference(differences: "RunDifference") -> None:
    print(f"{differences.old} -> {differences.new}")
    for sign, names in (("+", differences.added), ("-", differences.removed)):
        for name in names:
            print(f"  {sign} {name}: this table is only in the {'new' if sign == '+' else 'old'} run")
    for name, why in differences.not_compared.items():
        print(f"  {name}: its rows cannot be compared, because {why}")
    for name, table in differences.tables.items():
        print(f"  {name}: {_sentence(table)}")
        for sign, kind in (("+", "added"), ("-", "removed"), ("~", "changed")):
            for row in table.examples[kind]:
                print(f"      {sign} " + ", ".join(f"{column} {_change(value)}" for column, value in row.items()))


def _sentence(table: "TableDifference") -> str:
    from pipeline.report.wording import changed_values

    old, new = table.rows
    rows = f"{new:,} rows" if old == new else f"{old:,} -> {new:,} rows"
    if table.equal:
        return f"{rows}, unchanged"
    kinds = [f"{getattr(table, kind):,} {kind}" for kind in ("added", "removed", "changed")]
    columns = changed_values(table.columns, table.largest)
    columns += [
        f"{word} column {name}" for word, names in (("new", table.new_columns), ("lost", table.lost_columns)) for name in names
    ]
    return f"{rows}: {', '.join(kinds)}" + (f" ({', '.join(columns)})" if columns else "")


def _change(value: Any) -> str:
    return " -> ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)


def _plain(value: Any) -> str:
    return "null" if value is None else str(value)
