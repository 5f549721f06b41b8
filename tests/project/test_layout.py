"""Imports go one way, and each heavy thing has one place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "kernels": {"pipeline", "flows", "prefect", "dask", "distributed", "pyarrow"},
    "pipeline": {"flows", "prefect"},
    "flows": {"kernels", "numpy", "pyarrow"},
}


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_go_one_way(package):
    files = list((ROOT / package).rglob("*.py"))
    assert files
    wrong = {f"{path.relative_to(ROOT)} imports {name}" for path in files for name in imports_of(path) & FORBIDDEN[package]}
    assert not wrong


def test_dask_only_in_the_cluster_its_workers_and_its_transport():
    wrong = [path for path in (ROOT / "pipeline").rglob("*.py") if imports_of(path) & {"dask", "distributed", "dask_cuda"}]
    assert {path.stem for path in wrong} == {"client", "local_workers", "mailbox", "ranks", "transport", "workers"}


def test_cuda_source_becomes_code_in_the_loader_alone():
    sources = [path for package in FORBIDDEN for path in (ROOT / package).rglob("*.py")]
    users = [path for path in sources if re.search(r"\bRaw(Module|Kernel)\(", path.read_text(encoding="utf-8"))]
    assert [path.name for path in users] == ["loader.py"]
    assert users[0].parent.name == "gpu"
