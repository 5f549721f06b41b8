"""What the files of a feed must have in common: format, columns, types of ids and weights, and a direction."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.errors import BadInput
from pipeline.ingest.fields import OtherForm
from pipeline.ingest.formats.format import EdgeList, ReadColumns
from pipeline.ingest.values.rejects import Rejects

_EXACT = 32  # bits of integers that a double has exactly


@dataclass(frozen=True)
class PartForm:
    """How a file is read."""

    file: str
    format: str
    columns: ReadColumns | None
    weight: pa.DataType | None
    named: bool
    directed: bool | None  # None if the file does not state it
    by_default: bool  # the direction that it states or, if it states none, that of its format
    rows: int | None
    rereadable: bool
    largest: dict[str, int]
    rejects: Rejects | None
    order: pa.DataType | None

    @classmethod
    def of(cls, file: str, name: str, edges: EdgeList) -> "PartForm":
        """The form of a file in the format of this name."""
        return cls(
            file, name, edges.columns, edges.weight, edges.named, edges.directed if edges.states_direction else None,
            edges.directed, edges.rows, edges.rereadable, dict(edges.largest), edges.rejects, edges.order,
        )  # fmt: skip

    @property
    def roles(self) -> dict[str, str]:
        """The columns of `src`, `dst` and `weight`, or the keys of the partition that stand for them."""
        return dict(self.columns.names) if self.columns else {}

    def require_alike(self, other: "PartForm", states_ids: bool, states_direction: bool) -> None:
        """Compare another file of the feed with this one.

        Args:
            states_ids: Whether the configuration states the type of ids.
            states_direction: Whether it states the direction.

        Raises:
            BadInput: It has another format, lacks the weights or has some, or states another direction.
            OtherForm: It is a text whose ids are strings, so that those of all files are.
        """
        if other.format != self.format:
            raise BadInput(other.file, f"is {other.format}, but {self.file} is {self.format}; a source has one format")
        if ("weight" in self.roles) != ("weight" in other.roles):
            has, lacks = (self, other) if "weight" in self.roles else (other, self)
            reason = f"{lacks.file} has no column {has.roles['weight']!r}, which {has.file} has"
            raise BadInput(other.file, f"{reason}; name it in graph.columns.weight, or ignore weights with `false` there")
        if other.order != self.order:
            kinds = f"is {other.order}, in {self.file} {self.order}"
            raise BadInput(other.file, f"its column of order ({other.roles['order']!r}) {kinds}; write it as one type")
        if other.named != self.named and not states_ids:
            texts, integers = (other, self) if other.named else (self, other)
            reason = f"the ids of {texts.file} are strings, those of {integers.file} are integers"
            if self.format == "parquet":
                raise BadInput(other.file, f'{reason}; ids = "string" below [graph] reads both as strings')
            raise OtherForm(reason)
        if not states_direction and other.directed not in (None, self.by_default):
            one, before = ("directed" if directed else "undirected" for directed in (other.directed, self.by_default))
            raise BadInput(other.file, f"states that it is {one}, but {self.file} is {before}; state it in graph.directed")


def common_weight(forms: Sequence[PartForm]) -> pa.DataType | None:
    """The type that holds the weights of all files: the widest of integers, or of floats; of both double."""
    types = {form.weight for form in forms if form.weight}
    if len(types) < 2:
        return next(iter(types), None)
    floats = {kind for kind in types if pa.types.is_floating(kind)}
    if floats and (floats != types or len(floats) > 1):
        return pa.float64()
    widest: pa.DataType = max(types, key=lambda kind: kind.bit_width)
    return widest


def in_types(file: str, table: pa.Table, types: Sequence[tuple[str, pa.DataType]]) -> pa.Table:
    """The columns of a table of edges in this order and of these types. Raises BadInput for an integer that a double rounds."""
    try:
        return pa.table({name: table[name] if table[name].type == kind else table[name].cast(kind) for name, kind in types})
    except pa.ArrowInvalid:
        reason = "has a weight that a double rounds, which other files have; write all weights as one type"
        raise BadInput(file, reason) from None
