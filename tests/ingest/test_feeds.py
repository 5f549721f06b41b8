"""Sources of several files: the same edges as other readers of such folders see, in the order of the paths."""

import csv
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from dataclasses import replace
from urllib.parse import quote

import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from backports import zstd
from blake3 import blake3

from pipeline.config.graph import Columns, GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.feed import find, joining
from pipeline.store.edges import HeldEdges
from pipeline.store.facts import EdgeFacts
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges


def zipped(content):
    with zipfile.ZipFile(archive := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("README.md", "about")
        file.writestr("part.csv", content)
    return archive.getvalue()


def in_tar(content):
    with tarfile.open(fileobj=(archive := io.BytesIO()), mode="w:gz") as file:
        member = tarfile.TarInfo("export/part.csv")
        member.size = len(content)
        file.addfile(member, io.BytesIO(content))
    return archive.getvalue()


PACKED = {
    "": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress, ".zip": zipped, ".tar.gz": in_tar,
}  # fmt: skip
MEMBERS = {".zip": "part.csv", ".tar.gz": "export/part.csv"}


def read(source, work, **keys):
    """The rows of a source as Python values, with the names of ids that are strings."""
    folder = ingest(GraphConfig(source=source, **keys), work)
    rows = rows_of_edges(folder).to_pydict()
    if names := open_names(folder):
        rows |= {end: [names.text(vertex) for vertex in rows[end]] for end in ("src", "dst")}
    return rows, EdgeFacts.of(folder)


def written(path, text, pack=bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(text.encode()))
    return path


def expected_of(paths):
    """The rows of CSV files, by the `csv` module: columns by name, `day` from the folder."""
    rows = {"src": [], "dst": [], "weight": []}
    for path, text in paths:
        for row in csv.DictReader(text.splitlines()):
            row |= dict(folder.split("=") for folder in str(path).split("/") if "=" in folder)
            for role, values in rows.items():
                values.append(row[role])
    return rows


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("per_core", [joining._PER_CORE, 64, 0])  # all small, some, none
def test_random_folders_are_read_as_the_csv_module_reads_them(seed, per_core, tmp_path, monkeypatch):
    monkeypatch.setattr(joining, "_PER_CORE", per_core)
    draw, files = random.Random(seed), []
    for number in range(30):
        folder = "/".join(draw.sample(["a", "a-b", "B", f"day={draw.randrange(9)}", "é"], draw.randrange(3)))
        name = f"{folder}/{draw.choice(['x', 'Y', 'ü', '10', '9'])}{number}.csv".lstrip("/")
        columns = draw.sample(["src", "dst", "weight", "note", "other"][: draw.choice([3, 5])], k=3)
        columns += [each for each in ("src", "dst", "weight") if each not in columns]
        rows = [",".join(str(draw.randrange(50)) for _ in columns) for _ in range(draw.randrange(12))]
        suffix, pack = draw.choice([*PACKED.items()])
        text = "\n".join([",".join(columns), *rows]) + draw.choice(["", "\n"])
        files.append((f"{name}{suffix}".encode(), written(tmp_path / "feed" / (name + suffix), text, pack), text, suffix))
    (tmp_path / "feed" / "_SUCCESS").touch()
    texts = [(path, text) for _, path, text, _ in sorted(files)]
    expected = {role: [*map(int, values)] for role, values in expected_of(texts).items()}
    for work, keys in (("integers", {}), ("strings", {"ids": "string"})):
        rows, facts = read(str(tmp_path / "feed"), tmp_path / work, **keys)
        wanted = expected if work == "integers" else expected | {end: [*map(str, expected[end])] for end in ("src", "dst")}
        assert rows == wanted
        assert [file.path for file in facts.source.files.listed] == [str(path.resolve()) for path, _ in texts]
        assert [file.member for file in facts.source.files.listed] == [MEMBERS.get(suffix) for *_, suffix in sorted(files)]
        assert [file.edges for file in facts.source.files.listed] == [len([*csv.reader(t.splitlines())]) - 1 for _, t in texts]
        assert facts.text_bytes == sum(len(text.encode()) for _, text in texts)


def frame(seed, rows, weight="int64"):
    draw = random.Random(seed)
    columns = {name: [draw.randrange(99) for _ in range(rows)] for name in ("dst", "src", "weight", "x")}
    return pandas.DataFrame(columns).astype({"weight": weight})


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_hive_partitioned_folder_is_read_as_pyarrow_and_pandas_read_it(copy, compression, tmp_path):
    for day in range(12):
        path = tmp_path / "feed" / f"day=2026-11-{day + 1:02}" / f"part-{day % 3}.parquet"
        path.parent.mkdir(parents=True)
        frame(day, 40 + day).to_parquet(path, index=False, compression=compression, row_group_size=16)
    (tmp_path / "feed" / "_metadata").write_bytes(b"PAR1")
    folder = ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work", held := HeldEdges(), copy)
    facts = EdgeFacts.of(folder)
    dataset = pa.dataset.dataset(tmp_path / "feed", partitioning="hive", exclude_invalid_files=True)
    assert rows_of_edges(folder).equals(dataset.to_table(["src", "dst", "weight"]).combine_chunks())
    frames = [pandas.read_parquet(path) for path in sorted((tmp_path / "feed").rglob("*.parquet"))]
    assert rows_of_edges(folder).to_pandas().equals(pandas.concat(frames, ignore_index=True)[["src", "dst", "weight"]])
    assert (facts.refers_to is None) == copy
    assert facts.ignored_columns == ["x", "day"]
    assert held.take(folder) is not None


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("role", "values"), [("src", [3, 30, 300]), ("dst", ["a b", "ü/x", "3"]), ("weight", ["1", "2.5", "1e3"])]
)
def test_a_partition_may_state_a_column(suffix, role, values, tmp_path):
    parts = []
    for number, value in enumerate(values):
        table = pa.table({name: [1, 2] for name in ("src", "dst", "weight") if name != role})
        path = tmp_path / "feed" / f"key={quote(str(value), safe='')}" / f"{number}.{suffix}"
        path.parent.mkdir(parents=True)
        (pq.write_table if suffix == "parquet" else pa.csv.write_csv)(table, path)
        parts.append((str(path), value))
    columns = {name: "key" if name == role else name for name in ("src", "dst", "weight")}
    rows, facts = read(str(tmp_path / "feed" / "key=*" / "*"), tmp_path / "work", columns=Columns(**columns))
    convert = {"src": int, "dst": str, "weight": float}[role]
    assert rows[role] == [convert(value) for _, value in sorted(parts, key=lambda part: part[0].encode()) for _ in range(2)]
    assert all(rows[other] == [convert(x) if role == "dst" and other == "src" else x for x in [1, 2] * 3]
               for other in rows if other != role)  # fmt: skip
    assert facts.columns == columns


def test_a_list_is_read_as_it_is_listed_and_its_folders_in_order(tmp_path):
    for name in ("z.csv", "many/10.csv", "many/9.csv", "a.csv", "other/x.tmp"):
        written(tmp_path / name, f"src,dst\n{len(name)},{ord(name[-5])}\n")
    listed = [str(tmp_path / "z.csv"), str(tmp_path / "many"), str(tmp_path / "?.csv")[:-5] + "a.csv"]
    rows, facts = read(listed, tmp_path / "work")
    assert rows["dst"] == [ord("z"), ord("0"), ord("9"), ord("a")]
    assert [file.name for file in facts.source.files.listed] == ["z.csv", "10.csv", "9.csv", "a.csv"]
    assert facts.source.path == f"{(tmp_path / 'z.csv').resolve()} and 2 more"


def test_the_digest_is_that_of_the_list_of_names_sizes_and_digests(tmp_path):
    texts = {"a/x.csv": "src,dst\n1,2\n", "b.csv": "src,dst\n2,3\n"}
    for name, text in texts.items():
        written(tmp_path / "feed" / name, text)
    _, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    leaves = [[name, len(text), blake3(text.encode()).hexdigest()] for name, text in texts.items()]
    assert facts.source.blake3 == blake3(json.dumps(leaves, separators=(",", ":")).encode()).hexdigest()
    assert facts.source.bytes == sum(map(len, texts.values()))
    assert ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work").reused
    (tmp_path / "feed" / "b.csv").rename(tmp_path / "feed" / "c.csv")
    assert not ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work").reused


@pytest.mark.parametrize("late", ["x,1,1", "007,1,1"])
def test_strings_in_any_file_make_all_ids_strings(late, tmp_path):
    for number, row in enumerate(["1,2,3", "2,3,4", late, "3,4,5"]):
        written(tmp_path / "feed" / f"{number}.csv", f"src,dst,weight\n{row}\n")
    rows, _ = read(str(tmp_path / "feed"), tmp_path / "work")
    assert rows["src"] == ["1", "2", late.partition(",")[0], "3"]


def test_a_decimal_in_the_last_file_makes_all_weights_decimals(tmp_path):
    for number, weight in enumerate(["1", "2", "2.5"]):
        written(tmp_path / "feed" / f"{number}.csv", f"src,dst,weight\n1,2,{weight}\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    assert (rows["weight"], facts.weight) == ([1.0, 2.0, 2.5], "double")


TYPES = [
    (["int8", "int64", "uint16"], "int64"), (["int16", "uint8"], "int16"), (["float", "double"], "double"),
    (["int64", "double"], "double"), (["int32", "float"], "double"), (["float", "float"], "float"),
]  # fmt: skip


@pytest.mark.parametrize(("types", "common"), TYPES)
def test_parquet_weights_of_several_types_have_the_widest(types, common, tmp_path):
    (tmp_path / "feed").mkdir()
    for number, kind in enumerate(types):
        weights = pa.array([1, 100]).cast(kind)
        ids = pa.array([1, 2], ["int8", "uint32", "int64"][number])
        pq.write_table(pa.table({"src": ids, "dst": ids, "weight": weights}), tmp_path / "feed" / f"{number}")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    assert (rows["weight"], facts.weight, rows["src"]) == ([1, 100] * len(types), common, [1, 2] * len(types))


def test_an_integer_that_a_double_rounds_is_refused(tmp_path):
    (tmp_path / "feed").mkdir()
    for number, weight in enumerate([2.5, 2**53 + 1]):
        pq.write_table(pa.table({"src": [1], "dst": [2], "weight": [weight]}), tmp_path / "feed" / f"{number}")
    with pytest.raises(BadInput, match="feed/1: has a weight that a double rounds"):
        read(str(tmp_path / "feed"), tmp_path / "work")


def test_files_without_content_are_left_out_also_compressed_ones(tmp_path, caplog):
    caplog.set_level("INFO")
    for name in ("a.csv.gz", "c.csv.gz"):
        written(tmp_path / "feed" / name, "", gzip.compress)
    written(tmp_path / "feed" / "b.csv", "src,dst\n1,2\n")
    for name in ("0.csv", "_SUCCESS", ".b.csv.crc", "d.csv.tmp", "_temporary/e.csv", ".hidden/f.csv"):
        written(tmp_path / "feed" / name, "" if name == "0.csv" else "src,dst\n7,7\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    assert rows == {"src": [1], "dst": [2]}
    assert (facts.source.files.count, facts.source.files.ignored) == (3, 6)
    assert "3 files are read; 6 that are hidden, unfinished or empty are ignored: .b.csv.crc, .hidden, 0.csv, ..." in caplog.text


def test_snap_files_have_the_direction_of_the_first(tmp_path):
    written(tmp_path / "feed" / "1.txt", "# Undirected graph\n# Nodes: 2 Edges: 1\n1 2\n")
    written(tmp_path / "feed" / "2.txt", "2 3\n3 4\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    assert (rows["src"], facts.directed, facts.directed_by) == ([1, 2, 3], False, "file")


def test_one_file_in_a_folder_may_have_any_format(tmp_path):
    written(tmp_path / "feed" / "g.gr", "p sp 3 1\na 1 2 5\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work")
    assert (rows["weight"], facts.declared_vertices, facts.source.files.count) == ([5], 3, 1)


ROWS = "src,dst\n1,2\n2,3\n"
WRONG = {
    "mixed formats": ({"a.csv": "src,dst\n1,2\n", "b.txt": "1 2\n"}, {}, "b.txt: is snap, but .*a.csv is csv"),
    "a binary and a text": ({"a": "src,dst\n1,2\n", "b": "PAR1"}, {}, "b: is not a complete Parquet file"),
    "a missing column": ({"a.csv": "src,dst\n1,2\n", "b.csv": "src,to\n1,2\n"}, {}, "b.csv: line 1: no column 'dst' among"),
    "no weights": ({"a.csv": "src,dst,weight\n1,2,3\n", "b.csv": "src,dst\n1,2\n"}, {}, "b.csv: .*b.csv has no column 'weight'"),
    "late weights": ({"a": ROWS, "b": "src,dst,weight\n1,2,3\n"}, {}, "b: .*a has no column 'weight', which .*b has"),
    "a bad line": ({"a.csv": "src,dst\n1,2\n", "b.csv": "src,dst\n1,2\n1,\n"}, {}, "b.csv: line 3: dst"),
    "declared vertices": ({"a.gr": "p sp 2 1\na 1 2 3\n", "b.gr": "p sp 2 1\na 2 1 3\n"}, {}, "a.gr: is one of 2 files, but a"),
    "directions": ({"a": "1 2\n", "b": "# Undirected\n1 2\n"}, {}, "b: states that it is undirected, but .*a is directed"),
    "a digest": ({"a.csv": "src,dst\n1,2\n"}, {"sha256": "0" * 64}, "graph.sha256 is that of one file"),
    "nothing": ({}, {}, "feed: has no file to read$"),
    "nothing but markers": ({"_SUCCESS": "x", "b": ""}, {}, "feed: has no file to read; 2 are ignored: _SUCCESS, b"),
    "empty archives": ({"a.gz": None, "b.gz": None}, {}, "has 2 files, and all are empty"),
    "many edges": (dict.fromkeys("abc", ROWS), {"limits": Limits(edges=5)}, "c: brings .* more than 5 edges"),
    "much content": (dict.fromkeys("abc", ROWS), {"limits": Limits(bytes=40)}, "c: brings .* over 40 bytes"),
    "a null": ({"k=__HIVE_DEFAULT_PARTITION__/a.csv": "src,dst\n1,2\n", "k=1/b.csv": "src,dst\n1,2\n"},
               {"columns": Columns(weight="k")}, "a.csv: partition k=.*: weight is null"),
    "a key and a column": ({"weight=3/a.csv": "src,dst,weight\n1,2,3\n"}, {}, "partition states weight=3; partitions = false"),
    "a lost key": ({"k=1/a.csv": "src,dst\n1,2\n", "b.csv": "src,dst\n1,2\n"}, {"columns": Columns(weight="k")}, "b.csv: .*'k'"),
    "no weight": ({"k=x/a.csv": "src,dst\n1,2\n"}, {"columns": Columns(weight="k")}, "a.csv: partition k=x: weight 'x' is not a"),
    "two keys": ({"k=1/j=2/a.csv": "src,dst\n1,2\n"}, {"columns": Columns(src="k", dst="j")}, "states both src and dst"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_files_that_are_no_source_together_are_refused(case, tmp_path):
    texts, keys, message = WRONG[case]
    (tmp_path / "feed").mkdir()
    for name, text in texts.items():
        written(tmp_path / "feed" / name, text or "", bytes if text is not None else gzip.compress)
    with pytest.raises(BadInput, match=message):
        read(str(tmp_path / "feed"), tmp_path / "work", **keys)
    assert not [*(tmp_path / "work").glob("*")]


def test_a_key_beside_a_column_is_no_column_if_partitions_are_none(tmp_path):
    written(tmp_path / "feed" / "weight=3" / "a.csv", "src,dst,weight\n1,2,8\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work", partitions=False)
    assert (rows["weight"], facts.ignored_columns) == ([8], [])


def test_parquet_ids_of_two_kinds_need_a_decision(tmp_path):
    (tmp_path / "feed").mkdir()
    for number, ids in enumerate([[1, 2], ["1", "b"]]):
        pq.write_table(pa.table({"src": ids, "dst": ids}), tmp_path / "feed" / f"{number}")
    with pytest.raises(BadInput, match=r'feed/1 are strings, those of .*feed/0 are integers; ids = "string"'):
        read(str(tmp_path / "feed"), tmp_path / "work")
    assert read(str(tmp_path / "feed"), tmp_path / "work", ids="string")[0]["src"] == ["1", "2", "1", "b"]


def test_arcs_without_a_header_may_be_in_several_files(tmp_path):
    for number in range(3):
        written(tmp_path / "feed" / f"{number}.gr", f"a {number} 7 {number}\n")
    rows, facts = read(str(tmp_path / "feed"), tmp_path / "work", format="arcs")
    assert (rows["weight"], facts.columns, facts.ignored_columns) == ([0, 1, 2], None, [])


def test_the_sizes_of_files_are_added_once(tmp_path):
    """They are asked for with each file, of up to 100,000."""

    class Counted(tuple):
        times = 0

        def __iter__(self):
            Counted.times += 1
            return super().__iter__()

    (tmp_path / "a.csv").write_text("src,dst\n1,2\n")
    feed = find((str(tmp_path / "a.csv"),))
    counted = replace(feed, parts=Counted(feed.parts))
    assert [counted.size, counted.size] == [12, 12] and Counted.times == 1
