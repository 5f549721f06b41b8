"""Digests of files that one run keeps for the next one."""

import json
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.store.digests import Unwritten, digest_of_file
from pipeline.store.scratch import scratch

_RECORD = TypeAdapter(dict[str, list[int | str]])  # of a file: what `Unwritten` has seen of it, and its digest


class Remembered:
    """Digests of files, which a JSON file keeps: a file that was not written since is not read again."""

    def __init__(self, path: Path) -> None:
        self._path, self._asked = path, dict[str, list[int | str]]()
        try:
            self._known = _RECORD.validate_json(path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def digest_of(self, file: Path) -> str:
        """The digest of a file."""
        unwritten, known = Unwritten(file), self._known.get(str(file), [])
        digest = str(known[-1]) if unwritten and known[:-1] == list(unwritten.seen) else digest_of_file(file)
        if unwritten:
            self._asked[str(file)] = [*unwritten.seen, digest]
        return digest

    def save(self) -> None:
        """Keep the digests that were asked for."""
        if self._asked != self._known:
            with scratch(self._path.parent) as unfinished:
                file = unfinished / self._path.name
                file.write_text(json.dumps(self._asked), encoding="utf-8")
                file.replace(self._path)
