"""These tests need EMULATED_GPU=1. Otherwise they are skipped, because other tests assume that CuPy is not installed."""

from pathlib import Path
from typing import Any

import pytest

from tests import emulator

HERE = Path(__file__).parent
_LAUNCHED = pytest.StashKey[set[str]]()  # by the processes of a parallel run

if emulator.wanted():
    emulator.install()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = emulator.missing() if emulator.wanted() else "EMULATED_GPU=1 is not set"
    for item in items:
        if reason and item.nodeid.startswith("tests/emulator/"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of a parallel run has ended."""
    node.config.stash.setdefault(_LAUNCHED, set()).update(getattr(node, "workeroutput", {}).get("launched", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run of all tests fails unless it has launched every kernel."""
    config = session.config
    if not emulator.wanted() or emulator.missing():
        return
    from tests.emulator import coverage

    launched = coverage.launched_kernels() | config.stash.get(_LAUNCHED, set())
    if hasattr(config, "workeroutput"):
        config.workeroutput["launched"] = sorted(launched)
    elif session.exitstatus == pytest.ExitCode.OK and _runs_all(config) and (left := coverage.all_kernels() - launched):
        config.get_terminal_writer().line(f"\ntests/emulator launches no kernel {', '.join(sorted(left))}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _runs_all(config: pytest.Config) -> bool:
    chosen = config.getoption("keyword") or config.getoption("deselect") or config.getoption("lf", False)
    return not chosen and [Path(name).resolve() for name in config.args] == [HERE]
