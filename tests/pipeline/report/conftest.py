"""The report of a grid, which the tests only read."""

import pytest

from tests.reports import Page, Steps, grid, run


@pytest.fixture(scope="session")
def steps(tmp_path_factory) -> Steps:
    return run(tmp_path_factory.mktemp("grid"), *grid(12), sources=(1, 60), oracle=True)


@pytest.fixture(scope="session")
def page(steps) -> Page:
    return steps.page("grid")
