"""Parts of other packages that they do not document are used in `*_internals.py` only, one such module for each package.

A name that begins with one underscore belongs to another package if

* it is imported from one, or is an attribute of what was imported from one, also through calls and items;
* it is an attribute of anything, or a text for `getattr` and its like, and no code of the project defines it;
* a class defines it whose base is a class of another package that has it.

No other module may assign to an attribute of what was imported from another package, either. This cannot see a private attribute
of an object that came from elsewhere if the project has attributes of that name, nor names that are computed. Public names of
modules that a package does not document, such as `numba.core`, are not private here.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, reduce
from importlib import import_module

import pytest

from tests.project.test_layout import PACKAGES, ROOT, files, tree_of

CODE = (*PACKAGES, "benchmarks")
INTERNALS = [path for path in files(*CODE) if path.stem.endswith("_internals")]
OTHERS = [path for path in files(*CODE) if path not in INTERNALS]
DOCUMENTED = {"_replace", "_fields", "_asdict", "_make", "_exit"}  # of named tuples, and of `os`
ASSIGNABLE = {"sys.stdout", "sys.stderr", "os.environ"}
BY_TEXT = {"getattr", "setattr", "hasattr", "delattr", "attrgetter"}
Chain = tuple[type[ast.expr], ...]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in {"_", *DOCUMENTED}


def is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in {*CODE, "tests", "__future__"}


def imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """The names that a file imports: the module of each, and its name there, which is empty for modules themselves."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.partition(".")[0]: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    return found


def defined(tree: ast.AST) -> set[str]:
    """The private functions, classes, variables and own attributes of a file or a class."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and root_of(node.value) in {"self", "cls"}:
            names.add(node.attr)
    return set(filter(is_private, names))


def root_of(node: ast.expr, chain: Chain = (ast.Attribute, ast.Call, ast.Subscript)) -> str | None:
    """The name with which a chain of attributes, calls and items begins."""
    while isinstance(node, chain):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


@cache
def own_names() -> frozenset[str]:
    return frozenset(name for path in OTHERS for name in defined(tree_of(path)))


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where a file uses what another package does not document, or replaces anything of one."""
    foreign = {name for name, (module, _) in imported(tree).items() if is_foreign(module)}
    for node in ast.walk(tree):
        if (
            (isinstance(node, ast.Import | ast.ImportFrom) and takes_private(node))
            or (isinstance(node, ast.Attribute) and (reads_private(node, foreign) or replaces(node, foreign)))
            or (isinstance(node, ast.Call) and names_private(node))
        ):
            yield node.lineno, ast.unparse(node)


def takes_private(node: ast.Import | ast.ImportFrom) -> bool:
    paths = [f"{node.module}.{one.name}" if isinstance(node, ast.ImportFrom) else one.name for one in node.names]
    return any(is_foreign(path) and any(map(is_private, path.split("."))) for path in paths)


def reads_private(node: ast.Attribute, foreign: set[str]) -> bool:
    return is_private(node.attr) and (root_of(node.value) in foreign or node.attr not in own_names())


def replaces(node: ast.Attribute, foreign: set[str]) -> bool:
    stored = not isinstance(node.ctx, ast.Load) and ast.unparse(node) not in ASSIGNABLE
    return stored and root_of(node.value, (ast.Attribute,)) in foreign


def names_private(node: ast.Call) -> bool:
    if (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) not in BY_TEXT:
        return False
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any(is_private(text) and text not in own_names() for text in texts)


def overrides(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The private names that a class defines although its base, a class of another package, has them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and (names := defined(node) - {node.name}):
            for base in foreign_bases(node, tree):
                yield from ((node.lineno, f"{node.name}.{name}") for name in names if hasattr(base, name))


def foreign_bases(node: ast.ClassDef, tree: ast.Module) -> Iterator[type]:
    """The bases of a class that are of other packages, and installed, also through other classes of its file."""
    names, classes = imported(tree), {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
    for base in node.bases:
        first, *rest = ast.unparse(base.value if isinstance(base, ast.Subscript) else base).split(".")
        module, name = names.get(first, ("builtins", first))
        if first in classes:
            yield from foreign_bases(classes[first], tree)
        elif is_foreign(module):
            with suppress(ImportError, AttributeError):  # it is not installed; a function of the project makes the class
                yield reduce(getattr, filter(None, [name, *rest]), import_module(module))


def test_other_modules_use_only_what_packages_document():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in OTHERS
        for line, what in [*uses(tree_of(path)), *overrides(tree_of(path))]
    ]
    assert not wrong, "\n".join(wrong)


def test_there_is_one_module_for_each_package_and_it_says_what_was_tried():
    names = [path.stem for path in INTERNALS]
    assert names and len({*names}) == len(names)
    for path in INTERNALS:
        text = " ".join((ast.get_docstring(tree_of(path)) or "").split())
        assert re.search(r"(tried with|compared with the sources of) \w+ \d", text), path
        tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
        assert tests and all((ROOT / test).exists() for test in tests), path


@pytest.mark.parametrize(
    "text",
    [
        "from numba.core.caching import _CacheLocator",
        "import prefect._internal",
        "from distributed import utils as dask\ndask._forkserver_preload_set",
        "from multiprocessing.process import current_process\ncurrent_process()._config",
        "def end(server):\n    server._forkserver_pid",
        "def end(server):\n    getattr(server, '_forkserver_pid')",
        "def f():\n    from numba.np import linalg\n    linalg.ensure_blas = print",
        "import os\nos.path.exists = print",
        "from distributed import Security\nclass Ours(Security):\n    def _get_tls_context(self): ...",
        "import distributed\nclass Base(distributed.Security): ...\nclass Ours(Base):\n    def _get_tls_context(self): ...",
    ],
)
def test_a_use_of_what_a_package_does_not_document_is_seen(text):
    tree = ast.parse(text)
    assert [*uses(tree), *overrides(tree)]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos._exit(0)\nos.environ |= {}",
        "from kernels.graph import _own\n_own._digest = 1",
        "from distributed import Security\nclass Ours(Security):\n    def _ours(self): ...",
        "class Row(tuple): ...\nRow()._replace()",
        "import numpy as np\nnp.zeros(3)[0] = 1",
    ],
)
def test_what_is_documented_and_what_is_ours_may_be_used(text):
    assert not [*uses(ast.parse(text)), *overrides(ast.parse(text))]
