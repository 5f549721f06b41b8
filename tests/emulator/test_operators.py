"""Operators on the emulated GPU give the CPU's answers, to the byte."""

# ruff: noqa: E402  (the imports below need the emulator)
import json
import os
import subprocess
import sys

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

import graphmill
from examples.paths.top_down import top_down
from kernels.gpu.loader import ROOT
from kernels.gpu.transfer import to_device
from kernels.library.operators import Frontier, UserFunctionError, advance, compute, filter, reduce
from kernels.library.operators.gpu import arcs, compiled, groups, search
from pipeline.config.loading import run_config
from pipeline.run import run
from tests.gpu.inputs import with_wide_rows
from tests.operators import cases
from tests.operators.algorithms import ROWS, algorithm, answers, graphs_of, require_row_of_the_table, require_true, traced


def test_every_operator():
    """On one graph; tests/gpu/test_operators.py has more."""
    graph = cases.with_limits(np.float32)
    there = to_device(graph)
    cases.require_same(cases.on_vertices(there), cases.on_vertices(graph))
    cases.require_same(cases.everything_on_arcs(there), cases.everything_on_arcs(graph))
    cases.require_same(cases.in_segments(there, 2), cases.in_segments(graph, 1))
    cases.require_same(cases.repeated(there), cases.repeated(graph))
    cases.require_same(cases.updated(there), cases.updated(graph))
    cases.require_same(cases.of_one_number(there), cases.of_one_number(graph))
    star = cases.GRAPHS["star"]()  # a list of few rows, one of them wide, which the sweep itself divides
    few = [
        cases.on_arcs(each, "out", Frontier.of_rows(each, range(0, 1100, 5), cases.ALL_SPARSE))
        for each in (to_device(star), star)
    ]
    cases.require_same(*few)


def test_lanes_of_short_rows():
    for graph in (cases.with_limits(np.float32), with_wide_rows(cases.with_limits())):
        there = to_device(graph)
        for csr, here in ((there.out, graph.out), (there.into, graph.into)):
            cases.require_lanes(here, groups.lanes_of(there, csr, id(csr)))


def test_many_rows_are_listed_after_they_are_found(monkeypatch):
    monkeypatch.setattr(arcs, "MARKED_ROWS", 0)
    graph = cases.with_limits(np.float32)
    cases.require_same(*(cases.on_arcs(each, "in", Frontier.everything(each)) for each in (to_device(graph), graph)))


def test_rows_of_64_bits():
    graph = with_wide_rows(cases.with_limits(np.float32))
    there = to_device(graph)
    cases.require_same(*(cases.on_arcs(each, "in", Frontier.everything(each)) for each in (there, graph)))


def test_failures():
    """Those of the CPU, also where several threads fail, and where a later call reads the first result."""
    graph = cases.with_limits()

    def messages(graph):
        values = cases.like(graph, np.zeros(graph.num_vertices))

        def beyond(row, neighbour):
            return values[neighbour + (300 if row > 7 else 0)]

        def endless(row):
            k = 0
            while row > 5:
                k += 1
            return 1.5 / (k - row + 2)

        for call in (
            lambda: reduce(Frontier.everything(graph), endless),
            lambda: reduce(Frontier.of_rows(graph, range(3, 1500, 2), cases.ALL_SPARSE), endless),
            lambda: advance(Frontier.everything(graph), beyond, collect="sum") and compiled.check(),
            lambda: advance(Frontier.everything(graph), beyond, collect="sum", direction="in") and compiled.check(),
        ):
            with pytest.raises(UserFunctionError) as raised:
                call()
                compiled.check()
            yield str(raised.value)

    assert list(messages(to_device(graph))) == list(messages(graph))


def test_a_failure_is_raised_by_the_next_call_that_reads():
    there = to_device(cases.with_limits())
    values = cupy.zeros(7)

    def beyond(row):
        values[row] = 1

    def one(row):
        return 1

    compute(Frontier.everything(there), beyond)
    with pytest.raises(UserFunctionError, match="index 7 is not in"):
        reduce(Frontier.everything(there), one)
    assert reduce(Frontier.everything(there), one) == 1500


@pytest.mark.parametrize("together", [1, 3, 64])
def test_later_calls_do_not_change_what_was_found(together, monkeypatch):
    """Searches whose memory is allocated together."""
    monkeypatch.setattr(search, "_TOGETHER", together)
    there = to_device(cases.with_limits())
    numbers, everything = cupy.arange(1500), Frontier.everything(there)
    listed = Frontier.of_rows(there, range(60), cases.ALL_SPARSE)

    def nothing(neighbour):
        return False

    def found_below(limit):
        def is_less(row):
            return numbers[row] < limit

        return [filter(everything, is_less), filter(listed, is_less), advance(listed, nothing, after=is_less)]

    found = {limit: found_below(limit) for limit in range(1, 60, 7)}  # up to 46 rows are listed
    assert {frontiers[0].kind for frontiers in found.values()} == {"sparse", "dense"}
    for limit, frontiers in found.items():
        for frontier in frontiers:
            rows = frontier.rows()
            assert rows.tolist() == list(range(limit))
            rows[:] = 7


def test_threads_use_one_graph(monkeypatch):
    monkeypatch.setattr(search, "_TOGETHER", 2)
    cases.require_threads(to_device(cases.with_limits()), cupy.arange(1500))


def test_arrays_and_graph_are_in_one_memory():
    graph, values = cases.with_limits(), np.zeros(3)

    def one(row):
        return values[row]

    with pytest.raises(TypeError, match="values is a numpy array, and the graph is on a GPU"):
        reduce(Frontier.everything(to_device(graph)), one)


def test_arrays_on_a_gpu_have_no_gaps():
    """A kernel would read, and write, other places of the array."""
    there = to_device(cases.with_limits())
    values = cupy.zeros(3000)

    def one(row):
        values[row] = 1

    compute(Frontier.everything(there), one)
    values = values[::2]
    with pytest.raises(TypeError, match="values has gaps between its values"):
        compute(Frontier.everything(there), one)


def test_kernels_around_user_functions_compile_without_spills(monkeypatch):
    """With NVRTC, as a real GPU would."""
    texts = {}

    def record(source, name, device, generated="", **more):
        texts.setdefault((source, name, generated[:16]), generated)
        return made(source, name, device, generated=generated, **more)

    made = compiled.kernel_of
    monkeypatch.setattr(compiled, "kernel_of", record)
    monkeypatch.setattr("kernels.library.operators.plan._PLANS", {})
    graph = to_device(cases.GRAPHS["path"]())
    cases.on_vertices(graph)
    cases.on_arcs(graph, "out", Frontier.everything(graph))
    cases.on_arcs(graph, "out", cases.thirds(graph, cases.ALL_SPARSE))
    cases.repeated(graph)
    cases.updated(graph)
    assert len(texts) > 8
    sources = [(source, generated) for (source, _, _), generated in texts.items()]
    done = subprocess.run(
        [sys.executable, "-m", "tests.operators.compiling"], input=json.dumps(sources), text=True, capture_output=True,
        check=True, cwd=ROOT.parent, env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
    )  # fmt: skip
    assert not done.stdout


def test_a_graph_is_opened_on_the_gpu(tmp_path, monkeypatch):
    """Of a file, which is laid out there, and of a run: its rows are those of the CPU, and ids come back to the host."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "people.csv"
    file.write_text("src,dst\nana,bob\nbob,cyd\nana,eve\neve,bob\nfay,ana\n")
    run(run_config("test", graph={"source": str(file)}, output=tmp_path / "out", stages=["wcc"], backend="gpu"))
    for target in (file, tmp_path / "out"):
        there, here = (graphmill.open(target, backend=backend) for backend in ("gpu", "cpu"))
        there.graph.validate()
        assert isinstance(there.graph.out.indices, cupy.ndarray) and repr(there).endswith("ids are strings, on the GPU>")
        rows = there.rows(["eve", "ana"])
        assert isinstance(rows, cupy.ndarray) and rows.tolist() == here.rows(["eve", "ana"]).tolist()
        hops = top_down(there.graph, there.row("ana"))
        assert dict(zip(there.ids().tolist(), hops.tolist(), strict=True)) == {"ana": 0, "bob": 1, "eve": 1, "cyd": 2, "fay": -1}

        def is_far(row):
            return hops[row] == 2  # noqa: B023

        assert there.ids(filter(Frontier.everything(there.graph), is_far).rows()).tolist() == ["cyd"]
        assert there.rows(here.ids()).tolist() == [*range(5)]
        with pytest.raises(graphmill.GraphmillError, match="vertex 'dan' is not among the 5 ids"):
            there.rows(["ana", "dan"])


@pytest.mark.parametrize("name", ROWS)
def test_an_algorithm_gives_the_oracles_answers_with_the_operators_of_the_table(name, monkeypatch):
    monkeypatch.setattr("examples.paths.direction_optimising._AT_ONCE", 0)  # as on the CPU: small graphs are searched both ways
    algorithm(name)
    with traced() as used:
        for graph in graphs_of(name):
            for given, found in answers(name, to_device(graph)):
                require_true(name, graph, given, found)
    require_row_of_the_table(name, used)
