"""Change tables that are begun while a run still computes equal those that are made afterwards, and fail as these do."""

import shutil

import pytest

from pipeline.changes import change
from pipeline.comparison import ahead, change_table, tabulate
from pipeline.config.run import RunConfig
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps import runtime as runtimes

TABLES = {"arcs", "bfs", "mst", "forest", "wcc", "vertices"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder with a run on 12 vertices and a file of changes."""
    folder = tmp_path_factory.mktemp("base")
    edges = "".join(f"{one},{one + 1},{one % 3}\n" for one in range(1, 12))
    (folder / "edges.csv").write_text(f"src,dst,weight\n{edges}", "utf-8")
    (folder / "changes.csv").write_text("op,src,dst,weight\ninsert,1,20,4\ndelete,4,5,\nupdate,2,3,9\n", "utf-8")
    values = {"graph": {"source": str(folder / "edges.csv")}, "output": folder / "out", "backend": "cpu", "sources": [1]}
    run(RunConfig.model_validate(values | {"stages": ["bfs", "mst", "wcc"]}))
    return folder


@pytest.fixture(scope="module")
def alone(base, tmp_path_factory):
    """The night after it, on a machine on which stages leave no cores to the comparison."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runtimes, "stages_at_once", lambda *_: 1)
        return change(copied(base, tmp_path_factory.mktemp("alone")), base / "changes.csv")


def copied(base, folder):
    shutil.copytree(base, folder, symlinks=True, dirs_exist_ok=True)
    return folder / "out"


@pytest.fixture
def out(base, tmp_path):
    """The output folder of the run."""
    return copied(base, tmp_path)


@pytest.fixture
def cores(monkeypatch):
    """A machine on which stages leave cores to the comparison."""
    monkeypatch.setattr(runtimes, "stages_at_once", lambda *_: 8)


@pytest.fixture
def taken(monkeypatch):
    """Names of the tables whose change tables had been begun."""
    names = set()

    def of(self, name, old, new, of=ahead.ChangesAhead.of):
        made = of(self, name, old, new)
        return names.add(name) or made if made else None

    monkeypatch.setattr(ahead.ChangesAhead, "of", of)
    return names


def bytes_of(published):
    return {
        path.relative_to(published.path).as_posix(): path.read_bytes()
        for path in sorted(published.path.rglob("*_changes/*.parquet"))
    }


def test_the_bytes_of_a_night_with_idle_cores_are_those_of_one_without(alone, out, tmp_path, cores, taken):
    beside = change(out, tmp_path / "changes.csv")
    assert taken == TABLES and bytes_of(beside) == bytes_of(alone) and len(bytes_of(beside)) == len(TABLES)
    assert beside.facts["changes"]["tables"] == alone.facts["changes"]["tables"]
    assert not [path for path in (out / "steps").iterdir() if path.name.startswith(".graphmill")]


def test_a_change_table_that_is_not_proved_fails_the_run(out, tmp_path, monkeypatch, cores, taken):
    monkeypatch.setattr(change_table, "ascend", lambda numbers: False)
    before = (out / "latest").resolve()
    with pytest.raises(ProofFailed, match="its keys do not ascend"):
        change(out, tmp_path / "changes.csv")
    assert (out / "latest").resolve() == before


def test_a_table_that_was_written_again_is_compared_again(out, tmp_path, monkeypatch, cores, taken):
    """What was begun is taken only for the same files."""

    def tabulated(path, old, new, edges=None, begun=None, tabulate_changes=tabulate.tabulate_changes):
        files = dict.fromkeys(new["bfs"].files, "0" * 64)
        return tabulate_changes(path, old, new | {"bfs": type(new["bfs"])(files)}, edges, begun)

    monkeypatch.setattr(tabulate, "tabulate_changes", tabulated)
    with pytest.raises(ProofFailed, match="not the table whose change table"):
        change(out, tmp_path / "changes.csv")
    assert taken == TABLES - {"bfs"}


def test_without_a_readable_run_before_there_are_no_change_tables(out, tmp_path, cores):
    next((out / "latest").resolve().glob("wcc/*.parquet")).write_bytes(b"PAR1")
    published = change(out, tmp_path / "changes.csv")
    assert bytes_of(published) == {} and "changes" not in published.facts
