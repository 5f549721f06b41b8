"""Files of changes that arrive in a folder, or in object storage: their order, and what stops them."""

import shutil
import time
from contextlib import suppress

import fsspec
import pytest

from pipeline.changes import change
from pipeline.changes.arrivals import apply_arrivals, arrived
from pipeline.config.loading import load_run
from pipeline.errors import AlreadyApplied, BadConfig, BadInput, Stopped
from pipeline.ingest.source import locate
from pipeline.run import run
from pipeline.steps.publication import remote
from pipeline.store import digests
from pipeline.store.deltas.history import history_of

RUN = 'output = "out"\nstages = ["wcc"]\nbackend = "cpu"\n[graph]\nsource = "edges.csv"\n'


@pytest.fixture
def network(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\n1,2\n2,3\n3,4\n")
    (tmp_path / "run.toml").write_text(f'{RUN}[changes]\narrivals = "arrivals"\n')
    folder = tmp_path / "arrivals"
    folder.mkdir()
    for number in (1, 3):
        (folder / f"{number}.csv").write_text(f"op,src,dst\ninsert,{number},9{number}\n")
    return folder, load_run(tmp_path / "run.toml")


def raising(error):
    def fail(*_):
        raise error

    return fail


def applied(config) -> list[str]:
    published = apply_arrivals(config, None, lambda work: work())
    return [applied.file for applied in history_of(published)]


def test_each_file_is_applied_once_and_in_order(network):
    folder, config = network
    for name in (".4.csv", "4.csv.part", "4.csv.tmp"):
        (folder / name).write_text("op")
    (folder / "older").mkdir()
    (folder / "5.csv").symlink_to(folder.parent / "elsewhere.csv")  # a link to no file
    assert [source.name for source in arrived(str(folder))] == ["1.csv", "3.csv"]
    assert applied(config) == applied(config) == ["1.csv", "3.csv"]
    (folder / "1.csv").unlink()  # as an operator does with old ones
    (folder / "10.csv").write_text("op,src,dst\ninsert,1,910\n")
    with pytest.raises(
        Stopped, match=r"10\.csv: arrived after 3\.csv, whose name comes later, was applied; repair it or move it away"
    ):
        applied(config)
    (folder / "10.csv").rename(folder / "4.csv")
    assert applied(config) == ["1.csv", "3.csv", "4.csv"]


def test_names_that_have_a_meaning_in_urls(network):
    folder, config = network
    (folder / "4::00.csv").write_text("op,src,dst\ninsert,1,94\n")
    assert applied(config) == ["1.csv", "3.csv", "4::00.csv"]
    storage = fsspec.filesystem("memory")
    for name in ("5#1.csv", "5?a=1.csv", "5::00.csv"):
        storage.pipe_file(f"/names/{name}", b"op,src,dst\n")
        with pytest.raises(Stopped, match=r"memory://names: the name '5.*csv' has \?, # or ::, which have a meaning in URLs"):
            arrived("memory://names")
        storage.rm_file(f"/names/{name}")


def test_a_remote_file_is_applied_once(network):
    _, config = network
    run(config)
    fsspec.filesystem("memory").pipe_file("/once/1.csv", b"op,src,dst\ninsert,1,91\n")
    change(config.output, "memory://once/1.csv")
    with pytest.raises(AlreadyApplied, match="was already applied, as file 1 of 1"):
        change(config.output, "memory://once/1.csv")


def test_what_was_applied_may_neither_change_nor_come_again(network):
    folder, config = network
    assert applied(config) == ["1.csv", "3.csv"]
    (folder / "4.csv").write_bytes((folder / "1.csv").read_bytes())
    (folder / "5.csv").write_text("op,src,dst\ninsert,1,95\n")
    with pytest.raises(
        Stopped, match=r"AlreadyApplied: .*4\.csv: was already applied, as file 1 of 2 .*; 1 behind it wait; repair"
    ):
        applied(config)
    (folder / "4.csv").unlink()
    with (folder / "3.csv").open("a") as file:
        file.write("insert,1,96\n")
    with pytest.raises(Stopped, match=r"3\.csv: has changed since it was applied; repair it or move it away"):
        applied(config)


def test_applied_files_are_read_again_only_if_they_were_written(network, monkeypatch):
    folder, config = network
    written, read, digest_of = max(path.stat().st_ctime_ns for path in folder.iterdir()), list[str](), digests.digest_of_file
    monkeypatch.setattr(time, "time_ns", lambda: written)  # what was written just before may be written again unseen
    assert applied(config) == ["1.csv", "3.csv"]
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**12)
    monkeypatch.setattr(digests, "digest_of_file", lambda path: read.append(path.name) or digest_of(path))
    for names in (["1.csv", "3.csv"], []):
        assert applied(config) == ["1.csv", "3.csv"]
        assert read == names
        read.clear()
    with (folder / "3.csv").open("a") as file:
        file.write("insert,1,96\n")
    with pytest.raises(Stopped, match=r"3\.csv: has changed since it was applied"):
        applied(config)
    assert read == ["3.csv"]
    for damaged in ("{", "[1]", '{"3.csv": 1}'):
        (config.output / "steps" / "arrivals.json").write_text(damaged)
        with pytest.raises(Stopped, match=r"3\.csv: has changed since it was applied"):
            applied(config)


def test_object_storage(network):
    _, config = network
    storage = fsspec.filesystem("memory")
    for name in ("a.csv", "b.csv.part"):
        storage.pipe_file(f"/changed/{name}", b"op,src,dst\ndelete,1,2\n")
    config = config.model_copy(update={"changes": config.changes.model_copy(update={"arrivals": "memory://changed"})})
    assert applied(config) == applied(config) == ["a.csv"]
    storage.rm("/changed", recursive=True)


@pytest.fixture
def published_to(network):
    _, config = network
    storage = fsspec.filesystem("memory")
    yield config.model_copy(update={"publish_to": "memory://published"})
    storage.rm("/published", recursive=True)


def test_an_upload_that_failed_is_repeated_without_new_files(network, published_to, monkeypatch):
    folder, _ = network
    assert applied(published_to) == ["1.csv", "3.csv"]
    ways = {"4.csv": lambda: applied(published_to), "5.csv": lambda: change(published_to.output, folder / "5.csv")}
    for name, again in ways.items():
        (folder / name).write_text(f"op,src,dst\ninsert,1,{name[0]}\n")
        with monkeypatch.context() as patch, pytest.raises(OSError, match="the network is down"):
            patch.setattr(remote, "_put", raising(OSError("the network is down")))
            applied(published_to)
        newest = (published_to.output / "latest").resolve().name
        assert newest not in remote.latest("memory://published")
        with suppress(AlreadyApplied):
            again()
        assert newest in remote.latest("memory://published")


def test_a_lost_folder_does_not_lose_changes(network, published_to):
    folder, _ = network
    assert applied(published_to) == ["1.csv", "3.csv"]
    newest = remote.latest("memory://published")
    shutil.rmtree(published_to.output)
    content = (folder / "1.csv").read_text()
    for lost in ((folder / "1.csv").unlink, lambda: (folder / "1.csv").write_text(f"{content}insert,1,96\n")):
        lost()
        with pytest.raises(Stopped, match=r"has 2 files of changes, .*; 1\.csv is no longer in .*; put it back, or start a new"):
            applied(published_to)
        assert remote.latest("memory://published") == newest
    (folder / "1.csv").write_text(content)
    assert applied(published_to) == ["1.csv", "3.csv"]


def test_a_folder_is_needed(network, tmp_path):
    _, config = network
    (tmp_path / "arrivals").rename(tmp_path / "away")
    with pytest.raises(BadConfig, match=r"changes\.arrivals: .*arrivals is not a folder"):
        applied(config)
    (tmp_path / "run.toml").write_text(RUN)
    with pytest.raises(BadConfig, match=r"changes\.arrivals is missing"):
        applied(load_run(tmp_path / "run.toml"))
    assert not config.output.exists()
    (tmp_path / "run.toml").write_text(f'{RUN}[changes]\narrivals = "https://ana:secret@host/arrivals"\n')
    with pytest.raises(BadConfig, match="which may be secret"):
        load_run(tmp_path / "run.toml")


def test_links_are_files_and_names_are_text(network, tmp_path):
    folder, config = network
    (tmp_path / "elsewhere.csv").write_text("op,src,dst\ninsert,2,92\n")
    (folder / "2.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert [source.name for source in arrived(str(folder))] == ["1.csv", "2.csv", "3.csv"]
    strange = tmp_path / "arrivals" / "\udcff.csv"
    try:
        strange.write_text("op,src,dst\n")
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    with pytest.raises(Stopped, match=r"the name '.udcff\.csv' is not UTF-8; repair it or move it away"):
        applied(config)
    with pytest.raises(BadInput, match="its path is not UTF-8"):
        locate(str(strange))
    with pytest.raises(BadConfig, match="output: is a path that is not UTF-8"):
        load_run(tmp_path / "run.toml", default_output=None, output=tmp_path / "\udcff")


def test_a_wrong_option_is_not_said_of_the_run_before(network):
    folder, config = network
    run(config)
    for option, value in (("backend", "both"), ("cluster", {"scheduler": "both"})):
        with pytest.raises(BadConfig, match=f"^options: {option}: "):
            change(config.output, folder / "1.csv", **{option: value})


def test_arrivals_may_be_single_files_but_no_folder_of_a_web_site(network):
    folder, config = network
    listed = (str(folder / "3.csv"), f"file://{folder}/1.csv", "https://host/changes/4.csv")
    assert [source.name for source in arrived(listed)] == ["1.csv", "3.csv", "4.csv"]
    with pytest.raises(BadConfig, match=r"https://host/arrivals/: the files of a web site cannot be listed; name each"):
        applied(config.model_copy(update={"changes": config.changes.model_copy(update={"arrivals": "https://host/arrivals/"})}))
    with pytest.raises(BadInput, match=r"https://host/\*\.csv: is a pattern; the files of a web site cannot be listed"):
        arrived("https://host/*.csv")
