"""Errors that a user can fix. The command prints only the message; a flow fails without a retry.

GraphmillError
├── BadConfig                   what a user has configured
│   └── NotToml                     (pipeline/config/toml.py)
├── BadInput                    what a user has given
│   ├── Changed
│   ├── Empty                       (pipeline/ingest/formats/text.py)
│   └── OfAnotherForm               (pipeline/ingest/formats/detect.py)
├── BadSource
├── NoPath
├── AlreadyApplied
├── Stopped
├── TooLarge                    what this machine or cluster can do
├── NotRoadLike
├── ClusterLost
├── Busy
├── Damaged                     what was computed or stored
├── ProofFailed
├── Refused
└── RunFailed                       (flows/starting.py)

A message names the thing, the value and the limit. Conditions that no input can cause are asserts instead.
"""

import errno
import os

from pipeline.addresses import lack_of_addresses
from pipeline.redaction import quoted


class GraphmillError(Exception):
    """Base of all errors of this package that a user can fix. Their messages are `quoted`: one bounded line without secrets."""

    def __init__(self, message: str) -> None:
        super().__init__(quoted(message))


class BadConfig(GraphmillError):
    """A configuration file or option: unknown key, wrong type, out of range."""


class BadInput(GraphmillError):
    """A source file: `BadInput(file, reason, line=3)` reads "FILE: line 3: REASON"."""

    def __init__(self, file: object, reason: str, line: int | None = None) -> None:
        self.file = quoted(str(file))
        self.line = line
        self.reason = quoted(reason)
        super().__init__(f"{self.file}: {self.reason}" if line is None else f"{self.file}: line {line}: {self.reason}")

    def __reduce__(self) -> "tuple[type[BadInput], tuple[str, str, int | None]]":
        """Keep all attributes when the error is pickled for another process."""
        return type(self), (self.file, self.reason, self.line)


class Changed(BadInput):
    """A source file that was replaced or written while it was read; what reads it starts again once (`ingest/again.py`)."""


class BadSource(GraphmillError):
    """A source vertex that the graph does not have."""


class NoPath(GraphmillError):
    """A vertex that a source does not reach."""


class AlreadyApplied(GraphmillError):
    """A file of changes that the newest state of a graph has had before."""


class Stopped(GraphmillError):
    """A file of changes, among those that arrived, that cannot be applied; those behind it wait."""


class TooLarge(GraphmillError):
    """A step that would take more memory or disk space than is free."""


class NotRoadLike(GraphmillError):
    """A graph whose hierarchy would need too many shortcuts; searches do without one."""


class ClusterLost(GraphmillError):
    """The scheduler, or more workers than a task may lose, are gone. Nothing is written."""


class Busy(GraphmillError):
    """Another run works in the same output folder."""


class Damaged(GraphmillError):
    """A stored folder whose files do not match their manifest."""


class ProofFailed(GraphmillError):
    """A certificate or an oracle contradicts an answer. Nothing is published."""


class Refused(GraphmillError):
    """A result that the run's `[expect]` does not allow. Nothing is published."""


def message(error: Exception) -> str | None:
    """One sentence for an error that the user can fix; None for a bug."""
    if isinstance(error, GraphmillError):
        return str(error)
    if isinstance(error, MemoryError):
        of_host = "" if _is_of_gpu(error) else lack_of_addresses()
        return f"out of memory: {str(error) or 'the graph needs more than this machine has'}{of_host}"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        limits = "a limit of processes (pids, `ulimit -u`) or of memory"
        return f"no new thread can be started: {limits}{lack_of_addresses()}"
    if isinstance(error, RuntimeError) and "no locator available" in str(error):
        return "no folder for compiled code is writable; name one in the environment variable NUMBA_CACHE_DIR"
    if isinstance(error, OSError):
        where = f"{os.fspath(error.filename)}: " if isinstance(error.filename, str | os.PathLike) else ""
        of_host = lack_of_addresses() if _may_be_of_memory(error) else ""
        return quoted(f"{where}{error.strerror or error}{of_host}")
    return None


def _is_of_gpu(error: MemoryError) -> bool:
    return type(error).__module__.startswith("cupy") or "GPU memory" in str(error)


def _may_be_of_memory(error: OSError) -> bool:
    """Whether memory was refused, perhaps: a library that cannot be loaded has no number of an error."""
    return error.errno == errno.ENOMEM or (type(error) is OSError and error.errno is None)


def not_in_graph(file: str, row: int, name: str, vertex: object, vertices: int) -> BadInput:
    """The error for a row of a file of pairs whose `src` or `dst` is not in a graph of this number of vertices."""
    return BadInput(file, f"row {row}: {name} {vertex} is not in the graph ({vertices:,} vertices)")
