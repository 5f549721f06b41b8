"""What all tests share."""

import os
import signal
from pathlib import Path

import pytest

from tests.kept import CACHE

# In the background of a shell Ctrl-C is ignored, and whatever is started there inherits that; tests interrupt processes.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Also for tests whose processes have another home: compiling takes minutes.
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "compiled"))

FIRST = ("flows", "cluster", "project", "faults", "sharded")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, and most of that with what waits: a long file at the end would have the machine to itself."""

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(Path(__file__).parent).parts[0]
        return FIRST.index(name) if name in FIRST else len(FIRST)

    items.sort(key=place)
