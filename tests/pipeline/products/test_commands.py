"""The commands `matrix` and `trees`: any folder, any file of vertices, today's bytes, and nothing that is half written."""

import gzip
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.trees import targets
from pipeline.cli.command import app
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products import ProductOptions
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.run import workplace
from pipeline.errors import BadConfig, BadInput, BadSource, Damaged, TooLarge
from pipeline.steps.products import space, sweeping
from pipeline.steps.products.closeness import tabulate_closeness
from pipeline.steps.products.trees import tabulate_trees
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store import manifest
from pipeline.store.vertices import VERTICES
from pipeline.store.workspace import workspace
from pipeline.units import size
from tests.faults.endings import forked
from tests.ingest.thrift import field, footer_of, with_footer
from tests.pipeline.products.calls import listed, matrix_into, trees_into
from tests.pipeline.products.conftest import SIDE, network, write_network
from tests.pipeline.products.test_products import DISTANCES, steps_of
from tests.pipeline.runs.commands import graphmill

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where commands keep the graphs that they read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows_of(folder):
    return [tuple(row.values()) for row in pq.read_table(folder).to_pylist()]


def test_a_matrix_of_a_run_and_of_a_file(published, tmp_path):
    (tmp_path / "from.csv").write_text('"source"\n48\n0\n60\n0\n')
    pq.write_table(pa.table({"id": [61, 24, 7]}), tmp_path / "to.parquet")
    asked = {"sources": str(tmp_path / "from.csv"), "targets": str(tmp_path / "to.parquet"), "backend": "cpu"}
    write_network(tmp_path)
    one = matrix_into(str(published.path.parents[1]), tmp_path / "one", **asked)
    other = matrix_into(str(tmp_path / "e.parquet"), tmp_path / "other", **asked)
    assert one.manifest.files == other.manifest.files
    expected = [(src, dst, DISTANCES[src].get(dst)) for src in (0, 48, 60) for dst in (7, 24, 61)]
    assert rows_of(tmp_path / "one") == expected
    assert matrix_into(str(published.path), tmp_path / "one", **asked).reused
    matrix_into(str(published.path), tmp_path / "one", **asked, cutoff=7)
    assert rows_of(tmp_path / "one") == [row for row in expected if row[2] is not None and row[2] <= 7]


def test_vertices_as_spreadsheets_write_them_count_once(published, tmp_path):
    """A byte order mark, quotes, a comment, and two places near the same vertex."""
    (tmp_path / "from.csv").write_bytes(b'\xef\xbb\xbf"source"\r\n"48"\r\n48 # the same\r\n"5.9,6.1"\r\n')
    files = {name: str(tmp_path / "from.csv") for name in ("sources", "targets")}
    matrix_into(str(published.path), tmp_path / "m", **files, snap_limit=16_000)
    assert rows_of(tmp_path / "m") == [(48, 48, 0)]


def test_a_cutoff_is_compared_as_an_integer(tmp_path, capsys):
    """As floats, 2^53 and the next integer are the same."""
    (tmp_path / "roads.csv").write_text(f"src,dst,weight\n1,2,{2**53 + 1}\n")
    for cutoff, rows in ((f"{2**53}", 2), (f"{2**53 + 1}", 3), (f"{2.0**53:f}", 2), ("1e30", 3)):
        out = tmp_path / cutoff
        command = ["matrix", str(tmp_path / "roads.csv"), "--cutoff", cutoff, "--out", str(out), "--proof", "sample"]
        app(command, result_action="return_value", exit_on_error=False)
        assert len(rows_of(out)) == rows
    assert "one tree of each batch proved" in capsys.readouterr().out


def test_a_matrix_with_a_sample_of_proofs(published, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "WORTH", 1)
    monkeypatch.setattr(targets, "_WORTH", 1)  # few vertices are worth a sweep of their own
    (tmp_path / "to.csv").write_text("3\n61\n")
    asked = {"targets": str(tmp_path / "to.csv"), "backend": "cpu"}
    made = [matrix_into(str(published.path), tmp_path / proof, **asked, proof=proof) for proof in ("every", "sample")]
    assert made[0].manifest.files == made[1].manifest.files
    assert [one.facts["proof"]["rules"][0] for one in made] == [sweeping.ALL_PROVED, sweeping.SOME_PROVED]


def test_all_vertices_without_files(published, tmp_path):
    matrix_into(str(published.path), tmp_path / "all", backend="cpu")
    vertices = sorted(network())
    assert rows_of(tmp_path / "all") == [(src, dst, DISTANCES[src].get(dst)) for src in vertices for dst in vertices]


@pytest.mark.parametrize("worth", [1, 1000], ids=["swept", "searched"])
def test_trees_have_the_bytes_of_sssp(published, tmp_path, monkeypatch, worth):
    """So do other products on a hierarchy, also where paths lead towards the sources."""
    monkeypatch.setattr(sweeping, "WORTH", worth)
    edges, graph = steps_of(published)
    sources = [0, 7, 8, 60]
    made = tabulate_trees(graph, [np.array(sources)], ProductOptions(output=tmp_path / "trees"), Runtime(tmp_path))
    assert made.manifest.files == run_stage(graph, "sssp", sources, Runtime(tmp_path)).manifest.files
    assert (tmp_path / "hierarchy").exists() == (worth == 1)
    before = manifest.read(published.path.parents[1] / "steps" / "closeness")
    assert tabulate_closeness(edges, graph, ClosenessConfig(), Runtime(tmp_path)).manifest.files == before.manifest.files
    towards = sweeping.Sweeps(graph, np.arange(SIDE), towards=True).prepared(Runtime(tmp_path))
    ((_, trees),) = towards.batches(TaskContext("cpu"), range(SIDE), predecessors=True)
    ids = towards.graph_at(TaskContext("cpu")).ids.tolist()
    assert [[d if d >= 0 else None for d in row] for row in trees.distances.tolist()] == [
        [DISTANCES[vertex].get(source) for vertex in ids] for source in range(SIDE)
    ]


def test_a_task_looks_up_its_own_sources_only(published, monkeypatch):
    """All sources for each task took two thirds of the time of New York's closeness."""
    _, graph = steps_of(published)
    looked_up, find = list[list[int]](), sweeping.rows_of
    monkeypatch.setattr(sweeping, "rows_of", lambda graph, ids: looked_up.append(ids.tolist()) or find(graph, ids))
    batches = sweeping.Sweeps(graph, np.arange(SIDE)).batches(TaskContext("cpu"), range(2, 5))
    assert [ids.tolist() for ids, _ in batches] == [[2, 3, 4]]
    assert looked_up == [[2, 3, 4]]


@pytest.mark.parametrize("product", [matrix_into, trees_into])
def test_a_table_that_does_not_fit_is_refused_with_figures(published, tmp_path, monkeypatch, product):
    """Before the hierarchy is built, and by what the rows take when they are encoded."""
    monkeypatch.setattr(sweeping, "WORTH", 1)
    target, place = str(published.path), workplace(str(published.path))
    made = product(target, tmp_path / "fits", backend="cpu")
    taken = sum(file.bytes for file in made.manifest.files.values())
    shutil.rmtree(place)
    monkeypatch.setattr(space, "free_disk", lambda _: taken // 2)
    words = rf"^a table from 51 sources takes about {size(taken)} of disk, and {size(taken // 2)} are free$"
    with pytest.raises(TooLarge, match=words):
        product(target, tmp_path / "out", backend="cpu")
    monkeypatch.setattr(space, "_MEASURED", 2)  # instead of all
    with pytest.raises(TooLarge, match=r"^a table from 51 sources"):
        product(target, tmp_path / "out", backend="cpu")
    assert not (tmp_path / "out").exists()
    assert not [*place.rglob("hierarchy*")]
    monkeypatch.setattr(space, "_MEASURED", 51)
    monkeypatch.setattr(space, "free_disk", lambda _: taken)
    assert product(target, tmp_path / "out", backend="cpu").manifest.files == made.manifest.files


def test_the_command_and_names(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,weight\nana,bob,2.5\nbob,cem,1.5\ncem,ana,1\n")
    (tmp_path / "who.csv").write_text("vertex\ncem\n")
    pq.write_table(pa.table({"name": ["bob", "ana"]}), tmp_path / "whom.parquet")
    command = ["matrix", "roads.csv", "--sources", "who.csv", "--targets", "whom.parquet", "--out", "m"]
    found = graphmill(*command, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "2 rows from 1 source; every tree proved" in found.stdout
    assert rows_of(tmp_path / "m") == [(2, 0, 1.0), (2, 1, 3.5)]
    (tmp_path / "who.csv").write_text("vertex\nbub\n")
    with pytest.raises(BadSource, match=r"who\.csv: line 2: source 'bub' is not among the 3 ids"):
        matrix_into(str(tmp_path / "roads.csv"), tmp_path / "m", sources=str(tmp_path / "who.csv"))
    assert rows_of(tmp_path / "m") == [(2, 0, 1.0), (2, 1, 3.5)]


def test_a_killed_matrix_leaves_nothing_that_is_trusted(published, tmp_path):
    out = tmp_path / "matrix"

    def die_with_an_attempt(event, arguments):
        if event == "os.rename" and Path(arguments[0]).parent in tmp_path.glob(".*/*/attempts"):
            os.kill(os.getpid(), signal.SIGKILL)

    def write():
        sys.addaudithook(die_with_an_attempt)
        matrix_into(str(ROOT / "data" / "rome99.gr.gz"), out, cutoff=1000, backend="cpu")

    _, status = os.waitpid(forked(write), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert not out.exists()
    assert [*tmp_path.glob(".*/*/attempts")]
    matrix_into(str(published.path), out, cutoff=1, backend="cpu")
    assert not [*tmp_path.glob(".*/*/attempts")]
    manifest.check(manifest.read(out))


@pytest.mark.parametrize("of_run", [True, False], ids=["run", "file"])
def test_commands_on_one_graph_do_not_exclude_each_other(published, tmp_path, monkeypatch, caplog, of_run):
    """While one works, another uses the steps that are complete, and makes the others in a private folder."""
    monkeypatch.setattr(sweeping, "WORTH", 1)
    caplog.set_level(logging.INFO)
    write_network(tmp_path)
    target, files = str(published.path) if of_run else str(tmp_path / "e.parquet"), []
    for time_of in ("before", "after"):
        with workspace(workplace(target)) as work:
            caplog.clear()
            files.append(trees_into(target, tmp_path / time_of, backend="cpu").manifest.files)
            assert ("hierarchy: still valid, skipped" in caplog.text) == (time_of == "after")
            assert not [*work.glob(".*")]
        matrix_into(target, tmp_path / "alone", backend="cpu")
    assert files[0] == files[1]


def test_a_run_whose_graph_is_damaged_is_refused(published, tmp_path):
    vertices = published.path.parents[1] / "steps" / "graph" / VERTICES
    content = vertices.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    vertices.write_bytes(flipped)
    try:
        with pytest.raises(Damaged, match=r"vertices\.arrow: its BLAKE3 digest differs from the manifest's"):
            trees_into(str(published.path), tmp_path / "out", backend="cpu")
    finally:
        vertices.write_bytes(content)


@pytest.mark.parametrize("product", [matrix_into, trees_into])
def test_a_graph_that_a_run_replaces_meanwhile_is_an_error(published, tmp_path, monkeypatch, product):
    """Tasks open it by its name, so they may have read two graphs."""
    output, look_up = tmp_path / "output", sweeping.Sweeps.part
    shutil.copytree(published.path.parents[1], output, symlinks=True)
    (tmp_path / "from.csv").write_text("7\n")
    graph = output / "steps" / "graph"

    def replacing(*asked):
        rows = look_up(*asked)
        manifest.make(graph, "graph", {"edges": "others"}, {}, lambda new: {"first": (new / "x").write_text("")})
        return rows

    monkeypatch.setattr(sweeping.Sweeps, "part", replacing)
    with pytest.raises(Damaged, match=rf"^{graph}: a later run has replaced it during this command; start again$"):
        product(str(output), tmp_path / "out", sources=str(tmp_path / "from.csv"), backend="cpu")
    assert not (tmp_path / "out").exists()


def test_the_last_tasks_are_small():
    """So workers that take one task after the other end together."""
    for count in (0, 5, 1025, 4096, 65_536, 264_346):
        tasks = sweeping.Sweeps(None, np.arange(count)).tasks(4096, 1024)
        assert [number for task in tasks for number in task] == [*range(count)]
        sizes = [*map(len, tasks)]
        assert sizes == sorted(sizes, reverse=True) and max(sizes) <= 4096
        assert all(size % 1024 == 0 for size in sizes[:-1])
        assert all(sum(sizes[place:]) >= sweeping.SHARE * size for place, size in enumerate(sizes) if size > 1024)
        assert sum(sizes[:1]) == min(4096, 1024 * max(1, count // (1024 * sweeping.SHARE)), count)
    assert [*map(len, sweeping.Sweeps(None, np.arange(10)).tasks(4))] == [4, 4, 2]


def test_tasks_that_end_with_sums_of_the_graph_are_few():
    """One, where this process takes one task after the other; of workers at most 64, and smaller ones at the end."""
    sweeps, here, workers = sweeping.Sweeps(None, np.arange(100_000)), Mock(), Mock()
    workers.cluster.open_graphs = None
    assert sweeps.summing_tasks(1024, here) == [range(100_000)]
    sizes = [*map(len, sweeps.summing_tasks(1024, workers))]
    assert (sum(sizes), max(sizes), min(sizes[:-1])) == (100_000, 1563, 390)
    assert sweeping.Sweeps(None, np.arange(0)).summing_tasks(1024, here) == [range(0)]


def test_a_run_reads_its_hierarchy_once(published, tmp_path, monkeypatch):
    """Its digests took two thirds of what a product takes beside its trees on a GPU."""
    monkeypatch.setattr(sweeping, "WORTH", 1)
    checked, check = [], manifest.check
    monkeypatch.setattr(manifest, "check", lambda folder: checked.append(folder.path.name) or check(folder))
    edges, graph = steps_of(published)
    some = [listed(tmp_path, range(count)) for count in (SIDE, SIDE - 1)]
    for runtime, times in ((Runtime(tmp_path), 0), (Runtime(tmp_path), 1)):
        checked.clear()
        for sources in some:
            tabulate_closeness(edges, graph, ClosenessConfig(sources=sources), runtime)
        tabulate_trees(graph, [np.arange(2)], ProductOptions(output=tmp_path / f"trees-{times}"), runtime)
        assert [checked.count(step) for step in ("hierarchy", "hierarchy_order")] == [times, times]


def test_what_others_wrote_into_the_folder_stays(published, tmp_path):
    out, run = tmp_path / "out", str(published.path)
    matrix_into(run, out, cutoff=1, backend="cpu")
    (out / "notes.txt").write_text("mine")
    for cutoff in (1, 2):
        with pytest.raises(BadConfig, match=rf"^{out}/notes\.txt: was not written by this command and would be replaced"):
            matrix_into(run, out, cutoff=cutoff, backend="cpu")
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    assert not matrix_into(run, out, cutoff=2, backend="cpu").reused


def test_a_folder_that_is_not_writable_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    with pytest.raises(BadConfig, match=rf"^{tmp_path}/out: its folder {tmp_path} is not writable$"):
        trees_into(str(tmp_path / "none.csv"), tmp_path / "out")


def test_a_cache_that_is_not_writable_is_named(published, tmp_path):
    (tmp_path / "cache").write_text("a file, in which root cannot write either")
    with pytest.raises(BadConfig, match=rf"^{tmp_path}/cache/graphmill: is not writable, .* XDG_CACHE_HOME$"):
        trees_into(str(published.path), tmp_path / "out", backend="cpu")


@pytest.mark.parametrize("worth", [1, 1000], ids=["swept", "searched"])
def test_a_distance_beyond_int64_is_refused_with_its_source(tmp_path, monkeypatch, worth):
    monkeypatch.setattr(sweeping, "WORTH", worth)
    (tmp_path / "long.csv").write_text(f"src,dst,weight\n7,8,{2**62}\n8,9,{2**62}\n")
    with pytest.raises(BadInput, match=r"tree from vertex 7: a distance exceeds the largest int64$"):
        matrix_into(str(tmp_path / "long.csv"), tmp_path / "out", backend="cpu")
    assert not (tmp_path / "out").exists()


def test_what_is_refused(published, tmp_path):
    (tmp_path / "ids.csv").write_text("vertex\n7\n777\n")
    (tmp_path / "columns.csv").write_text("5.0,4.0\n6,30\n")  # the second line is near a vertex, too
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "two.parquet")
    pq.write_table(pa.table({"a": [1, None]}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"a": [1.5]}), tmp_path / "float.parquet")
    pq.write_table(pa.table({"a": [7, 24]}), tmp_path / "short.parquet")
    pq.write_table(pa.table({"a": pa.array([7, 2**63], pa.uint64())}), tmp_path / "wide.parquet")
    (tmp_path / "header.csv").write_text("who\n7\n")
    (tmp_path / "empty.csv").write_text("Vertex\n\n")
    (tmp_path / "names.csv").write_text("vertex;name\n7;seven\n")
    (tmp_path / "cells.csv").write_text("who;name\n7;seven\n")
    (tmp_path / "ids.csv.gz").write_bytes(gzip.compress(b"vertex\n7\n"))
    run = str(published.path)
    content = (tmp_path / "short.parquet").read_bytes()
    footer = footer_of(content)
    field(footer, 3)[2] = 1  # rows of the file
    (tmp_path / "short.parquet").write_bytes(with_footer(content, footer))
    for file, error, words in (
        ("ids.csv", BadSource, "ids.csv: line 3: source 777 is not in the graph"),
        (
            "header.csv",
            BadSource,
            "line 1: source 'who' is neither .*; a header line is one of vertex, id, ",
        ),
        ("empty.csv", BadInput, "empty.csv: contains no vertex, only the header line 'Vertex'$"),
        ("names.csv", BadInput, "names.csv: has no column 'id' among 'vertex', 'name'; name it by `id` below"),
        (
            "cells.csv",
            BadSource,
            "cells.csv: line 1: source 'who;name' is neither .*; the file must have one column, or be one of",
        ),
        ("ids.csv.gz", BadConfig, "ids.csv.gz: is compressed; a file of vertices must be plain text"),
        ("wide.parquet", BadInput, "wide.parquet: row 1: the vertex 9223372036854775808 is not in 0..9223372036854775807"),
        (
            "columns.csv",
            BadInput,
            "columns.csv: line 2: '6,30' is neither one id nor a place LON,LAT, which has a decimal point$",
        ),
        ("none.csv", BadInput, "none.csv: "),
        ("two.parquet", BadInput, "has columns 'a', 'b': neither one column of ids, nor those of places"),
        ("null.parquet", BadInput, "row 1: the vertex is null"),
        ("short.parquet", BadInput, "is not a complete Parquet file"),
        ("float.parquet", BadInput, "column 'a' is double, not an integer type or string"),
    ):
        with pytest.raises(error, match=words):
            matrix_into(run, tmp_path / "out", sources=str(tmp_path / file), backend="cpu")
    with pytest.raises(BadInput, match="no such file"):  # before the graph is read
        matrix_into(str(tmp_path / "ids.csv"), tmp_path / "out", targets=str(tmp_path / "none.csv"))
    with pytest.raises(BadConfig, match="was not written by this command"):
        trees_into(run, tmp_path / "taken")
    with pytest.raises(BadConfig, match=r"is inside .*, the folder of a run"):
        trees_into(run, published.path / "trees")
    with pytest.raises(BadConfig, match="is not a published run, but the folder of step graph"):
        matrix_into(str(published.path.parents[1] / "steps" / "graph"), tmp_path / "out")
    for cutoff in (-1, float("nan"), float("inf"), True):
        with pytest.raises(BadConfig, match=rf"options: cutoff: must be a number, at least 0 \(got {cutoff}\)$"):
            matrix_into(run, tmp_path / "out", cutoff=cutoff)
    with pytest.raises(BadConfig, match=r"sources: .* at least 1 character"):  # not all vertices
        matrix_into(run, tmp_path / "out", sources="")
    assert not (tmp_path / "out").exists()
