"""Numba's parts that are not documented: each test fails if Numba changes one."""

import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.caching import CacheImpl, InTreeCacheLocator
from numba.core.errors import NumbaError

from kernels.cpu.cached import ByContent
from kernels.cpu.compiled import njit
from kernels.cpu.numba_internals import COUNTS_REFERENCES, set_first_locator

OWN, NUMBAS = (
    "from kernels.cpu.numba_internals import load_compiler; load_compiler()",
    """
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh(), cpu_target.target_context.refresh()
""",
)


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


@pytest.mark.parametrize(("load", "imported"), [(OWN, False), (NUMBAS, True)])
def test_only_numba_by_itself_imports_linear_algebra(load, imported):
    asked = f"{load}\nimport sys; print('scipy.linalg' in sys.modules, 'numba.np.arraymath' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [str(imported), "True"]
