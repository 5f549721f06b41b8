"""The version of the code that a step uses: part of the step's key, so that a change of other code does not repeat the step.

A step uses the module of its function and all modules of kernels/ and pipeline/ that this one imports, also inside functions and
through other modules, with the CUDA sources and the templates beside them. Two packages are boundaries that imports do not cross:

* `kernels.registry` names every algorithm. A step of one algorithm uses modules of its entry: `Code.of`.
* `pipeline.cluster` decides where a task runs. What it runs there to read and write a graph is in `HELD_GRAPH`, or, with the
  reachability index, in `HELD_INDEX`.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernels.algorithm import Algorithm

ROOT = Path(__file__).parents[2]
PACKAGES = ("kernels", "pipeline")
HELD_GRAPH = ("pipeline.cluster.whole_graph", "pipeline.cluster.shard_of_graph")
HELD_INDEX = (*HELD_GRAPH, "pipeline.cluster.whole_index", "pipeline.cluster.shard_of_index")
_BOUNDARIES = re.compile(r"kernels\.registry|pipeline\.cluster(\..*)?")
_FUNCTION = re.compile(r"""["'](\w+(?:\.\w+)+):\w+["']""")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.+)|import[ \t]+(.+))", re.MULTILINE)
_CUDA = (".cu", ".cuh")
_BESIDE = (*_CUDA, ".css", ".html", ".js", ".md")  # which a module may read, of the files in its folder and in `templates`
_INCLUDE = re.compile(r'^\s*#\s*include\s*"(.+)"', re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """The code that a step uses."""

    modules: tuple[str, ...]  # with all that they use; names outside of kernels/ and pipeline/ add nothing
    entry: str = ""  # what the step uses of its algorithm's entry in the registry

    @classmethod
    def of(cls, *modules: str, algorithm: Algorithm, functions: Iterable[str]) -> "Code":
        """Of modules that call these functions of an algorithm, for example `("solver", "sharded_solver")`."""
        held = HELD_INDEX if algorithm.has_index else HELD_GRAPH
        named = [getattr(algorithm, function).partition(":")[0] for function in functions]
        return cls((*modules, *held, *filter(None, named)), repr((algorithm.columns, algorithm.table_name, algorithm.exact)))

    def version(self, root: Path = ROOT) -> str:
        """SHA-256 of the sources and of the entry."""
        hashed = hashlib.sha256(self.entry.encode())
        for path in sorted(sources_of(self.modules, root)):
            digest = _digest(path, path.stat().st_mtime_ns)
            hashed.update(f"{path.relative_to(root).as_posix()}\0{digest}\n".encode())
        return hashed.hexdigest()


def sources_of(modules: Iterable[str], root: Path = ROOT) -> set[Path]:
    """The files of modules and of all that they use."""
    waiting, found = [path for module in modules for path in _files(module, root)], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting += _used_by(path, path.stat().st_mtime_ns, root)
    return found


@cache
def _used_by(path: Path, _changed: int, root: Path) -> tuple[Path, ...]:
    """The files that a source names, and those that it may read."""
    if path.suffix == ".py":
        names = [name for name in imports_of(path.read_text(encoding="utf-8")) if not _BOUNDARIES.fullmatch(name)]
        return (*(file for name in names for file in _files(name, root)), *_beside(path.parent))
    if path.suffix in _CUDA:
        headers = [root / "kernels" / name for name in _INCLUDE.findall(path.read_text(encoding="utf-8"))]
        return tuple(file for file in (*headers, path.with_name("constants.py")) if file.is_file())
    return ()


@cache
def _files(module: str, root: Path) -> list[Path]:
    """The source of a module and those of the packages around it; none where it is not of these packages."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return []
    folders = [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]
    files = [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
    return [file for file in files if file.is_file()]


@cache
def _beside(folder: Path) -> list[Path]:
    return [
        file for place in (folder, folder / "templates") if place.is_dir() for file in place.iterdir() if file.suffix in _BESIDE
    ]


@cache
def _digest(path: Path, _changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def imports_of(content: str) -> frozenset[str]:
    """The modules that a source imports or names as "module:function", and imported names, which may be modules, too.

    Imports are found by their form, each at the beginning of a line, because parsing takes a second for the whole project.
    """
    names = set(_FUNCTION.findall(content))
    for module, listed, modules in _IMPORT.findall(content):
        names |= {module, *(f"{module}.{name}" for name in _names(listed))} if module else set(_names(modules))
    return frozenset(names)


def _names(listed: str) -> list[str]:
    """The names of an import, without parentheses, comments and aliases."""
    parts = re.sub(r"#.*|[()]", "", listed).split(",")
    return [part.split()[0] for part in parts if part.strip()]
