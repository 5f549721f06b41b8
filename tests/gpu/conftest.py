"""The tests of this folder need CuPy and a GPU; without either they are skipped, and the reason says which is missing.

With EMULATED_GPU=1 they run on an emulated one (tests/emulator), but for those marked `real_gpu`.
"""

import pytest

from kernels.gpu.devices import obstacle
from tests import emulator

if emulator.wanted():
    emulator.install()


def _missing() -> str | None:
    if emulator.wanted():
        return emulator.missing()
    return obstacle()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = _missing()
    for item in items:
        if item.nodeid.startswith("tests/gpu/"):
            real = item.get_closest_marker("real_gpu")
            reason = missing or (emulator.wanted() and real and f"on a real GPU alone: {real.kwargs['reason']}")
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
