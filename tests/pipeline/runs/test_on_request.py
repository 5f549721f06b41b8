"""Runs of stages that are computed on request only."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps.runtime import Runtime
from pipeline.steps.verify import prove
from pipeline.store.manifest import make, read
from pipeline.tables import files as tables


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """A run over a cycle of three vertices, with a tail, and over a pair of others."""
    folder = tmp_path_factory.mktemp("votes")
    pq.write_table(pa.table({"src": [10, 20, 30, 30, 7], "dst": [20, 30, 10, 40, 8]}), folder / "arcs.parquet")
    source = {"source": str(folder / "arcs.parquet")}
    run(run_config("test", graph=source, output=folder / "out", stages=["closure"], oracle=True, backend="cpu"))
    return folder / "out"


def test_a_closure_is_published(votes):
    latest = read(votes / "latest")
    pairs = [(7, 8), *((vertex, other) for vertex in (10, 20, 30) for other in (10, 20, 30, 40))]
    table = tables.read(votes / "latest" / "closure")
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == pairs
    assert latest.facts["tables"]["closure"]["rows"] == 13
    assert latest.facts["proofs"]["closure"]["oracle"]["rules"]
    assert latest.facts["figures"]["closure: pairs"] == 13
    assert "13 pairs of 36 (36.11%)" in (votes / "latest" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("dropped", "reason"),
    [
        (0, "arc 7 -> 8: 7 does not reach 8"),
        (4, "vertices 20 and 10 reach each other, but not the same"),
        (None, "vertex 99 is not in the graph"),
    ],
)
def test_a_wrong_closure_is_not_proved(votes, tmp_path, dropped, reason):
    steps = votes / "steps"
    graph, true = read(steps / "graph"), read(steps / "closure")

    def write(folder):
        table = tables.read(true.path)
        keep = table.filter(pa.array(np.arange(13) != dropped)) if dropped is not None else table
        if dropped is None:
            keep = keep.set_column(1, table.schema.field(1), pa.array([99, *table["reached"].to_pylist()[1:]]))
        tables.write(folder, "closure", None, keep.to_batches())
        return true.facts | {"rows": keep.num_rows}

    wrong = make(tmp_path / "closure", "closure", {"graph": graph.digest}, {"wrong": dropped}, write)
    with pytest.raises(ProofFailed, match=reason):
        prove(graph, wrong, False, Runtime(tmp_path))
