"""Files of changes that wait together, of which only the last state is published: what is in it, and what a failure leaves."""

import shutil
from itertools import pairwise

import pytest

from pipeline.changes.arrivals import apply_arrivals
from pipeline.config.loading import load_run
from pipeline.errors import ProofFailed, Stopped
from pipeline.inspection.runs import list_runs
from pipeline.store.deltas.history import history_of
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.counts import in_turn

RUN = 'output = "out"\nstages = ["wcc", "bfs"]\nbackend = "cpu"\nsources = [SOURCE]\nkeep = 100\n[graph]\nsource = "edges.csv"\n'
# Rows of files; later ones name edges and vertices that only earlier ones made.
FILES = (
    "insert,1,91\ninsert,91,92\n", "delete,91,92\ninsert,92,7\n", "delete,2,3\n", "insert,2,3\ndelete,1,91\n", "insert,0,5\n",
)  # fmt: skip


def network(folder, publish, named=False):
    """A graph, of strings if `named`, and its configuration."""
    (folder / "arrivals").mkdir(parents=True)
    (folder / "edges.csv").write_text(text_of("src,dst\n1,2\n2,3\n3,4\n", named))
    source = '"v1"' if named else "1"
    (folder / "run.toml").write_text(
        RUN.replace("SOURCE", source) + f'[changes]\narrivals = "arrivals"\npublish = "{publish}"\n[expect]\nmax_vertices = 50\n'
    )
    return folder, load_run(folder / "run.toml")


def text_of(text, named):
    """The same with strings for ids."""
    return (
        text
        if not named
        else "\n".join(",".join(f"v{one}" if one.isdigit() else one for one in row.split(",")) for row in text.split("\n"))
    )


def arrive(folder, name, rows, named=False):
    (folder / "arrivals" / name).write_text(text_of(f"op,src,dst\n{rows}", named))


def nights(config):
    return apply_arrivals(config, None, lambda work: work())


def content(published):
    return {name: tables.read(published.path / name) for name in published.facts["tables"] if not name.endswith("_changes")}


def applied(published):
    return [one.file for one in history_of(published)]


@pytest.mark.sampled
@pytest.mark.parametrize(("count", "named"), in_turn(3, [1, 2, 3, 5], [False, True]))
def test_the_last_state_is_that_of_the_files_one_after_the_other(named, count, tmp_path):
    folder, config = network(tmp_path / "last", "last", named)
    other, each = network(tmp_path / "each", "each", named)
    for one in (config, each):
        nights(one)
    for begin in (0, count):  # two nights
        for number, rows in list(enumerate(FILES))[begin : begin + count]:
            for place in (folder, other):
                arrive(place, f"{number}.csv", rows, named)
        published, due = nights(config), nights(each)
        found = content(published)
        assert found.keys() == content(due).keys()
        for name, table in content(due).items():
            assert found[name].equals(table), name
        assert history_of(published) == history_of(due)
        assert RunFacts.of(published).graph.state.number == RunFacts.of(due).graph.state.number
    assert len(list_runs(folder / "out")) == 1 + min(2, -(-len(FILES) // count))
    assert len(list_runs(other / "out")) == 1 + min(2 * count, len(FILES))
    assert not list((folder / "out" / "steps").glob(".*"))


def test_the_change_tables_are_those_of_all_files(tmp_path):
    folder, config = network(tmp_path, "last")
    before = nights(config)
    for number, rows in enumerate(FILES[:3]):
        arrive(folder, f"{number}.csv", rows)
    published = nights(config)
    facts = RunFacts.of(published).changes
    assert facts.run == before.path.name and facts.tables["wcc"].added == 3  # vertices 91, 92 and 7


@pytest.mark.parametrize("bad", [0, 1, 3])
def test_files_before_a_bad_one_are_published(bad, tmp_path):
    folder, config = network(tmp_path / "last", "last")
    nights(config)
    for number, rows in enumerate(FILES[:4]):
        arrive(folder, f"{number}.csv", "delete,1,77\n" if number == bad else rows)
    with pytest.raises(Stopped) as stopped:
        nights(config)
    assert f"{bad}.csv was not applied" in str(stopped.value)
    assert (f"; {3 - bad} behind it wait" in str(stopped.value)) == (bad < 3)
    runs = list_runs(folder / "out")
    assert len(runs) == 1 + (bad > 0)
    (folder / "arrivals" / f"{bad}.csv").unlink()
    if bad == 3:  # what is behind another one needs it
        assert applied(nights(config)) == [f"{number}.csv" for number in range(4) if number != bad]


def test_a_refused_backlog_is_published_when_it_is_allowed(tmp_path):
    folder, config = network(tmp_path, "last")
    first = nights(config)
    arrive(folder, "1.csv", "".join(f"insert,1,{vertex}\n" for vertex in range(100, 200)))
    arrive(folder, "2.csv", "insert,1,500\n")
    with pytest.raises(Stopped, match=r"Refused: .*1\.csv to .*2\.csv were not applied"):
        nights(config)
    assert (folder / "out" / "latest").resolve() == first.path
    arrive(folder, "2.csv", "".join(f"delete,1,{vertex}\n" for vertex in range(100, 200)))
    shutil.copy(folder / "run.toml", folder / "more.toml")
    (folder / "more.toml").write_text((folder / "run.toml").read_text().replace("50", "500"))
    assert applied(nights(load_run(folder / "more.toml"))) == ["1.csv", "2.csv"]


@pytest.mark.sampled
@pytest.mark.parametrize(("named", "step"), in_turn(2, [True, False], ["pipeline.steps.solving.prove", "pipeline.run.publish"]))
def test_a_failure_leaves_the_published_state(named, step, tmp_path, monkeypatch):
    """Whichever number of files waits: their states are not written over that of the newest run."""
    folder, config = network(tmp_path, "last", named)
    nights(config)
    for waiting in (1, 2, 3):
        names = [f"{waiting}-{number}.csv" for number in range(waiting)]
        for number, name in enumerate(names):
            arrive(folder, name, f"insert,{waiting},{waiting}{number}00\n", named)
        newest = (folder / "out" / "latest").resolve()
        with monkeypatch.context() as patch:
            patch.setattr(step, failing)
            with pytest.raises(ProofFailed):
                nights(config)
        assert (folder / "out" / "latest").resolve() == newest
        published = nights(config)
        assert applied(published)[-waiting:] == names
    assert [len(one) for one in pairwise(list_runs(folder / "out"))] == [2, 2, 2]


def failing(*_, **__):
    raise ProofFailed("test")
