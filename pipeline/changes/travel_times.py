"""The weights of changes that have lengths and speeds, as the graph's source has them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.values.numbers import USUAL, NumberForm
from pipeline.ingest.values.speeds import METRES, Lengths, Speeds
from pipeline.ingest.values.travel_times import travel_times


def times_of_changes(
    table: pa.Table, puts: Array, graph: GraphConfig, is_text: bool, bad: Callable[[int, str], BadInput]
) -> pa.Array:
    """The travel times of some changes.

    Args:
        table: Columns `weight`, the lengths, and `speed` of C changes, texts or numbers.
        puts: Of the changes that have a weight, bool [C].
        graph: Its source's units and forms of numbers.
        is_text: Whether numbers are written as in the source.
        bad: Makes the error for a row.

    Returns:
        int64 [C], milliseconds; 0 for the other changes.

    Raises:
        BadInput: A value is not a length or a speed.
    """
    form, rows = NumberForm.of(graph) if is_text else USUAL, np.flatnonzero(puts)
    lengths, speeds = Lengths(form), replace(Speeds.of(graph), form=form)
    read: list[pa.ChunkedArray] = []
    for name, meanings in (("weight", lengths), ("speed", speeds)):
        texts = form.without_nulls(table[name].cast(pa.large_string()).take(pa.array(rows)))
        try:
            read.append(meanings.codes(texts))
        except pa.ArrowInvalid:
            values = [text or "" for text in texts.to_pylist()]
            place = next(place for place, text in enumerate(values) if meanings.code(text) is None)
            raise bad(int(rows[place]), meanings.why_unknown(values[place].encode())) from None
    times = np.zeros(len(puts), np.int64)
    times[rows], _ = travel_times(read[0], read[1], speeds, METRES[graph.speed.length_unit])
    return pa.array(times)
