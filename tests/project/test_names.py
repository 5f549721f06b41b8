"""Names: a class name is used once, bindings say what they hold, and the tree of errors is complete."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.project.test_layout import PACKAGES, ROOT, files, tree_of

# Class names that several modules have, and why.
SHARED = {"Directory": "the same table of ids in the proof of a layout, on a CPU and on a GPU"}
MOST_SHARED = 10
# What was found or asked for has a name of its own.
VAGUE = {"found", "asked"}


def test_few_classes_have_the_name_of_another_one():
    modules = defaultdict(list)
    for path in files(*PACKAGES, "benchmarks"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.relative_to(ROOT).as_posix())
    shared = {name: paths for name, paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in SHARED} == {}
    assert set(SHARED) == set(shared)
    assert len(SHARED) <= MOST_SHARED


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The variables, arguments, attributes, functions and classes that a module names, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


def test_bindings_say_what_they_hold():
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files(*PACKAGES)
        for name, line in bound_names(tree_of(path))
        if name.strip("_").lower() in VAGUE
    ]
    assert not vague, "name what was found or asked for:\n" + "\n".join(vague)


def test_vague_names_are_seen_wherever_they_are_bound():
    module = ast.parse(
        "found = 1\n"
        "def _asked(self, found, *, asked: int = 0):\n"
        "    self._found, (asked, other) = 1, (2, 3)\n"
        "    return [found for found in other if (asked := found)]\n"
        "class Asked:\n"
        "    found: int = 0\n"
        "kept = found.found + asked\n"
    )
    vague = [line for name, line in bound_names(module) if name.strip("_").lower() in VAGUE]
    assert sorted(vague) == [1, 2, 2, 2, 3, 3, 4, 4, 5, 6]


def test_the_tree_of_errors_is_that_of_their_classes():
    classes = {
        node.name: base.id
        for path in files("pipeline", "flows")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    drawn, above = {}, ["GraphmillError"]
    for indent, name in re.findall(
        r"^([│├└─ ]+) (\w+)", ast.get_docstring(tree_of(ROOT / "pipeline" / "errors.py")), re.MULTILINE
    ):
        depth = (len(indent) + 1) // 4
        drawn[name] = above[depth - 1]
        above[depth:] = [name]
    known = {"GraphmillError"}
    while len(known) < len(known := known | {name for name, base in classes.items() if base in known}):
        pass
    assert drawn == {name: classes[name] for name in known - {"GraphmillError"}}
