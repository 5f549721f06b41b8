"""Digests that are computed before they are asked for, while this process imports modules."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pipeline.signals import beside
from pipeline.store.digests import Unwritten, digests_of_files


class EarlyDigests:
    """Digests of files that threads begin to compute now.

    Whoever checks a file reads it again if it was written since then, or just before. Errors are left to them, too.
    """

    def __init__(self, find: Callable[[], Sequence[Path]]) -> None:
        """Begin; `find` names the files."""
        try:
            # Here, because each access to a manifest in a thread would wait for Python's lock, which imports hold.
            self._seen = {path: unwritten for path in find() if (unwritten := Unwritten(path))}
        except Exception:
            self._seen = {}
        self._begun = beside(partial(_digests, [*self._seen]))

    def digests_of(self, paths: Sequence[Path]) -> list[str]:
        """The digests of files, as `digests_of_files`."""
        early = {} if self._begun.exception() else self._begun.result()  # waits until all are computed
        valid = {path: early[path] for path in paths if path in early and self._seen[path]}
        read = [path for path in paths if path not in valid]
        found = valid | dict(zip(read, digests_of_files(read), strict=True))
        return [found[path] for path in paths]


def _digests(paths: Sequence[Path]) -> Mapping[Path, str]:
    return dict(zip(paths, digests_of_files(paths), strict=True))
