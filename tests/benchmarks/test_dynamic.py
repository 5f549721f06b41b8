"""The experiments on graphs that change run on small graphs, with their checks: rows F2 and F3 of docs/dynamic-graphs.md."""

from benchmarks.dynamic.bench import PARTS, main


def test_f2_f3_experiments(tmp_path, capsys):
    main(["--scale", "8", "--side", "20", "--most", "2", "--out", str(tmp_path)])
    found = capsys.readouterr().out
    assert (tmp_path / "dynamic.md").read_text() in found
    rows = [line.split(" | ") for line in found.splitlines() if line.startswith("| ")][1:]
    assert {row[0].strip("| ") for row in rows} == set(PARTS)
    shares = [float(row[3]) for row in rows if row[4].startswith("% of")]
    assert len(shares) == 2 * 8
    assert shares.count(100) >= 2
