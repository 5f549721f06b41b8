"""Change tables that are begun while a run still computes other tables.

Cores are idle while a GPU computes, and while proofs wait for it. What is written here is published only if all answers of the
run are proved, as any other table.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock

from pipeline.comparison.tabulate import Tabulated, Versions, tabulate, why_not_comparable
from pipeline.comparison.versions import Version, of_run, of_step
from pipeline.errors import Damaged
from pipeline.signals import beside
from pipeline.store.manifest import Folder
from pipeline.store.scratch import scratch
from pipeline.store.workspace import linked_run
from pipeline.tables import files as tables

_AT_ONCE = 2  # batches of tables: while the last files of one are encoded and read back, another one is compared


class ChangesAhead:
    """The change tables since an earlier run, of which each is begun as soon as its table is written. Thread-safe.

    Attributes:
        old: The tables of the earlier run.
    """

    def __init__(self, old: Versions, folder: Path) -> None:
        """`folder` is for the change tables."""
        self.old, self._folder = old, folder
        self._waiting = SimpleQueue[str]()  # names, and empty ones at the end
        self._begun = dict[str, tuple[Version, Future[Tabulated | None]]]()
        self._lock, self._ended = Lock(), False
        self._threads = [beside(self._work) for _ in range(_AT_ONCE)]

    def begin(self, table: Folder) -> None:
        """Begin the change table of a table that a step has written."""
        name = tables.table_of(table.manifest.step)
        with self._lock:
            if name in self.old and name not in self._begun:
                self._begun[name] = of_step(table), Future()
                self._waiting.put(name)

    def of(self, name: str, old: Version, new: Version) -> Tabulated | None:
        """See `pipeline.comparison.tabulate.Begun`."""
        with self._lock:
            begun, made = self._begun.get(name, (None, None))
        same = made and begun and begun.files == new.files and self.old[name].files == old.files
        return made.result() if made and same else None

    def end(self) -> None:
        """Begin no further table, and wait for those that are being made."""
        self._ended = True
        for _ in self._threads:
            self._waiting.put("")
        for thread in self._threads:
            thread.result()

    def _work(self) -> None:
        """Make the change tables of the tables that wait, all of them together, until the end."""
        while names := self._next():
            wanted = {name: (self.old[name], self._begun[name][0]) for name in names}
            try:
                comparable = {name: both for name, both in wanted.items() if not why_not_comparable(name, *both, None)}
                made = tabulate(comparable, None, self._folder)
            except BaseException as error:
                for name in names:
                    self._begun[name][1].set_exception(error)
            else:
                for name in names:
                    self._begun[name][1].set_result(made.get(name))

    def _next(self) -> list[str]:
        """The names of the tables that wait, at least one; none at the end."""
        names = [self._waiting.get()]
        try:
            while names[-1]:
                names.append(self._waiting.get_nowait())
        except Empty:
            return [] if self._ended else names
        return []


@contextmanager
def changes_ahead(link: Path, work: Path) -> Iterator[ChangesAhead | None]:
    """Change tables since the run that a link names, which are begun in a hidden folder in `work`.

    None if that run cannot be read, or if its ids are strings: these are compared by numbers that follow from table `vertices` of
    both runs.
    """
    try:
        old = of_run(linked_run(link))
        named = "vertices" in old and "id" in old["vertices"].schema.names
    except Damaged:
        old, named = {}, False
    if named or not old:
        yield None
        return
    opened = ExitStack()  # closed without the block's error, to which `scratch` would give the folder's name
    ahead = ChangesAhead(old, opened.enter_context(scratch(work)))
    try:
        yield ahead
    finally:
        ahead.end()
        opened.close()
