"""Files that are replaced while a run reads them, as feeds do by a rename: the run reads the new one, and nothing of the old."""

import gzip
import importlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.config.loading import run_config
from pipeline.errors import BadInput, Changed, Refused
from pipeline.ingest.again import steadily
from pipeline.inspection.check import check
from pipeline.run import run
from pipeline.tables import files as tables
from tests.counts import in_turn

# Two contents of each kind of file; the second one also has other sizes, ids and numbers of rows.
EDGES = ("src,dst,weight\n1,2,3\n2,3,4\n", "src,dst,weight\n1,2,3\n2,3,40\n3,4,5\n4,5,6\n")
NAMED = tuple(text.replace("\n1,", "\na,").replace(",2,", ",b,") for text in EDGES)
DECIMALS = tuple(text.replace(",3\n", ",3.5\n") for text in EDGES)


def parquet(text):
    src, dst, weight = zip(*(map(int, line.split(",")) for line in text.split()[1:]), strict=True)
    file = io.BytesIO()
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": weight}), file, row_group_size=1, compression="none")
    return file.getvalue()


def pairs(*rows):
    file = io.BytesIO()
    src, dst = zip(*rows, strict=True)
    pq.write_table(pa.table({"src": pa.array(src, pa.int64()), "dst": pa.array(dst, pa.int64())}), file, row_group_size=1)
    return file.getvalue()


PAIRS = (pairs((1, 2)), pairs((1, 3), (2, 3), (3, 1)))
SOURCES = {
    "integers": ("g.csv", [text.encode() for text in EDGES]),
    "strings": ("g.csv", [text.encode() for text in NAMED]),
    "decimals": ("g.csv", [text.encode() for text in DECIMALS]),
    "gzip": ("g.csv.gz", [gzip.compress(text.encode()) for text in EDGES]),
    "parquet": ("g.parquet", [parquet(text) for text in EDGES]),
}
# Where the file is replaced: before or after a call of this function.
READING = [
    ("pipeline.ingest", "_identify", "after"),
    ("pipeline.ingest.opening", "chunks", "after"),
    ("pipeline.ingest.edges", "store", "after"),
    ("pipeline.ingest.edges", "collect", "after"),
    ("pipeline.ingest.edges", "numbered", "after"),
    ("pipeline.reading", "lay_out", "before"),
    ("pipeline.store.edges_on_disk", "read_edges", "before"),
    ("pipeline.store.edges_on_disk", "read_edges", "after"),
]


def replacing(monkeypatch, place, file, contents):
    """Replace a file by one rename at the first calls of a function, by one content each; returns the contents that are left."""
    module, name, moment = place
    left, real = [*contents], getattr(importlib.import_module(module), name)

    def replace():
        if left:
            part = file.with_name(f".{file.name}")
            part.write_bytes(left.pop(0))
            part.replace(file)

    def called(*arguments, **named):
        if moment == "before":
            replace()
        result = real(*arguments, **named)
        if moment == "after":
            replace()
        return result

    monkeypatch.setattr(f"{module}.{name}", called)
    return left


def config_of(folder, name, **more):
    graph = {"source": str(folder / name)} | more.pop("graph", {})
    return run_config("test", output=folder / "out", stages=["sssp"], sources=more.pop("sources", [2]), graph=graph, **more)


def content_of(published):
    return {name: tables.read(published.path / name).to_pydict() for name in published.facts["tables"]}


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "place"), in_turn(4, list(SOURCES), READING))
def test_a_source_that_is_replaced_is_read_anew(kind, place, tmp_path, monkeypatch):
    name, (old, new) = SOURCES[kind]
    sources = ["b"] if kind == "strings" else [2]
    (tmp_path / "due").mkdir()
    (tmp_path / "due" / name).write_bytes(new)
    due = content_of(run(config_of(tmp_path / "due", name, sources=sources)))
    stale = content_of_old(tmp_path / "stale", name, old, sources)
    (tmp_path / name).write_bytes(old)
    left = replacing(monkeypatch, place, tmp_path / name, [new])
    found = content_of(run(config_of(tmp_path, name, sources=sources)))
    read_as_a_whole = [stale] if left or place[1] in ("lay_out", "read_edges", "store") else []  # before it was replaced
    assert found in [due, *read_as_a_whole]


def content_of_old(folder, name, content, sources):
    folder.mkdir()
    (folder / name).write_bytes(content)
    return content_of(run(config_of(folder, name, sources=sources)))


@pytest.mark.parametrize("kind", ["strings", "parquet"])
def test_a_source_that_is_replaced_again_and_again_is_refused(kind, tmp_path, monkeypatch):
    name, (old, new) = SOURCES[kind]
    (tmp_path / name).write_bytes(old)
    replacing(monkeypatch, READING[0], tmp_path / name, [new, old, new, old])
    with pytest.raises(Changed, match=f"{name}: was replaced or written while it was read, and again when it was read anew; "):
        run(config_of(tmp_path, name, sources=["b"] if kind == "strings" else [2]))
    assert not (tmp_path / "out" / "latest").exists()


@pytest.mark.parametrize("kind", ["gzip", "parquet"])
def test_a_check_reads_a_replaced_source_anew(kind, tmp_path, monkeypatch):
    name, (old, new) = SOURCES[kind]
    (tmp_path / name).write_bytes(old)
    replacing(monkeypatch, READING[0], tmp_path / name, [new])
    config = config_of(tmp_path, name, sources=["b"] if kind == "strings" else [2])
    assert steadily(config.files, lambda: check(config)).arcs == 4


COORDINATES = tuple("vertex,x,y\n" + "".join(f"{vertex},{vertex}.{size},2\n" for vertex in (1, 2, 3)) for size in (1, 25))
NODES = tuple(text.replace("x,y", "size,colour") for text in COORDINATES)
BESIDE = {  # a file that a run reads beside its source: its configuration, its name, two contents, where it is replaced
    "coordinates": (
        {"graph": {"coordinates": "c.csv"}}, "c.csv", COORDINATES,
        ("pipeline.ingest.coordinates", "is_table", "after"),
    ),
    "nodes": ({"graph": {"nodes": "c.csv"}}, "c.csv", NODES, ("pipeline.ingest.edges", "read_nodes", "before")),
    "queries": (
        {"queries": {"pairs": "p.parquet"}, "stages": ["wcc", "reachability"]}, "p.parquet", PAIRS,
        ("pipeline.steps.reach", "blocks", "after"),
    ),
    "maximum flows": (
        {"max_flow": {"pairs": "p.parquet"}, "stages": ["wcc", "max_flow"]}, "p.parquet", PAIRS,
        ("pipeline.steps.pairs.maximum_flows", "blocks", "after"),
    ),
    "flows over arcs": (
        {"flows": {"pairs": "p.parquet"}, "stages": ["wcc"]}, "p.parquet", PAIRS,
        ("pipeline.steps.products.trips", "blocks", "after"),
    ),
    "facilities": (
        {"nearest": {"facilities": "f.csv"}, "stages": ["wcc"]}, "f.csv", ("1\n", "2\n3\n"),
        ("pipeline.ingest.formats.parquet", "is_parquet", "after"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BESIDE)
def test_a_file_beside_the_source_is_read_anew(kind, tmp_path, monkeypatch):
    asked, name, contents, place = BESIDE[kind]
    old, new = (content if isinstance(content, bytes) else content.encode() for content in contents)
    found = []
    for folder, first in ((tmp_path / "due", new), (tmp_path / "replaced", old)):
        folder.mkdir()
        (folder / "g.csv").write_text(EDGES[0])
        (folder / name).write_bytes(first)
        graph = {"source": str(folder / "g.csv"), "directed": True} | anchored(asked.get("graph", {}), folder)
        rest = {
            key: anchored(table, folder) if isinstance(table, dict) else table for key, table in asked.items() if key != "graph"
        }
        if first is old:
            left = replacing(monkeypatch, place, folder / name, [new])
        found.append(content_of(run(run_config("test", output=folder / "out", graph=graph, **{"stages": ["wcc"], **rest}))))
    assert not left and found[0] == found[1]


def anchored(table, folder):
    return {key: str(folder / value) for key, value in table.items()}


@pytest.mark.parametrize(("snapshot", "contents"), [
    (False, ("op,src,dst,weight\ndelete,1,2,\n", "op,src,dst,weight\nupdate,2,3,9\ninsert,3,7,1\n")),
    (True, (EDGES[1], "src,dst,weight\n2,3,9\n3,7,1\n7,1,2\n")),
])  # fmt: skip
def test_a_file_of_changes_that_is_replaced_is_read_anew(snapshot, contents, tmp_path, monkeypatch):
    found = []
    for number, folder in enumerate((tmp_path / "due", tmp_path / "replaced")):
        folder.mkdir()
        (folder / "g.csv").write_text(EDGES[0])
        run(config_of(folder, "g.csv"))
        (folder / "c.csv").write_text(contents[1 - number])
        if number:
            left = replacing(monkeypatch, ("pipeline.changes", "identify", "after"), folder / "c.csv", [contents[1].encode()])
        found.append(content_of(change(folder / "out", folder / "c.csv", snapshot=snapshot)))
    assert not left and found[0] == found[1]


def test_what_else_fails_is_not_repeated(tmp_path):
    file, calls = tmp_path / "f", []
    file.write_text("1")

    def read(error, rewrites):
        def reading():
            calls.append(error)
            if rewrites:
                file.write_text("1" * (len(calls) + 1))
            raise error

        return reading

    for error in (BadInput("f", "bad"), Refused("no"), AssertionError()):
        with pytest.raises(type(error)):
            steadily([str(file)], read(error, rewrites=False))
    assert len(calls) == 3
    with pytest.raises(Changed):
        steadily([str(file), str(tmp_path / "none"), "memory://none"], read(AssertionError(), rewrites=True))
    assert len(calls) == 5
