"""A version of a table, published by a run or written by a step."""

from collections import Counter
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.records import dataclass
from pipeline.errors import Damaged
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder, digest_of
from pipeline.tables import files as tables
from pipeline.tables.changes import SUFFIX
from pipeline.tables.definitions import REJECTED


@dataclass(frozen=True)
class Version:
    """The files of a table, in its order, with their digests."""

    files: dict[Path, str]

    @cached_property
    def footers(self) -> dict[Path, pq.FileMetaData]:
        """The footers of the files. Raises Damaged."""
        footers = {}
        for path in self.files:
            try:
                footers[path] = pq.read_metadata(path)
            except (OSError, pa.ArrowException) as error:
                raise Damaged(f"{path}: {error}") from None
        return footers

    @property
    def schema(self) -> pa.Schema:
        """The columns; none without a file. Raises Damaged."""
        return next((footer.schema.to_arrow_schema() for footer in self.footers.values()), pa.schema([]))

    @property
    def rows(self) -> int:
        """Number of rows. Raises Damaged."""
        return sum(footer.num_rows for footer in self.footers.values())

    @property
    def digest(self) -> str:
        """Digest of the content."""
        return digest_of([*self.files.values()])

    def without(self, digests: Collection[str]) -> "Version":
        """The files with other digests."""
        return Version({path: digest for path, digest in self.files.items() if digest not in digests}) if digests else self

    def common(self, other: "Version") -> set[str]:
        """The digests of files that both versions have, each once; none if either version has no other file."""
        counts = [Counter(version.files.values()) for version in (self, other)]
        both = {digest for digest, count in counts[0].items() if count == counts[1][digest] == 1}
        return both if all(count.keys() - both for count in counts) else set()

    def same(self, other: "Version") -> bool:
        """Whether the files have the same bytes."""
        return [*self.files.values()] == [*other.files.values()]


def of_run(run: Folder) -> dict[str, Version]:
    """The tables of a published run by their names, without change tables and the rows of its source that were refused.

    Raises Damaged.
    """
    facts = RunFacts.of(run)
    return {
        name: Version({run.path / file: run.manifest.files[file].blake3 for file in of.files})
        for name, of in facts.tables.items()
        if not name.endswith(SUFFIX) and f"{name}.parquet" != REJECTED
    }


def of_step(step: Folder) -> Version:
    """The table that a step has written."""
    return Version({path: step.manifest.files[path.name].blake3 for path in tables.files(step.path)})
