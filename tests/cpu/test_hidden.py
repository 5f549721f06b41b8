"""Packages are hidden from one thread, and only for a while."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from kernels.hidden import hidden


def test_a_package_is_hidden_from_this_thread_only(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("unseen", "seen"):
        (tmp_path / f"{name}.py").touch()
    with ThreadPoolExecutor(1) as pool, hidden("unseen", "seen"):
        with pytest.raises(ModuleNotFoundError, match="unseen"):
            import_module("unseen")
        assert pool.submit(import_module, "seen").result() is import_module("seen")
    assert import_module("unseen") is sys.modules["unseen"]
