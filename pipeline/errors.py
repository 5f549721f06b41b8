"""Errors that a user can fix. The command prints the message alone; a flow fails without a retry.

A message names the thing, the value and the limit. What no input can cause is an assert, not one of these.
"""

from __future__ import annotations


class GraphmillError(Exception):
    """Root of all errors of this package that a user can mend."""


class BadConfig(GraphmillError):
    """A configuration file or option: unknown key, wrong type, out of range."""


class BadInput(GraphmillError):
    """A source file: `BadInput(file, reason, line=3)` reads "FILE: line 3: REASON"."""

    def __init__(self, file: object, reason: str, line: int | None = None) -> None:
        super().__init__(f"{file}: {reason}" if line is None else f"{file}: line {line}: {reason}")
        self.file = str(file)
        self.line = line
        self.reason = reason

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, str, int | None]]:
        """Survive the way through a process boundary whole."""
        return BadInput, (self.file, self.reason, self.line)


class BadSource(GraphmillError):
    """A source vertex that the graph does not have."""


class TooLarge(GraphmillError):
    """A step that would take more memory than is free."""


class Damaged(GraphmillError):
    """A stored folder whose files do not match their manifest."""


class ProofFailed(GraphmillError):
    """A certificate or an oracle contradicts an answer. Nothing is published."""


class ClusterLost(GraphmillError):
    """The scheduler, or more workers than a piece may cost, are gone. Nothing is written."""


class Busy(GraphmillError):
    """Another run works in the same output folder."""
