"""The stored graph of the GPU has the same bytes and the same facts as the CPU's."""

from itertools import product

import pytest

pytest.importorskip("cupy")
pytest.importorskip("pydantic")

from pipeline.config.layout import LayoutConfig
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from tests.edge_lists import edge_folder, table_folder
from tests.gpu.inputs import poison, random_edges
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.stored_graphs import validate

LAYOUTS = [
    LayoutConfig(order=order, window=8, shards=shards, self_loops=loops, parallel_arcs=parallel, symmetrise=symmetrise)
    for (order, shards), loops, parallel, symmetrise in product(
        [("degree", 1), ("windowed", 3), ("source", 7)], ["drop", "keep"], ["lightest", "keep"], [False, True]
    )
]


def check(edges, layout: LayoutConfig, tmp_path) -> None:
    expected = lay_out(edges, layout, Runtime(tmp_path / "cpu"))
    poison()
    found = lay_out(edges, layout, Runtime(tmp_path / "gpu", "gpu"))
    assert not found.reused
    assert found.manifest.files == expected.manifest.files
    differing = {"backend": "gpu", "proof": found.facts["proof"]}
    assert found.facts == expected.facts | differing
    assert found.facts["proof"]["rules"] == expected.facts["proof"]["rules"]
    validate(found)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "-".join(map(str, layout.model_dump().values())))
def test_every_option(layout, tmp_path):
    edges = random_edges(1, 300, 2500, True, 2)
    check(edge_folder(tmp_path / "none", edges), layout, tmp_path / "none")
    weighted = EdgeList("weighted", tuple((src, dst, (src + dst) % 11) for src, dst in edges.edges), edges.directed)
    for weight in ("int64", "float"):
        check(edge_folder(tmp_path / weight, weighted, weight), layout, tmp_path / weight)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, tmp_path):
    for directed in (False, True):
        work = tmp_path / str(directed)
        check(edge_folder(work, EdgeList(edges.name, edges.edges, directed, edges.vertices)), LayoutConfig(shards=2), work)


@pytest.mark.parametrize("declared", [0, 9])
def test_declared_vertices_without_edges(declared, tmp_path):
    import pyarrow as pa

    table = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())})
    check(table_folder(tmp_path, table, first_id=3, declared_vertices=declared), LayoutConfig(shards=2), tmp_path)
