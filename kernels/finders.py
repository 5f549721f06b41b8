"""Import finders for a while: packages that are not imported, or only when something of them is used."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from threading import Lock, get_ident
from types import ModuleType

_FINDERS = Lock()  # of the list of import finders


class _Hidden(MetaPathFinder):
    """An import finder that hides packages from one thread."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages, self._thread = packages, get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse the packages."""
        if fullname in self._packages and get_ident() == self._thread:
            raise ModuleNotFoundError(f"graphmill does not need {fullname} here", name=fullname)


class _Deferred(MetaPathFinder):
    """An import finder whose modules run when an attribute of theirs is first used."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as `importlib` finds it, with a lazy loader."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._modules else None
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def hidden(*packages: str) -> AbstractContextManager[None]:
    """In the block, this thread cannot import these packages, unless they are imported already; other threads can."""
    return _asked_first(_Hidden(packages))


def deferred(*modules: str) -> AbstractContextManager[None]:
    """In the block, importing these modules runs nothing of them; they run when something of them is first used."""
    return _asked_first(_Deferred(modules))


@contextmanager
def _asked_first(finder: MetaPathFinder) -> Iterator[None]:
    with _FINDERS:  # a new list: threads that go through the old one, which has no lock, must find each of its finders
        sys.meta_path = [finder, *sys.meta_path]
    try:
        yield
    finally:
        with _FINDERS:
            sys.meta_path = [other for other in sys.meta_path if other is not finder]
