"""Every digest that a run states is that of the file that it names, computed here without the project's code."""

import hashlib
import json
import random
import re
import threading
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blake3 import blake3

from pipeline import report
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store import digests
from tests.counts import in_turn
from tests.ingest.fuzz import seeds

pytestmark = pytest.mark.sampled
PACKED = {"": bytes, ".gz": seeds.PACKED["gzip"], ".xz": seeds.PACKED["xz"], ".zst": seeds.PACKED["zstd"]}
BESIDE = ("csv", "parquet", "tsv", "co")  # forms of coordinates and nodes; .co has coordinates only
NAMES = ("source", "coordinates", "nodes")
PLACES = ("local", "memory")


def tables_of_vertices(form: str) -> tuple[bytes, bytes]:
    """Files of coordinates and of nodes."""
    if form == "co":
        return b"p aux sp co 2\nv 1 8000000 53000000\nv 2 8100000 53000000\n", b"vertex,name\n1,x\n"
    if form == "parquet":
        sinks = [pa.BufferOutputStream() for _ in range(2)]
        pq.write_table(pa.table({"vertex": [1], "x": [8.0], "y": [53.0]}), sinks[0])
        pq.write_table(pa.table({"vertex": [1], "name": ["x"]}), sinks[1])
        return sinks[0].getvalue().to_pybytes(), sinks[1].getvalue().to_pybytes()
    tab = "\t" if form == "tsv" else ","
    return f"vertex{tab}x{tab}y\n1{tab}8.0{tab}53.0\n".encode(), f"vertex{tab}name\n1{tab}x\n".encode()


def source_of(form: str) -> bytes:
    """A graph with vertices 1 and 2 and only those, in any format."""
    rng = random.Random(form)
    while True:
        data = seeds.parquet(rng) if form == "parquet" else seeds.text(form, rng)
        if len(data) > 30:
            return data


@pytest.mark.parametrize(("form", "packed", "beside", "place"), in_turn(24, seeds.FORMATS, [*PACKED], BESIDE, PLACES))
def test_stated_digests_are_those_of_the_files(form, packed, beside, place, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "LARGE", 64)  # so that these files are read as large ones are
    monkeypatch.setattr(digests, "_READ", 16)
    monkeypatch.setattr(digests, "_LEAST", 4)
    coordinates, nodes = tables_of_vertices(beside)
    suffix = "csv" if beside == "co" else beside
    names = f"g.{form}{packed}", f"c.{beside}{packed}", f"n.{suffix}{packed}"
    contents = dict(zip(NAMES, (PACKED[packed](data) for data in (source_of(form), coordinates, nodes)), strict=True))
    prefix = "memory://" if place == "memory" else ""
    urls = {what: f"{prefix}{tmp_path}/{name}" for what, name in zip(NAMES, names, strict=True)}
    for what, url in urls.items():
        fsspec.filesystem("memory" if place == "memory" else "file").pipe(url.removeprefix(prefix), contents[what])
    if beside == "co" and form != "arcs":
        urls.pop("coordinates")  # a header declares another number of vertices, or none has coordinates in this form
    graph = {"format": form, "directed": True, **urls}
    published = run(run_config("options", output=tmp_path / "out", stages=["wcc"], graph=graph))

    manifest = json.loads((published.path / "manifest.json").read_text())
    stated = manifest["facts"]["input"]
    for what, url in urls.items():
        data = contents[what]
        expected = {
            "path": url,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "blake3": blake3(data).hexdigest(),
        }
        assert stated[what] == expected
    page, short = ((published.path / name).read_text() for name in ("report.html", "report.md"))
    assert re.findall(r'SHA-256</th><td class="path">(.*?)</td>', page) == [stated[what]["sha256"] for what in urls]
    assert re.findall(r"SHA-256 (\S+)", short) == [stated["source"]["sha256"]]
    for folder in (published.path, *(path for path in (tmp_path / "out" / "steps").iterdir() if path.is_dir())):
        check(folder)


def check(folder: Path) -> None:
    """The digests of all files of a folder and the seal of its manifest; no file is left out."""
    path = next(path for path in (folder / "manifest.json", folder / "_manifest.json") if path.exists())
    manifest = json.loads(path.read_text())
    files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    del files[path.name]
    expected = {name: {"bytes": len(data), "blake3": blake3(data).hexdigest()} for name, data in files.items()}
    assert manifest["files"] == expected
    seal = manifest.pop("seal")
    assert seal == hashlib.sha256(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.parametrize(
    "spelling", ["{folder}/a.csv", "{folder}/../{name}/a.csv", "a.csv", "./a.csv", "link.csv", "{folder}/link.csv"]
)
def test_the_spelling_of_a_path_changes_no_key(spelling, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n2,3\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    monkeypatch.chdir(tmp_path)
    first = run(run_config("options", output=tmp_path / "out", stages=["wcc"], graph={"source": "a.csv"}))
    given = spelling.format(folder=tmp_path, name=tmp_path.name)
    again = run(run_config("options", output=tmp_path / "out", stages=["wcc"], graph={"source": given}))
    reused = {name: step["reused"] for name, step in again.facts["steps"].items() if name != "report"}
    assert reused == dict.fromkeys(reused, True) and {"edges", "graph", "wcc"} <= set(reused)
    assert again.facts["input"]["source"] == first.facts["input"]["source"]


def test_the_report_is_drawn_before_the_sum_of_a_source_is_known(tmp_path, monkeypatch):
    drawn, sum_of, seen = threading.Event(), digests.sha256_of, list[bool]()

    def draw(results, runtime):
        drawing = steps_draw(results, runtime)
        drawn.set()
        return drawing

    def late(path):
        seen.append(drawn.wait(60))
        return sum_of(path)

    steps_draw = report.draw
    monkeypatch.setattr("pipeline.run.draw", draw)
    monkeypatch.setattr(digests, "sha256_of", late)
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n2,3\n")
    published = run(run_config("options", output=tmp_path / "out", stages=["wcc"], graph={"source": str(tmp_path / "a.csv")}))
    assert seen == [True]
    assert hashlib.sha256(b"src,dst\n1,2\n2,3\n").hexdigest() in (published.path / "report.html").read_text()
