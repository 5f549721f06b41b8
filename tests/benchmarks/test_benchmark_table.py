"""The table of the GPU's benchmarks: what is written is read again, what is measured again is replaced, Markdown says it all."""

from dataclasses import replace
from pathlib import Path

from benchmarks.one_gpu.table import KernelRow, markdown, merge, read, write

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
WHERE = {"gpu": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cupy": "14.2.0", "cpu_cores": 16, "copy_bandwidth": 4.2e12}
ROW = KernelRow(
    "New York", "bfs", "", 264_346, 730_100, 5_000_000, **WHERE, cugraph_version="26.10", median=0.99, least=0.9, most=1.2,
    runs=16, teps=7.3e8, necessary_bytes=4_000_000, copy_share=0.013, first=4.0, peak_bytes=5_000_000, kept_bytes=10,
    certificate=0.31, cpu=7.2, pylibcugraph=94.7, pylibcugraph_runs=16, pylibcugraph_note="push", cugraph=121.0, cugraph_runs=2,
    doublegraph=42.0, doublegraph_runs=16,
)  # fmt: skip


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [ROW, replace(ROW, method="solution1", cpu=None, pylibcugraph=None)]
    write(tmp_path / "deep" / "gpu.parquet", rows)
    assert read(tmp_path / "deep" / "gpu.parquet") == rows
    assert (tmp_path / "deep" / "gpu.md").read_text() == markdown(rows)
    assert read(tmp_path / "none.parquet") == []


def test_the_committed_table_is_read():
    assert all(row.doublegraph is None or row.doublegraph_runs for row in read(RESULTS / "h200.parquet"))


def test_what_is_measured_again_is_replaced():
    other, again = replace(ROW, graph="Rome"), replace(ROW, median=0.5)
    assert merge([ROW, other], [again]) == [again, other]
    assert merge([ROW], [replace(ROW, method="solution2")]) == [ROW, replace(ROW, method="solution2")]


def test_markdown_states_the_machine_and_the_methods():
    text = markdown([ROW, replace(ROW, kernel="scc", median=None, failure="AssertionError: no")])
    where, _, head, _, line, failed = text.splitlines()[:6]
    assert where.startswith(
        "NVIDIA H200, driver 580.1, CUDA 13.0, CuPy 14.2.0, cuGraph 26.10; 16 CPU cores; a copy moves 4.20 TB/s"
    )
    assert head.count("|") == line.count("|") == failed.count("|")
    assert "| New York | bfs | **0.990** | 0.900 | 1.20 | 0.730 | 1.3 % | 2.00 | 4.00 | 0.310 |" in line
    assert "| 94.7 (push) | 95.7x | 121 (2 runs) | 122x | 42.0 | 42.4x | 7.20 | 7.27x |" in line
    assert "failed: AssertionError: no" in failed
    assert "| New York | 264,346 | 730,100 | 5.0 |" in text


def test_the_header_states_that_cugraph_is_missing():
    row = replace(ROW, cugraph_version=None, pylibcugraph=None, pylibcugraph_note="", cugraph=None)
    assert "cuGraph is not installed: its columns are empty" in markdown([row])
