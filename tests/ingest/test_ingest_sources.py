"""Sources at paths and URLs: which are read, when a second ingest is skipped, and which errors a flow retries."""

import gzip
import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blake3 import blake3

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.redaction import quoted

DATA = Path(__file__).parents[2] / "data"
ROME = (DATA / "rome99.gr.gz").read_bytes()


class Site:
    """A web server on loopback: pages by path, and the faults to inject."""

    def __init__(self):
        self.pages = {}
        self.requests = []
        self.sends_etag = True
        self.status = 200
        self.cut = 0  # bytes that Content-Length announces and that are not sent
        site = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, body):
                content = site.pages.get(self.path)
                site.requests.append((self.command, self.path))
                self.send_response(404 if content is None else site.status)
                self.send_header("Content-Length", str(len(content or b"")))
                if site.sends_etag:
                    self.send_header("ETag", f'"{hashlib.md5(content or b"").hexdigest()}"')
                self.end_headers()
                if body and content:
                    self.wfile.write(content[: len(content) - site.cut])
                self.close_connection = True

            def do_GET(self):
                self.answer(True)

            def do_HEAD(self):
                self.answer(False)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def gets(self):
        return [path for command, path in self.requests if command == "GET"]


@pytest.fixture
def site():
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def rows(folder):
    return pq.read_table(folder.path / "part-00000.parquet").num_rows


@pytest.mark.parametrize("scheme", ["file", "memory", "http"])
def test_any_url_that_fsspec_opens_is_read(scheme, site, tmp_path):
    if scheme == "file":
        url = f"file://{DATA / 'rome99.gr.gz'}"
    elif scheme == "memory":
        url = "memory://graphs/rome99.gr.gz"
        fsspec.filesystem("memory").pipe("/graphs/rome99.gr.gz", ROME)
    else:
        url = f"{site.url}/rome99.gr.gz"
        site.pages["/rome99.gr.gz"] = ROME
    first = ingest(GraphConfig(source=url, sha256=sha256(ROME)), tmp_path)
    assert rows(first) == 8_870
    place = str(DATA / "rome99.gr.gz") if scheme == "file" else url
    assert first.facts["source"] == {"path": place, "bytes": len(ROME), "blake3": blake3(ROME).hexdigest()}
    with pytest.raises(BadInput, match=f"its SHA-256 is {sha256(ROME)}, expected {'0' * 64}"):
        ingest(GraphConfig(source=url, sha256="0" * 64), tmp_path / "other")
    assert list((tmp_path / "other").glob("*")) == []


def test_remote_parquet_leaves_no_temporary_file(site, tmp_path):
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "x")
    site.pages["/x"] = (tmp_path / "x").read_bytes()
    folder = ingest(GraphConfig(source=f"{site.url}/x"), tmp_path / "work")
    assert rows(folder) == 1
    assert folder.facts["source"]["blake3"] == blake3(site.pages["/x"]).hexdigest()
    assert [path.name for path in sorted(folder.path.iterdir())] == ["_manifest.json", "part-00000.parquet"]


def test_an_unchanged_local_file_is_skipped_and_a_changed_one_is_not(tmp_path):
    source = tmp_path / "edges.txt"
    source.write_text("1 2\n")
    graph = GraphConfig(source=str(source))
    assert not ingest(graph, tmp_path).reused
    assert ingest(graph, tmp_path).reused
    source.write_text("1 3\n")
    changed = ingest(graph, tmp_path)
    assert not changed.reused
    assert pq.read_table(changed.path / "part-00000.parquet").to_pydict() == {"src": [1], "dst": [3]}
    assert not ingest(graph.model_copy(update={"directed": False}), tmp_path).reused


def test_changed_coordinates_are_read_again(tmp_path):
    (tmp_path / "g.gr").write_text("p sp 1 0\n")
    (tmp_path / "g.co").write_text("p aux sp co 1\nv 1 1000000 -2500000\n")
    graph = GraphConfig(source=str(tmp_path / "g.gr"), coordinates=str(tmp_path / "g.co"))
    first = ingest(graph, tmp_path)
    assert pq.read_table(first.path / "coordinates.parquet").to_pydict() == {"vertex": [1], "x": [1.0], "y": [-2.5]}
    (tmp_path / "g.co").write_text("p aux sp co 1\nv 1 7 8\n")
    assert not ingest(graph, tmp_path).reused


@pytest.mark.parametrize("sends_etag", [True, False])
def test_an_unchanged_page_is_skipped_and_a_changed_one_is_not(sends_etag, site, tmp_path):
    site.sends_etag = sends_etag
    site.pages["/g.txt"] = b"1 2\n"
    graph = GraphConfig(source=f"{site.url}/g.txt")
    assert not ingest(graph, tmp_path).reused
    site.requests.clear()
    assert ingest(graph, tmp_path).reused
    assert site.gets() == ([] if sends_etag else ["/g.txt"])
    site.pages["/g.txt"] = b"1 3\n"
    assert not ingest(graph, tmp_path).reused


def test_a_changed_object_in_memory_is_read_again(tmp_path):
    files = fsspec.filesystem("memory")
    graph = GraphConfig(source="memory://g.txt")
    files.pipe("/g.txt", b"1 2\n")
    assert not ingest(graph, tmp_path).reused
    assert ingest(graph, tmp_path).reused
    files.pipe("/g.txt", b"1 3\n")
    assert not ingest(graph, tmp_path).reused


@pytest.mark.parametrize("stated", [True, False])
def test_transient_server_errors_are_os_errors(stated, site, tmp_path):
    site.pages["/g.gr.gz"] = ROME
    graph = GraphConfig(source=f"{site.url}/g.gr.gz", sha256=sha256(ROME) if stated else None)
    for site.status in (500, 503, 429):
        with pytest.raises(OSError, match=str(site.status)):
            ingest(graph, tmp_path)
    site.status, site.cut = 200, 1000
    with pytest.raises(OSError, match="ClientPayloadError"):
        ingest(graph, tmp_path)
    assert list(tmp_path.iterdir()) == []
    site.cut = 0
    assert rows(ingest(graph, tmp_path)) == 8_870


def test_a_refused_connection_is_an_os_error(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        with pytest.raises(OSError, match="ClientConnectorError"):
            ingest(GraphConfig(source=f"http://127.0.0.1:{taken.getsockname()[1]}/g.txt"), tmp_path)


@pytest.mark.parametrize("status", [401, 403, 410])
def test_a_page_that_the_server_denies_is_bad_input(status, site, tmp_path):
    site.pages["/g.txt"] = b"1 2\n"
    site.status = status
    with pytest.raises(BadInput, match=f"the server answered {status}"):
        ingest(GraphConfig(source=f"{site.url}/g.txt"), tmp_path)


@pytest.mark.parametrize("page", ["/none", "none://x/y", "memory://none"])
def test_a_missing_source_is_bad_input(page, site, tmp_path):
    url = site.url + page if page.startswith("/") else page
    with pytest.raises(BadInput) as caught:
        ingest(GraphConfig(source=url), tmp_path)
    assert caught.value.file == url
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_during_ingest_is_refused(tmp_path, monkeypatch):
    source = tmp_path / "edges.txt.gz"
    source.write_bytes(gzip.compress(b"1 2\n"))
    monkeypatch.setattr("pipeline.ingest._identify", lambda *_: "0" * 64)
    with pytest.raises(BadInput, match="changed while it was read"):
        ingest(GraphConfig(source=str(source)), tmp_path / "work")


UNUSUAL = [
    "zip://x::y",
    "reference://",
    "dir://",
    "dask://x",
    "github://a",
    "async_wrapper://x",
    "tar://",
    "none://x/y",
    "::",
    "a::b",
]


@pytest.mark.parametrize("url", UNUSUAL)
def test_an_unusual_url_is_bad_input(url, tmp_path):
    with pytest.raises(BadInput) as caught:
        ingest(GraphConfig(source=url), tmp_path)
    assert caught.value.file == url
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ["blockcache::", "filecache::", "cached::", "data:", "data://", "http://", "memory://\0", "file://\0", "a\0b"]
)
def test_a_url_without_a_file_is_bad_input_or_an_os_error(url, tmp_path):
    with pytest.raises((BadInput, OSError)) as caught:
        ingest(GraphConfig(source=url), tmp_path)
    assert caught.value.filename == url if isinstance(caught.value, OSError) else caught.value.file == quoted(url)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_not_one_is_bad_input(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"not a zip file")
    with pytest.raises(BadInput, match="cannot be opened: File is not a zip file"):
        ingest(GraphConfig(source=f"zip://edges.txt::{tmp_path}/x.zip"), tmp_path / "work")


@pytest.mark.parametrize("entry", ["feed/*.csv", "feed/**", "feed/", "feed"])
def test_a_web_site_is_not_listed(site, tmp_path, entry):
    site.pages |= dict.fromkeys(("/feed/", "/feed"), b'<!DOCTYPE HTML>\n<a href="a.csv">a.csv</a>\n')
    site.pages |= {"/feed/a.csv": b"src,dst\n1,2\n", "/feed/b.csv": b"src,dst\n2,3\n"}
    words = (
        rf"{site.url}/feed.*is a (pattern|web page, not a graph); the files of a web site cannot be listed; name each by its URL"
    )
    with pytest.raises(BadInput, match=words):
        ingest(GraphConfig(source=f"{site.url}/{entry}"), tmp_path)
    listed = tuple(f"{site.url}/feed/{name}.csv" for name in "ab")
    assert ingest(GraphConfig(source=listed), tmp_path).facts["edges"] == 2
