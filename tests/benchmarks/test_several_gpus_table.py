"""The table of the benchmarks over several GPUs: rows of several processes, the last ones first, beside the peer's."""

from dataclasses import replace

import pyarrow.parquet as pq

from benchmarks.several_gpus.table import OURS, PEER, ShardRow, add, collect, markdown, write

WHERE = {"gpu": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cupy": "14.2.0", "cpu_cores": 32}
ROW = ShardRow(
    "R-MAT 26", "bfs", 2, OURS, version="", **WHERE, vertices=32_000_000, arcs=2_100_000_000, median=11.5, least=10.0, most=13.0,
    runs=8, supersteps=8.0, teps=1.8e11, proof=900.0, check=1.5e8,
)  # fmt: skip
PEER = ShardRow("R-MAT 26", "bfs", 2, PEER, version="26.10", **WHERE, median=142.0, runs=8, check=1.5e8)


def line_of(rows):
    return next(line for line in markdown(rows).splitlines() if line.startswith("| R-MAT 26 "))


def test_rows_are_read_as_they_were_added_and_a_later_one_replaces(tmp_path):
    add(tmp_path, ROW)
    add(tmp_path, PEER)
    assert collect(tmp_path) == [ROW, PEER]
    again = replace(ROW, median=12.0)
    add(tmp_path, again)
    assert collect(tmp_path) == [again, PEER]


def test_the_table_is_written_as_parquet_and_markdown(tmp_path):
    write(tmp_path / "table.parquet", [ROW, PEER])
    assert [ShardRow(**row) for row in pq.read_table(tmp_path / "table.parquet").to_pylist()] == [ROW, PEER]
    assert (tmp_path / "table.md").read_text() == markdown([ROW, PEER])


def test_a_line_shows_the_peer():
    cells = [cell.strip() for cell in line_of([ROW, PEER]).strip("|").split("|")]
    assert cells == [
        "R-MAT 26", "32,000,000", "2,100,000,000", "2", "bfs", "**11.5**", "10.0", "13.0", "8.00", "180", "900", "142", "12.3x",
        "",
    ]  # fmt: skip
    assert "NVIDIA H200, driver 580.1" in markdown([ROW])
    assert "cuGraph 26.10" in markdown([ROW, PEER])


def test_a_peer_of_another_number_of_gpus_is_not_shown():
    assert "142" not in line_of([ROW, replace(PEER, gpus=4)])


def test_a_peer_with_another_answer_has_no_ratio():
    line = line_of([ROW, replace(PEER, check=2e8)])
    assert "with another answer" in line
    assert "12.3x" not in line


def test_a_failure_is_shown():
    assert "| failed |" in line_of([replace(ROW, median=None, failure="certificate: no")])
    assert "failed: no memory" in line_of([ROW, replace(PEER, median=None, failure="no memory")])
