"""The command line as a user sees it: exit codes, messages and tables."""

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from kernels.registry import ALGORITHMS
from pipeline.config.loading import run_config
from pipeline.config.run import STAGES
from pipeline.errors import message
from pipeline.run import run
from tests.pipeline.runs.commands import GRAPHMILL, graphmill

ROOT = Path(__file__).parents[3]
TRIANGLE = "src,dst,weight\n1,2,5\n2,3,1\n3,1,4\n9,9,1\n"


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A run in this process, so that its forks need not import and load what it uses."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "triangle.csv").write_text(TRIANGLE)
    run(run_config("test", graph={"source": str(folder / "triangle.csv")}, output=folder / "out"))


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    path = tmp_path / "triangle.csv"
    path.write_text(TRIANGLE)
    return path


def test_a_graph_file_is_run_directly(triangle, tmp_path):
    command = [GRAPHMILL, "run", triangle, "--source", "1", "--source", "3", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    latest = tmp_path / "out" / "latest"
    bfs = pd.read_parquet(latest / "bfs", dtype_backend="pyarrow")
    assert bfs.columns.tolist() == ["source", "vertex", "distance", "predecessor"]
    assert bfs.values.tolist()[:4] == [[1, 1, 0, pd.NA], [1, 2, 1, 1], [1, 3, 2, 2], [1, 9, pd.NA, pd.NA]]
    assert pd.read_parquet(latest / "sssp").distance.dropna().tolist() == [0, 5, 6, 4, 9, 0]
    assert pd.read_parquet(latest / "mst").values.tolist() == [[1, 3, 4, 1], [2, 3, 1, 1]]
    assert pd.read_parquet(latest / "wcc").values.tolist() == [[1, 1], [2, 1], [3, 1], [9, 9]]
    assert pd.read_parquet(latest / "scc").values.tolist() == [[1, 1], [2, 1], [3, 1], [9, 9]]
    assert pd.read_parquet(latest / "pagerank").pagerank.sum() == pytest.approx(1)
    assert (latest / "report.html").stat().st_size > 1000
    assert "5 arcs" not in done.stdout
    assert "3 arcs" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["matrix", "roads.csv"], 'Command "matrix" parameter --out requires an argument.'),
        (["trees", "roads.csv", "--out", "t", "--targets", "a.csv"], "Unknown option: --targets."),
        (["matrix", "roads.csv", "--out", "m", "--cutoff", "x"], "Invalid value for --cutoff: 'x' is not a number"),
    ],
)
def test_a_wrong_option_is_one_line(arguments, line):
    done = graphmill(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"graphmill: {line}")


def test_a_run_over_shards(triangle, tmp_path):
    done = graphmill("run", triangle, "--stages", "sssp,wcc", "--source", 1, "--shards", 3, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    latest = tmp_path / "out" / "latest"
    assert pd.read_parquet(latest / "sssp").distance.dropna().tolist() == [0, 5, 6]
    steps = json.loads((latest / "manifest.json").read_text())["facts"]["steps"]
    assert [steps[stage]["shards"] for stage in ("sssp", "wcc")] == [3, 3]
    assert steps["sssp"]["supersteps"] > 1


def test_an_undirected_run_has_a_default_source(triangle, tmp_path):
    done = graphmill("run", triangle, "--undirected", "--stages", "sssp", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "out" / "latest" / "sssp")
    assert set(table.source) == {1}
    assert table.distance.tolist()[:3] == [0, 5, 4]
    names = {path.name for path in (tmp_path / "out" / "latest").iterdir()}
    assert names == {"manifest.json", "report.html", "report.md", "tops.json", "sssp", "vertices", "arcs"}


def test_options_say_what_the_columns_are(tmp_path):
    (tmp_path / "roads").write_text("1;2;5;0.5\n2;3;1;1.5\n")
    (tmp_path / "ids").write_text("1\n2\n")
    columns = [
        "--src",
        "1",
        "--dst",
        "2",
        "--weight",
        "4",
        "--no-header",
        "--delimiter",
        ";",
        "--name",
        "streets",
        "--keep",
        "1",
        "--sources",
        "ids",
    ]
    done = graphmill("run", "roads", *columns, "--stages", "sssp", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "out" / "latest" / "sssp")
    assert table.dropna().values.tolist()[:1] == [[1, 2, 0.5, 1]]
    assert table.distance.dropna().tolist() == [0, 0.5, 2, 0, 1.5]
    assert set(table.source) == {1, 2}
    assert json.loads((tmp_path / "out" / "latest" / "manifest.json").read_text())["facts"]["graph"]["name"] == "streets"
    hops = [*columns[:4], *columns[6:], "--no-weight"]
    assert graphmill("run", "roads", *hops, "--stages", "sssp", "--out", "hops", cwd=tmp_path).returncode == 0
    assert pd.read_parquet(tmp_path / "hops" / "latest" / "sssp").distance.dropna().tolist() == [0, 1, 2, 0, 1]


def test_options_override_the_configured_run(triangle, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('output = "out"\nstages = ["wcc"]\n[graph]\nsource = "triangle.csv"\nname = "three"\n')
    done = graphmill("run", config, "--stages", "wcc, scc", "--oracle", cwd="/")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "latest" / "manifest.json").read_text())
    assert manifest["facts"]["graph"]["name"] == "three"
    assert sorted(manifest["facts"]["tables"]) == ["arcs", "scc", "vertices", "wcc"]


def test_a_second_run_only_publishes(triangle, tmp_path):
    first = graphmill("run", triangle, "--out", tmp_path / "out")
    second = graphmill("run", triangle, "--out", tmp_path / "out")
    assert first.returncode == second.returncode == 0
    assert first.stderr.count("skipped") == 0
    steps = 2 + len(STAGES) + 1 + len(STAGES) + 3 + 1  # edges, graph, answers, index, proofs, forest, vertices and arcs, report
    assert second.stderr.count("skipped") == steps
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "--out", "out"], ["missing.csv"]),
        (["triangle.csv"], ["--out"]),
        (["triangle.csv", "--out", "out", "--stages", "bfs,pagerunk"], ["stages", "pagerunk"]),
        (["triangle.csv", "--out", "out", "--stages", "bfs,bfs"], ["bfs", "twice"]),
        (["triangle.csv", "--out", "out", "--source", "77"], ["source 77", "not in the graph"]),
        (["triangle.csv", "--out", "out", "--source", "-1"], ["source '-1' is neither an id"]),
        (["triangle.csv", "--out", "out", "--source", "x"], ["source 'x' is neither an id"]),
        (["triangle.csv", "--out", "out", "--source", "1", "--source", "1.7"], ["source '1.7' is neither an id"]),
        (["triangle.csv", "--out", "out", "--shards", "1.5"], ["--shards", '"1.5"']),
        (["triangle.csv", "--out", "out", "--sha256", "0" * 64], ["triangle.csv", "SHA-256"]),
        (["triangle.csv", "--out", "out", "--sha256", "zz"], ["sha256"]),
        (["triangle.csv", "--out", "triangle.csv"], ["triangle.csv"]),
        (["triangle.csv", "--out", "out", "--format", "dimacs"], ["triangle.csv", "line 1"]),
        (["triangle.csv", "--out", "out", "--format", "xls"], ["format", "xls"]),
        (["triangle.csv", "--out", "out", "--order", "random"], ["order", "random"]),
        (["triangle.csv", "--out", "out", "--backend", "tpu"], ["backend", "tpu"]),
        (
            ["triangle.csv", "--out", "out", "--stages", "wcc", "--source", "1"],
            ["sources: has no effect", "no stage has sources"],
        ),
        (["triangle.csv", "--out", "nosuch://bucket/out"], ["nosuch://bucket/out"]),
        (["cut.txt", "--out", "out"], ["cut.txt: line 1", "declares 3", "has 2"]),
        (["nan.csv", "--out", "out"], ["nan.csv: line 2", "nan", "finite"]),
        (["absent.toml"], ["absent.toml"]),
        (["bad.toml"], ["bad.toml", "colour", "unknown key"]),
        (["broken.toml"], ["broken.toml"]),
        (["--no-such-option"], ["no-such-option"]),
        (["triangle.csv", "--out", "out", "--sorce", "1"], ["Did you mean --source?"]),
        (
            ["triangle.csv", "--out", "out", "--weight", "wieght"],
            ["no column 'wieght' among 'src', 'dst', 'weight'", "did you mean"],
        ),
        (["triangle.csv", "--out", "out", "--weight", "x", "--no-weight"], ["--weight and --no-weight exclude each other"]),
        (["triangle.csv", "--out", "out", "--sources", "absent"], ["absent: the file of the sources cannot be read"]),
        (["triangle.csv", "--out", "out", "--sources", "absent", "--source", "1"], ["exclude each other"]),
    ],
)
def test_an_error_that_the_user_can_fix_is_one_clear_message(arguments, words, triangle, tmp_path):
    (tmp_path / "bad.toml").write_text('colour = 1\noutput = "out"\n[graph]\nsource = "triangle.csv"\n')
    (tmp_path / "broken.toml").write_text("output = \n")
    (tmp_path / "cut.txt").write_text("# Nodes: 4 Edges: 3\n1 2\n2 3\n")
    (tmp_path / "nan.csv").write_text("src,dst,weight\n1,2,nan\n")
    done = graphmill("run", *arguments, cwd=tmp_path)
    assert done.returncode in {1, 2}
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    for word in words:
        assert word in output, output
    assert not (tmp_path / "out" / "latest").exists()
    assert not list(tmp_path.glob("out/steps/.*"))


def test_a_refused_run_leaves_nothing_behind(triangle, tmp_path):
    assert graphmill("run", triangle, "--format", "dimacs", "--out", tmp_path / "out").returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["triangle.csv"]


def test_an_output_folder_may_have_a_colon_in_its_name(triangle, tmp_path):
    done = graphmill("run", triangle, "--stages", "wcc", "--out", "at 00:30/a:b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(tmp_path / "at 00:30" / "a:b" / "latest" / "wcc")) == 4


def test_a_file_in_place_of_a_step_folder_is_one_clear_error(triangle, tmp_path):
    place = tmp_path / "out" / "steps" / "wcc"
    place.parent.mkdir(parents=True)
    place.write_text("dear")
    done = graphmill("run", triangle, "--stages", "wcc", "--out", tmp_path / "out")
    assert done.returncode == 1 and place.read_text() == "dear"
    assert done.stderr.endswith(f"{place}: was not written by a step and would be replaced; move it away\n")


def test_a_missing_folder_for_compiled_code_is_explained():
    """Numba's message if neither the package nor the home folder is writable, which root cannot provoke."""
    assert "NUMBA_CACHE_DIR" in message(RuntimeError("cannot cache function 'join': no locator available for file 'cpu.py'"))
    assert message(RuntimeError("something else")) is None


def test_a_full_disk_is_one_clear_message(tmp_path):
    def small_files_only():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [GRAPHMILL, "run", ROOT / "data" / "rome99.gr.gz", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=small_files_only)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "graphmill: " in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out" / "latest").exists()


def terminated_while_writing(output):
    """The exit code of a run that is sent SIGTERM as soon as a step is seen writing; 0 if the run was over by then."""
    process = subprocess.Popen(
        [GRAPHMILL, "run", ROOT / "data" / "USA-road-d.NY.gr.gz", "--out", output],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list(output.glob("steps/.*")):
        time.sleep(0.005)
    process.terminate()
    return process.wait()


def test_a_terminated_run_leaves_nothing_half_written(tmp_path):
    for attempt in range(5):  # a busy machine may stop this process until the run is over
        status = terminated_while_writing(tmp_path / str(attempt))
        assert not list(tmp_path.glob("*/steps/.*"))
        if status != 0:
            break
    assert status == 128 + signal.SIGTERM


def test_help_explains_the_commands():
    done = graphmill("--help")
    assert done.returncode == 0
    for word in ("run", "dimacs", "latest", "report.html", "pandas.read_parquet"):
        assert word in done.stdout
    options = graphmill("run", "--help").stdout
    options_of_run = ("--stages", "--source", "--directed", "--undirected", "--out", "--oracle", "--backend")
    for words in (*options_of_run, "graphmill run roads.gr.gz"):
        assert words in options


def test_help_describes_every_stage(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    lines = [" ".join(line.split()) for line in graphmill("--help").stdout.splitlines()]
    for algorithm in ALGORITHMS:
        assert any(line.startswith(f"• {algorithm.name}: {algorithm.help}; columns ") for line in lines)
    named = f"Comma-separated names: {', '.join(algorithm.name for algorithm in ALGORITHMS)}. Default: all"
    assert named in graphmill("run", "--help").stdout


def test_the_command_line_imports_nothing_heavy_at_start():
    heavy = {"numpy", "pyarrow", "numba", "scipy", "prefect", "dask", "matplotlib", "pydantic"}
    loaded = subprocess.check_output([sys.executable, "-c", "import sys, pipeline.cli.command; print(*sys.modules)"], text=True)
    assert not heavy & set(loaded.split())
