"""The examples in the docstrings of the functions for users in Python: each has one, and it runs."""

import doctest
import sys
from typing import Any

import numpy as np
import pytest

from kernels.graph import Graph
from kernels.reachability import reach
from kernels.registry import ALGORITHMS

PUBLIC = [*(algorithm.resolve("solver") for algorithm in ALGORITHMS), reach]


def run(documented: Any, **names: object) -> dict[str, Any]:
    """Run the examples of a docstring as if they stood in its module, and return the names that are then known."""
    module = sys.modules[documented.__module__]
    example = doctest.DocTestParser().get_doctest(documented.__doc__, vars(module) | names, documented.__name__, None, None)
    written: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=written.append, clear_globs=False)
    assert tried
    assert not failed, "".join(written)
    return example.globs


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_a_public_function_has_an_example_that_runs(function):
    run(function, np=np, graph=run(Graph)["graph"])


def test_a_wrong_example_fails():
    def wrong() -> None:
        """Return nothing.

        >>> 1 + 1
        3
        """

    with pytest.raises(AssertionError, match="Expected"):
        run(wrong)
