"""Files of changes that arrive in a folder, or in object storage: their order, and what stops them."""

import time

import fsspec
import pytest

from pipeline.changes.arrivals import apply_arrivals, arrived
from pipeline.config.loading import load_run
from pipeline.errors import BadConfig, Stopped
from pipeline.run import directly
from pipeline.store import digests
from pipeline.store.facts.run import RunFacts

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


def applied(config) -> list[str]:
    state = RunFacts.of(apply_arrivals(config, directly, lambda work: work())).graph.state
    return state.files if state else []


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
        Stopped, match=r"10\.csv: arrived when 3\.csv, which sorts behind it, was applied; mend it or move it away"
    ):
        applied(config)
    (folder / "10.csv").rename(folder / "4.csv")
    assert applied(config) == ["1.csv", "3.csv", "4.csv"]


def test_what_was_applied_may_neither_change_nor_come_again(network):
    folder, config = network
    assert applied(config) == ["1.csv", "3.csv"]
    (folder / "4.csv").write_bytes((folder / "1.csv").read_bytes())
    (folder / "5.csv").write_text("op,src,dst\ninsert,1,95\n")
    with pytest.raises(
        Stopped, match=r"AlreadyApplied: .*4\.csv: was applied already, as file 1 of 2 .*; 1 behind it wait; mend"
    ):
        applied(config)
    (folder / "4.csv").unlink()
    with (folder / "3.csv").open("a") as file:
        file.write("insert,1,96\n")
    with pytest.raises(Stopped, match=r"3\.csv: has changed since it was applied; mend it or move it away"):
        applied(config)


def test_applied_files_are_read_again_only_if_they_were_written(network, monkeypatch):
    folder, config = network
    assert applied(config) == ["1.csv", "3.csv"]
    clock, read, digest_of = time.time_ns, list[str](), digests.digest_of_file
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 10**10)  # what was written just before may be written again unseen
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
    (config.output / "steps" / "arrivals.json").write_text("{")
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
