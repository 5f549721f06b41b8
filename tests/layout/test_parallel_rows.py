"""Parallel rows by every rule, against a dictionary that is filled row by row."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kernels.certificate.rules import Broken
from kernels.layout.parallel import CODES, Rows, merged
from kernels.layout.parallel.certificate import Counted, RowsInOrder, Tally
from kernels.layout.rules import Edges
from pipeline.cluster.threads import LocalThreads
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput, ProofFailed
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels, blocks, merging, needs_merging, proof
from pipeline.steps.parallel.merging import merge_parallel
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.graph import open_graph
from tests.edge_lists import table_folder
from tests.stored_graphs import validate

RULES = [*CODES, "lightest", "keep"]
WORDS = ["2026-01-02", "2026-01-01", "b", "ä", "a b", "Z"]


def drawn(seed: int, weight: str | None, vertices: int = 7, rows: int = 120) -> pa.Table:
    random = np.random.default_rng(seed)
    columns = {"src": random.integers(0, vertices, rows) * 3, "dst": random.integers(0, vertices, rows) * 3}
    if weight:
        numbers = (
            random.integers(0, 9, rows) if weight != "double" else random.random(rows) * 10.0 ** random.integers(-9, 9, rows)
        )
        columns["weight"] = pa.array(numbers).cast(weight)
    return pa.table(columns)


def read_row_by_row(table: pa.Table, rule: str, both: bool) -> dict[tuple[int, int], list]:
    """The weights of the arcs of each pair, without self-loops."""
    rows = defaultdict(list)
    for number, row in enumerate(table.to_pylist()):
        ends = (row["src"], row["dst"])
        if ends[0] != ends[1]:
            key = tuple(sorted(ends)) if both else ends
            rows[key].append((row.get("order", 0), number, row.get("weight", 1)))
    weights = {}
    for key, of_pair in rows.items():
        values, total = [weight for *_, weight in of_pair], 0
        for value in values:
            total += value
        weights[key] = {
            "lightest": [min(values)], "heaviest": [max(values)], "sum": [total], "count": [len(values)],
            "first": [min(of_pair, key=lambda row: (row[0], row[1]))[2]],
            "last": [max(of_pair, key=lambda row: (row[0], row[1]))[2]],
            "keep": sorted(values),
        }[rule]  # fmt: skip
    return weights | {(dst, src): weights[src, dst] for src, dst in weights if both}


def laid_out(tmp_path, table, rule, directed, shards=0, **layout):
    order = {"order": str(table.schema.field("order").type)} if "order" in table.column_names else {}
    edges = table_folder(tmp_path, table, directed=directed, **order)
    runtime = Runtime(tmp_path, "cpu", LocalThreads(shards))
    layout = LayoutConfig(**layout)
    rows = merge_parallel(edges, rule, layout, runtime, "order" if order else None) if needs_merging(edges, rule) else None
    return lay_out(edges, layout, runtime, (), Parallels(rule, rows))


def arcs_of(folder) -> dict[tuple[int, int], list]:
    graph, arcs = open_graph(folder), defaultdict(list)
    weights = np.ones(graph.num_arcs, np.int64) if graph.out.weights is None else graph.out.weights
    for row in range(graph.num_vertices):
        for arc in range(graph.out.offsets[row], graph.out.offsets[row + 1]):
            arcs[int(graph.ids[row]), int(graph.ids[graph.out.indices[arc]])].append(weights[arc].item())
    return dict(arcs)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weight", [None, "int8", "int64", "float", "double"])
def test_every_rule_is_that_of_a_dictionary(rule, weight, tmp_path):
    for seed, directed in enumerate([True, False]):
        table = drawn(seed, weight)
        one = laid_out(tmp_path / str(seed), table, rule, directed)
        validate(one)
        assert arcs_of(one) == read_row_by_row(table, rule, not directed)
        facts = GraphFacts.of(one)
        loops = sum(row["src"] == row["dst"] for row in table.to_pylist())
        assert (facts.self_loops, facts.self_loops_dropped) == (loops, loops)
        assert len(table) - facts.self_loops_dropped + facts.arcs_added - facts.parallel_arcs_dropped == facts.arcs
        if facts.merged:
            sizes = [len(values) for values in read_row_by_row(table, "keep", not directed).values()]
            sizes = sizes if directed else sizes[: len(sizes) // 2]
            of = facts.merged
            assert (of.rows, of.pairs, of.repeated, of.most, of.self_loops, of.mirrored) == (
                sum(sizes), len(sizes), sum(size > 1 for size in sizes), max(sizes), loops, False,
            )  # fmt: skip


@pytest.mark.parametrize("rule", ["sum", "last", "count"])
def test_three_ranks_and_the_reverse_of_every_arc(rule, tmp_path):
    table = drawn(5, "int32", vertices=40, rows=900)
    one = laid_out(tmp_path / "one", table, rule, True, symmetrise=True, shards=0)
    many = laid_out(tmp_path / "many", table, rule, True, symmetrise=True, shards=3)
    assert arcs_of(one) == read_row_by_row(table, rule, True)
    same = LayoutConfig(symmetrise=True, shards=3)
    edges = table_folder(tmp_path / "three", table)
    runtime = Runtime(tmp_path / "three")
    three = lay_out(edges, same, runtime, (), Parallels(rule, merge_parallel(edges, rule, same, runtime)))
    assert many.manifest.files == three.manifest.files


ORDERS = {
    "int8": lambda draw: pa.array(draw.integers(-3, 3, 120), pa.int8()),
    "uint64": lambda draw: pa.array(draw.choice(np.array([0, 1, 2**63, 2**64 - 1], np.uint64), 120)),
    "double": lambda draw: pa.array(draw.choice([-1.5, -0.0, 0.0, 2e-300, 1e300, -np.inf], 120)),
    "decimal": lambda draw: pa.array(draw.integers(-3, 3, 120)).cast(pa.decimal128(38, 10)),
    "date": lambda draw: pa.array(draw.integers(-9, 9, 120), pa.int32()).cast(pa.date32()),
    "timestamp": lambda draw: pa.array(draw.integers(-9, 9, 120)).cast(pa.timestamp("us", "UTC")),
    "text": lambda draw: pa.array(draw.choice(WORDS, 120).tolist(), pa.large_string()),
}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("rule", ["first", "last"])
def test_the_first_or_last_by_a_column_of_any_type(kind, rule, tmp_path):
    table = drawn(9, "int64", vertices=4)
    table = table.set_column(2, "weight", pa.array(np.arange(120)))  # each row has its own, so that ties show
    table = table.append_column("order", ORDERS[kind](np.random.default_rng(2)))
    found = arcs_of(laid_out(tmp_path, table, rule, False))
    assert found == read_row_by_row(table, rule, True)


def test_ranges_and_parts_that_do_not_fit_into_memory_together(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_RANGE", 16)
    monkeypatch.setattr(blocks, "_ROW_BYTES", 2**60)  # of which no two fit
    monkeypatch.setattr(proof, "free_memory", lambda: 96 * 3 * 4)  # four edges
    table = drawn(3, "int16", vertices=30, rows=90)
    for rule in ("sum", "first"):
        assert arcs_of(laid_out(tmp_path / rule, table, rule, False)) == read_row_by_row(table, rule, True)


def test_pandas_groups_agree(tmp_path):
    table = drawn(4, "int32", vertices=12, rows=500)
    frame = table.to_pandas().query("src != dst").groupby(["src", "dst"])["weight"]
    for rule, of_pandas in (("sum", frame.sum()), ("count", frame.size()), ("heaviest", frame.max()), ("last", frame.last())):
        arcs = arcs_of(laid_out(tmp_path / rule, table, rule, True))
        assert pd.Series({ends: weight for ends, (weight,) in arcs.items()}).sort_index().tolist() == of_pandas.tolist()


def test_empty_and_large(tmp_path):
    empty = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64()), "weight": pa.array([], pa.int64())})
    for rule in CODES:
        assert arcs_of(laid_out(tmp_path / rule, empty, rule, False)) == {}
    largest = 2**63 - 1
    table = pa.table({"src": [largest, 5, largest], "dst": [5, largest, 5], "weight": [largest - 7, 0, 7]})
    assert arcs_of(laid_out(tmp_path / "most", table, "sum", False)) == {(largest, 5): [largest], (5, largest): [largest]}
    too_much = table.set_column(2, "weight", pa.array([largest - 7, 1, 7]))
    with pytest.raises(BadInput, match=rf"edge 2, from {largest} to 5 of weight 7 .* exceeds {largest}; .* graph.parallel"):
        laid_out(tmp_path / "more", too_much, "sum", False)
    infinite = table.set_column(2, "weight", pa.array([1.7e308, 0.0, 1.7e308]))
    with pytest.raises(BadInput, match=r"edge 2, .* is not finite"):
        laid_out(tmp_path / "infinite", infinite, "sum", False)


def test_rows_in_both_directions_are_counted(tmp_path):
    mirrored = pa.table({"src": [1, 2, 3, 1, 2], "dst": [2, 1, 1, 3, 2]})
    for directed, expected in ((False, True), (True, False)):
        graph = laid_out(tmp_path / str(directed), mirrored, "sum", directed)
        assert GraphFacts.of(graph).merged.mirrored is expected


class TestTheCertificate:
    """Wrong merged edges are refused: faults of the merging, and every single change of its result."""

    @pytest.mark.parametrize("rule", [*CODES])
    def test_a_fault_of_the_merging_fails_the_step(self, rule, tmp_path, monkeypatch):
        real = merging.merged

        def faulty(rows, code, both):
            edges = real(rows, code, both)
            weights = edges.weights.copy()
            weights[len(weights) // 2] += 1
            return Edges(edges.src, edges.dst, weights)

        monkeypatch.setattr(merging, "merged", faulty)
        with pytest.raises(ProofFailed, match=r"merged: the merged edge from \d+ to \d+ has another weight than its rows"):
            laid_out(tmp_path, drawn(1, "int64"), rule, False)
        assert not (tmp_path / "merged").exists()

    @pytest.mark.parametrize("both", [False, True])
    @pytest.mark.parametrize("rule", [*CODES])
    def test_mutants(self, rule, both):
        random = np.random.default_rng(7)
        rows = Rows(random.integers(0, 12, 400), random.integers(0, 12, 400), random.integers(0, 50, 400))
        edges = merged(rows, rule, both)
        in_order = RowsInOrder(rows.src, rows.dst, rows.weights, np.empty(0, np.int64), np.empty(0, np.uint64))

        def counted(of: Edges) -> Counted:
            tally = Tally(of, CODES[rule], both, [range(1 << 15), range(1 << 15, 1 << 16)], False)
            for begin in range(0, 400, 90):
                tally.add(RowsInOrder(*(column[begin : begin + 90] for column in in_order)))
            return tally.result()

        assert counted(edges).rows + counted(edges).self_loops == 400
        for _ in range(300):
            columns = [column.copy() for column in (edges.src, edges.dst, edges.weights)]
            place, fault = random.integers(len(edges.src)), random.integers(5)
            if fault < 3:
                columns[fault][place] += random.choice([-1, 1, 7])
            elif fault == 3:
                columns = [np.delete(column, place) for column in columns]
            else:
                columns = [np.append(column, column[place]) for column in columns]
            with pytest.raises(Broken):
                counted(Edges(*columns))


def test_facts_of_the_merged_edges(tmp_path):
    edges = table_folder(tmp_path, drawn(1, "float"), directed=False)
    facts = EdgeFacts.of(merge_parallel(edges, "sum", LayoutConfig(), Runtime(tmp_path)))
    assert (facts.weight, facts.directed, facts.refers_to) == ("double", False, None)
    counts = EdgeFacts.of(merge_parallel(edges, "count", LayoutConfig(), Runtime(tmp_path)))
    assert (counts.weight, counts.measure) == ("int64", "rows")
    assert merge_parallel(edges, "count", LayoutConfig(), Runtime(tmp_path)).reused
