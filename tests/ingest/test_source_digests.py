"""When a local source is digested: while it is read for the first time, and again after it was written."""

import hashlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from pipeline import ingest as package
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.errors import Changed
from pipeline.ingest import ingest
from pipeline.ingest.edges import EdgeReader
from pipeline.runtime.early import prepare_source
from pipeline.store import digests
from pipeline.store.digests import LARGE, Sums, begin_digests, digest_of_file
from pipeline.store.edges import HeldEdges

CONTENT = "src,dst\n" + "".join(f"{edge},{edge * 7 % 50}\n" for edge in range(50))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(CONTENT)
    return path


def graph_of(path):
    return GraphConfig(source=str(path), directed=True)


def test_the_digest_is_computed_while_the_source_is_read(source, tmp_path, monkeypatch):
    before = ingest(graph_of(source), tmp_path / "before", HeldEdges(sums=Sums()))
    reading, seen = threading.Event(), list[bool]()

    def late(path):
        seen.append(reading.wait(60))
        return digest_of_file(path)

    monkeypatch.setattr(digests, "_RECENT", 0)
    monkeypatch.setattr(package, "LARGE", 1)
    monkeypatch.setattr(digests, "digest_of_file", late)
    held = HeldEdges(sums=Sums())
    edges = ingest(graph_of(source), tmp_path / "work", held, before_reading=reading.set)
    assert set(seen) == {True}
    assert (edges.digest, edges.manifest.key) == (before.digest, before.manifest.key)
    assert held.sums.of([edges.manifest.inputs["source"]]).keys() == {edges.manifest.inputs["source"]}
    assert ingest(graph_of(source), tmp_path / "work", before_reading=reading.clear).reused
    assert reading.is_set()


def test_a_source_that_changes_while_it_is_read_is_refused(source, tmp_path, monkeypatch):
    digested = threading.Event()

    def early(path):
        digest = digest_of_file(path)
        digested.set()
        return digest

    def change():
        assert digested.wait(60)
        source.write_text(CONTENT.replace("49,43", "49,44"))

    monkeypatch.setattr(package, "LARGE", 1)
    monkeypatch.setattr(digests, "digest_of_file", early)
    with pytest.raises(Changed):
        ingest(graph_of(source), tmp_path / "work", before_reading=change)
    assert not (tmp_path / "work" / "edges").exists()


@pytest.mark.parametrize("recent", [0, 3 * 10**9])
def test_a_source_that_changes_between_its_reading_and_its_digest_is_refused(recent, source, tmp_path, monkeypatch):
    read, store = threading.Event(), EdgeReader._store

    def late(path):
        read.wait(5)
        return digest_of_file(path)

    def change(*arguments):
        stored = store(*arguments)
        source.write_text(CONTENT.replace("49,43", "49,44"))
        read.set()
        return stored

    monkeypatch.setattr(digests, "_RECENT", recent)
    monkeypatch.setattr(package, "LARGE", 1)
    monkeypatch.setattr(digests, "digest_of_file", late)
    monkeypatch.setattr(EdgeReader, "_store", change)
    with pytest.raises(Changed):
        ingest(graph_of(source), tmp_path / "work", HeldEdges(sums=Sums()))
    assert not (tmp_path / "work" / "edges").exists()


def test_a_small_source_is_digested_before(source, tmp_path, monkeypatch):
    assert len(CONTENT) < LARGE
    monkeypatch.setattr(package, "in_background", None)
    ingest(graph_of(source), tmp_path / "work")


def test_a_source_is_read_again_only_after_it_was_written(source, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_RECENT", 0)
    edges = ingest(graph_of(source), tmp_path / "work")
    monkeypatch.setattr(digests, "digest_of_file", None)
    assert ingest(graph_of(source), tmp_path / "work").reused
    monkeypatch.setattr(digests, "digest_of_file", digest_of_file)
    times = source.stat()
    source.write_text(CONTENT.replace("49,43", "49,44"))  # as many bytes
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    again = ingest(graph_of(source), tmp_path / "work")
    assert not again.reused and again.digest != edges.digest


def test_digests_that_were_begun_are_not_computed_again(source, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_RECENT", 0)
    monkeypatch.setattr(package, "LARGE", 1)
    begin_digests(source)
    monkeypatch.setattr(digests, "digest_of_file", None)
    monkeypatch.setattr(digests, "sha256_of", None)
    held = HeldEdges(sums=Sums())
    digest = ingest(graph_of(source), tmp_path / "work", held).manifest.inputs["source"]
    assert digest == digest_of_file(source)
    assert held.sums.of([digest]) == {digest: hashlib.sha256(source.read_bytes()).hexdigest()}
    assert not digests._begun


def test_digests_that_were_begun_before_a_source_was_written_are_not_used(source, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_RECENT", 0)
    monkeypatch.setattr(package, "LARGE", 1)
    begin_digests(source)
    old = {digest.result() for _, digest in digests._begun.values()}
    source.write_text(CONTENT.replace("49,43", "49,44"))  # as many bytes
    os.utime(source, ns=(1, 1))
    held = HeldEdges(sums=Sums())
    digest = ingest(graph_of(source), tmp_path / "work", held).manifest.inputs["source"]
    sums = held.sums.of([digest])
    assert sums == {digest_of_file(source): hashlib.sha256(source.read_bytes()).hexdigest()}
    assert not old & {*sums, *sums.values()}


def test_a_source_that_was_written_while_it_was_digested_is_refused(source, tmp_path, monkeypatch):
    """A run opens the source after the digests were begun, and before they were computed."""
    monkeypatch.setattr(digests, "_RECENT", 0)
    monkeypatch.setattr(package, "LARGE", 1)
    opened = threading.Event()

    def late(path, _):
        assert opened.wait(60)
        other = tmp_path / "other.csv"
        other.write_text(CONTENT.replace("49,43", "49,44"))
        other.replace(source)
        return digest_of_file(path)

    monkeypatch.setattr(digests, "_digest_of_large", late)
    begin_digests(source)
    with pytest.raises(Changed):
        ingest(graph_of(source), tmp_path / "work", HeldEdges(sums=Sums()), before_reading=opened.set)
    assert not (tmp_path / "work" / "edges").exists()


def test_digests_of_another_file_that_a_link_led_to_meanwhile_are_not_used(source, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_RECENT", 0)
    monkeypatch.setattr(package, "LARGE", 1)
    (tmp_path / "other.csv").write_text(CONTENT.replace("49,43", "49,44"))
    link = tmp_path / "link.csv"
    link.symlink_to(source)
    waiting = list[Callable[[], object]]()
    begun = Future[str]()

    def beside(work):
        waiting.append(work)
        return begun

    with monkeypatch.context() as patch:
        patch.setattr(digests, "beside", beside)
        begin_digests(link)
    link.unlink()
    link.symlink_to(tmp_path / "other.csv")
    for work in waiting:  # they open the file only now
        with pytest.raises(digests._AnotherFile) as error:
            work()
    begun.set_exception(error.value)
    link.unlink()
    link.symlink_to(source)
    held = HeldEdges(sums=Sums())
    digest = ingest(graph_of(link), tmp_path / "work", held).manifest.inputs["source"]
    assert held.sums.of([digest]) == {digest_of_file(source): hashlib.sha256(source.read_bytes()).hexdigest()}


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("state", ["new", "read before", "written now", "stated", "missing", "several", "remote"])
def test_only_a_large_source_that_is_read_for_the_first_time_is_digested_at_once(state, large, source, tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_RECENT", 3 * 10**9 if state == "written now" else 0)
    monkeypatch.setattr("pipeline.runtime.early.LARGE", source.stat().st_size + (not large))
    if state == "read before":
        (tmp_path / "out" / "steps" / "edges").mkdir(parents=True)
    if state == "missing":
        source.unlink()
    named = {"several": [str(source), f"{source}.2"], "remote": f"memory://{source}"}.get(state, str(source))
    stated = {"sha256": "0" * 64} if state == "stated" else {}
    prepare_source(run_config("test", output=tmp_path / "out", stages=["wcc"], graph={"source": named, **stated}))
    begun = {key: digest.result() for key, (_, digest) in digests._begun.items()}
    digests._begun.clear()
    sha256 = hashlib.sha256(CONTENT.encode()).hexdigest()
    expected = {(source, "blake3"): digest_of_file(source), (source, "sha256"): sha256} if large and state == "new" else {}
    assert begun == expected
