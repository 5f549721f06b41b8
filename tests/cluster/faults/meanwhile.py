"""What a test does while the code under test waits."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


@contextmanager
def meanwhile(act: Callable[[], Any]) -> Iterator[Future[Any]]:
    """Call `act` on a thread during the block, at whose end its error is raised; give its result."""
    with ThreadPoolExecutor(1) as threads:
        acting = threads.submit(act)
        yield acting
    acting.result()
