"""Commands on products read places as the run or the `.toml` file that they are given does, and as their options say."""

import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.config.loading import load_run
from pipeline.errors import BadConfig, BadInput, BadSource
from pipeline.run import run

RUN = """
output = "out"
stages = ["wcc"]
backend = "cpu"
snap_limit = 2000
snap_to = "any"
[graph]
source = "two.csv"
coordinates = "xy.csv"
crs = "EPSG:2056"
directed = false
[places]
id = "nr"
lon = "e"
lat = "n"
crs = "EPSG:2056"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run's file, its graph in the Swiss grid, and two places, of which one is at a small island and 1.5 km away."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "two.csv").write_text("src,dst\n1,2\n2,3\n8,9\n")
    points = {1: (2600000, 1199000), 2: (2601000, 1199000), 3: (2602000, 1199000), 8: (2600000, 1204000), 9: (2600000, 1205000)}
    (tmp_path / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{v},{x},{y}\n" for v, (x, y) in points.items()))
    (tmp_path / "h.csv").write_text("nr;e;n\n5;2600010;1199000\n6;2600000;1206500\n")
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path


def target_in(folder, kind):
    if kind == "run":  # which must have a use for [places] itself
        (folder / "run.toml").write_text(RUN + '[closeness]\nsources = "h.csv"\n')
        run(load_run(folder / "run.toml"))
    return str(folder / ("out" if kind == "run" else "run.toml"))


def command(name, target, folder, *options):
    arguments = [name, target, "--sources", str(folder / "h.csv"), "--out", str(folder / name), "--backend", "cpu", *options]
    app(arguments, result_action="return_value", exit_on_error=False)
    return pq.read_table(folder / name).to_pylist()


@pytest.mark.parametrize("kind", ["toml", "run"])
def test_places_are_read_as_the_target_has_them(folder, kind):
    target = target_in(folder, kind)
    rows = command("matrix", target, folder, "--cutoff", "0")
    assert [(row["source_place"], row["source"], row["target"]) for row in rows] == [(5, 1, 1), (6, 9, 9)]
    assert {row["source"] for row in command("trees", target, folder)} == {1, 9}


@pytest.mark.parametrize("kind", ["toml", "run"])
def test_options_replace_what_the_target_has(folder, kind):
    target = target_in(folder, kind)
    with pytest.raises(BadSource, match=r"h.csv: row 1: 6 at .* is 1,500 m .*the limit is 700 m"):
        command("matrix", target, folder, "--snap-limit", "700")
    with pytest.raises(BadSource, match=r"row 1: 6 at .* is 7,50. m from the nearest vertex of the largest component"):
        command("matrix", target, folder, "--snap-to", "largest")
    with pytest.raises(BadInput, match="row 0: 2600010,1199000 is not LON,LAT"):
        command("matrix", target, folder, "--crs", "")
    (folder / "h.csv").write_text("spital,lng,latitude\n7,7.4387,46.9411\n")
    named = ["--place-id", "spital", "--lon", "lng", "--lat", "latitude", "--crs", ""]
    (row,) = command("matrix", target, folder, *named, "--cutoff", "0")
    assert (row["source_place"], row["source"]) == (7, 1)


def test_other_keys_without_effect_are_still_refused(folder):
    (folder / "run.toml").write_text(RUN + "[graph.speed]\ndefault = 5\n")
    with pytest.raises(BadConfig, match=r"graph\.speed\.default: has no effect"):
        command("matrix", str(folder / "run.toml"), folder)
