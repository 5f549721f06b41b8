"""The memory that a large file of pairs needs."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pipeline.steps.pairs import BATCH
from tests.counts import of_the_day
from tests.pipeline.reach.inputs import ROOT, edges_of_votes, write_pairs

CHILD = """
import json, sys
from pathlib import Path
from pipeline.steps.reach import reach
from pipeline.store.index.folder import FORMAT, find_index
from tests.memory import peak_bytes
index = find_index(Path(sys.argv[1]))
reach(index, sys.argv[2], Path(sys.argv[3]) / "small")
before = peak_bytes()
answers = reach(index, sys.argv[4], Path(sys.argv[3]) / "large")
print(json.dumps({"rows": answers.facts["rows"], "grown": peak_bytes() - before}))
"""


@pytest.mark.sampled
@pytest.mark.parametrize("row_groups", of_the_day(["small", "one"]))
def test_eight_million_pairs_need_no_more_memory_than_three(votes, row_groups, tmp_path):
    ids = np.unique(edges_of_votes().to_numpy())
    for name, count in (("a", 3 * BATCH), ("b", 8 * BATCH)):
        src, dst = np.random.default_rng(3).choice(ids, (2, count))
        size = 100_000 if row_groups == "small" else count
        write_pairs(tmp_path / f"{name}.parquet", src, dst, row_group_size=size, use_dictionary=False)
    arguments = [votes / "latest", tmp_path / "a.parquet", tmp_path, tmp_path / "b.parquet"]
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, arguments)], cwd=ROOT, check=True, capture_output=True)
    found = json.loads(child.stdout)
    assert found["rows"] == 8 * BATCH
    print(f"{found['grown'] / 2**20:.0f} MiB more")
    assert found["grown"] < 64 * 2**20  # the ids of the other five million pairs take 84 MB
