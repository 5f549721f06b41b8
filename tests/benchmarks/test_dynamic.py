"""The experiments on graphs that change run on small graphs, with their checks: rows F2 and F3 of docs/dynamic-graphs.md."""

import pyarrow.parquet as pq

from benchmarks.dynamic.bench import PARTS, main
from benchmarks.dynamic.stand_ins import STAND_INS


def test_f2_f3_experiments(tmp_path, capsys):
    main(["--scale", "8", "--side", "20", "--most", "2", "--out", str(tmp_path)])
    assert (tmp_path / "dynamic.md").read_text() in capsys.readouterr().out
    rows = pq.read_table(tmp_path / "dynamic.parquet").to_pylist()
    assert {row["experiment"] for row in rows} == {"graph", *PARTS}
    shares = [row["value"] for row in rows if row["unit"].startswith("% of")]
    assert len(shares) == 2 * 8
    assert shares.count(100) >= 2


def test_f2_f3_stand_ins_of_the_document(tmp_path, capsys):
    main(["--document", "0.001", "--only", "searches", "--only", "updates", "--out", str(tmp_path)])
    table, rows = capsys.readouterr().out, pq.read_table(tmp_path / "dynamic.parquet").to_pylist()
    for name, of in STAND_INS.items():
        assert f"stand-in for {name}" in table
        found = {row["what"]: row["value"] for row in rows if row["graph"].endswith(f" {name}")}
        if of.vertices > 10**6:  # the smallest have too few vertices at this size
            assert abs(found["vertices"] / of.vertices / 0.001 - 1) < 0.1
            assert found["mean degree"] <= 1.1 * 2 * of.edges / of.vertices
        assert min(found["pages: update, transfer and SSSP"], found["SSSP, on pages"]) > 0
