"""The version of the code that a step uses: part of the step's key, so that a change of other code does not repeat the step.

A step uses the module of its function and all modules of kernels/ and pipeline/ that this one imports, also inside functions and
through other modules, with the CUDA sources and the templates beside them. Imports do not cross three boundaries:

* `kernels.registry` names every algorithm. A step of one algorithm uses modules of its entry: `Code.of`.
* `pipeline.registry` names every product, and what is made from answers. A step that writes one of these tables uses the table's
  columns: `Code.of_step`.
* `pipeline.cluster` decides where a task runs. What it runs there to read and write a graph is in `HELD_GRAPH`, or, with the
  reachability index, in `HELD_INDEX`.

`pipeline.ingest.formats` imports its modules by their names in `pipeline.config.formats`: who uses it uses them all.

A process reads each source once: it computes with what it has imported, even if a source changes in the meantime.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from threading import Lock

from kernels.algorithm import Algorithm
from kernels.records import dataclass
from pipeline.registry import products
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.stages import DERIVED

ROOT = Path(__file__).parents[2]
PACKAGES = ("kernels", "pipeline")
HELD_GRAPH = ("pipeline.cluster.whole_graph", "pipeline.cluster.shard_of_graph", "pipeline.cluster.shared_graph")
HELD_INDEX = (*HELD_GRAPH, "pipeline.cluster.whole_index", "pipeline.cluster.shard_of_index")
_FORMATS = "pipeline/ingest/formats/"
_BOUNDARIES = re.compile(r"kernels\.registry|pipeline\.registry(\..*)?|pipeline\.cluster(\..*)?")
# Both begin with letters that are searched for as such: a run searches hundreds of files.
_FUNCTIONS = [re.compile(rf"""{package}(?<=["']{package})(?:\.\w+)+(?=:\w+["'])""") for package in PACKAGES]
_OURS = "|".join(PACKAGES)
_IMPORT = re.compile(
    rf"\n[ \t]*(?:from[ \t]+((?:{_OURS})\b[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.+)|import[ \t]+(.*\b(?:{_OURS})\b.*))"
)
_BESIDE = re.compile(r"#.*|[()]")  # what surrounds the names of an import
_CUDA = (".cu", ".cuh")
_DATA = (*_CUDA, ".css", ".html", ".js", ".md")  # which a module may read, of the files in its folder and in `templates`
_ONE_AT_A_TIME = Lock()  # held to read sources, so that stages that begin together do not all read the same ones
_MOST = 2**20  # bytes that are read at a time
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

    @classmethod
    def of_step(cls, step: str, *modules: str) -> "Code":
        """Of modules that write the table of a step, or anything else."""
        table = products.TABLES.get(step) or DERIVED.get(step) or GRAPH_TABLES.get(step)
        return cls(modules, repr((table.columns, table.geometry)) if table else "")

    def version(self, root: Path = ROOT) -> str:
        """SHA-256 of the sources and of the entry."""
        with _ONE_AT_A_TIME:
            return _version(self, str(root))


def sources_of(modules: Iterable[str], root: Path = ROOT) -> set[Path]:
    """The files of modules and of all that they use."""
    return set(map(Path, _sources_of(modules, str(root))))


@cache
def _version(code: Code, root: str) -> str:
    hashed, above = hashlib.sha256(code.entry.encode()), f"{root}/"
    for path in sorted(_sources_of(code.modules, root)):
        hashed.update(f"{path.removeprefix(above)}\0{_digest(path)}\n".encode())
    return hashed.hexdigest()


def _sources_of(modules: Iterable[str], root: str) -> set[str]:
    """The same as strings, of which a run asks for thousands."""
    sources = {path for module in modules for path in _files(module, root)}
    waiting = [*sources]
    while waiting:
        used = _used_by(waiting.pop(), root) - sources
        sources |= used
        waiting += used
    return sources


@cache
def _present(root: str) -> frozenset[str]:
    """The files of both packages that code may name or read."""
    folders = (f"{root}/{package}" for package in PACKAGES)
    waiting, files, read = [*filter(os.path.isdir, folders)], list[str](), (".py", *_DATA)
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.name.endswith(read):
                files.append(entry.path)
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return frozenset(files)


@cache
def _used_by(path: str, root: str) -> frozenset[str]:
    """The files that a source names, and those that it may read."""
    if path.endswith(".py"):
        files = {file for name in imports_of(_content(path).decode()) for file in _imported(name, root)}
        if path == f"{root}/{_FORMATS}__init__.py":
            files |= {file for file in _present(root) if file.startswith(f"{root}/{_FORMATS}") and file.endswith(".py")}
        return frozenset(files.union(_data_files(root).get(path.rpartition("/")[0], ())))
    if path.endswith(_CUDA):
        headers = [f"{root}/kernels/{name}" for name in _INCLUDE.findall(_content(path).decode())]
        constants = [f"{folder}/constants.py" for folder in Path(path).parents]  # as `kernels.gpu.loader.constants_of` reads them
        return _present(root).intersection((*headers, *constants))
    return frozenset()


@cache
def _imported(module: str, root: str) -> list[str]:
    """As `_files`, of a module that a source names; none beyond a boundary."""
    return [] if _BOUNDARIES.fullmatch(module) else _files(module, root)


@cache
def _files(module: str, root: str) -> list[str]:
    """The source of a module and those of the packages around it; none where it is not of these packages."""
    present, path, files = _present(root), root, []
    for part in module.split("."):
        path = f"{path}/{part}"
        if (file := f"{path}/__init__.py") in present:
            files.append(file)
    return [*files, file] if (file := f"{path}.py") in present else files


@cache
def _data_files(root: str) -> dict[str, list[str]]:
    """The files that the modules of a folder may read, by folder."""
    files: dict[str, list[str]] = {}
    for file in _present(root):
        if file.endswith(_DATA):
            files.setdefault(file.rpartition("/")[0].removesuffix("/templates"), []).append(file)
    return files


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


@cache
def _content(path: str) -> bytes:
    """The bytes of a source, by as few calls as possible: while another thread imports modules, each waits for the GIL."""
    file = os.open(path, os.O_RDONLY)
    try:
        content = b""
        while part := os.read(file, _MOST):
            content += part
            if len(part) < _MOST:
                break
        return content
    finally:
        os.close(file)


@cache
def imports_of(content: str) -> frozenset[str]:
    """The modules of both packages that a source imports or names as "module:function", and imported names, perhaps modules, too.

    Imports are found by their form, each at the beginning of a line, because parsing takes a second for the whole project.
    """
    names = {name for function in _FUNCTIONS for name in function.findall(content)}
    for module, listed, modules in _IMPORT.findall(f"\n{content}"):
        names |= {module, *(f"{module}.{name}" for name in _names(listed))} if module else set(_names(modules))
    return frozenset(names)


def _names(listed: str) -> list[str]:
    """The names of an import, without parentheses, comments and aliases."""
    parts = (_BESIDE.sub("", listed) if "(" in listed or "#" in listed else listed).split(",")
    return [part.split()[0] for part in parts if part.strip()]
