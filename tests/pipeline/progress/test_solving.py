"""Which steps of a run are made at the same time."""

from threading import Event
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.solving import Input, solve_stages


def test_workers_that_hold_a_graph_together_make_one_step_at_a_time(tmp_path) -> None:
    """Each of them would have its part of the arrays of two steps."""
    pq.write_table(pa.table({"src": np.arange(9), "dst": np.arange(1, 10)}), tmp_path / "edges.parquet")
    source = GraphConfig(source=str(tmp_path / "edges.parquet"), directed=False)
    edges = ingest(source, tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    runtime = Runtime(tmp_path, cluster=SimpleNamespace(shards=2, open_graphs=None))
    proved, made = Event(), []

    def steps(name, *_):
        if name == "forest":
            proved.wait(1)
        elif name == "proof-mst":
            proved.set()
        made.append(name)
        return edges

    config = RunConfig(graph=source, output=str(tmp_path / "out"), stages=["mst"])
    solve_stages(config, Input(edges, graph, []), runtime, steps)
    assert made.index("mst") < made.index("forest") < made.index("proof-mst")
