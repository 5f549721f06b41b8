"""Archives and bzip2, as Python, tar and zip write them: the member that is read, and archives that are refused."""

import bz2
import io
import shutil
import subprocess
import tarfile
import zipfile

import fsspec
import pytest

from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.tables import files as tables

MTX = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"
CSV = b"src,dst\n1,2\n2,3\n"
EDGES = [(1, 2), (2, 3)]


def tar(members, mode="w:gz", form=tarfile.PAX_FORMAT):
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode, format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return sink.getvalue()


def ingested(folder, name, content, **options):
    (folder / name).write_bytes(content)
    return ingest(GraphConfig(source=str(folder / name), **options), folder / "work")


def edges_of(folder):
    return list(zip(*(tables.read(folder.path)[name].to_pylist() for name in ("src", "dst")), strict=True))


OTHERS = [("west0067/west0067_b.mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n"), ("west0067/README.txt", b"x\n")]
SUITE_SPARSE = [("west0067/", b""), *OTHERS, ("west0067/west0067.mtx", MTX), ("west0067/coord.mtx", b"x")]
READ = {
    "west0067.tar.gz": (tar(SUITE_SPARSE), "west0067/west0067.mtx"),
    "west0067.tgz": (tar(reversed(SUITE_SPARSE)), "west0067/west0067.mtx"),
    "west0067.tar": (tar(SUITE_SPARSE, "w:", tarfile.GNU_FORMAT), "west0067/west0067.mtx"),
    "west0067.tar.xz": (tar(SUITE_SPARSE, "w:xz"), "west0067/west0067.mtx"),
    "download.tsv.moreno.tar.bz2": (
        tar([("moreno/meta.moreno", b"x"), ("moreno/out.moreno", b"% asym unweighted\n1 2\n2 3\n")], "w:bz2"),
        "moreno/out.moreno",
    ),
    "x.tar.gz": (tar([("y/README.md", b"x"), ("y/edges.csv", CSV)]), "y/edges.csv"),
    "long.tar": (tar([("d" * 150 + "/edges.csv", CSV)], "w:", tarfile.GNU_FORMAT), "d" * 150 + "/edges.csv"),
    "pax.tar": (tar([("d" * 300 + "/ü.csv", CSV)], "w:"), "d" * 300 + "/ü.csv"),
    "feed.zip": (zipped([("__MACOSX/._a.csv", b"x"), ("a.csv", CSV)]), "a.csv"),
    "web-x.zip": (zipped([("readme.html", b"x"), ("other.txt", b"x"), ("web-x.mtx", MTX)]), "web-x.mtx"),
    "stored.zip": (zipped([("a.csv", CSV)], zipfile.ZIP_STORED), "a.csv"),
}


@pytest.mark.parametrize("name", READ)
def test_the_member_that_is_the_graph_is_read_and_stated(name, tmp_path):
    content, member = READ[name]
    folder = ingested(tmp_path, name, content)
    assert edges_of(folder) == EDGES
    assert folder.facts["source"]["member"] == member
    assert folder.facts["source"]["bytes"] == len(content)


def test_archives_are_read_from_urls(tmp_path):
    for name in ("west0067.tar.gz", "feed.zip"):
        fsspec.filesystem("memory").pipe(f"/{tmp_path.name}/{name}", READ[name][0])
        folder = ingest(GraphConfig(source=f"memory://{tmp_path.name}/{name}"), tmp_path / name)
        assert edges_of(folder) == EDGES
        assert folder.facts["source"]["member"] == READ[name][1]


@pytest.mark.parametrize("streams", [1, 3])
def test_bzip2_is_read_in_several_streams_and_refused_when_it_is_damaged(streams, tmp_path):
    text = b"".join(b"%d %d\n" % (n, n + 1) for n in range(3000))
    packed = b"".join(bz2.compress(text) for _ in range(streams))
    assert len(edges_of(ingested(tmp_path, "g.txt.bz2", packed))) == 3000 * streams
    for number, damaged in enumerate((packed[:-5], packed[:40] + b"\x00\x01" + packed[42:])):
        with pytest.raises(BadInput, match="truncated or corrupt"):
            ingested(tmp_path, f"damaged{number}.txt.bz2", damaged)


@pytest.mark.skipif(not shutil.which("tar"), reason="needs the program tar")
def test_what_the_program_tar_writes_is_read(tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "g.csv").write_bytes(CSV)
    subprocess.run(["tar", "czf", "g.tar.gz", "g"], cwd=tmp_path, check=True)
    assert edges_of(ingest(GraphConfig(source=str(tmp_path / "g.tar.gz")), tmp_path / "work")) == EDGES


BOMB = b"src,dst\n" + b"1,2\n" * 5 * 2**20
LZMA = zipped([("a.csv", CSV)], zipfile.ZIP_LZMA)
REFUSED = {
    "several.tar": (tar([("a.csv", CSV), ("b.csv", CSV)], "w:"), "has 2 files, none of which has its name: 'a.csv', 'b.csv'"),
    "several.zip": (zipped([("a.csv", CSV), ("b.csv", CSV)]), "has 2 files, none of which has its name: 'a.csv', 'b.csv'"),
    "g.tar.gz": (tar([("g.csv", CSV), ("a.csv", CSV), ("g.mtx", MTX)]), "has two files with its name, 'g.csv' and 'g.mtx'"),
    "none.zip": (zipped([("README", b"x")]), "an archive without a file"),
    "empty.zip": (zipped([]), "an archive without a file"),
    "folders.tar": (tar([("a/", b"")], "w:"), "an archive without a file"),
    "short.tar": (tar([("a.csv", CSV * 1000)], "w:")[:2000], "the tar archive is truncated"),
    "short.zip": (zipped([("a.csv", CSV)])[:-30], "truncated or corrupt"),
    "crc.zip": (zipped([("a.csv", CSV)], zipfile.ZIP_STORED).replace(b"1,2", b"1,3"), "Bad CRC-32"),
    "damaged.tar": (tar([("a.csv", CSV), ("b.csv", CSV)], "w:").replace(b"b.csv", b"c.csv"), "a header .* is damaged"),
    "bomb.zip": (zipped([("a.csv", BOMB)]), "graph.limits.ratio"),
    "bomb.tar.bz2": (tar([("a.csv", BOMB)], "w:bz2"), "graph.limits.ratio"),
    "bomb.bz2": (bz2.compress(BOMB), "graph.limits.ratio"),
    "lzma.zip": (LZMA, "is compressed by method 14 of zip; only deflate"),
    "line.zip": (zipped([("a.csv", CSV + b"1,x\n")]), r"line.zip/a.csv: line 4: dst 'x' is not an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_archives_are_refused(name, tmp_path):
    content, reason = REFUSED[name]
    with pytest.raises(BadInput, match=reason):
        ingested(tmp_path, name, content)
    assert not list((tmp_path / "work").glob("*"))


def test_the_number_of_members_is_limited(tmp_path):
    for name, pack in (("a.tar", lambda members: tar(members, "w:")), ("a.zip", zipped)):
        members = [(f"README{number}", b"") for number in range(9)]
        with pytest.raises(BadInput, match="more than 8 members"):
            ingested(tmp_path, name, pack(members), limits=Limits(frames=8))
