"""The structure of the code: directions of imports, no cycles, names in strings, sizes of folders, files and signatures.

An import is counted wherever it is: at the top, in a function, under TYPE_CHECKING, and in strings such as
"kernels.bfs:bfs" that are resolved later.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import networkx
import pytest

from kernels.registry import ALGORITHMS

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "graphmill", "pipeline", "kernels", "examples")
FORBIDDEN = {
    "kernels": {"graphmill", "pipeline", "flows", "benchmarks", "examples", "tests", "prefect", "dask", "distributed", "pyarrow"},
    "pipeline": {"graphmill", "flows", "benchmarks", "examples", "tests", "prefect"},
    "graphmill": {"flows", "benchmarks", "examples", "tests", "prefect", "dask"},
    "flows": {"graphmill", "kernels", "benchmarks", "examples", "tests", "numpy", "pyarrow"},
    "examples": {"pipeline", "flows", "benchmarks", "tests"},
    "benchmarks": {"tests", "flows"},
}
# Packages of algorithms, and what all of them may use. The rest of kernels/ (registry, oracle, __main__) uses algorithms.
ALGORITHM_PACKAGES = {algorithm.solver.partition(":")[0].split(".")[1] for algorithm in ALGORITHMS}
SHARED = {
    "graph", "answers", "arrays", "derived", "algorithm",
    "cpu", "gpu", "distributed", "certificate", "paths", "components", "layout", "hierarchy", "neighbours", "records", "spans",
}  # fmt: skip
# An algorithm may import from another one what these packages export.
CONTRACTS = ("", ".sharded", ".certificate", ".certificate.sharded")
# A package of pipeline/ imports from those above it only; a package of one line may import from its line.
LAYERS = (
    {"addresses", "markdown", "numerals", "redaction", "registry", "signals", "strict_json", "suggestions", "units"},
    {"progress"},
    {"errors"},
    {"config", "texts"},
    {"runtime", "store"},
    {"tables", "ingest", "cluster"},
    {"comparison"},
    {"steps"},
    {"report"},
    {"run", "reading", "fitting", "inspection", "tiles"},
    {"changes", "graphalytics"},
    {"cli"},
)
MOST_FILES, MOST_LINES, MOST_COLUMNS, MOST_ARGUMENTS = 15, 300, 130, 6
MOST_IGNORES = 30  # exclusive
# Its entries name functions of all layers, which whoever reads an entry imports.
REGISTRY = "pipeline.registry."
MODULE = re.compile(r"(?:flows|graphmill|pipeline|kernels|benchmarks|examples|tests)(?:\.\w+)+")


class Import(NamedTuple):
    """A module or package that a file imports; `name` is what it takes from it, if that is not a module."""

    module: str
    name: str | None


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules() -> frozenset[str]:
    return frozenset(map(module_of, files(*PACKAGES, "benchmarks", "tests")))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield Import(inside, None) if inside in modules() else Import(node.module, alias.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not module_of(path).startswith(REGISTRY):
            module, colon, name = node.value.partition(":")
            if MODULE.fullmatch(module) and colon and name.isidentifier():
                yield Import(module, name)


def second(module: str) -> str:
    return [*module.split("."), ""][1]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_in_one_direction(package):
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files(package)
        for module, _ in imports_of(path)
        if module.split(".")[0] in FORBIDDEN[package]
    }
    assert not wrong


def test_no_import_cycles():
    graph = networkx.DiGraph()
    for path in files(*PACKAGES, "benchmarks"):
        graph.add_edges_from((module_of(path), module) for module, _ in imports_of(path) if module in modules())
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    cycles = [sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1]
    assert not cycles, "\n".join(map(str, cycles))


def test_shared_kernels_import_no_algorithm():
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files("kernels")
        for module, _ in imports_of(path)
        if second(module_of(path)) in SHARED and module.startswith("kernels.") and second(module) not in SHARED
    }
    assert not wrong


def test_only_stages_of_users_import_the_library_for_programs():
    library, custom = ROOT / "kernels" / "library", ROOT / "pipeline" / "steps" / "custom"
    users = {
        path
        for path in files("kernels", "pipeline", "flows")
        if any("kernels.library" in module for module, _ in imports_of(path))
    }
    assert users
    assert all({library, custom} & {*path.parents} for path in users), users
    sources = [
        path for suffix in ("cu", "cuh") for path in (ROOT / "kernels").rglob(f"*.{suffix}") if library not in path.parents
    ]
    assert not [path for path in sources if '"library/' in path.read_text(encoding="utf-8")]


def test_packages_of_kernels_say_which_module_to_read_first():
    packages = [path for path in files("kernels") if path.name == "__init__.py" and len(path.relative_to(ROOT).parts) == 3]
    packages += (ROOT / "kernels" / "library").glob("*/__init__.py")
    first = {path: re.search(r"^Read `([\w/]+\.py)`", ast.get_docstring(tree_of(path)) or "", re.MULTILINE) for path in packages}
    named = {path: path.parent / match[1] for path, match in first.items() if match}
    assert not [str(path) for path in packages if path not in named or not named[path].exists()]


def test_an_algorithm_imports_only_the_contract_of_another():
    wrong = set()
    for path in files(*(f"kernels/{algorithm}" for algorithm in ALGORITHM_PACKAGES)):
        own = second(module_of(path))
        for module, name in imports_of(path):
            other = second(module)
            if not module.startswith("kernels.") or other in SHARED or other == own:
                continue
            contract = other in ALGORITHM_PACKAGES and module.removeprefix(f"kernels.{other}") in CONTRACTS
            if not contract or name is None or name.startswith("_"):
                wrong.add(f"{path.relative_to(ROOT)} imports {module}{f'.{name}' if name else ''}")
    assert not wrong


def test_private_names_stay_in_their_module():
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}.{name}"
        for path in files(*PACKAGES)
        for module, name in imports_of(path)
        if module in modules() and (name or "").startswith("_") and not (name or "").startswith("__")
    }
    assert not wrong


def test_layers_of_the_pipeline():
    level = {package: number for number, layer in enumerate(LAYERS) for package in layer}
    names = {path.stem for path in (ROOT / "pipeline").iterdir() if not path.name.startswith("_") and path.suffix in ("", ".py")}
    assert names == set(level)
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files("pipeline")
        for module, _ in imports_of(path)
        if module.startswith("pipeline.") and path.parent.name + path.stem != "pipeline__init__"
        if level[second(module)] > level[second(module_of(path))]
    }
    assert not wrong


def test_dask_only_in_the_cluster():
    users = {path for path in files("pipeline") if {module.split(".")[0] for module, _ in imports_of(path)} & {
        "dask", "distributed", "dask_cuda",
    }}  # fmt: skip
    assert users
    assert all("cluster" in path.parts for path in users), users


def test_only_the_loader_compiles_cuda():
    users = [path for path in files(*PACKAGES) if re.search(r"\bRaw(Module|Kernel)\(", path.read_text(encoding="utf-8"))]
    assert [path.relative_to(ROOT).as_posix() for path in users] == ["kernels/gpu/loader.py"]


def test_strings_that_name_modules_resolve():
    for path in files(*PACKAGES, "benchmarks"):
        for node in ast.walk(tree_of(path)):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            module, colon, name = node.value.partition(":")
            if not MODULE.fullmatch(module) or (colon and not name.isidentifier()):
                continue
            known = module in modules() or (ROOT / module).exists() or module.rpartition(".")[0] in modules()
            assert known and find_spec(module if module in modules() else module.split(".")[0]), f"{path}: {node.value}"


def test_functions_of_the_registry_exist():
    for algorithm in ALGORITHMS:
        for name, value in vars(algorithm).items():
            if isinstance(value, str) and ":" in value and MODULE.fullmatch(value.partition(":")[0]):
                module, _, function = value.partition(":")
                assert function in names_of(module), f"{algorithm.name}.{name}: {value}"


def names_of(module: str) -> set[str]:
    """What a module defines or imports at its top, without importing it: it may need CuPy."""
    path = ROOT.joinpath(*module.split("."))
    tree = tree_of(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imported = {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assigned = {
        target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)
    }
    return defined | imported | assigned


def test_folders_have_few_files():
    counts: dict[Path, int] = {}
    for folder in (*PACKAGES, "benchmarks", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not {"__pycache__", "results"} & {*path.parts}:  # measured tables are no code
                counts[path.parent] = counts.get(path.parent, 0) + 1
    assert not {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MOST_FILES}


def test_files_are_short():
    sources = [path for folder in PACKAGES for suffix in ("py", "cu", "cuh") for path in (ROOT / folder).rglob(f"*.{suffix}")]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert not {name: lines for name, lines in lengths.items() if lines > MOST_LINES}


def test_lines_of_cuda_sources_are_short():
    sources = [
        path for folder in ("kernels", "tests") for suffix in ("cu", "cuh") for path in (ROOT / folder).rglob(f"*.{suffix}")
    ]
    lines = [(path, number, line) for path in sources for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    assert not [f"{path.relative_to(ROOT)}:{number}" for path, number, line in lines if len(line) > MOST_COLUMNS]


def test_functions_have_few_arguments():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in files(*PACKAGES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and arguments(node) > MOST_ARGUMENTS
        if not compiled(node) and not launches(node) and not commands(path, node)
    ]
    assert not long, "\n".join(long)


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    found = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([argument for argument in found if argument.arg not in ("self", "cls")])


def compiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether Numba compiles it, or it is written to be inlined into such a function."""
    return any("njit" in ast.dump(decorator) or "guvectorize" in ast.dump(decorator) for decorator in node.decorator_list)


def launches(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it passes its arguments to a CUDA kernel."""
    calls = {call.func.id for call in ast.walk(node) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    return bool(calls & {"launch", "load", "cooperative", "kernel", "launch_cooperative"}) or node.name == "launch"


def commands(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether its arguments are the options of a command, which stand behind `/`, or of a flow."""
    return ("cli" in path.parts and bool(node.args.posonlyargs)) or any(
        re.search(r"'(command|default|flow|task)'", ast.dump(decorator)) for decorator in node.decorator_list
    )


def test_few_type_errors_are_ignored():
    ignored = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files(*PACKAGES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "type: ignore" in line
    ]
    assert len(ignored) < MOST_IGNORES, "\n".join(ignored)


def test_nothing_is_attached_to_objects():
    """Derived values are kept in `kernels.derived.Derived`, not in the dictionary of a frozen dataclass."""
    pattern = re.compile(r"vars\([^()]*\)\[[^]]+\]\s*=[^=]|__dict__\[[^]]+\]\s*=[^=]|\.__dict__\.(update|setdefault)")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files(*PACKAGES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line) or re.search(r"vars\([^()]*\)\[[\"']_", line)
    ]
    assert not wrong
