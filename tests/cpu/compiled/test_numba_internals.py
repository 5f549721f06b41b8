"""Numba's parts that are not documented: each test fails if Numba changes one."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import CacheImpl, InTreeCacheLocator
from numba.core.errors import NumbaError

from kernels.cpu.cached import ByContent
from kernels.cpu.compiled import njit
from kernels.cpu.numba_internals import COUNTS_REFERENCES, SETTINGS, set_first_locator

ROOT = Path(__file__).parents[3]
FUNCTIONS = """
import numpy as np
from {package} import njit

@njit(cache=True, nogil=True)
def filled(length):
    made = np.empty(length, np.int64)
    made[:] = 7
    return made

assert filled(3).sum() == 21
"""


def test_numbas_classes_are_asked_after_ours(monkeypatch):
    assert InTreeCacheLocator in CacheImpl._locator_classes
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "")
    set_first_locator(f"{ByContent.__module__}.{ByContent.__name__}")
    first, *others = numba.config.CACHE_LOCATOR_CLASSES.split(",")
    assert first == "kernels.cpu.cached.ByContent"
    assert others == [own.__name__ for own in CacheImpl._locator_classes]


def test_other_packages_functions_are_kept_where_numba_keeps_them(tmp_path, monkeypatch):
    assert njit()(lambda: 1)() == 1  # the first call of a function sets Numba up
    (tmp_path / "of_another_package.py").write_text("import numba\n\n\n@numba.njit(cache=True)\ndef one():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    from of_another_package import one

    assert one() == 1
    assert one.stats.cache_path == str(tmp_path / "__pycache__")


def test_a_function_that_counts_no_references_cannot_make_an_array():
    def made(length):
        return np.empty(length)

    assert len(njit(**{COUNTS_REFERENCES: True})(made)(3)) == 3
    with pytest.raises(NumbaError):
        njit(**{COUNTS_REFERENCES: False})(made)(3)


@pytest.mark.parametrize(("package", "imported"), [("kernels.cpu.compiled", False), ("numba", True)])
def test_only_numba_by_itself_imports_linear_algebra_and_what_compiles_kept_functions(package, imported, tmp_path):
    asked = "import sys; print('numba.np.arraymath' in sys.modules, 'scipy.linalg' in sys.modules)"
    (tmp_path / "some.py").write_text(FUNCTIONS.format(package=package))
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }

    def modules(*lines):
        command = [sys.executable, "-c", "\n".join(["import some", *lines, asked])]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()

    assert modules() == ["True", str(imported)]  # compiled
    assert modules() == [str(imported), str(imported)]  # kept
    others = "from kernels.cpu.compiled import njit", "assert njit(cache=False)(lambda value: np.sqrt(value))(4) == 2"
    assert modules("import numpy as np", *others) == ["True", str(imported)]


@pytest.mark.parametrize("settings", [False, True])
def test_numba_imports_neither_scipy_nor_yaml_without_settings(settings, tmp_path):
    if settings:
        (tmp_path / SETTINGS).write_text("color_scheme: no_color\n")
    asked = (
        "from kernels.cpu.numba_internals import import_numba; numba = import_numba(); "
        "import sys; print('scipy' in sys.modules, 'yaml' in sys.modules, numba.config.COLOR_SCHEME)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert ended.stdout.split() == ["False", str(settings), "no_color"]
