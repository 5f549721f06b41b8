"""The tests of tests/gpu, of which CI runs few, replace names that exist."""

import ast
from contextlib import suppress
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

ROOT = Path(__file__).parents[2]
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "tests" / "gpu").rglob("test_*.py"))


def owner_of(dotted):
    """The module or class of a dotted name, and its last part."""
    names = dotted.split(".")
    for count in range(len(names) - 1, 0, -1):
        with suppress(ModuleNotFoundError):
            return reduce(getattr, names[count:-1], import_module(".".join(names[:count]))), names[-1]
    raise AssertionError(f"no module of {dotted}")


def named(module, node):
    """The module or class that an expression of global names stands for; None for anything else."""
    if isinstance(node, ast.Attribute):
        owner = named(module, node.value)
        return owner and getattr(owner, node.attr)
    found = getattr(module, node.id, None) if isinstance(node, ast.Name) else None
    return found if isinstance(found, ModuleType | type) else None


@pytest.mark.parametrize("path", FILES, ids=str)
def test_names_exist(path):
    module = import_module(".".join(path.with_suffix("").parts))
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("monkeypatch.setattr", "patch.object"):
            target, *others = node.args
            if isinstance(target, ast.Constant):
                owner, name = owner_of(target.value)
            elif others and isinstance(others[0], ast.Constant):
                owner, name = named(module, target), others[0].value
            else:
                continue
            assert owner is None or hasattr(owner, name), f"{path}:{node.lineno}: {ast.unparse(target)} has no {name}"
