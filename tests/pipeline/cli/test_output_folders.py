"""No command writes into what a run made, whatever name leads there."""

from pathlib import Path

import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig
from pipeline.run import run

PLACES = (
    "out/latest",
    "out/latest/new",
    "out/latest/wcc/a/b",
    "out/runs/new",
    "out/steps/new",
    "out/steps/graph",
    "link",
    "link/new",
)
COMMANDS = {
    "run": ["run", "g.csv", "--stages", "wcc", "--out", "PLACE"],
    "matrix": ["matrix", "out", "--out", "PLACE"],
    "trees": ["trees", "out", "--out", "PLACE"],
    "reach": ["reach", "out", "pairs.parquet", "--out", "PLACE"],
    "diff": ["diff", "out", "out", "--out", "PLACE"],
    "init": ["init", "g.csv", "--to", "PLACE"],
    "upload": ["run", "g.csv", "--stages", "wcc", "--out", "file://HERE/PLACE"],
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with an output folder, a link to its newest run, and the graph."""
    place = tmp_path_factory.mktemp("places")
    (place / "g.csv").write_text("src,dst\n1,2\n")
    run(run_config("test", graph={"source": str(place / "g.csv")}, stages=["wcc"], output=place / "out", backend="cpu"))
    (place / "link").symlink_to("out/latest")
    return place


def state(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*") if not path.name.startswith("."))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_into_what_a_run_made(command, place, published, monkeypatch):
    monkeypatch.chdir(published)
    monkeypatch.setenv("XDG_CACHE_HOME", str(published / ".cache"))
    before = state(published / "out")
    with pytest.raises(BadConfig, match=r"to which nothing may be added|was not written by this command"):
        app(
            [part.replace("PLACE", place).replace("HERE", str(published)) for part in COMMANDS[command]],
            result_action="return_value",
        )
    assert state(published / "out") == before


@pytest.mark.parametrize("damage", [True, False])
def test_the_folder_of_a_damaged_run_is_known_by_its_name(damage, published, tmp_path):
    run_folder = tmp_path / "elsewhere" / "runs" / (published / "out" / "latest").readlink().name
    run_folder.mkdir(parents=True)
    if damage:
        (run_folder / "manifest.json").write_text("{")
    with pytest.raises(BadConfig, match=r"is inside .*, the folder of a run"):
        run(run_config("test", graph={"source": str(published / "g.csv")}, output=run_folder / "new"))


@pytest.mark.parametrize("name", ["runs", "steps", "out/other", "runs/out"])
def test_folders_that_no_run_made_may_have_any_name(name, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    config = run_config("test", graph={"source": str(tmp_path / "g.csv")}, stages=["wcc"], output=tmp_path / name, backend="cpu")
    assert run(config).path.is_relative_to(tmp_path / name)
