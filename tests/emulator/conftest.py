"""These tests need EMULATED_GPU=1. Otherwise they are skipped, because other tests assume that CuPy is not installed."""

from pathlib import Path

import pytest

from tests import emulator

if emulator.wanted():
    emulator.install()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = emulator.missing() if emulator.wanted() else "EMULATED_GPU=1 is not set"
    for item in items:
        if reason and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip(reason=reason))
