"""Analysts' libraries read tables through `latest` while runs are published: a read never mixes two runs."""

import datetime as dt
import re
import tempfile
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import duckdb
import pandas
import polars
import pytest

from pipeline.steps import publish
from tests.faults.children import wait_for, working
from tests.steps import path_ids, path_steps, path_table

WEIGHTS, VERTICES, FILES = (3, 4, 5, 6), 300, 3
TABLES = {weight: path_table("sssp", path_ids(VERTICES), weight)["distance"].to_pylist() for weight in WEIGHTS}
RESOLVED = """
SET VARIABLE run = (SELECT '{output}/runs/' || facts.run FROM read_json('{output}/latest/manifest.json'));
SELECT distance FROM read_parquet(getvariable('run') || '/sssp/*.parquet') ORDER BY vertex;
"""


def read_in_duckdb(query):
    return [distance for (distance,) in duckdb.sql(query).fetchall()]


THROUGH_LATEST = {
    "pandas": lambda output: pandas.read_parquet(output / "latest" / "sssp").to_dict("list").get("distance"),
    "duckdb": lambda output: read_in_duckdb(f"SELECT distance FROM '{output}/latest/sssp/*.parquet' ORDER BY vertex"),
    "polars": lambda output: polars.read_parquet(output / "latest" / "sssp" / "*.parquet")["distance"].to_list(),
}
RESOLVED_FIRST = {
    "pandas": lambda output: pandas.read_parquet((output / "latest").resolve() / "sssp").distance.tolist(),
    "duckdb": lambda output: read_in_duckdb(RESOLVED.format(output=output)),
    "polars": lambda output: polars.read_parquet((output / "latest").resolve() / "sssp" / "*.parquet")["distance"].to_list(),
}


@pytest.fixture
def output():
    """An output folder in memory, if there is a file system, because flushes are free there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def publish_forever(output, versions):
    """Publish, and between two publications move `latest` among the runs as publication does, some 1,000 times a second."""
    publish.READABLE = dt.timedelta(-1)  # names of more than one run a second are ahead of time
    for steps in cycle(versions):
        steps.publish(output, keep=100)
        for run in islice(cycle(sorted((output / "runs").glob("2*"))[-len(WEIGHTS) :]), 100):
            (output / "next").symlink_to(Path("runs", run.name))
            (output / "next").replace(output / "latest")
            time.sleep(0.001)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("reads", [30, pytest.param(17_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("files", [1, FILES])
def test_a_read_during_publications_is_of_one_run(output, reads, files):
    """`reads` of each kind. A read through `latest` may fail, except of one file in pandas; if `latest` is resolved first, never.

    If all of several files are gone before pandas looks for the first one, its frame has no columns.
    """
    versions = [path_steps(output / str(w), VERTICES, w, 1, False, ("sssp",), files) for w in WEIGHTS]
    first = versions[0].publish(output).path.name
    seen, gone = Counter(), Counter()
    with working(lambda: publish_forever(output, versions)):
        wait_for(lambda: (output / "latest").readlink().name != first)
        for name, read in islice(cycle(THROUGH_LATEST.items()), 3 * reads):
            try:
                found = read(output)
            except (OSError, duckdb.Error, polars.exceptions.PolarsError) as error:
                assert files == 1 or re.search(r"(?i)no such file|os error 2|no files found", str(error)), (name, error)
                found = None
            if found is None:
                assert (name, files) != ("pandas", 1)
                gone[name] += 1
                continue
            assert found in TABLES.values(), f"{name} mixed two runs"
            seen[found[1]] += 1
        for read in islice(cycle(RESOLVED_FIRST.values()), 3 * reads):
            assert read(output) in TABLES.values()
    print(f"{files} files: {3 * reads} reads, runs seen {dict(seen)}, gone {dict(gone)}")
    assert len(seen) > 1
