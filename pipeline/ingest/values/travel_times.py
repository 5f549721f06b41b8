"""Travel times in whole milliseconds from lengths and speeds: the exact quotient, rounded half to even."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.ingest.values.speeds import METRES, Speeds
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts.sources import TravelTimeFacts

log = logging.getLogger(__name__)
ROUNDING = "half to even, to whole milliseconds"
_ERROR = 2.0**-49  # relative; more than the three roundings of a float quotient


@dataclass
class SpeedCounts:
    """How many rows have a travel time, and how many of them state no speed, so far."""

    rows: int = 0
    by_default: int = 0

    def take(self, others: "SpeedCounts") -> None:
        """Move the counts of one file of several here."""
        self.rows, self.by_default = self.rows + others.rows, self.by_default + others.by_default
        others.rows = others.by_default = 0


def facts_of_times(file: str, seen: SpeedCounts, graph: GraphConfig) -> TravelTimeFacts:
    """The facts of rows that were read; says in the log how many of them have the default speed."""
    stated = graph.speed
    if seen.by_default:
        default = f"{stated.default:g} {stated.unit} (graph.speed.default)"
        log.warning("%s: %s of %s rows state no speed, and have %s", file, f"{seen.by_default:,}", f"{seen.rows:,}", default)
    return TravelTimeFacts(
        rows=seen.rows, by_default=seen.by_default, default=stated.default, speed_unit=stated.unit,
        length_unit=stated.length_unit, rounding=ROUNDING,
    )  # fmt: skip


def times_of(rows: Iterator[pa.Table], graph: GraphConfig, seen: SpeedCounts) -> Iterator[pa.Table]:
    """The rows with their travel times as weights, int64 milliseconds, in place of lengths and speeds.

    Args:
        rows: `src`, `dst`, `weight`, `speed`, as `Lengths.codes` and `Speeds.codes` return the last two, and perhaps `oneway`.
        seen: Counts the rows.
    """
    speeds, unit = Speeds.of(graph), METRES[graph.speed.length_unit]

    def convert(table: pa.Table) -> tuple[pa.Table, int]:
        times, by_default = travel_times(table["weight"], table["speed"], speeds, unit)
        table = table.set_column(table.column_names.index("weight"), "weight", pa.array(times))
        return table.drop_columns(["speed"]), by_default

    for table, by_default in map_in_order(convert, rows, cores()):
        seen.rows += len(table)
        seen.by_default += by_default
        yield table


def travel_times(lengths: pa.ChunkedArray, texts: pa.ChunkedArray, speeds: Speeds, unit: Fraction) -> tuple[Array, int]:
    """The travel times of rows.

    Args:
        lengths: Numbers as texts, as `Lengths.codes` returns them, [N].
        texts: Of speeds, as `Speeds.codes` returns them, [N].
        speeds: What the texts mean.
        unit: Metres of a length of 1.

    Returns:
        int64 [N], milliseconds; and how many rows have the default speed.
    """
    if not len(lengths):
        return np.empty(0, np.int64), 0
    distinct = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    places, known = distinct.indices.to_numpy(), [text or "" for text in distinct.dictionary.to_pylist()]
    by_text = [speeds.code(text) for text in known]
    factors = [1000 * unit / speed for speed in by_text if speed is not None]
    if len(factors) != len(by_text):
        raise AssertionError("the texts are speeds")
    missing = np.array([speeds.stated(text) is None for text in known])
    quotients = lengths.cast(pa.float64()).to_numpy() * np.array([float(factor) for factor in factors])[places]
    times: Array = np.rint(quotients).astype(np.int64)
    # A float decides how to round, except near a half and, because the error grows, of the largest times.
    unsure = np.flatnonzero(np.abs(quotients - np.floor(quotients) - 0.5) <= quotients * _ERROR)
    if len(unsure):
        numbers = lengths.take(pa.array(unsure)).to_pylist()
        times[unsure] = [_exact(number, factors[place]) for number, place in zip(numbers, places[unsure].tolist(), strict=True)]
    return times, int(missing[places].sum())


def _exact(length: str, factor: Fraction) -> int:
    """A length times a factor, rounded half to even."""
    numerator, denominator = Decimal(length).as_integer_ratio()
    divisor = denominator * factor.denominator
    whole, rest = divmod(numerator * factor.numerator, divisor)
    return whole + (2 * rest > divisor or (2 * rest == divisor and whole % 2))
