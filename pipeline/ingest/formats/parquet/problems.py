"""Why a Parquet file is not read; `pipeline.ingest.formats.parquet.reading` adds its name."""


class Contradiction(Exception):
    """A footer that contradicts its file or itself: the file is damaged."""


class Unreadable(Exception):
    """A file that may be complete, but cannot be read, and why."""
