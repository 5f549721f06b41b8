"""A stage, a product or a derived table is named in its entry, and in the modules that this names: others walk the registry."""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from kernels.registry import BY_NAME
from pipeline.registry.products import PRODUCTS
from pipeline.registry.stages import STAGES
from tests.project.test_layout import MODULE, PACKAGES, ROOT, files, module_of

ENTRIES = ("kernels.registry", "pipeline.registry.products", "pipeline.registry.stages")
# Words that mean something else there: (module or package, word) to what. `vertices` is a word everywhere. benchmarks/ is not
# looked at: each measures what it names.
OTHER_MEANINGS = {
    ("flows", "flows"): "the package of Prefect's flows, and its command",
    ("flows", "reachability"): "the name of a deployed flow",
    ("pipeline.cli.init", "nearest"): "the option that names facilities",
    ("pipeline.cli.init", "isochrones"): "the option with times in which these are reached",
    ("pipeline.tables.forms", "betweenness"): "a column of the table of edges",
    ("pipeline.report.findings", "trees"): "the trees of a spanning forest, in a figure of the report",
    **{
        ("pipeline.graphalytics", name): "an algorithm of the benchmark Graphalytics, or the stage that answers it"
        for name in ("bfs", "pagerank", "wcc", "cdlp", "lcc", "sssp")
    },
}


def modules_of(entry: object) -> Iterator[str]:
    """The modules that an entry names, and the package of an algorithm's solver."""
    for name in (field.name for field in fields(entry)):
        value = getattr(entry, name)
        for one in value if isinstance(value, tuple) else (value,):
            if is_dataclass(one):
                yield from modules_of(one)
            elif isinstance(one, str) and ":" in one and MODULE.fullmatch(module := one.partition(":")[0]):
                yield ".".join(module.split(".")[:2]) if module.startswith("kernels.") else module


def owners() -> dict[str, set[str]]:
    """The names of stages, products and their tables, each with the modules that may say it."""
    found: dict[str, set[str]] = {}
    for name, entry in (*BY_NAME.items(), *STAGES.items(), *PRODUCTS.items()):
        names = {name, getattr(entry, "table_name", name), *(table.name for table in getattr(entry, "tables", ()))}
        for one in names - {"vertices"}:
            found.setdefault(one, set()).update(modules_of(entry))
    return found


def named(tree: ast.AST, names: set[str]) -> Iterator[tuple[int, str]]:
    """Where a module says one of some names: as a whole string, or as a key of a configuration."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            yield node.lineno, node.value
        elif isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value).split(".")[-1] == "config":
            yield node.lineno, node.attr


def may_say(module: str, name: str, own: set[str]) -> bool:
    others = {of for of, word in OTHER_MEANINGS if word == name}
    return module in ENTRIES or any(f"{module}.".startswith(f"{of}.") for of in own | others)


def test_no_other_file_names_a_stage_or_a_product():
    known = owners()
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in files(*PACKAGES)
        for line, name in named(ast.parse(path.read_text(encoding="utf-8")), {*known})
        if not may_say(module_of(path), name, known[name])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('stage = "bfs"', "bfs"),
        ("if config.max_flow: ...", "max_flow"),
        ("run.config.isochrones.sums", "isochrones"),
        ('{"nearest": 3}', "nearest"),
        ('name == "isochrone_polygons"', "isochrone_polygons"),
    ],
)
def test_a_name_in_a_string_or_as_a_key_is_found(source, name):
    known = owners()
    assert [*named(ast.parse(source), {*known})] == [(1, name)]
    assert not may_say("pipeline.inspection.estimate", name, known[name])


@pytest.mark.parametrize(("module", "name"), [*OTHER_MEANINGS])
def test_every_exception_is_needed(module, name):
    said = {
        word
        for path in files(*PACKAGES)
        if f"{module_of(path)}.".startswith(f"{module}.")
        for _, word in named(ast.parse(path.read_text(encoding="utf-8")), {name})
    }
    assert said == {name}


def test_an_entry_may_be_said_by_the_modules_that_it_names():
    assert owners()["isochrone_polygons"] >= {
        "pipeline.steps.products.isochrones.polygons",
        "pipeline.config.products.isochrones",
    }
    assert owners()["sssp"] >= {"kernels.sssp", "pipeline.steps.products.trees"}
