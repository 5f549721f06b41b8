"""The stored graph on the disk: mapped without a copy, and refused when it is not what it was."""

import dataclasses
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from kernels.distributed import partition
from pipeline.config.layout import LayoutConfig
from pipeline.errors import Damaged
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.graph import open_graph, open_shard, shard_rows
from tests.edge_lists import edge_folder
from tests.graphs import EdgeList
from tests.stored_graphs import validate

# Two directions, weights, a row of 32 arcs or more in each direction.
EDGES = EdgeList(
    "two_ways",
    tuple((0, v, v) for v in range(1, 50)) + tuple((v, 2, 1) for v in range(5, 45)) + ((3, 4, 2), (3, 5, 2), (4, 3, 9)),
)
FILES = [f"{direction}-{name}" for direction in ("out", "in") for name in ("offsets", "indices", "weights")]


@pytest.fixture
def edges(tmp_path):
    return edge_folder(tmp_path, EDGES)


@pytest.fixture
def stored(edges, tmp_path):
    return lay_out(edges, LayoutConfig(), Runtime(tmp_path))


def mapped_file(array: np.ndarray) -> Path:
    """The file at whose map the array lies."""
    place = array.__array_interface__["data"][0]
    for mapped in psutil.Process().memory_maps(grouped=False):
        begin, end = (int(bound, 16) for bound in mapped.addr.split("-"))
        if begin <= place < end:
            return Path(mapped.path)
    raise AssertionError("no memory map")


def test_one_shard_opens_as_read_only_maps_of_its_files(stored):
    allocated = pa.total_allocated_bytes()
    graph = open_graph(stored)
    assert pa.total_allocated_bytes() <= allocated  # a thread of Arrow may have freed something meanwhile
    for direction, csr in (("out", graph.out), ("in", graph.into)):
        arrays = (csr.offsets, csr.indices, csr.weights)
        names = [name for name in FILES if name.startswith(direction)]
        for array, name in zip(arrays, names, strict=True):
            assert mapped_file(array) == (stored.path / "shard-00000" / f"{name}.npy").resolve()
            assert type(array) is np.ndarray
    assert mapped_file(graph.rows_by_id) == (stored.path / "rows_by_id.npy").resolve()
    for array in (graph.ids, graph.rows_by_id, graph.out.indices):
        assert not array.flags.writeable


def test_shards_put_together_are_the_graph_of_one(edges, stored, tmp_path):
    one = open_graph(stored)
    arrays = [array.copy() for array in (one.ids, one.out.offsets, one.into.indices, one.into.weights)]
    many = open_graph(lay_out(edges, LayoutConfig(shards=4), Runtime(tmp_path)))
    for left, right in zip(arrays, (many.ids, many.out.offsets, many.into.indices, many.into.weights), strict=True):
        assert np.array_equal(left, right)
        assert left.dtype == right.dtype


def test_a_whole_graph_is_reused_and_a_damaged_file_made_again(edges, stored, tmp_path):
    assert lay_out(edges, LayoutConfig(), Runtime(tmp_path)).reused
    path = stored.path / "shard-00000" / "out-weights.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert not lay_out(edges, LayoutConfig(), Runtime(tmp_path)).reused
    assert path.read_bytes() == whole


def test_another_configuration_makes_it_again(edges, stored, tmp_path):
    assert not lay_out(edges, LayoutConfig(order="source"), Runtime(tmp_path)).reused


def test_equal_input_gives_equal_bytes(edges, stored, tmp_path):
    again = lay_out(edges, LayoutConfig(), Runtime(tmp_path / "again"))
    assert again.manifest.files == stored.manifest.files


@pytest.mark.parametrize("name", FILES)
def test_a_missing_short_or_retyped_array_is_refused_when_opened(stored, name):
    path = stored.path / "shard-00000" / f"{name}.npy"
    array = np.load(path)
    for broken in (array[:-1], array.astype(np.uint8)):
        np.save(path, broken)
        with pytest.raises(Damaged, match=name):
            open_shard(stored, 0)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Damaged, match=name):
        open_shard(stored, 0)
    path.unlink()
    with pytest.raises(Damaged, match=name):
        open_shard(stored, 0)


@pytest.mark.parametrize("name", FILES)
def test_validate_refuses_a_change_of_any_entry(stored, name):
    path = stored.path / "shard-00000" / f"{name}.npy"
    whole = np.load(path)
    for position in range(len(whole)):
        broken = whole.copy()
        broken[position] += 1
        np.save(path, broken)
        with pytest.raises(Damaged):
            validate(stored)
    np.save(path, whole)
    validate(stored)


def test_validate_refuses_rows_that_are_no_bijection(stored):
    path = stored.path / "rows_by_id.npy"
    whole = np.load(path)
    for broken in (whole[::-1], np.roll(whole, 1), np.where(whole == 3, 4, whole), whole - 1):
        np.save(path, broken)
        with pytest.raises(Damaged):
            validate(stored)


@pytest.mark.parametrize("column", ["vertex", "out_degree", "in_degree"])
def test_validate_refuses_a_change_of_any_vertex(stored, column):
    path = stored.path / "vertices.arrow"
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    for position in (0, len(table) // 2, len(table) - 1):
        values = table[column].to_numpy().copy()
        values[position] = values[position - 1] if column == "vertex" else values[position] + 1
        broken = table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(values))
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(broken)
        with pytest.raises(Damaged):
            validate(stored)


@pytest.mark.parametrize("rows", [[0, 49], [1, 50], [0, 51]])
def test_a_shard_plan_that_misses_a_row_is_refused(stored, rows):
    facts = stored.facts | {"shards": [stored.facts["shards"][0] | {"rows": rows}]}
    with pytest.raises(Damaged, match="do not cover"):
        shard_rows(dataclasses.replace(stored, manifest=dataclasses.replace(stored.manifest, facts=facts)))


@pytest.mark.parametrize("plan", [[], [range(3), range(2, 5)], [range(2), range(3, 5)], [range(4), range(4, 2), range(2, 5)]])
def test_a_plan_with_a_gap_or_an_overlap_is_invalid(plan):
    with pytest.raises(ValueError, match="do not cover"):
        partition.validate(plan, 5)


def test_an_edge_list_that_changed_on_the_disk_never_becomes_another_graph(edges, stored, tmp_path):
    path = edges.path / "part-00000.parquet"
    whole = path.read_bytes()
    refused = 0
    for position in range(0, len(whole), 101):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 255]) + whole[position + 1 :])
        work = tmp_path / f"flipped-{position}"
        try:
            assert (
                lay_out(edges, LayoutConfig(), Runtime(work)).manifest.files == stored.manifest.files
            )  # a byte that says nothing
        except Damaged:
            refused += 1
            assert not list(work.iterdir())
    assert refused > 20


def test_an_edge_list_with_fewer_rows_than_its_manifest_states_is_refused(edges, tmp_path):
    facts = edges.facts | {"edges": edges.facts["edges"] + 1}
    wrong = dataclasses.replace(edges, manifest=dataclasses.replace(edges.manifest, facts=facts))
    with pytest.raises(Damaged, match="the manifest says"):
        lay_out(wrong, LayoutConfig(), Runtime(tmp_path))
