"""Runs with an index, which the tests only read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.run import RunConfig
from pipeline.run import run
from tests.graphs import EdgeList
from tests.oracles import paths
from tests.pipeline.reach.inputs import ROOT, layered


@pytest.fixture(scope="session")
def votes(tmp_path_factory) -> Path:
    """A run with an index over the directed social network wiki-Vote."""
    output = tmp_path_factory.mktemp("votes")
    run(RunConfig(graph=GraphConfig(source=str(ROOT / "data" / "wiki-Vote.txt.gz")), output=output, stages=["reachability"]))
    return output


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> tuple[Path, list[int], set[tuple[int, int]]]:
    """A run over a layered graph with a cycle, its ids, and all pairs (src, dst) where src reaches dst."""
    folder = tmp_path_factory.mktemp("small")
    source = layered(folder / "arcs.parquet", 12, 8)
    arcs = pq.read_table(source).to_pylist()
    arcs += [{"src": 100, "dst": 31}, {"src": 1000, "dst": 1001}]
    pq.write_table(pa.Table.from_pylist(arcs), source)
    edges = EdgeList("layered", tuple((arc["src"], arc["dst"]) for arc in arcs))
    run(RunConfig(graph=GraphConfig(source=source), output=folder / "out", stages=["reachability"], oracle=True))
    closure = {(vertex, other) for vertex in edges.ids for other in paths(edges, vertex, weighted=False)[0]}
    return folder / "out", edges.ids, closure
