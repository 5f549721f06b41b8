"""The benchmark of the operators on the emulated GPU: its graphs, and the table that several calls fill."""

# ruff: noqa: E402  (the imports below need the emulator)
import numpy as np
import pyarrow.parquet as pq
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks import graphs as on_host
from benchmarks.one_gpu import graphs
from benchmarks.operators import algorithms, bench, clock, groups, stand_ins
from benchmarks.operators.tables import Machine, OperatorRow, merge
from kernels.answers import Closure

SMALL = [each.name for each in algorithms.ALGORITHMS if each.most == algorithms.SMALL and each.symmetric in (None, True)]
SEARCHES = ["top_down", "direction_optimising", "bellman_ford_partial"]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_is_made_in_blocks(monkeypatch, weighted):
    """With the arcs and weights of a graph that is made at once, and in the memory that is stated."""
    monkeypatch.setattr(graphs, "_BLOCK", 1 << 11)
    pool, size, count = cupy.get_default_memory_pool(), 300, 1 << 15
    src, dst = np.random.default_rng(5).integers(0, size, (2, count))
    there, here = cupy.asarray(src), cupy.asarray(dst)
    pool.free_all_blocks()
    before = pool.used_bytes()
    monkeypatch.setattr(pool, "free_all_blocks", lambda: None)  # which would forget the peak
    made = graphs.graph_of_arcs(there, here, None, size, False, "degree", weighted)
    assert pool.total_bytes() - before < 27 * count + 64 * graphs._BLOCK + 100 * size
    expected = on_host.graph_of_arcs(src, dst, None, size, symmetric=False)
    ids = cupy.asnumpy(made.ids)
    for csr, of in ((made.out, expected.out), (made.into, expected.into)):
        offsets, heads = cupy.asnumpy(csr.offsets), ids[cupy.asnumpy(csr.indices)]
        near = np.repeat(ids, np.diff(offsets))
        order = np.lexsort((heads, near))
        np.testing.assert_array_equal(heads[order], of.indices)
        np.testing.assert_array_equal(near[order], np.repeat(np.arange(size), np.diff(of.offsets)))
        if weighted:
            weights = cupy.asnumpy(graphs.weight_of_endpoints(cupy.asarray(near), cupy.asarray(heads)))
            np.testing.assert_array_equal(cupy.asnumpy(csr.weights), weights)
            assert 0 < weights.min() < weights.max() < 1000
    assert (made.out.weights is not None) == weighted


def test_pairs_are_compared_bit_by_bit():
    graph = on_host.graph_of_arcs(np.array([0]), np.array([1]), None, 70, symmetric=False)
    vertex, reached = np.array([0, 0, 69]), np.array([1, 63, 63])
    bits = np.zeros((70, 2), np.int64)
    bits[0, 0], bits[69, 0] = -(1 << 63) + 2, -(1 << 63)
    assert algorithms._same_pairs(graph, bits.ravel(), Closure(vertex, reached))
    for row, column, word in ((0, 0, 2), (0, 0, -(1 << 63) + 4), (3, 1, 1)):
        wrong = bits.copy()
        wrong[row, column] = word
        assert not algorithms._same_pairs(graph, wrong.ravel(), Closure(vertex, reached))


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """The command on small graphs, with one call of each, and what its table then has by graph and what."""
    monkeypatch.setattr(clock, "_RUNS", 1)
    monkeypatch.setattr(bench, "machine", lambda: Machine("NVIDIA H100", "1", "13.0", "14", None, 3e12, None, False))
    monkeypatch.setattr(bench, "shared_rate", lambda: 1e13)
    monkeypatch.setattr(bench.abstractions, "kernels", lambda: iter(()))
    monkeypatch.setattr(bench.signal, "signal", lambda *_: None)
    monkeypatch.setattr(groups, "rmat", lambda _: graphs.rmat(6, 4))
    documents = tuple(stand_ins.DocumentGraph(name, 200, 800, 0.5, uniform=name == "b") for name in "ab")
    monkeypatch.setattr(stand_ins, "STAND_INS", documents)

    def run(*only: str, status: int = 0, seconds: float = 480) -> dict[tuple[str, str], dict[str, object]]:
        with pytest.raises(SystemExit) as end:
            bench.main([f"--only={name}" for name in only] + [f"--seconds={seconds}", f"--out={tmp_path}"])
        assert end.value.code == status
        assert (tmp_path / "operators_h100.md").read_text().count("\n| R-MAT 10 |") in (0, len(SMALL))
        return {(row["graph"], row["what"]): row for row in pq.read_table(tmp_path / "operators_h100.parquet").to_pylist()}

    return run


def test_operators_table_is_filled_by_several_calls(measure, monkeypatch, capsys):
    """A row that fails says why, a repeated call replaces it, and an interrupted one writes what it has."""
    with monkeypatch.context() as broken:
        broken.setattr(algorithms, "call_times", lambda call: 1 / 0)
        rows = measure("R-MAT 10", status=1)
    assert [what for _, what in rows] == SMALL
    assert {row["failed"] for row in rows.values()} == {"ZeroDivisionError: division by zero"}
    assert "failed: R-MAT 10: by_search; " in capsys.readouterr().err
    rows = measure("R-MAT 10")
    assert [what for _, what in rows] == SMALL
    assert all(row["milliseconds"] > 0 and row["beside"] > 0 and not row["failed"] for row in rows.values())

    generate = stand_ins.DocumentGraph.generate
    with monkeypatch.context() as broken:
        broken.setattr(stand_ins.DocumentGraph, "generate", lambda of: 1 / 0 if of.name == "a" else generate(of))
        rows = measure("stand-ins", status=1)
    assert [what for graph, what in rows if graph == "a, stand-in"] == ["the other rows of this part"]
    assert [what for graph, what in rows if graph == "b, stand-in"] == ["uniform", *SEARCHES]
    assert [what for graph, what in rows if graph == "R-MAT 10"] == SMALL

    def interrupted(of):
        if of.name == "b":
            raise KeyboardInterrupt
        return generate(of)

    with monkeypatch.context() as broken:
        broken.setattr(stand_ins.DocumentGraph, "generate", interrupted)
        rows = measure("stand-ins", status=130)
    assert [what for graph, what in rows if graph == "a, stand-in"] == ["power law", *SEARCHES]
    assert "not measured, or not to the end: 'stand-ins'" in capsys.readouterr().err
    assert len(rows) == len(SMALL) + 8
    measure("stand-ins", status=1, seconds=-1)


def test_operators_table_of_another_machine_is_refused(measure, monkeypatch, tmp_path):
    measure("stand-ins")
    monkeypatch.setattr(bench, "machine", lambda: Machine("NVIDIA H100", "2", "13.0", "14", None, 3e12, None, False))
    with pytest.raises(ValueError, match="name another folder by --out"):
        bench.main(["--only", "stand-ins", "--out", str(tmp_path)])
    with pytest.raises(SystemExit):
        bench.main(["--only", "stand in"])


def test_rows_of_one_key_are_counted():
    rows = [OperatorRow(11, "a.py", "compute", None, note=note) for note in ("1", "2")]
    assert merge(rows, rows) == rows
    assert merge(rows, [OperatorRow(11, "a.py", "compute", None, note="3")])[0].note == "3"
