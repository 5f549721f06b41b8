"""Packages that are not imported for a while, or only when something of them is used."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from kernels.cpu.numba_internals import deferred, hidden


def test_a_package_is_hidden_from_this_thread_only(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("unseen", "seen"):
        (tmp_path / f"{name}.py").touch()
    with ThreadPoolExecutor(1) as pool, hidden("unseen", "seen"):
        with pytest.raises(ModuleNotFoundError, match="unseen"):
            import_module("unseen")
        assert pool.submit(import_module, "seen").result() is import_module("seen")
    assert import_module("unseen") is sys.modules["unseen"]


def test_a_deferred_module_runs_when_something_of_it_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "__init__.py").write_text("from whole import early, later\n")
    (tmp_path / "whole" / "early.py").touch()
    (tmp_path / "whole" / "later.py").write_text("import ran_later\nVALUE = 7\n")
    (tmp_path / "ran_later.py").touch()
    with deferred("whole.later"):
        whole = import_module("whole")
    assert "whole.early" in sys.modules and "ran_later" not in sys.modules
    assert whole.later.VALUE == 7 and import_module("whole.later") is whole.later and "ran_later" in sys.modules
