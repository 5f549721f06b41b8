"""Reads of a table while runs are published: none may mix two runs.

`python -m tests.pipeline.store.readers 100000 [--processes 8]` makes as many through `latest`, and as many that resolve it first.
"""

import datetime as dt
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

import pandas

from pipeline.steps.publication import retention
from tests.faults.children import options, parts_of, spread, wait_for, working
from tests.steps import path_ids, path_steps, path_table

WEIGHTS, VERTICES = (3, 4, 5, 6), 300
FILES = (1, 3)  # of the table
PART = 1500  # reads in one folder
TABLES = {weight: path_table("sssp", path_ids(VERTICES), weight)["distance"].to_pylist() for weight in WEIGHTS}
# What a reader may find if `latest` moves on while it opens the files; it cannot happen to pandas with one file.
GONE = re.compile(r"(?i)no such file|os error 2|no files found")
RESOLVED = """
SET VARIABLE run = (SELECT '{output}/runs/' || facts.run FROM read_json('{output}/latest/manifest.json'));
SELECT distance FROM read_parquet(getvariable('run') || '/sssp/*.parquet') ORDER BY vertex;
"""
Reader = Callable[[Path], list[int] | None]


def with_pandas(run: Path) -> list[int] | None:
    """Read a run's table; None if all files were gone before pandas looked for the first, which gives a frame without columns."""
    return pandas.read_parquet(run / "sssp").to_dict("list").get("distance")


def with_polars(run: Path) -> list[int]:
    import polars

    return polars.read_parquet(run / "sssp" / "*.parquet")["distance"].to_list()


def with_duckdb(run: Path) -> list[int]:
    return from_sql(f"SELECT distance FROM '{run}/sssp/*.parquet' ORDER BY vertex")


def from_sql(query: str) -> list[int]:
    import duckdb

    return [distance for (distance,) in duckdb.sql(query).fetchall()]


THROUGH_LATEST: dict[str, Reader] = {"pandas": with_pandas, "duckdb": with_duckdb, "polars": with_polars}
RESOLVED_FIRST: dict[str, Reader] = {
    "pandas": lambda latest: with_pandas(latest.resolve()),
    "duckdb": lambda latest: from_sql(RESOLVED.format(output=latest.parent)),
    "polars": lambda latest: with_polars(latest.resolve()),
}
INSTALLED = [name for name in THROUGH_LATEST if find_spec(name)]


def publish_forever(output: Path, versions: list) -> None:
    """Publish, and between two publications move `latest` among the runs as publication does, some 1,000 times a second."""
    retention.READABLE = dt.timedelta(-1)  # names of more than one run a second are ahead of time
    for steps in cycle(versions):
        steps.publish(output, keep=1000)  # a reader may be stopped for as long as it takes to publish so many
        for run in islice(cycle(sorted((output / "runs").glob("2*"))[-len(WEIGHTS) :]), 100):
            (output / "next").symlink_to(Path("runs", run.name))
            (output / "next").replace(output / "latest")
            time.sleep(0.001)


def read_during_publications(reads: int, files: int) -> Counter[str]:
    """Make `reads` through `latest`, and as many that resolve it first, of a table of so many files; count what they found.

    A read through `latest` may fail, except of one file in pandas; one that resolves it never does. The output folder is in
    memory, if there is a file system, because flushes are free there.
    """
    memory = Path("/dev/shm")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        output = Path(folder)
        versions = [path_steps(output / str(w), VERTICES, w, 1, False, ("sssp",), files) for w in WEIGHTS]
        first = versions[0].publish(output).path.name
        with working(lambda: publish_forever(output, versions)):
            wait_for(lambda: (output / "latest").readlink().name != first)
            names = cycle(INSTALLED)
            for name in islice(names, reads):
                read_through_latest(name, output, files, counts)
            # The process that publishes may not have run meanwhile.
            while sum(each.startswith("run ") for each in counts) < 2:
                last = (output / "latest").readlink()
                wait_for(lambda last=last: (output / "latest").readlink() != last)
                read_through_latest(next(names), output, files, counts)
            for name in islice(cycle(INSTALLED), reads):
                counts[f"resolved first, {files} files"] += 1
                assert RESOLVED_FIRST[name](output / "latest") in TABLES.values(), f"{name} mixed two runs"
    return counts


def read_through_latest(name: str, output: Path, files: int, counts: Counter[str]) -> None:
    """Make one read, and count what it found."""
    counts[f"through latest, {files} files"] += 1
    try:
        found = THROUGH_LATEST[name](output / "latest")
    except Exception as error:
        assert files == 1 or GONE.search(str(error)), (name, error)
        found = None
    if found is None:
        assert (name, files) != ("pandas", 1)
        counts[f"gone in {name}, {files} files"] += 1
        return
    assert found in TABLES.values(), f"{name} mixed two runs"
    counts[f"run {found[1]}"] += 1


def of_part(part: range) -> Counter[str]:
    """The reads of one part, of tables of one file and of several in turns."""
    return read_during_publications(len(part), FILES[part.start // PART % len(FILES)])


def main(count: int, processes: int) -> None:
    """Print the counts after each part; a wrong read is an AssertionError."""
    total: Counter[str] = Counter()
    for counts in spread(of_part, parts_of(count, PART), processes):
        total += counts
        print(dict(sorted(total.items())), flush=True)


if __name__ == "__main__":
    print(*INSTALLED)
    sys.exit(main(**vars(options("tests.pipeline.store.readers", "reads through latest").parse_args())))
