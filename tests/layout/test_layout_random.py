"""Random edge lists through the layout, against a plain reading of the same rules."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.distributed import partition
from kernels.graph import Csr, Graph
from pipeline.config.layout import LayoutConfig
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.store.graph import open_graph
from tests.counts import examples
from tests.edge_lists import table_folder
from tests.stored_graphs import validate

near = st.integers(0, 12)
anywhere = st.one_of(near, st.integers(0, 2**63 - 1), st.sampled_from([2**31, 2**63 - 1]))
hubs = st.sampled_from([0] * 3 + list(range(60)))
WEIGHTS = {
    None: st.none(),
    "int64": st.one_of(st.integers(0, 5), st.integers(0, 2**62)),
    "int32": st.integers(0, 5),
    "float": st.floats(0, 2, width=32).map(abs),  # without -0.0, which ingest does not leave
    "double": st.floats(0, 1e300).map(abs),
}


@st.composite
def edge_tables(draw) -> pa.Table:
    ids = draw(st.sampled_from([near, anywhere, hubs]))
    kind = draw(st.sampled_from(list(WEIGHTS)))
    rows = draw(st.lists(st.tuples(ids, ids, WEIGHTS[kind]), max_size=200))
    types = {"src": pa.int64(), "dst": pa.int64()} | ({"weight": pa.type_for_alias(kind)} if kind else {})
    return pa.table({name: pa.array([row[i] for row in rows], type) for i, (name, type) in enumerate(types.items())})


layouts = st.builds(
    LayoutConfig,
    order=st.sampled_from(["degree", "windowed", "source"]),
    window=st.integers(1, 40),
    self_loops=st.sampled_from(["drop", "keep"]),
    symmetrise=st.booleans(),
    shards=st.integers(1, 5),
)


def clean_arcs(table: pa.Table, directed: bool, layout: LayoutConfig, parallel: str) -> list[tuple]:
    """The arcs that the rules leave, ascending."""
    arcs = []
    for row in table.to_pylist():
        src, dst, weight = row["src"], row["dst"], row.get("weight", 1)
        if src != dst or layout.self_loops == "keep":
            arcs.append((src, dst, weight))
        if src != dst and (layout.symmetrise or not directed):
            arcs.append((dst, src, weight))
    if parallel == "keep":
        return sorted(arcs)
    return sorted({arc[:2]: arc for arc in sorted(arcs, reverse=True)}.values())


def arcs_of(graph: Graph, csr: Csr) -> list[tuple]:
    """Arcs (row's id, other end's id, weight), in the order in which they are stored, the rows in order of their ids."""
    weights = np.ones(len(csr.indices), np.int64) if csr.weights is None else csr.weights
    return [
        (int(graph.ids[row]), int(graph.ids[csr.indices[arc]]), weights[arc].item())
        for row in graph.rows_by_id
        for arc in range(csr.offsets[row], csr.offsets[row + 1])
    ]


@given(
    table=edge_tables(),
    directed=st.booleans(),
    layout=layouts,
    declared=st.integers(0, 5),
    parallel=st.sampled_from(["lightest", "keep"]),
)
@settings(max_examples=examples(120))
def test_arcs_ids_and_directions_survive(table, directed, layout, declared, parallel):
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        edges = table_folder(work, table, directed=directed, first_id=3, declared_vertices=declared)
        folder = lay_out(edges, layout, Runtime(work), (), Parallels(parallel))
        validate(folder)
        graph = open_graph(folder)
        arcs = clean_arcs(table, directed, layout, parallel)
        ends = set(table["src"].to_pylist()) | set(table["dst"].to_pylist()) | set(range(3, 3 + declared))
        assert graph.ids[graph.rows_by_id].tolist() == sorted(ends)
        assert arcs_of(graph, graph.out) == arcs
        assert arcs_of(graph, graph.into) == sorted((dst, src, weight) for src, dst, weight in arcs)
        assert graph.symmetric == (arcs == sorted((dst, src, weight) for src, dst, weight in arcs))


@given(degrees=st.lists(st.integers(0, 50), max_size=60), number=st.integers(1, 9))
def test_shards_cover_the_rows_in_even_shares(degrees, number):
    plan = partition.cut(np.array(degrees, np.int64), number)
    assert len(plan) == number
    assert [row for rows in plan for row in rows] == list(range(len(degrees)))
    partition.validate(plan, len(degrees))
    even = sum(degrees) / number + max(degrees, default=0)
    assert all(sum(degrees[rows.start : rows.stop]) <= even + 1 for rows in plan)
