"""`make quick` and `make kernel`: lint what changed, and run the tests of the areas that changed.

`python -m tests.quick BASE` compares with a commit (HEAD by default); `python -m tests.quick --kernel wcc` takes one algorithm.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Tests of a folder or file; the first prefix that fits counts. Those of an algorithm are named after its folder, or in KERNELS.
AREAS = {
    "pipeline/registry": ["tests/registry/test_registry.py", "tests/registry/test_new_product.py"],
    "pipeline/config": ["tests/pipeline/test_config.py"],
    "pipeline/ingest": ["tests/ingest/test_ingest.py", "tests/faults/test_bad_input.py"],
    "pipeline/cluster": ["tests/cluster/test_ranks.py"],
    "pipeline/report": ["tests/pipeline/report"],
    "pipeline/steps/pairs.py": ["tests/pipeline/reach/test_pairs.py"],
    "pipeline/steps/queries.py": ["tests/pipeline/reach/test_answers.py"],
    "pipeline/steps/reach.py": ["tests/pipeline/reach"],
    "pipeline/steps/stored_graph": ["tests/opening", "tests/pipeline/products/test_commands.py"],
    "pipeline/runtime": ["tests/pipeline/test_backend.py"],
    "pipeline/store": ["tests/pipeline/store/test_manifest.py", "tests/layout/test_stored_arrays.py"],
    "pipeline/tables": ["tests/pipeline/test_tables.py"],
    "pipeline/cli/ending.py": ["tests/pipeline/test_ending.py"],
    "pipeline": ["tests/pipeline/test_pipeline.py"],
    "flows": ["tests/flows/served/test_flows.py"],
    "graphmill": ["tests/opening"],
    "kernels/distributed": ["tests/sharded/test_shard.py", "tests/sharded/test_threads.py", "tests/sharded/test_searching.py"],
    "kernels/library/dynamic": ["tests/dynamic"],
    "kernels/layout": ["tests/layout/test_merging.py", "tests/layout/test_layout_graph.py"],
    "kernels/library/operators": ["tests/operators"],
    "kernels/oracle": ["tests/cpu/test_oracle.py"],
    "kernels/reductions": ["tests/trees/test_reductions.py"],
    "pipeline/steps/products": ["tests/pipeline/products"],
    "benchmarks": ["tests/benchmarks"],
    "examples": ["tests/operators/test_algorithms.py"],
    "docs": ["tests/project/test_docs.py"],
    "requirements": ["tests/project/dependencies"],
}
# Tests that are not named after the algorithm's folder.
KERNELS = {"bfs": "paths", "sssp": "paths", "wcc": "components", "scc": "components"}
ALWAYS = ["tests/project/test_layout.py", "tests/project/test_glossary.py"]
SECONDS = 45  # after which no further test is started


def changed_since(base: str) -> list[str]:
    """Files that differ from a commit, and untracked ones; deleted ones are left out."""
    commands = (["git", "diff", "--name-only", "-z", base], ["git", "ls-files", "--others", "--exclude-standard", "-z"])
    names = {name for command in commands for name in _output(command).split("\0") if name}
    return sorted(name for name in names if (ROOT / name).exists())


def tests_of(files: Iterable[str]) -> list[str]:
    """Test files and folders that cover changed files, without repeats."""
    found = [test for test in ALWAYS if (ROOT / test).exists()]
    for file in files:
        parts = Path(file).parts
        if parts[0] == "tests":
            found += [file] if parts[-1].startswith("test_") else []
        elif parts[0] == "kernels" and _cpu_tests(parts[1]):
            found += _cpu_tests(parts[1])
        else:
            found += next((tests for area, tests in AREAS.items() if file == area or file.startswith(f"{area}/")), [])
    return list(dict.fromkeys(found))


def _cpu_tests(kernel: str) -> list[str]:
    name = KERNELS.get(kernel, kernel)
    folders = ("tests/cpu", "tests/cpu/requested", "tests/sharded/algorithms")
    named = [f"{folder}/test_{name}.py" for folder in folders]
    return [test for test in named if (ROOT / test).exists()]


def quick(base: str) -> int:
    """Lint and test what changed; returns the exit status. The session fails if the tests take longer than a minute."""
    files = changed_since(base)
    python = [file for file in files if file.endswith(".py")]
    if python and (_run(["ruff", "check", *python]) or _run(["ruff", "format", "--check", *python])):
        return 1
    tests = [test for test in tests_of(files) if "/gpu/" not in test and "/emulator/" not in test]
    print(f"{len(files)} changed files: {' '.join(tests)}", flush=True)
    processes = str(min(8, os.cpu_count() or 1))
    return _run(["pytest", "-q", "-x", "--numprocesses", processes, "--session-timeout", str(SECONDS), *tests]) if tests else 0


def kernel(name: str) -> int:
    """Every test of one algorithm, on the CPU and on the emulated GPU."""
    if not (ROOT / "kernels" / name / "__init__.py").exists():
        print(f"{name} is not a folder of kernels/", file=sys.stderr)
        return 2
    on_gpu = [f"tests/gpu/one/test_{part}.py" for part in dict.fromkeys((name, KERNELS.get(name, name)))]
    on_gpu = [test for test in on_gpu if (ROOT / test).exists()] or ["tests/gpu/one"]
    on_cpu = [*_cpu_tests(name), "tests/certificates"]
    emulated = ["tests/emulator/test_kernels.py", *on_gpu]
    return _run(["pytest", "-q", *on_cpu]) or _run(["pytest", "-q", "-x", *emulated], EMULATED_GPU="1")


def _run(command: list[str], **environment: str) -> int:
    """Run a module of this Python; returns its exit status."""
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env={**os.environ, **environment}, check=False).returncode


def _output(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(kernel(arguments[1]) if arguments[:1] == ["--kernel"] else quick(*arguments[:1] or ["HEAD"]))
