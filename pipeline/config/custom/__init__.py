"""The tables `[[custom]]` of a run's configuration: stages that the user wrote."""

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from pipeline.config.model import LARGEST, File, Model, once

_NAME = re.compile("[a-z][a-z0-9_]{0,39}")
_COLUMN = re.compile("[A-Za-z_][A-Za-z0-9_]{0,63}")
KEY = "vertex"  # the column by which each table of a custom stage is sorted
_RESERVED = ("id", "geometry")  # columns that say in other tables what other columns do, and are not compared

ColumnType = Literal["vertex", "int64", "int32", "float64", "float32", "bool"]


def _is_a_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be a lower-case letter, and up to 39 lower-case letters, digits and underscores")
    return value


def _of_pairs(value: Any) -> Any:
    """Columns as a manifest has them."""
    return dict(value) if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value) else value


# In a manifest, whose objects are sorted, columns are pairs, so that a run that is made from it writes them in the same order.
_AS_PAIRS = PlainSerializer(lambda columns: [[*pair] for pair in columns.items()], when_used="json")


def _are_columns(values: dict[str, str]) -> dict[str, str]:
    seen: set[str] = set()
    for name in values:
        if not _COLUMN.fullmatch(name):
            raise ValueError(f"column {name!r}: a name has up to 64 letters, digits and underscores, and begins with no digit")
        if name.lower() in seen or name.lower() == KEY:
            raise ValueError(f"column {name!r}: the table has a column of this name already")
        if name.lower() in _RESERVED:
            raise ValueError(f"column {name!r}: the name has a meaning in other tables; choose another one")
        seen.add(name.lower())
    for name in values:
        if name.lower().endswith("_name") and name.lower().removesuffix("_name") in {KEY, *seen}:
            raise ValueError(f"column {name!r}: with `named = true` it would be that of the names; choose another name")
    return values


def _are_options(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        _require_plain(name, value)
    return values


def _require_plain(name: str, value: Any) -> None:
    if isinstance(value, list):
        for one in value:
            _require_plain(name, one)
    elif not isinstance(value, str | int | float):
        raise ValueError(f"option {name!r}: must be a number, a text, true, false, or a list of these")
    elif isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"option {name!r}: {value} does not fit 64 bits")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"option {name!r}: {value} is not finite")


def each_once(stages: tuple["CustomConfig", ...]) -> tuple["CustomConfig", ...]:
    """The stages. Raises ValueError if two have the same name."""
    once(tuple(stage.name for stage in stages))
    return stages


class CustomConfig(Model):
    """A stage that a user wrote: table `name`, with a row for each vertex."""

    # Name of the stage and of its table, which no other table has.
    name: Annotated[str, AfterValidator(_is_a_name)] = Field(examples=["influence"])
    # A Python file with `def solve(graph, options)`, which returns an array for each column, and perhaps
    # `def certify(graph, answer, options)`.
    file: File = Field(examples=["influence.py"])
    # The columns after `vertex`, with their types. An entry of type `vertex` is the row of a vertex, or -1 for none; the table
    # has its external id.
    columns: Annotated[
        dict[str, ColumnType], Field(min_length=1), AfterValidator(_are_columns), BeforeValidator(_of_pairs), _AS_PAIRS
    ] = Field(examples=[{"score": "float64"}])
    # What `solve` and `certify` get as `options`.
    options: Annotated[dict[str, Any], AfterValidator(_are_options), WithJsonSchema({"type": "object"})] = Field(
        default={}, examples=[{"rounds": 10}]
    )
