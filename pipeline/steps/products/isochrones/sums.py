"""SumColumns over the vertices within thresholds: exact ones, those that decay with the distance, and ratios of supply to demand.

The factors of a decay are computed in a way of their own, so that all processors have the same bits (`kernels.reductions.decay`).
The sums of one source of each batch are therefore recounted with NumPy's functions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.reductions import Digits, digits_of, within
from kernels.reductions.decay import decayed
from kernels.reductions.decay.constants import CUMULATIVE, EXPONENTIAL, GRAVITY
from kernels.reductions.decay.factors import Decay
from kernels.trees import Trees
from pipeline.config.model import LARGEST
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig, BadInput, ProofFailed
from pipeline.runtime.backend import Backend, bring
from pipeline.steps.products.attributes import amounts_of, numbers_of
from pipeline.store.manifest import Folder

CLOSE = 1e-9  # relative difference between a sum and its recount
CUT = 2.0**-120  # of the largest possible term: what is cut off each one, generously
RULE = "the decayed sums of one source of each batch are those of a recount with other functions, to 1e-9"


class SumColumns(Protocol):
    """Columns of sums."""

    @property
    def fields(self) -> list[pa.Field]:
        """Of the table."""

    @property
    def weighted(self) -> str:
        """By what the summands are multiplied, in words; empty if they are not."""

    def of(self, graph: Graph, distances: Array, thresholds: Array) -> list[Array]:
        """The counts and then the sums of each column, NumPy arrays [k, T], of trees on the graph's backend."""


@dataclass(frozen=True)
class Attribute:
    """A column of the table of nodes as integers, whose sums are exact."""

    name: str
    columns: Array  # int64 [n, V]: integers, or the digits of floats; in the order of the graph's rows
    digits: Digits | None  # of floats; None for integers

    def sums_of(self, sums: Array) -> Array:
        """The sums [k] of the attribute by those of its columns, int64 [k, n]."""
        if self.digits:
            return self.digits.floats(sums)
        integers: Array = sums[:, 0]
        return integers


@dataclass(frozen=True)
class ExactSums:
    """SumColumns of integers, and sums of floats that are rounded once."""

    attributes: Sequence[Attribute]
    edges: str  # digest of the edge list, which has the attributes
    weighted = ""

    @classmethod
    def of_columns(cls, edges: Folder, graph: Folder, config: IsochronesConfig) -> Self:
        """Those of a configuration. Raises BadConfig."""
        return cls([_attribute(edges, graph, name) for name in config.sums], edges.digest)

    @property
    def fields(self) -> list[pa.Field]:
        """See `SumColumns`."""
        kinds = ((one.name, pa.int64() if one.digits is None else pa.float64()) for one in self.attributes)
        return [pa.field(*kind, nullable=False) for kind in kinds]

    def of(self, graph: Graph, distances: Array, thresholds: Array) -> list[Array]:
        """See `SumColumns`."""
        key = ExactSums, self.edges, *(attribute.name for attribute in self.attributes)
        columns = graph.derived.get(key, lambda: self._columns(graph))
        totals = to_host(within(distances, thresholds, columns))
        shape, rows = totals.shape[:2], totals.reshape(-1, totals.shape[2])
        made, first = [rows[:, 0].reshape(shape)], 1
        for attribute in self.attributes:
            made.append(attribute.sums_of(rows[:, first : first + len(attribute.columns)]).reshape(shape))
            first += len(attribute.columns)
        return made

    def _columns(self, graph: Graph) -> Array:
        columns = [np.empty((0, graph.num_vertices), np.int64), *(attribute.columns for attribute in self.attributes)]
        return _beside(graph, np.concatenate(columns))


@dataclass(frozen=True)
class DecayedSums:
    """SumColumns of values times the factors of their distances."""

    names: tuple[str, ...]
    values: Array  # float64 [A, V]
    decay: Decay
    edges: str  # digest of the edge list, which has the values

    @classmethod
    def of_columns(cls, edges: Folder, graph: Folder, config: IsochronesConfig) -> Self:
        """Those of a configuration. Raises BadConfig."""
        columns = [_bounded(edges, graph, name).astype(np.float64) for name in config.sums]
        values = np.stack(columns) if columns else np.empty((0, 0))
        return cls(config.sums, values, decay_of(config), edges.digest)

    @property
    def fields(self) -> list[pa.Field]:
        """See `SumColumns`."""
        return [pa.field(name, pa.float64(), nullable=False) for name in self.names]

    @property
    def weighted(self) -> str:
        """See `SumColumns`."""
        decay = self.decay
        if decay.kind == CUMULATIVE:
            return ""
        factor = f"exp(-{decay.rate} t)" if decay.kind == EXPONENTIAL else f"max(t, {decay.least})^-{decay.rate}"
        return f", each times {factor} at distance t"

    def of(self, graph: Graph, distances: Array, thresholds: Array) -> list[Array]:
        """See `SumColumns`. Raises ProofFailed if a recount differs, and BadInput if a sum is too large."""
        values = graph.derived.get((DecayedSums, self.edges, *self.names), lambda: _beside(graph, self.values))
        counts, sums = decayed(distances, thresholds, values, self.decay)
        if not np.isfinite(sums).all():
            raise BadInput("isochrones", "a sum exceeds the largest float64")
        if len(sums):
            self._recount(to_host(distances[0]), thresholds, sums[0])
        return [counts, *np.moveaxis(sums, 2, 0)]

    def _recount(self, distances: Array, thresholds: Array, sums: Array) -> None:
        """Sum again over one tree, distances [V], and compare with its sums [T, A]. Raises ProofFailed."""
        for threshold, of_threshold in zip(thresholds, sums, strict=True):
            near = np.flatnonzero((distances >= 0) & (distances <= threshold))
            factors = plain_factors(self.decay, distances[near].astype(np.float64))
            for name, values, stated in zip(self.names, self.values, of_threshold, strict=True):
                terms = values[near] * factors
                slack = CLOSE * np.abs(terms).sum() + CUT * len(near) * np.abs(values).max(initial=0.0) * self.decay.largest
                if not abs(math.fsum(terms) - stated) <= slack:
                    raise ProofFailed(f"isochrones: {name}: a sum within {threshold} is {stated}, recounted {math.fsum(terms)}")


@dataclass(frozen=True)
class Demand:
    """What all vertices demand.

    The ratios of `supply` to it are the first step of Luo and Wang's method (Measures of spatial accessibility to health care in
    a GIS environment, 2003), with a decay as in Luo and Qi's (2009).
    """

    sums: DecayedSums  # of one column

    @classmethod
    def of(cls, edges: Folder, graph: Folder, config: IsochronesConfig) -> Self | None:
        """That of a configuration, if it has one. Raises BadConfig."""
        if config.demand is None:
            return None
        demand = amounts_of(edges, graph, "isochrones.demand", config.demand)[np.newaxis]
        return cls(DecayedSums((config.demand,), demand, decay_of(config), edges.digest))

    def within(self, graph: Graph, trees: Trees, thresholds: Array) -> Array:
        """The demand within each threshold of each source, float64 [k, T]."""
        _, demand = self.sums.of(graph, trees.distances, thresholds)
        return demand


def decay_of(config: IsochronesConfig) -> Decay:
    """The decay of a configuration. Raises BadConfig if its largest factor is too large."""
    if config.decay == "cumulative":
        return Decay()
    if config.decay == "exponential":
        return Decay(EXPONENTIAL, config.beta or 0.0)
    decay = Decay(GRAVITY, config.alpha or 0.0, config.least or 1.0)
    if math.isinf(decay.largest):
        raise BadConfig(f"isochrones.least: {decay.least}^-{decay.rate} exceeds the largest float64; set a larger distance")
    return decay


def plain_factors(decay: Decay, distances: Array) -> Array:
    """The factors of distances, float64 [n], by NumPy's functions."""
    if decay.kind == CUMULATIVE:
        return np.ones(len(distances))
    if decay.kind == EXPONENTIAL:
        exponential: Array = np.exp(-decay.rate * distances)
        return exponential
    powers: Array = np.maximum(distances, decay.least) ** -decay.rate
    return powers


def _attribute(edges: Folder, graph: Folder, name: str) -> Attribute:
    values = _bounded(edges, graph, name)
    if values.dtype.kind != "f":
        return Attribute(name, values[np.newaxis].astype(np.int64), None)
    digits = digits_of(values)
    return Attribute(name, digits.columns, digits)


def _bounded(edges: Folder, graph: Folder, name: str) -> Array:
    """The numbers of a column, whose sums are numbers of 64 bits. Raises BadConfig."""
    values = numbers_of(edges, graph, "isochrones.sums", name)
    floats = values.dtype.kind == "f"
    with np.errstate(over="ignore"):
        most = np.abs(values).sum() if floats else sum(map(abs, map(int, values[values != 0])))
    if most > (limit := float(np.finfo(np.float64).max) if floats else LARGEST):
        raise BadConfig(f"isochrones.sums: column {name!r}: the sum of its values without their signs exceeds {limit}")
    return values


def _beside(graph: Graph, columns: Array) -> Array:
    """Columns on the backend of a graph."""
    backend: Backend = "cpu" if isinstance(graph.ids, np.ndarray) else "gpu"
    return bring(columns, backend)
