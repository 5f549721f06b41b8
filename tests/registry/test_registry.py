"""Every entry of the registry names functions that exist, and a table that its form can store."""

import ast
from dataclasses import MISSING, fields

import pytest

from kernels.algorithm import Algorithm, Form
from kernels.registry import ALGORITHMS, BY_NAME
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
