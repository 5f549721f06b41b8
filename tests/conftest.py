"""What all tests share."""

import atexit
import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.kept import CACHE

# In the background of a shell Ctrl-C is ignored, and whatever is started there inherits that; tests interrupt processes.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Also for tests whose processes have another home: compiling takes minutes.
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "compiled"))

# A busy machine may stop a process for longer than an example may take.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

FIRST = ("flows", "cluster", "project", "faults", "sharded")
# Folders whose tests wait for servers, workers and deadlines for most of their time.
WAITING = ("tests/flows/", "tests/cluster/")
# Folders whose files use one server, or workers, which one process starts once.
TOGETHER = ("tests/flows/served/", "tests/cluster/local/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Give the files of each folder of `TOGETHER` to one process, as `--dist loadfile` does the tests of a file.

    Every second process begins with files that wait and the others with files that compute, so that no core is idle.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

        def _assign_work_unit(self, node: WorkerController) -> None:
            waits = int(node.gateway.id.removeprefix("gw")) % 2 == 0
            if scope := next((scope for scope in self.workqueue if scope.startswith(WAITING) == waits), None):
                self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, and most of that with what waits: a long file at the end would have the machine to itself."""

    def place(item: pytest.Item) -> int:
        name = item.nodeid.split("/", 2)[1]
        return FIRST.index(name) if name in FIRST else len(FIRST)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported stays, so a search for garbage meanwhile would be a tenth of the collection's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What is imported by now stays: a search for garbage would go through it for a tenth of the tests' time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """When the interpreter ends, and not before: pytest still searches several times."""
    atexit.register(gc.unfreeze)  # otherwise extensions print what has leaked
