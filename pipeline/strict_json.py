"""JSON as every reader takes it: RFC 8259 has neither NaN nor infinities, which columns of a source's may have."""

import json
import math
from collections.abc import Mapping
from typing import Any


def representable(value: Any) -> Any:
    """The same value, with `"NaN"`, `"Infinity"` and `"-Infinity"` for the floats that JSON lacks.

    These are the texts of Protocol Buffers' JSON (https://protobuf.dev/programming-guides/json/), which most languages parse.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: representable(one) for key, one in value.items()}
    return [*map(representable, value)] if isinstance(value, list | tuple) else value


def written(document: Any, **options: Any) -> str:
    """The text of a document; `options` as of `json.dumps`."""
    return json.dumps(representable(document), allow_nan=False, **options)
