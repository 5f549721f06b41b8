"""Flow `graph-changes`: files that arrive are applied in order, each once, also after a kill; a bad one stops the rest."""

import signal
from itertools import pairwise

import pytest
from prefect.settings import get_current_settings

from flows.analytics import graph_changes
from pipeline.config.loading import load_run
from pipeline.inspection.runs import list_runs
from pipeline.run import run as run_steps
from pipeline.store.deltas.history import history_of
from pipeline.store.digests import digest_of_file
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.flows.networks import social_run
from tests.flows.processes import alive, await_stop, clean_environment, eventually, flow_process, stopping_at

pytestmark = pytest.mark.usefixtures("prefect")
NIGHTS = {"2026-07-01.csv": "delete,60,61\n", "2026-07-02.csv": "delete,200,201\n", "2026-07-03.csv": "insert,50,201\n"}


def arrive(folder, name, rows=None):
    """A file that is renamed into place when it is complete."""
    part = folder / f"{name}.part"
    part.write_text(f"op,src,dst\n{rows or NIGHTS[name]}")
    part.rename(folder / name)


@pytest.fixture
def network(tmp_path):
    run = social_run(tmp_path, settings='stages = ["bfs", "wcc"]')
    run.write_text(run.read_text() + '[changes]\narrivals = "arrivals"\n')
    (tmp_path / "arrivals").mkdir()
    return run, tmp_path / "arrivals", tmp_path / "out-people"


def test_a_night_that_is_killed_goes_on_where_it_was(network, tmp_path):
    """The second and the third file arrive while the first is applied; the process is killed while it applies the second."""
    run, folder, out = network
    arrive(folder, "2026-07-01.csv")
    (folder / ".2026-07-02.csv").write_text("op,src")
    first, second, step = "2026-07-01.csv, the first of 1 waiting", "2026-07-02.csv, the first of 2 waiting", "bfs: started"
    environment = clean_environment(tmp_path / "home") | {"PREFECT_API_URL": get_current_settings().api.url}
    process = flow_process(environment | stopping_at(tmp_path, first, second, step), tmp_path, "graph-changes", run)
    for text in (first, second, step):
        await_stop(process, text)
        if text == first:
            arrive(folder, "2026-07-02.csv")
            arrive(folder, "2026-07-03.csv")
        process.send_signal(signal.SIGKILL if text == step else signal.SIGCONT)
    process.wait()
    process.stdout.close()
    assert eventually(lambda: not alive(environment))
    assert [applied.file for applied in history_of(list_runs_of(out)[-1])] == ["2026-07-01.csv"]

    published = graph_changes(str(run))
    assert history_of(published) == [(name, digest_of_file(folder / name)) for name in NIGHTS]
    runs = list_runs_of(out)
    assert len(runs) == 4  # that of the source, and one for each file
    for before, after in pairwise(runs):
        assert RunFacts.of(after).changes.run == RunFacts.of(before).run
    assert graph_changes(str(run)).path == published.path and len(list_runs_of(out)) == 4

    rebuilt = social_run(tmp_path / "rebuilt", settings='stages = ["bfs", "wcc"]')
    source = tmp_path / "rebuilt" / "people.txt"
    ties = source.read_text().replace("200\t201\n", "200\t200\n50\t201\n").replace("\n60\t61\n", "\n")
    source.write_text(ties)
    due = run_steps(load_run(rebuilt))
    for table in ("bfs", "wcc", "vertices"):
        assert tables.read(published.path / table).equals(tables.read(due.path / table))


def list_runs_of(out):
    from pipeline.store.workspace import find_run

    return [find_run(out / "runs" / listed.id) for listed in list_runs(out)]


def test_a_bad_file_fails_the_flow_and_stops_those_behind_it(network):
    run, folder, out = network
    arrive(folder, "2026-07-02.csv", "delete,1,99\n")
    arrive(folder, "2026-07-03.csv")
    state = graph_changes(str(run), return_state=True)
    assert state.is_failed() and "Stopped: BadInput: " in state.message
    for words in ("2026-07-02.csv: line 2: ", "was not applied; 1 behind it wait; repair it or move it away, then start again"):
        assert words in state.message
    assert RunFacts.of(list_runs_of(out)[-1]).graph.state is None  # the run of the source
    (folder / "2026-07-02.csv").rename(folder.parent / "bad.csv")
    assert [applied.file for applied in history_of(graph_changes(str(run)))] == ["2026-07-03.csv"]
