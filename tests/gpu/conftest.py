"""The tests of this folder need CuPy and a GPU; without either they are skipped, and the reason says which is missing."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


def _missing() -> str | None:
    if find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU: {error}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _missing()
    if reason is not None:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason=reason))
