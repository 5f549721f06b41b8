"""SHA-256 of source files, which other tools compute, too.

A run computes them in the background, because only one core can work on each. They are kept by BLAKE3 digests in a file beside
the steps, so a file whose content is known is not read again.
"""

import json
from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.errors import Changed
from pipeline.signals import beside
from pipeline.store.digests import Unwritten, digest_of_file, sha256_of
from pipeline.store.scratch import replace_text

SUMS = "sha256.json"
_RECORD = TypeAdapter(dict[str, str])


class Sums:
    """SHA-256 of files by BLAKE3 digests; `path` is the file that keeps them, None for none."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._computed = path, dict[str, Future[str]]()
        try:
            self._known = _RECORD.validate_json(path.read_bytes()) if path else {}
        except (OSError, ValueError):
            self._known = {}

    def note(self, digest: str, sha256: str) -> None:
        """Keep a sum that was computed elsewhere."""
        self._known[digest] = sha256

    def begin(self, digest: str, path: Path, unwritten: Unwritten) -> None:
        """Compute the sum of a file that has this digest as long as it is unwritten, unless it is known."""
        if digest not in self._known and digest not in self._computed:
            self._computed[digest] = beside(partial(_sum_of, digest, path, unwritten))

    def of(self, digests: Iterable[str]) -> dict[str, str]:
        """The sums that are known or were begun, by digests; waits for them, and forgets all others.

        Raises Changed if a file changed before it was read, and OSError if it cannot be read.
        """
        wanted = set(digests)
        known = {digest: sha256 for digest, sha256 in self._known.items() if digest in wanted}
        sums = known | {digest: of.result() for digest, of in self._computed.items() if digest in wanted}
        if self._path and sums != self._known:
            replace_text(self._path, json.dumps(sums))
        self._known = sums
        return sums


def _sum_of(digest: str, path: Path, unwritten: Unwritten) -> str:
    sha256 = sha256_of(path)
    if not unwritten and digest_of_file(path) != digest:
        raise Changed(str(path), "changed while it was read")
    return sha256
