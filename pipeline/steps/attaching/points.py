"""The places that a configuration or a command names, before any of them has a vertex."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from kernels.graph import Array
from pipeline.config.run import RunConfig
from pipeline.ingest.vertex_names import Place, numbers_of
from pipeline.ingest.zones.detect import names_zones
from pipeline.steps.pairs import ENDS
from pipeline.steps.pairs.placed import has_coordinates, points_of_pairs
from pipeline.steps.places import text_of
from pipeline.steps.places.files import has_places, list_of
from pipeline.steps.products.vertices import vertices_in
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder

What = Callable[[int], str]  # a place of a part in a message, by its number


class GivenPoints:
    """Places from several files and lists.

    Attributes:
        places (float64 [n, 2]): Their different degrees of longitude and latitude, ascending.
    """

    def __init__(self, parts: Iterable[tuple[Array, What]]) -> None:
        """`parts` are degrees, float64 [m, 2], and what each place is in a message."""
        self._parts = [part for part in parts if len(part[0])]
        self._ends = np.cumsum([len(degrees) for degrees, _ in self._parts]).tolist()
        everything = np.concatenate([np.empty((0, 2)), *(degrees for degrees, _ in self._parts)]) + 0.0  # -0.0 is 0.0
        different, self._first = np.unique(everything[:, 0] + 1j * everything[:, 1], return_index=True)
        self.places = np.stack([different.real, different.imag], axis=1)

    def first_of(self, rows: Array) -> int:
        """Of some places, by their numbers, the one that was named first."""
        return int(rows[self._first[rows].argmin()])

    def text(self, row: int) -> str:
        """Where a place was named first."""
        number = int(self._first[row])
        part = bisect_right(self._ends, number)
        return self._parts[part][1](number - (self._ends[part - 1] if part else 0))


def points_of_run(config: RunConfig, edges: Folder, runtime: Runtime) -> GivenPoints:
    """All places of a configuration: sources, those in files, and the ends of pairs. Raises as the steps that read them."""
    parts = [_listed(edges, config.listed_sources, ""), *_in_files(config.files_by_key, edges, runtime)]
    pairs = [file for file in config.files_of_pairs if has_coordinates(file)]
    return GivenPoints([*parts, *(part for file in pairs for part in _of_pairs(file, runtime))])


def points_in(files: Mapping[str, str], edges: Folder, runtime: Runtime) -> GivenPoints:
    """All places in files, by the keys that name them."""
    return GivenPoints(_in_files(files, edges, runtime))


def _in_files(files: Mapping[str, str], edges: Folder, runtime: Runtime) -> Iterator[tuple[Array, What]]:
    for file in dict.fromkeys(files.values()):
        if not has_places(file, runtime.places):
            yield _listed(edges, [*vertices_in(file)], f"{file}: ")
            continue
        if names_zones(file, runtime.places, runtime.zones):  # whose vertices stand for them, without a foot on a street
            continue
        places = list_of(file, runtime)
        free = ~np.isnan(places.degrees).any(axis=1)
        if places.vertices is not None:
            free &= places.vertices.is_null().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(free)

        def what(number: int, file: str = file, rows: Array = rows) -> str:
            row, of = int(rows[number]), list_of(file, runtime)
            return f"{file}: row {row}: {of.text(row)} at {text_of(of.degrees[row])}"

        yield places.degrees[rows], what


def _listed(edges: Folder, vertices: Sequence[int | str], begin: str) -> tuple[Array, What]:
    places: list[Place] = [one for one in numbers_of(edges, vertices) if not isinstance(one, int)]
    return np.array(places, np.float64).reshape(-1, 2), lambda number: f"{begin}source {text_of(places[number])}"


def _of_pairs(file: str, runtime: Runtime) -> Iterator[tuple[Array, What]]:
    for first, batch, _ in points_of_pairs(file, runtime.places.crs):
        for end in ENDS:
            degrees = batch[end]

            def what(row: int, first: int = first, end: str = end, degrees: Array = degrees) -> str:
                return f"{file}: row {first + row}: {end} {text_of(degrees[row])}"

            yield degrees, what
