"""The edges of all files of a feed in order, as those of one file: small files are read by one thread each, large ones by all.

A small file is one block of text or one row group, so that threads that share it would wait for each other. Every file is read
as a source of its own, with all checks, and errors name it.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path

import pyarrow as pa

from kernels.cpu.parallel import cores
from pipeline.config.graph import GraphConfig
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.feed import Feed, FeedPart
from pipeline.ingest.feed.contents import Contents
from pipeline.ingest.feed.forms import PartForm, common_weight, in_types
from pipeline.ingest.feed.partitions import completed, in_partition
from pipeline.ingest.formats import FORMATS
from pipeline.ingest.formats.format import EdgeList, FileFormat, ReadColumns
from pipeline.ingest.formats.parquet.rows import NAME
from pipeline.ingest.formats.text import Empty
from pipeline.ingest.opening import Opened, opened, rejecting
from pipeline.ingest.source import stored
from pipeline.ingest.values.oneway import Directions
from pipeline.ingest.values.rejects import Rejects
from pipeline.ingest.values.travel_times import SpeedCounts
from pipeline.runtime.threads import alone, concurrently, map_in_order

_PER_CORE = 4 * MIB  # stored bytes of a small file, for each core that a large one could use
_HELD = 4  # bytes of tables that wait, over the stored bytes of a small file
_REMOTE = 16  # files of another machine that are read at a time


@contextmanager
def opened_feed(
    feed: Feed, graph: GraphConfig, weight: pa.DataType, folder: Path | None = None, reject: float = 0
) -> Iterator[Opened]:
    """Begin to read the files of a feed, as `pipeline.ingest.opening.opened` does a file.

    Raises:
        BadInput: Also if the files cannot be one source.
    """
    with ExitStack() as stack:
        around = stack.enter_context(tempfile.TemporaryDirectory(dir=folder))
        joined = _Joined(feed, graph, weight, Path(around)).opened(stack)
        joined.edges = rejecting(feed.url, joined.format, joined.edges, reject)
        yield joined


class _Joined:
    """The files of a feed, which are read while their tables are iterated."""

    def __init__(self, feed: Feed, graph: GraphConfig, weight: pa.DataType, folder: Path) -> None:
        self._feed, self._graph, self._weight, self._folder = feed, graph, weight, folder
        self._contents, self._copies, self._types = Contents(feed), dict[int, Path](), list[tuple[str, pa.DataType]]()
        self._ignored, self._being_read = list[str](), dict[int, EdgeList]()
        self._rejects, self._directions, self._speeds = Rejects(), Directions(), SpeedCounts()
        self._first: PartForm

    def opened(self, stack: ExitStack) -> Opened:
        """The feed, opened. `stack` closes its file, if there is one, whose content is checked before."""
        feed = self._feed
        if len(feed.parts) == 1:
            return self._of_one(stack)
        self._first = self._first_form()
        if not FORMATS[self._first.format].in_parts:
            reason = f"is one of {len(feed.parts):,} files, but a graph in format {self._first.format} is in one file"
            raise BadInput(self._first.file, f"{reason}, whose header declares its vertices")
        in_files = isinstance(FORMATS[self._first.format], FileFormat)
        if self._graph.ids == "auto" and self._first.named and not in_files:
            self._graph = self._graph.model_copy(update={"ids": "string"})
        forms = self._all_forms() if in_files else [self._first]
        weight, rows = common_weight(forms), [form.rows for form in forms if form.rows is not None]
        largest = {role: max(form.largest[role] for form in forms) for role in forms[0].largest if in_files and all(
            role in form.largest for form in forms)}  # fmt: skip
        edges = EdgeList(
            self._tables(), weight, self._first.by_default, self._first.directed is not None,
            rows=sum(rows) if in_files and len(rows) == len(forms) else None, largest=largest,
            columns=self._columns(self._first) if self._first.columns else None, named=self._first.named, order=self._first.order,
            rereadable=in_files and feed.is_local and not self._copies
            and all(form.rereadable and form.weight in (None, weight) for form in forms),
        )  # fmt: skip
        text_bytes = None if in_files else lambda: self._contents.content
        return Opened(self._first.format, self._contents, self._observed(edges), text_bytes, self._here)

    def _observed(self, edges: EdgeList) -> EdgeList:
        """The edges of the feed, which are read with columns of these types, with what is found in rows while they are read."""
        self._types = [(end, NAME if edges.named else pa.int64()) for end in ("src", "dst")]
        self._types += [(name, kind) for name, kind in (("weight", edges.weight), ("order", edges.order)) if kind]
        if self._first.rejects:
            self._rejects.word = self._first.rejects.word
        have_directions = edges.columns and edges.columns.have_directions
        return replace(
            edges,
            rejects=self._rejects if self._first.rejects else None,
            directions=self._directions if have_directions else None,
            speeds=self._speeds if "speed" in self._first.roles else None,
        )

    @property
    def _here(self) -> Path | None:
        return Path(self._feed.locations[0]) if self._feed.is_local else None

    def _of_one(self, stack: ExitStack) -> Opened:
        """A feed of one file, which may have any format."""
        part = self._feed.parts[0]
        graph = in_partition(part.source.url, self._graph)
        read = stack.enter_context(opened(part.source, graph, self._weight, self._folder))
        self._contents.check_at_end(0, read.content)
        edges = completed(part.source.url, read.edges, self._weight, graph)
        self._first = PartForm.of(part.source.url, read.format, edges)
        columns = self._columns(self._first) if edges.columns else None

        def tables() -> Iterator[pa.Table]:
            self._begin(0, edges)
            yield from self._counted(0, self._adapted(part, edges.tables))

        whole = self._observed(replace(edges, tables=tables(), columns=columns))
        return Opened(read.format, self._contents, whole, read.text_bytes, self._here if read.on_disk else None)

    def _columns(self, form: PartForm) -> ReadColumns:
        self._ignored += form.columns.ignored if form.columns else []
        return ReadColumns(form.roles, self._ignored)

    def _first_form(self) -> PartForm:
        """The form of the first file that is not empty."""
        for part in self._feed.parts:
            try:
                graph = in_partition(part.source.url, self._graph)
                with opened(part.source, graph, self._weight, self._folder) as read:
                    edges = completed(part.source.url, read.edges, self._weight, graph)
                    return PartForm.of(part.source.url, read.format, edges)
            except Empty:
                continue
        raise BadInput(self._feed.url, f"has {len(self._feed.parts):,} files, and all are empty")

    def _all_forms(self) -> list[PartForm]:
        """The forms of all binary files, of which those that are remote or compressed are copied first."""

        def form(numbered: tuple[int, FeedPart]) -> PartForm:
            number, part = numbered
            with self._edges(number, part, counts=False) as (edges, _):
                return PartForm.of(part.source.url, self._first.format, edges)

        for number, part in enumerate(self._feed.parts):
            with stored(part.source) as content:
                if part.source.local is None or not is_plain(content):
                    self._copies[number] = self._folder / str(number)
        concurrently(self._copy, self._copies, self._threads)
        forms = concurrently(form, enumerate(self._feed.parts), cores())
        for one in forms:
            self._require_alike(one)
        return forms

    def _copy(self, number: int) -> None:
        with stored(self._feed.parts[number].source) as content, self._copies[number].open("wb") as copy:
            copy.writelines(chunks(content, self._graph.limits))
            self._contents.add(number, content)

    def _require_alike(self, form: PartForm) -> None:
        graph = self._graph
        self._first.require_alike(form, states_ids=graph.ids != "auto", states_direction=graph.directed is not None)

    @property
    def _threads(self) -> int:
        return cores() if self._feed.is_local else max(cores(), _REMOTE)

    @contextmanager
    def _edges(self, number: int, part: FeedPart, counts: bool = True) -> Iterator[tuple[EdgeList, Callable[[], int] | None]]:
        """The edges of a file, and the bytes of its text, if it is one; `counts` says that all is read, and is then counted."""
        graph, entry = in_partition(part.source.url, self._graph), FORMATS[self._first.format]
        if number in self._copies:
            assert isinstance(entry, FileFormat)
            edges = entry.read(self._copies[number], part.source.url, graph)
            yield completed(part.source.url, edges, self._weight, graph), None
            return
        with opened(part.source, graph, self._weight, self._folder) as read:
            if read.format != self._first.format:
                self._require_alike(PartForm.of(part.source.url, read.format, read.edges))
            yield completed(part.source.url, read.edges, self._weight, graph), read.text_bytes
            if counts:
                self._contents.add(number, read.content)

    def _tables_of(self, numbered: tuple[int, FeedPart]) -> Iterator[pa.Table]:
        """The tables of a file, of the types of the feed."""
        number, part = numbered
        try:
            with self._edges(number, part) as (edges, text_bytes):
                self._require_alike(PartForm.of(part.source.url, self._first.format, edges))
                self._begin(number, edges)
                for table in self._adapted(part, edges.tables):
                    if not text_bytes:
                        self._contents.expand(number, table.nbytes)
                    yield table
                if text_bytes:
                    self._contents.expand(number, text_bytes())
        except Empty:
            with stored(part.source) as content:
                content.drain()
                self._contents.add(number, content)

    def _begin(self, number: int, edges: EdgeList) -> None:
        """Begin to read the edges of a file, without bad rows if the feed allows some."""
        self._being_read[number] = edges
        if edges.rejects:
            edges.rejects.limit = self._rejects.limit

    def _adapted(self, part: FeedPart, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The tables in the order and of the types of the feed."""
        return (in_types(part.source.url, table, self._types) for table in tables)

    def _counted(self, number: int, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            self._contents.edges[number] += len(table)
            self._gather(number)
            yield table
        self._gather(number)

    def _gather(self, number: int) -> None:
        """Add what was found in the rows of a file to what was found in those before."""
        edges = self._being_read.get(number)  # None of an empty file
        if edges and edges.rejects:
            self._rejects.take(self._feed.parts[number].source.url, edges.rejects)
        if edges and edges.directions:
            self._directions.take(edges.directions)
        if edges and edges.speeds:
            self._speeds.take(edges.speeds)

    def _tables(self) -> Iterator[pa.Table]:
        """The tables of all files in order. Raises BadInput beyond the limits."""
        limits, edges = self._graph.limits, 0
        for (number, part), tables in self._begun():
            for table in self._counted(number, tables):
                edges += len(table)
                if edges > limits.edges:
                    more = f"brings the source to more than {limits.edges} edges"
                    raise BadInput(part.source.url, f"{more}, the limit (graph.limits.edges)")
                yield table
            self._contents.finish(number, limits)
            edges_of_file = self._being_read.pop(number, None)
            if edges_of_file and edges_of_file.columns:
                self._note_columns(part, edges_of_file.columns.ignored)

    def _note_columns(self, part: FeedPart, others: Sequence[str]) -> None:
        """Note the columns of a file that are not read."""
        new = [name for name in others if name not in self._ignored]
        lacking = dict.fromkeys(new, self._first.file)
        lacking |= {name: part.source.url for name in self._ignored if name not in others}
        self._contents.partly |= {name: file for name, file in lacking.items() if name not in self._contents.partly}
        self._ignored += new

    def _begun(self) -> Iterator[tuple[tuple[int, FeedPart], Iterable[pa.Table]]]:
        """The files in order with their tables: small ones are read ahead."""
        small = _PER_CORE * cores()

        def read_ahead(numbered: tuple[int, FeedPart]) -> tuple[tuple[int, FeedPart], Iterable[pa.Table]]:
            with alone():
                held, rest = list[pa.Table](), self._tables_of(numbered)
                while sum(table.nbytes for table in held) <= _HELD * small and (table := next(rest, None)) is not None:
                    held.append(table)
            return numbered, chain(held, rest)

        def is_small(numbered: tuple[int, FeedPart]) -> bool:
            return (numbered[1].size or 0) <= small

        for of_small, files in groupby(enumerate(self._feed.parts), is_small):
            if of_small:
                yield from map_in_order(read_ahead, files, self._threads)
            else:
                yield from ((numbered, self._tables_of(numbered)) for numbered in files)
