"""The facts of files that were read."""

from pipeline.store.facts.base import Facts


class FileFacts(Facts):
    """A file of several: its name as `FilesFacts` counts it in the digest, as `SourceFacts`, and the edges that are in it."""

    name: str
    path: str
    bytes: int
    blake3: str
    edges: int
    member: str | None = None  # absent, or the file that was read of an archive


class FilesFacts(Facts):
    """The files of a source of several: their number, how many beside them were ignored, and the files in order."""

    count: int
    ignored: int
    partly: dict[str, str]  # columns that are in some files only, each with the first file that lacks it
    listed: list[FileFacts]  # all of them in a step; in a run those that `pipeline.steps.publication.facts` shows


class SourceFacts(Facts):
    """A file that was read: its absolute path or URL, and the size and the digests of its bytes as stored (compressed).

    Of several files `path` is what names them, `bytes` their sum, and `blake3` the digest of `pipeline.ingest.feed.merkle`.
    """

    path: str
    bytes: int
    blake3: str
    sha256: str | None = None  # absent in a step: a run waits for it at the end
    files: FilesFacts | None = None  # absent of one file
    member: str | None = None  # absent, or the file that was read of an archive


class CoordinateFacts(Facts):
    """Coordinates of vertices: how many vertices have them, their unit and their file."""

    vertices: int
    unit: str
    source: SourceFacts
    columns: dict[str, str] | None = None  # absent unless it is a table: the names of `vertex`, `x` and `y` in it


class DirectionCounts(Facts):
    """How many rows of a source are open in which directions, as their columns say; each is up to two edges."""

    forward: int  # from `src` to `dst` only
    reverse: int
    both: int
    closed: int


class TravelTimeFacts(Facts):
    """How weights were made: of how many rows, how many of them have the default speed, the units, and how they were rounded."""

    rows: int
    by_default: int
    default: float | None  # in `speed_unit`
    speed_unit: str  # of speeds that state none
    length_unit: str
    rounding: str


class RejectFacts(Facts):
    """How many rows of a source were refused and are in table `rejected`, of how many that were read."""

    rows: int
    read: int
