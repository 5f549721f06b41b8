"""What the command imports: libraries that take long to load are loaded by the run that needs them."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from kernels.cpu.compiled import Compiled, njit
from tests.project.test_layout import ROOT, files

HEAVY = {"numba", "scipy", "cupy", "matplotlib", "PIL", "pandas", "dask", "distributed", "prefect", "jinja2", "rich"}
# What a run that changes nothing need not import, either. `platform` would start a process to ask for the processor.
LATER = {
    "fsspec", "subprocess", "asyncio", "pyarrow.compute", "pyarrow.dataset", "kernels.hierarchy", "kernels.layout.building",
    "kernels.trees", "pipeline.cluster.whole_graph", "pipeline.ingest.edges", "pipeline.ingest.formats",
    "pipeline.inspection.estimate", "pipeline.report.page", "pipeline.steps.places.files", "pipeline.steps.products.sweeping",
    "pipeline.tables.answer_table",
}  # fmt: skip
MOST_MODULES = 210  # of kernels/ and pipeline/ that such a run imports; each takes a millisecond


def modules_of(*arguments: object) -> list[str]:
    """The modules that the command imports, in the order in which they are complete."""
    command = [sys.executable, "-X", "importtime", "-m", "pipeline.cli", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.rpartition("|")[2].strip() for line in run.stderr.splitlines() if line.startswith("import time:")]


def imported(*arguments: object) -> set[str]:
    """The packages of which the command imports a module, of those that take long to load."""
    return heavy(modules_of(*arguments))


def heavy(modules: Iterable[str]) -> set[str]:
    return HEAVY & {module.partition(".")[0] for module in modules if "." in module}


def test_a_run_with_nothing_changed_imports_nothing_that_computes(tmp_path):
    rows = "".join(f"{vertex},{vertex % 500 + 1},4\n" for vertex in range(1, 501))  # too many vertices to draw them
    (tmp_path / "roads.csv").write_text("src,dst,weight\n" + rows)
    run = ("run", tmp_path / "roads.csv", "--out", tmp_path / "out", "--stages", "bfs,wcc", "--backend", "cpu")
    # Neither pandas, which Arrow would import, nor matplotlib without a map.
    first = modules_of(*run)
    assert heavy(first) <= {"numba", "jinja2"}
    assert first.index("pipeline.ingest.edges") < first.index("numba")  # a core reads while another imports what computes
    modules = {*modules_of(*run)}
    assert not LATER & modules and not heavy(modules)
    assert len({module for module in modules if module.startswith(("kernels", "pipeline"))}) <= MOST_MODULES
    assert not imported(*run, "--cluster", "local")


def test_change_tables_import_nothing_that_compiles(tmp_path):
    """On a GPU, a night of changes loaded Numba for nothing else."""
    for number, weight in enumerate((1, 5)):
        (tmp_path / "roads.csv").write_text(f"src,dst,weight\n1,2,5\n2,3,{weight}\n3,1,4\n")
        run = ("run", tmp_path / "roads.csv", "--out", tmp_path / str(number), "--stages", "sssp", "--source", "1")
        imported(*run, "--backend", "cpu")
    assert not imported("diff", *(tmp_path / str(number) / "latest" for number in range(2)), "--out", tmp_path / "changes")
    assert [*tmp_path.glob("changes/sssp_changes/*.parquet")]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_first_run_compiles_no_kernel(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    subprocess.run([sys.executable, "-m", "kernels"], env=environment, check=True)
    before = {*tmp_path.glob("compiled/*/*.nbc")}
    for graph in ("USA-road-d.NY.gr.gz", "facebook_combined.txt.gz", "wiki-Vote.txt.gz"):
        command = [sys.executable, "-m", "pipeline.cli", "run", ROOT / "data" / graph, "--out", tmp_path / graph]
        subprocess.run(command, env=environment, check=True)
    assert before and {path.name for path in tmp_path.glob("compiled/*/*.nbc")} == {path.name for path in before}


def test_numba_is_imported_by_the_first_call_of_a_compiled_function():
    importing = {
        path.name
        for path in files("kernels", "pipeline", "flows")
        for node in tree(path).body
        if isinstance(node, ast.Import | ast.ImportFrom) and "numba" in ast.unparse(node).replace(".", " ").split()
    }
    assert importing == {"atomics.py", "bits.py", "cached.py", "vectors.py"}  # imported by functions that call them, and by Numba


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@njit(nogil=True)
def twice(value: int) -> int:
    return 2 * value


@njit(nogil=True, inline="always")
def plus_one(value: int) -> int:
    return value + 1


@njit(nogil=True)
def sum_of(values: np.ndarray) -> int:
    total = 0
    for value in values:
        total += plus_one(twice(value))
    return total


def test_compiled_functions_call_each_other():
    assert isinstance(sum_of, Compiled)
    assert sum_of(np.arange(4)) == 16
    assert sum_of.__name__ == "sum_of"
    assert twice(3) == 6
