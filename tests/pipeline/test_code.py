"""The version of the code that a step uses: other code does not change it."""

import ast
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.registry import BY_NAME
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.errors import BadConfig
from pipeline.store.code import HELD_INDEX, PACKAGES, ROOT, Code, imports_of, sources_of

SOLVING, PROVING = ("solver", "sharded_solver", "answer"), ("certificate", "sharded_certificate", "answer")
STEPS = {
    "edges": Code(("pipeline.ingest",)),
    "graph": Code(("pipeline.steps.layout",)),
    "index": Code(("pipeline.steps.index", *HELD_INDEX)),
    "report": Code(("pipeline.report",)),
    **{name: Code.of("pipeline.steps.answers", algorithm=BY_NAME[name], functions=SOLVING) for name in ("bfs", "wcc", "mst")},
    "proof-bfs": Code.of("pipeline.steps.verify", algorithm=BY_NAME["bfs"], functions=PROVING),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("code")
    for package in ("kernels", "pipeline"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def versions(root: Path) -> dict[str, str]:
    return {step: code.version(root) for step, code in STEPS.items()}


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("kernels/wcc/cpu.py", {"wcc", "mst", "index", "proof-bfs", "report"}),  # the index and `mst` over GPUs need wcc
        ("kernels/bfs/cuda.py", {"bfs", "proof-bfs"}),  # imported inside a function of the package, which the certificate is in
        ("kernels/bfs/certificate/__init__.py", {"proof-bfs"}),
        ("kernels/reachability/labels/cpu.py", {"index", "proof-bfs", "report"}),
        ("kernels/layout/cleaning.py", {"graph"}),
        ("kernels/registry.py", set()),
        ("pipeline/cli/command.py", set()),
        ("pipeline/cluster/threads.py", set()),
        ("pipeline/ingest/formats/rows.py", {"edges"}),
        ("pipeline/ingest/formats/pace.py", {"edges"}),  # imported by its name in a list
        ("pipeline/report/charts/__init__.py", {"report"}),
        ("pipeline/report/templates/report.css", {"report"}),
        ("pipeline/store/index/arrays.py", {"index", "report"}),
        ("pipeline/store/manifest.py", set(STEPS)),
        ("kernels/gpu/device.cuh", set(STEPS)),
    ],
)
def test_a_changed_comment_changes_the_keys_of_the_steps_that_use_the_file(path, steps, copy, tmp_path):
    before, changed = versions(copy), tmp_path / "copy"  # elsewhere, because a process reads each source once
    shutil.copytree(copy, changed, copy_function=os.link)
    content = (changed / path).read_bytes()
    (changed / path).unlink()
    (changed / path).write_bytes(content + (b"\n# changed\n" if path.endswith(".py") else b"\n/* changed */\n"))
    after = versions(changed)
    assert {step for step in STEPS if after[step] != before[step]} == steps


def test_cuda_sources_are_used_by_the_modules_next_to_them_and_headers_by_their_sources():
    used = sources_of(["kernels.bfs"])
    assert {path for path in used if path.suffix == ".cu" and path.parent.name == "bfs"} == set(
        (ROOT / "kernels/bfs").glob("*.cu")
    )
    assert ROOT / "kernels/gpu/device.cuh" in used


def test_code_for_each_backend_is_used_by_the_modules_beside_it():
    for path in [*ROOT.glob("kernels/**/cpu.py"), *ROOT.glob("kernels/**/cuda.py")]:
        others = set(path.parent.glob("*.py")) - {path}
        assert path in sources_of(".".join(other.relative_to(ROOT).with_suffix("").parts) for other in others), path


def test_an_algorithm_uses_its_columns_but_not_its_texts():
    def version(algorithm):
        return Code.of(algorithm=algorithm, functions=SOLVING).version()

    bfs = BY_NAME["bfs"]
    assert version(bfs) == version(replace(bfs, title="Another title", help="another help"))
    assert version(bfs) != version(replace(bfs, columns=bfs.columns[:2]))
    assert version(bfs) != version(BY_NAME["sssp"])


def test_a_stage_of_a_user_uses_every_operator():
    """So its file may import them from `graphmill`, which is not looked into."""
    modules = {*(ROOT / "kernels/library/operators").rglob("[a-z]*.py")}
    assert modules and modules <= sources_of(["pipeline.steps.custom.table"])


def test_folders_that_are_missing_or_links_add_nothing(tmp_path):
    (tmp_path / "kernels" / "inner").mkdir(parents=True)
    (tmp_path / "kernels" / "__init__.py").write_text("")
    (tmp_path / "kernels" / "inner" / "again").symlink_to(tmp_path / "kernels")
    (tmp_path / "kernels" / "inner" / "one.py").write_text("")
    found = {path.relative_to(tmp_path).as_posix() for path in sources_of(["kernels.inner.one", "pipeline.run"], tmp_path)}
    assert found == {"kernels/__init__.py", "kernels/inner/one.py"}
    assert sources_of(["kernels.inner.again.inner.one"], tmp_path) == {tmp_path / "kernels" / "__init__.py"}


def test_modules_of_other_packages_add_nothing():
    assert Code(("tests.pipeline.test_code", "numpy")).version() == Code(()).version()


def test_a_worker_with_other_code_is_an_error():
    here = CodeVersion.of(STEPS["edges"])
    here.require()
    with pytest.raises(BadConfig, match="the scheduler or a worker has other code than this run; install the same everywhere"):
        replace(here, version="of other code").require()


def test_the_imports_found_by_form_are_those_that_the_parser_finds():
    function = re.compile(r"\w+(\.\w+)+:\w+")
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and function.fullmatch(node.value):
                names.add(node.value.partition(":")[0])
        names = {name for name in names if name.split(".")[0] in PACKAGES}
        assert names <= imports_of(path.read_text(encoding="utf-8")), path
