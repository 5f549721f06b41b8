"""A file with the rows of an earlier one is a link to it, and its bytes are those of a fresh encoding."""

import shutil
from itertools import pairwise

import pyarrow as pa
import pytest

from pipeline.changes import change
from pipeline.comparison import earlier
from pipeline.comparison.earlier import EarlierTable
from pipeline.config.run import RunConfig
from pipeline.run import run
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.pipeline.changes.histories import differing

ARROW = pa.schema(
    [
        pa.field("vertex", pa.int64(), nullable=False),
        pa.field("score", pa.float64()),
        pa.field("name", pa.string()),
        pa.field("level", pa.int32()),
        pa.field("path", pa.list_(pa.field("element", pa.int64(), nullable=False))),
    ]
)
NAME = tables.file_name(0)


def columns():
    """Values with nulls, -0.0 and nan."""
    path = [[1, 2], None, [], [3], [4, 5]]
    return {"vertex": [*range(10, 15)], "score": [0.5, -0.0, float("nan"), None, 2.0], "name": ["a", None, "", "b", "ä"],
            "level": [1, None, 3, 4, 5], "path": path}  # fmt: skip


def batches(values, cuts=(0, 3, 5), arrow=ARROW):
    rows = pa.RecordBatch.from_pydict(values, arrow)
    return [rows[first:last] for first, last in pairwise(cuts)]


@pytest.fixture
def before(tmp_path):
    """A step that wrote the table."""

    def write(folder):
        tables.write_rows(folder / NAME, ARROW, ["vertex"], batches(columns()))
        return {}

    return manifest.make(tmp_path / "bfs", "bfs", {}, {}, write)


def written(before, tmp_path, given, arrow=ARROW, code=None):
    """Whether a file is a link to that of the step before; its bytes are always those of a fresh one."""
    table = EarlierTable.of(before.path, "bfs", code or before.manifest.code)
    table.write(0, tmp_path / "new", arrow, ["vertex"], iter(given))
    tables.write_rows(tmp_path / "fresh", arrow, ["vertex"], given)
    assert (tmp_path / "new").read_bytes() == (tmp_path / "fresh").read_bytes()
    return (tmp_path / "new").samefile(before.path / NAME)


def test_the_same_rows_are_linked(before, tmp_path):
    assert written(before, tmp_path, batches(columns()))


def test_a_table_of_other_code_is_not(before, tmp_path):
    assert not written(before, tmp_path, batches(columns()), code="other")


def test_a_file_of_another_library_is_not(before, tmp_path, monkeypatch):
    monkeypatch.setattr(earlier, "_WRITER", "parquet-cpp-arrow version 1.0.0")
    assert not written(before, tmp_path, batches(columns()))


@pytest.mark.parametrize("row", [0, 4])
@pytest.mark.parametrize(
    ("name", "value"), [("vertex", 99), ("score", 0.0), ("score", None), ("name", "x"), ("level", 2), ("path", [7]), ("path", [])]
)
def test_other_rows_are_not(before, tmp_path, name, value, row):
    values = columns()
    values[name][row] = value
    assert not written(before, tmp_path, batches(values))


def test_the_sign_of_zero_counts(before, tmp_path):
    values = columns()
    values["score"][1] = 0.0
    assert not written(before, tmp_path, batches(values))


@pytest.mark.parametrize("cuts", [(0, 5), (0, 2, 5), (0, 3), (0, 0)])
def test_other_row_groups_are_not(before, tmp_path, cuts):
    assert not written(before, tmp_path, batches(columns(), cuts))


def test_another_unit_is_not(before, tmp_path):
    arrow = tables.stating(ARROW, {"score": "m"})
    assert not written(before, tmp_path, batches(columns(), arrow=arrow), arrow)


def test_a_file_that_was_moved_behind_a_link_is_not(before, tmp_path):
    (before.path / NAME).rename(tmp_path / "elsewhere")
    (before.path / NAME).symlink_to(tmp_path / "elsewhere")
    assert not written(before, tmp_path, batches(columns()))
    assert not (tmp_path / "new").is_symlink()


def test_a_damaged_file_is_not(before, tmp_path):
    """Neither one with other values than its pages' checksums, nor one whose footer states something else."""
    file, content = before.path / NAME, (before.path / NAME).read_bytes()
    for place in (20, content.rindex(b"parquet-cpp-arrow"), len(content) - 6):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert not written(before, tmp_path, batches(columns()))
        for name in ("new", "fresh"):
            (tmp_path / name).unlink()
    file.unlink()
    EarlierTable.of(before.path, "bfs", before.manifest.code).write(0, tmp_path / "new", ARROW, ["vertex"], batches(columns()))
    assert (tmp_path / "new").read_bytes() == content


def test_a_local_change_of_a_graph_writes_few_files(tmp_path, monkeypatch):
    """On a path in files of 8 rows; all bytes, with those of change tables, are those of runs that link nothing."""
    for name in ("ROWS_PER_GROUP", "ROWS_PER_FILE"):
        monkeypatch.setattr(tables, name, 8)
    edges = [(one, one + 1, one % 3 + 1) for one in range(1, 60)]
    (tmp_path / "edges.csv").write_text("src,dst,weight\n" + "".join(f"{a},{b},{c}\n" for a, b, c in edges), "utf-8")
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\nupdate,50,51,9\ninsert,3,5,7\n", "utf-8")
    given = {"graph": {"source": str(tmp_path / "edges.csv"), "directed": False}, "backend": "cpu", "sources": [60]}
    run(RunConfig.model_validate(given | {"output": tmp_path / "out", "stages": ["sssp", "mst", "wcc"]}))
    shutil.copytree(tmp_path / "out", tmp_path / "plain", symlinks=True)
    before = files_of((tmp_path / "out" / "latest").resolve())
    linked = change(tmp_path / "out", tmp_path / "changes.csv")
    monkeypatch.setattr(EarlierTable, "of", lambda *_: EarlierTable())
    plain = change(tmp_path / "plain", tmp_path / "changes.csv")
    assert differing(linked.path, plain.path) == []
    after = files_of(linked.path)
    same = {table: len(after[table] & before[table]) for table in ("sssp", "mst", "wcc", "vertices", "forest")}
    assert same == {"sssp": 1, "mst": 7, "wcc": 8, "vertices": 7, "forest": 7}
    changed = {path.name: path.read_bytes() for path in sorted(linked.path.glob("*_changes/*.parquet"))}
    assert changed == {path.name: path.read_bytes() for path in sorted(plain.path.glob("*_changes/*.parquet"))}


def files_of(published):
    """The files of each table, by their inodes."""
    tables_of = {}
    for path in published.glob("*/*.parquet"):
        tables_of.setdefault(path.parent.name, set()).add(path.stat().st_ino)
    return tables_of
