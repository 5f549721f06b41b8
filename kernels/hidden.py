"""Packages that imports do not find for a while, though they are installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from threading import get_ident


class _Hidden(MetaPathFinder):
    """An import finder that hides packages from one thread."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages, self._thread = packages, get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse the packages."""
        if fullname in self._packages and get_ident() == self._thread:
            raise ModuleNotFoundError(f"graphmill does not need {fullname} here", name=fullname)


@contextmanager
def hidden(*packages: str) -> Iterator[None]:
    """In the block, this thread cannot import these packages, unless they are imported already; other threads can."""
    finder = _Hidden(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
