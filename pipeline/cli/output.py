"""What a command prints: standard output that fails without ending the work, and the summary of a published run."""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.store.manifest import Folder

_accomplished: list[str] = []


class Output:
    """A stream to which writing never fails; `failure` is the first error, and all after it is dropped."""

    def __init__(self, stream: IO[str] | None) -> None:
        # A closed descriptor would become that of the next file that is opened.
        self.failure: OSError | None = None if stream else OSError(errno.EBADF, os.strerror(errno.EBADF))
        self._stream = stream or Path(os.devnull).open("w")  # noqa: SIM115  until the process ends
        if hasattr(self._stream, "reconfigure"):
            self._stream.reconfigure(errors="backslashreplace")  # a name may have letters that the terminal's encoding lacks

    def write(self, text: str) -> int:
        """Write a text, if nothing has failed yet."""
        if not self.failure:
            try:
                self._stream.write(text)
            except OSError as error:
                self.failure = error
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand over what was written."""
        if not self.failure:
            try:
                self._stream.flush()
            except OSError as error:
                self.failure = error

    def __getattr__(self, name: str) -> Any:
        """What else the stream has."""
        return getattr(self._stream, name)


def protect() -> None:
    """Let no write to standard output fail, and have all three standard streams open."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the smallest free descriptor: this one
    sys.stdout = Output(sys.stdout)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115


def accomplish(what: str) -> None:
    """Note what the command has done, such as "the run is published": it counts even if it cannot be reported."""
    _accomplished.append(what)


def outcome() -> tuple[int, str | None]:
    """The exit code and the line of a command that ended without an error: what of its output could not be written.

    A reader that closes a pipe, such as `head`, has what it wanted.
    """
    sys.stdout.flush()
    failure = getattr(sys.stdout, "failure", None)
    if failure is None or isinstance(failure, BrokenPipeError):
        return 0, None
    why = f"standard output cannot be written: {failure.strerror}"
    return (0, f"{_accomplished[-1]}, but {why}") if _accomplished else (1, why)


def summarise(published: "Folder", output: Path) -> None:
    """Print the tables of a published run and their paths."""
    from pipeline.report.wording import answered, changed, counted, read_as, witnessed
    from pipeline.steps.publication.places import farthest
    from pipeline.steps.publication.proved import sentence
    from pipeline.store.facts.run import RunFacts

    accomplish("the run is published")
    facts = RunFacts.of(published)
    graph = facts.graph
    link = output / facts.published_as
    size = f"{counted(graph.vertices, 'vertex', 'vertices')}, {counted(graph.arcs, 'arc')}"
    print(f"\n{graph.name}: {size}; {sentence(facts.custom)}")
    for what, how in read_as(facts.input).items():
        print(f"  {what.lower():<20} {how}")
    if graph.state:
        print(f"  {'changes':<20} {changed(graph.state)}")
    for table, described in facts.tables.items():
        print(f"  {table:<20} {described.rows:>13,} rows   {link / table}")
    if said := farthest(facts):
        print(f"  {'places':<20} {said}")
    if facts.reached:
        print(f"  {answered(facts.reached)}")
    if facts.paths:
        print(f"  {witnessed(facts.paths)}")
    print(f"  {'report':<20} {'':>18}   {link / 'report.html'}")
    if link.name != "latest":
        print(f"  {'latest':<20} names another run; with --publish-as latest it would name this one")


def print_rows(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print aligned columns below their heads; those of numbers, `right`, are aligned on the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = [
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(["", *cells]).rstrip())
