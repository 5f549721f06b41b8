"""Change tables that are written beside other stages are those that are written after them, and fail as these do."""

from threading import Lock
from time import sleep

import pytest

from pipeline.comparison import blocks
from pipeline.config.loading import run_config
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps.derived import since
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder

STAGES = ["bfs", "sssp", "mst", "wcc", "pagerank"]
TABLES = {*STAGES, "forest", "vertices"}


@pytest.fixture
def many_cores(monkeypatch):
    """As many stages at once as there are, and cores for what is behind them."""
    monkeypatch.setattr(Runtime, "stages_at_once", lambda *_: 2 * len(STAGES))


def two_runs(folder, stages=(STAGES, STAGES), between=lambda _: None, name=str) -> Folder:
    """The second of two runs of a road network, whose source has changed after the first one; `name` makes ids of numbers."""
    folder.mkdir(exist_ok=True)
    roads = [f"{name(n)},{name(n + 1)},{n % 7 + 1}\n" for n in range(40)]
    for number, lines in enumerate((roads, [*roads[:20], *roads[21:], f"{name(3)},{name(50)},2\n"])):
        (folder / "roads.csv").write_text("src,dst,weight\n" + "".join(lines))
        graph = {"source": str(folder / "roads.csv"), "directed": False}
        config = {"graph": graph, "output": folder / "out", "stages": stages[number], "sources": [name(1)], "backend": "cpu"}
        published = run(run_config("test", changes={"tables": True}, publish_as="latest", **config))
        between(published)
    return published


def change_tables(run: Folder) -> dict[str, bytes]:
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.glob("*_changes/*")}


def early(run: Folder) -> set[str]:
    """The tables that were compared by steps of their own."""
    return {step.removeprefix("change_tables-") for step in RunFacts.of(run).steps if step.startswith("change_tables-")}


def test_tables_compared_beside_stages_have_the_same_bytes(tmp_path, many_cores, monkeypatch):
    beside = two_runs(tmp_path / "beside")
    monkeypatch.setattr(Runtime, "stages_at_once", lambda *_: 1)
    after = two_runs(tmp_path / "after")
    assert early(beside) == TABLES and not early(after)
    assert change_tables(beside) == change_tables(after) and len(change_tables(after)) == len(TABLES)
    facts = [RunFacts.of(one).changes for one in (beside, after)]
    assert facts[0].tables == facts[1].tables and facts[0].tables["wcc"].added == 1
    pages = [(one.path / "report.md").read_text("utf-8") for one in (beside, after)]
    assert all("| wcc | 41 | 42 | 1 | 0 |" in page for page in pages)


def test_tables_of_only_one_run_are_named(tmp_path, many_cores):
    """The second run needs components for its table of vertices, and publishes no table of them."""
    published = two_runs(tmp_path, stages=(["bfs", "wcc"], ["bfs", "mst"]))
    assert early(published) == {"bfs", "vertices"}
    only = {"wcc": "only the old run has it", "mst": "only the new run has it", "forest": "only the new run has it"}
    assert RunFacts.of(published).changes.not_compared == only


def test_ids_that_are_strings_are_compared_by_one_step(tmp_path, many_cores):
    published = two_runs(tmp_path, name=lambda n: f"crossing {n}")
    assert not early(published) and RunFacts.of(published).changes.tables.keys() == TABLES


def test_without_the_tables_of_the_run_before_there_are_no_change_tables(tmp_path, many_cores, caplog):
    published = two_runs(tmp_path, between=lambda run: [file.write_bytes(b"PAR1") for file in run.path.glob("bfs/*")])
    assert not RunFacts.of(published).changes and not change_tables(published)
    assert caplog.text.count("change_tables: none, because the previous run cannot be read") == 1


def test_a_wrong_change_table_fails_the_run(tmp_path, many_cores, monkeypatch):
    true = blocks.BlockDifference.rows
    monkeypatch.setattr(blocks.BlockDifference, "rows", lambda block: true(block)[1:])
    with pytest.raises(ProofFailed, match="_changes: does not turn the old table into the new one"):
        two_runs(tmp_path)
    assert len([*(tmp_path / "out" / "runs").iterdir()]) == 1


def test_two_tables_are_compared_at_once(tmp_path, many_cores, monkeypatch):
    """Each comparison has a block of both versions in memory for each core."""
    lock, running, most = Lock(), [0], [0]
    true = since.tabulate_changes

    def counted(*args: object, **options: object) -> Folder:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        sleep(0.05)
        try:
            return true(*args, **options)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr(since, "tabulate_changes", counted)
    two_runs(tmp_path)
    assert most == [since.AT_ONCE]
