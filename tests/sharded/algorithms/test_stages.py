"""Stages over shards, from the stored graph to the proof: the files of one worker, however graph and table are cut."""

import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW
from kernels.reachability.certificate.sharded import RULES
from kernels.registry import ALGORITHMS
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.stages import BetweennessConfig, EdgeBetweennessConfig
from pipeline.errors import BadConfig, BadInput, BadSource, Damaged, ProofFailed
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import default_source, rows_of_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder, make
from pipeline.store.shards import dealing_of, load_shard
from pipeline.tables import files as tables
from tests.counts import in_turn
from tests.sharded import ranks
from tests.sharded.shards import split

pytestmark = pytest.mark.sampled

SHARDED = tuple(algorithm.name for algorithm in ALGORITHMS if algorithm.sharded_solver)
# Of stages that refuse the lengths 0 of some arcs here.
OPTIONS = {"betweenness": BetweennessConfig(weights=False), "edge_betweenness": EdgeBetweennessConfig(weights=False)}
OF_ROWS = RULES[-1]  # of reachability over ranks; one worker makes the table again from the index, and compares


def stored(work: Path, weights: np.ndarray | None = None, *, directed: bool, skewed: bool = False, **layout: object) -> Folder:
    """A random graph of 40 vertices with gaps between their ids, in several components; a skewed one has hubs."""
    random = np.random.default_rng(7)
    ends = 3 * random.integers(1, 40, (2, 45))
    if skewed:
        ends[0, 10:] = 3 * random.integers(1, 3, 35)
    columns = {"src": ends[0], "dst": ends[1], "weight": random.integers(0, 4, 45) if weights is None else weights}
    work.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), work / "graph.parquet")
    return lay_out(
        ingest(GraphConfig(source=str(work / "graph.parquet"), directed=directed), work), LayoutConfig(**layout), Runtime(work)
    )


STORED = {
    "arcs-1": {"directed": True, "shards": 1},
    "arcs-3": {"directed": True, "shards": 3},
    "edges-2": {"directed": False, "shards": 2},
    "edges-7": {"directed": False, "shards": 7},
    "decimals-3": {"directed": True, "shards": 3, "weights": np.arange(45) % 7 / 10},
    "hubs-3": {"directed": True, "shards": 3, "skewed": True, "order": "windowed", "window": 32},
}


@pytest.fixture
def graph(request, tmp_path) -> Folder:
    return stored(tmp_path / "stored", **STORED[request.param])


@pytest.fixture
def cut(monkeypatch) -> None:
    """Files and row groups so small that answers have several."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 5)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 15)


def same_rows(found: Shard, expected: Shard) -> bool:
    names = ("bounds", "ids", "positions", "ghosts", "ghost_positions")
    arrays = [(getattr(found, name), getattr(expected, name)) for name in names]
    for side in ("out", "into"):
        ours, theirs = getattr(found, side), getattr(expected, side)
        arrays += [(getattr(ours, name), getattr(theirs, name)) for name in ("offsets", "indices", "weights")]
    return found.symmetric == expected.symmetric and all(
        np.array_equal(*pair) and pair[0].dtype == pair[1].dtype for pair in arrays
    )


@pytest.mark.parametrize(("size", "graph"), in_turn(2, [*ranks.SIZES, 60], [*STORED]), indirect=["graph"])
def test_each_rank_reads_its_shard_however_the_graph_is_stored(size, graph):
    whole = open_graph(graph)
    dealing, expected = dealing_of(graph, size), ranks.dealing_of(whole, size)
    for name in ("bounds", "cuts", "owners"):
        np.testing.assert_array_equal(getattr(dealing, name), getattr(expected, name))
    for rank, shard in enumerate(split(ranks.dealt(whole, expected), expected.bounds)):
        assert same_rows(load_shard(graph, dealing, rank), shard)


def test_the_rows_of_the_one_with_hubs_are_dealt_over_any_number_of_ranks(tmp_path):
    graph = stored(tmp_path / "stored", **STORED["hubs-3"])
    for size in ranks.SIZES[1:]:
        dealing = dealing_of(graph, size)
        assert not dealing.keeps
        assert len(dealing.owners) > size


@pytest.mark.parametrize(("stage", "graph"), in_turn(3, SHARDED, [*STORED]), indirect=["graph"])
def test_the_files_are_those_of_a_single_rank(stage, graph, cut, tmp_path):
    sources = rows_ids(graph, [0, 5, 17])
    one = run_stage(graph, stage, sources, Runtime(tmp_path / "one", cluster=LocalThreads()), OPTIONS.get(stage))
    many = [
        run_stage(graph, stage, sources, Runtime(tmp_path / str(size), cluster=LocalThreads(size)), OPTIONS.get(stage))
        for size in ranks.SOME_SIZES
    ]
    assert len(tables.files(one.path)) > 1
    for size, found in zip(ranks.SOME_SIZES, many, strict=True):
        assert found.facts["shards"] == size and found.facts["rows"] == one.facts["rows"]
        if stage == "pagerank":
            assert found.manifest.files == many[0].manifest.files
            np.testing.assert_allclose(*(tables.read(of.path)["pagerank"] for of in (one, found)), rtol=0, atol=1e-12)
        else:
            assert found.manifest.files == one.manifest.files
    proofs = [prove(graph, many[-1], size == 3, Runtime(tmp_path / f"by-{size}", cluster=LocalThreads(size))) for size in (3, 8)]
    proofs.append(prove(graph, one, False, Runtime(tmp_path / "one")))
    rules = [[re.sub(r"by \d+e-\d+", "", rule) for rule in proof.facts["rules"] if rule != OF_ROWS] for proof in proofs]
    assert rules[0] == rules[1] == rules[2]  # but for an error that depends on what a proof draws


def test_an_isolated_vertex_and_more_shards_than_rows(tmp_path):
    (tmp_path / "few").mkdir()
    pq.write_table(pa.table({"src": [5, 9, 7], "dst": [9, 5, 7]}), tmp_path / "few" / "graph.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "few" / "graph.parquet")), tmp_path / "few")
    graph = lay_out(edges, LayoutConfig(shards=2), Runtime(tmp_path / "few"))
    for stage in SHARDED:
        one, found = (
            run_stage(graph, stage, [], Runtime(tmp_path / name, cluster=LocalThreads(shards)))
            for name, shards in (("1", 1), ("8", 8))
        )
        assert found.manifest.files == one.manifest.files
        prove(graph, found, True, Runtime(tmp_path / "8", cluster=LocalThreads(8)))


@pytest.mark.parametrize("stage", SHARDED)
def test_a_table_that_was_changed_is_not_proved(stage, cut, tmp_path):
    graph = stored(tmp_path / "stored", directed=False)
    true = run_stage(graph, stage, rows_ids(graph, [3]), Runtime(tmp_path), OPTIONS.get(stage))
    table = tables.read(true.path)
    changed = [(column, change) for column in table.column_names for change in (stepped, swapped, with_unknown, with_null)]
    for number, (column, change) in enumerate(changed):
        values = change(table[column].to_pylist())
        if values == table[column].to_pylist() or (None in values and not table.schema.field(column).nullable):
            continue
        at = table.column_names.index(column)
        wrong = table.set_column(at, table.schema.field(column), pa.array(values, table.schema.field(column).type))
        forged = forge(true, wrong, tmp_path / str(number))
        with pytest.raises(ProofFailed):
            prove(graph, forged, False, Runtime(tmp_path / str(number), cluster=LocalThreads(3)))
        assert not (tmp_path / str(number) / f"proof-{stage}").exists()


@pytest.mark.parametrize("change", ["drop", "repeat", "turn"])
@pytest.mark.parametrize("stage", ["bfs", "mst", "wcc"])
def test_a_table_with_rows_missing_or_moved_is_not_proved(stage, change, cut, tmp_path):
    graph = stored(tmp_path / "stored", directed=False)
    true = run_stage(graph, stage, rows_ids(graph, [3]), Runtime(tmp_path))
    table = tables.read(true.path)
    wrong = {
        "drop": table[:-1],
        "repeat": pa.concat_tables([table, table[-1:]]),
        "turn": table.take([1, 0, *range(2, len(table))]),
    }
    with pytest.raises(ProofFailed):
        prove(graph, forge(true, wrong[change], tmp_path / "forged"), False, Runtime(tmp_path, cluster=LocalThreads(3)))


def test_files_of_other_columns_or_too_many_are_not_proved(cut, tmp_path):
    graph = stored(tmp_path / "stored", directed=False)
    true = run_stage(graph, "wcc", [], Runtime(tmp_path))

    def write(folder):
        for path in tables.files(true.path):
            (folder / path.name).write_bytes(path.read_bytes())
        tables.write_file(folder / tables.file_name(9), "wcc", None, [])
        return true.facts

    with pytest.raises(ProofFailed, match="files, which is not what"):
        prove(
            graph,
            make(tmp_path / "more" / "wcc", "wcc", {"graph": graph.digest}, {}, write),
            False,
            Runtime(tmp_path, cluster=LocalThreads(2)),
        )
    other = make(tmp_path / "wcc", "pagerank", {"graph": graph.digest}, {}, write)
    with pytest.raises(ProofFailed, match="its columns are"):
        prove(graph, other, False, Runtime(tmp_path, cluster=LocalThreads(2)))


def test_errors_are_those_of_a_single_rank(tmp_path):
    vast = stored(tmp_path / "stored", np.full(45, 2**62), directed=True, shards=2)
    with pytest.raises(BadInput, match=r"sssp: .*int64"):
        run_stage(vast, "sssp", [], Runtime(tmp_path, cluster=LocalThreads(3)))
    with pytest.raises(BadSource, match="source 4 is not in the graph"):
        run_stage(vast, "bfs", [4], Runtime(tmp_path, cluster=LocalThreads(3)))
    (vast.path / "shard-00001" / "out-indices.npy").unlink()
    with pytest.raises(Damaged, match="out-indices"):
        run_stage(vast, "bfs", [], Runtime(tmp_path, cluster=LocalThreads(2)))
    vast.path.rename(tmp_path / "moved")
    with pytest.raises((BadConfig, Damaged)):
        run_stage(vast, "wcc", [], Runtime(tmp_path, cluster=LocalThreads(2)))
    assert [path.name for path in tmp_path.iterdir() if path.name in SHARDED] == []


@pytest.mark.parametrize("graph", STORED, indirect=True)
def test_sources_are_found_in_the_maps(graph):
    whole = open_graph(graph)
    assert rows_of_sources(graph, whole.ids.tolist()) == list(range(whole.num_vertices))
    for absent in (-1, 0, 1, int(whole.ids.max()) + 1, 2**62):
        with pytest.raises(BadSource, match=f"source {absent} is not in the graph"):
            rows_of_sources(graph, [int(whole.ids[0]), absent])
    degrees = np.diff(whole.out.offsets)
    assert default_source(graph) == min(whole.ids[degrees == degrees.max()])


def rows_ids(graph: Folder, places: list[int]) -> list[int]:
    whole = open_graph(graph)
    return whole.ids[whole.rows_by_id[places]].tolist()


def forge(true: Folder, table: pa.Table, work: Path) -> Folder:
    """The same answer with another table, in files as they are due."""
    stage = true.manifest.step

    def write(folder: Path) -> dict:
        rows = len(table)
        for number in range(tables.files_of(rows)):
            part = table[number * tables.ROWS_PER_FILE : (number + 1) * tables.ROWS_PER_FILE].combine_chunks()
            path, dimensions = folder / tables.file_name(number), true.facts.get("dimensions", 0)
            tables.write_file(path, tables.table_of(stage), true.facts["weight"], part.to_batches(), dimensions)
        return true.facts

    for index in true.path.parent.glob("*_index"):
        shutil.copytree(index, work / index.name)
    return make(work / stage, stage, dict(true.manifest.inputs), {"forged": work.name}, write)


def stepped(values: list) -> list:
    return [*values[:-1], (values[-1] or 0) + 1]


def swapped(values: list) -> list:
    return [*values[:-2], values[-1], values[-2]]


def with_unknown(values: list) -> list:
    return [-5, *values[1:]]


def with_null(values: list) -> list:
    place = next((place for place, value in enumerate(values) if value not in (None, NO_ROW)), 0)
    return [None if number == place else value for number, value in enumerate(values)]
