"""Any text as any argument of any command: an answer, or one line that says what is wrong, and never a traceback."""

import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.run import run
from tests.counts import in_turn
from tests.pipeline.runs.commands import graphmill

TEXTS = (
    "",
    "\0",
    "x" * 100_000,
    "9" * 5_000,
    "a/" * 1_500,
    "\udcff",
    "a\nb\x1b[31m\u202e",
    "-1",
    "https://me:s3cr3t@[::1/x?s3cr3t",
    "[b]{0}%s",
)
COMMANDS = (
    "run g.csv --out new --stages wcc --name n --publish-as p --keep 3 --backend cpu --order degree",
    "run g.csv --out new --stages bfs --source 1",
    "run g.toml --out new --sources s.txt",
    "change o g.csv --publish-as latest --backend cpu --cluster none --trace new.json",
    "reach o p.parquet --out new --witness w --unknown null --backend cpu",
    "matrix o --out new --sources s.txt --targets s.txt --cutoff 5 --proof every --cluster none",
    "trees o --out new --sources s.txt",
    "init g.csv --to new --at 02:15 --timezone Etc/UTC --name n",
    "check g.csv --src src --dst dst --weight 3 --delimiter tab --ids auto --format csv --sha256 1 --cluster none",
    "check g.csv --coordinates c.csv --nodes n.csv --shards 0 --pairs p",
    "estimate g.csv --out new --stages wcc",
    "path o 1 2 --table bfs",
    "runs o",
    "prune o --keep 3 --at-least 1h",
    "diff o o --out new --examples 2",
    "tiles o --out new --tables vertices --max-zoom 12",
    "graphalytics o --out new --runs 2 --backend cpu",
    "generate graph500 --scale 3 --out new --seed 2 --backend cpu",
    "generate social --vertices 30 --out new --degree 5 --exponent 2.5 --clustering 0.3",
)
CASES = [(command, place) for command in COMMANDS for place, word in enumerate(command.split()) if not word.startswith("--")]
pytestmark = pytest.mark.sampled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arguments")
    (place / "g.csv").write_text("src,dst\n1,2\n")
    (place / "s.txt").write_text("1\n")
    (place / "g.toml").write_text('output = "o"\nstages = ["wcc"]\n[graph]\nsource = "g.csv"\n')
    run(
        run_config("test", graph={"source": str(place / "g.csv")}, stages=["bfs"], sources=[1], output=place / "o", backend="cpu")
    )
    return place


def said(folder, words):
    done = graphmill(*words, cwd=folder)
    assert "Traceback" not in done.stderr and "s3cr3t" not in done.stderr, words[:1]
    if done.returncode:
        assert done.returncode in (1, 2)
        line = done.stderr.splitlines()[-1]
        assert line.startswith("graphmill: ") and len(line) < 2_100 and line.isprintable()
        assert sum(line.startswith("graphmill: ") for line in done.stderr.splitlines()) == 1
    return done


@pytest.mark.parametrize(
    ("case", "text"), in_turn(12, CASES, TEXTS), ids=lambda value: f"{value}"[:60].encode("ascii", "replace").decode()
)
def test_no_argument_ends_in_a_traceback(case, text, folder):
    command, place = case
    words = command.split()
    words[place] = text
    said(folder, words)


def test_every_command_is_tried():
    assert {command.split()[0] for command in COMMANDS} == {name for name in app if not name.startswith("-")}


@pytest.mark.parametrize(
    "words", ["path o  2", "path o 1 ", "run g.csv --out ", "run g.csv --out= ", "matrix o --out new --sources "]
)
def test_an_empty_argument_names_nothing(words, folder):
    before = sorted(folder.iterdir())
    done = said(folder, [word.strip() for word in words.split(" ")])
    assert done.returncode and ("is empty" in done.stderr or "'' is not an integer; the ids" in done.stderr)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "words", [["matrix", "o", "--out"], ["run", "g.csv", "--out"], ["init", "g.csv", "--to"], ["diff", "o", "o", "--out"]]
)
def test_a_path_of_many_levels_is_refused(words, folder):
    assert "levels, the limit is 200" in said(folder, [*words, "a/" * 1_500]).stderr


@pytest.mark.parametrize("ids", ["integer", "string"])
@pytest.mark.parametrize("vertex", ["", "\udcff", "x" * 5_000])
def test_a_vertex_of_path_may_be_any_text(ids, vertex, folder, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n" if ids == "integer" else "src,dst\na,b\n")
    source = 1 if ids == "integer" else "a"
    run(
        run_config(
            "test",
            graph={"source": str(tmp_path / "g.csv")},
            stages=["bfs"],
            sources=[source],
            output=tmp_path / "o",
            backend="cpu",
        )
    )
    for words in (["path", "o", vertex, "2"], ["path", "o", str(source), vertex]):
        assert "Traceback" not in (stderr := said(tmp_path, words).stderr) and (
            "is not an integer; the ids of this graph are integers" in stderr or "not in the graph" in stderr
        )
