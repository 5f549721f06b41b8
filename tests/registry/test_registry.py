"""Every entry of the registry names functions that exist, and a table that its form can store."""

import ast
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pkgutil import resolve_name

import pytest

from kernels.algorithm import Algorithm, Form
from kernels.registry import ALGORITHMS, BY_NAME
from pipeline.config.model import Model
from pipeline.config.products import ProductOptions
from pipeline.registry.entries import Product, Table
from pipeline.registry.products import PRODUCTS, TABLES
from pipeline.registry.stages import DERIVED, STAGES
from pipeline.tables import files as tables
from tests.project.docs import ROOT

FUNCTIONS = ("solver", "sharded_solver", "certificate", "sharded_certificate", "oracle", "warm_up", "answer")


def test_names_are_unique():
    assert len(BY_NAME) == len(ALGORITHMS) == len({algorithm.table_name for algorithm in ALGORITHMS})


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_the_functions_of_an_entry_exist(algorithm: Algorithm):
    assert algorithm.solver and algorithm.certificate
    assert bool(algorithm.sharded_solver) == bool(algorithm.sharded_certificate)
    assert algorithm.sharded_solver or not algorithm.by_default  # or a run over ranks that names no stages would be refused
    for name in FUNCTIONS:
        assert not getattr(algorithm, name) or callable(algorithm.resolve(name))
    if algorithm.gpu_oracle:  # its module needs cuGraph
        module, function = algorithm.gpu_oracle.split(":")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_the_table_of_an_entry_fits_its_form(algorithm: Algorithm):
    assert tables.table_of(algorithm.name) == algorithm.table_name
    assert any(column.key for column in algorithm.columns)
    assert bool(algorithm.answer) == (algorithm.form is Form.VALUES)
    if algorithm.form is Form.VALUES:
        assert algorithm.columns[0].name == "vertex"
        required = fields(algorithm.resolve("answer"))[: len(algorithm.columns) - 1]
        optional = fields(algorithm.resolve("answer"))[len(algorithm.columns) - 1 :]
        assert all(field.default is MISSING for field in required)
        assert not any(field.default is MISSING and field.default_factory is MISSING for field in optional)


def strings_of(entry: object) -> Iterator[str]:
    """The functions and classes that an entry names, and those of its tables."""
    for value in vars(entry).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Table):
                yield from strings_of(part)
            elif isinstance(part, str) and re.fullmatch(r"pipeline[.\w]+:\w+", part):
                yield part


@pytest.mark.parametrize(("name", "entry"), [*PRODUCTS.items(), *STAGES.items()])
def test_what_an_entry_of_a_run_names_exists(name, entry):
    assert all(callable(resolve_name(one)) for one in strings_of(entry))
    if isinstance(entry, Product):
        assert entry.help and entry.tables and bool(entry.configuration) != bool(entry.command) == bool(entry.options)
        assert all(table.step and (table.title or entry.command) for table in entry.tables)
        model = entry.resolve("configuration" if entry.configuration else "options")
        assert issubclass(model, Model if entry.configuration else ProductOptions)
        assert {*model.VERTICES, *model.PAIRS, *filter(None, (table.switch for table in entry.tables))} <= {*model.model_fields}
        assert name == entry.name
    else:
        assert bool(entry.configuration) >= BY_NAME[name].options


def test_each_table_is_described_once():
    names = [algorithm.table_name for algorithm in ALGORITHMS] + [*DERIVED, *(name for name in TABLES if name not in BY_NAME)]
    assert len(names) == len({*names})
