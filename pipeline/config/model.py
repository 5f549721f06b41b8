"""The base class of all tables of a configuration, and the types of single values."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
)

from pipeline import numerals
from pipeline.redaction import redacted

T = TypeVar("T")
MIB = 2**20
LARGEST = numerals.LARGEST
AMOUNT = r"\d+(\.\d+)? ?([kMGT]i?)?B"  # of bytes: `4 GiB`
LEVELS = 200  # of a folder that is made: Python makes each by a call within a call


def bytes_of(amount: str) -> int:
    """The bytes that a text of the pattern AMOUNT states: `1.5 GiB`."""
    number, prefix = re.findall(r"([\d.]+) ?([kMGT]?i?)B", amount)[0]
    return int(float(number) * (1024 if prefix.endswith("i") else 1000) ** " kMGT".index(prefix[:1] or " "))


def as_exact_float(value: object) -> object:
    """The value; an integer that a 64-bit float would round raises ValueError."""
    if isinstance(value, int) and abs(value) < 2**1023 and float(value) != value:  # larger ones are no floats at all
        raise ValueError("is an integer that a 64-bit float would round")
    return value


Natural = Annotated[int, Field(strict=True, ge=0, le=LARGEST)]  # strict: 2.0, "2" and true are not integers
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
Positive = Annotated[int, Field(strict=True, gt=0, le=LARGEST)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Switch = Annotated[bool, Field(strict=True)]  # `"no"` and 0 are not false
Choice = Literal["auto", "cpu", "gpu"]
File = Annotated[str, Field(min_length=1)]  # the path of a file
_URL = re.compile("([a-zA-Z][a-zA-Z0-9+.-]+):/+(.*)", re.DOTALL)


def url_of(value: object) -> str | None:
    """The URL that a text or a path states, which has a single slash in a path; None if it states a folder of this machine."""
    url = _URL.fullmatch(str(value)) if isinstance(value, str | Path) else None
    return f"{url[1]}://{'/' * (url[1] == 'file')}{url[2].rstrip('/')}" if url else None


def _local(value: Path) -> Path:
    """Return the absolute path, because Arrow takes a relative path with a colon for a URL."""
    if _URL.match(str(value)):
        raise ValueError("is a URL; it must be a folder of this machine")
    if "\0" in str(value):
        raise ValueError("has a null character, which no path can have")
    if not is_utf8(path := value.absolute()):
        raise ValueError("is a path that is not UTF-8")
    if len(path.parts) > LEVELS:
        raise ValueError(f"is a path of {len(path.parts):,} levels, the limit is {LEVELS}")
    return path


def is_utf8(text: Path | str | bytes) -> bool:
    """Whether a path or some bytes are UTF-8, and so can be written into manifests, reports and logs."""
    letters = text.decode(errors="surrogateescape") if isinstance(text, bytes) else str(text)
    return not any("\ud800" <= letter <= "\udfff" for letter in letters)  # bytes that are not UTF-8, as Python shows them


def once(values: tuple[T, ...]) -> tuple[T, ...]:
    """The values. Raises ValueError if one is there twice."""
    for value, times in Counter(values).items():
        if times > 1:
            raise ValueError(f"{value} is given twice")
    return values


def without_secret(url: str | None) -> str | None:
    """The URL. Raises ValueError for one with parts that may be secret, which manifests would show."""
    if url is not None and redacted(url) != url:
        parts = "user information, a query or a fragment, which may be secret"
        raise ValueError(f"contains {parts}; configure them in fsspec instead")
    return url


def _text_or_integer(value: object, integer: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, str) and value.strip() else integer(value)


def _length(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise ValueError("must be a number, at least 0")
    return as_exact_float(value) if value > LARGEST else value


Entries = Annotated[tuple[File, ...], Field(min_length=1), AfterValidator(once)]  # files, folders and patterns of paths
# A vertex as users name it, which `pipeline.ingest.vertex_names` finds: an integer, or any text.
Vertex = Annotated[
    Natural,
    WrapValidator(_text_or_integer),
    PlainSerializer(lambda value: value),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": LARGEST}, {"type": "string", "minLength": 1}]}),
]


def _file_or_list(value: object, vertices: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, str) and value else vertices(value)


if TYPE_CHECKING:
    Vertices = tuple[int | str, ...] | str
else:  # vertices, or the path of a file of places
    Vertices = Annotated[tuple[Vertex, ...], WrapValidator(_file_or_list), PlainSerializer(lambda value: value)]
# A column of a file: its name or, in a file without a header line, its number from 1.
ColumnName = Annotated[
    str,
    Field(min_length=1),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}]}),
]
Metres = Annotated[Finite, Field(ge=0)]
Length = Annotated[Natural | Finite, Field(union_mode="left_to_right"), BeforeValidator(_length)]  # in the unit of the weights
SnapTo = Literal["largest", "any"]
CrsName = Annotated[str, Field(min_length=1)]  # a coordinate reference system, as PROJ knows it
LocalFolder = Annotated[Path, AfterValidator(_local)]


@dataclass(frozen=True)
class Snap:
    """How the vertex of a place `LON,LAT` is found, as the keys `snap_limit` and `snap_to` of a run say."""

    limit: float = 1000.0  # metres
    to: SnapTo = "largest"


class Model(BaseModel):
    """A frozen table that refuses unknown keys."""

    VERTICES: ClassVar[tuple[str, ...]] = ()  # keys that name files of vertices
    PAIRS: ClassVar[tuple[str, ...]] = ()  # keys that name files of pairs of vertices
    COLUMNS: ClassVar[tuple[str, ...]] = ()  # keys that name columns of the table of nodes or of places, one or several
    SEEDS: ClassVar[tuple[str, ...]] = ()  # keys that say what seeds a stage has, which its kernels get as rows
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @property
    def vertex_files(self) -> dict[str, str]:
        """The files of vertices that are named, by their keys."""
        return {key: file for key in self.VERTICES if isinstance(file := getattr(self, key), str)}

    @property
    def vertex_lists(self) -> dict[str, tuple[int | str, ...]]:
        """The vertices that are listed, by the keys that may name a file instead."""
        return {key: listed for key in self.VERTICES if isinstance(listed := getattr(self, key), tuple) and listed}

    @property
    def pair_files(self) -> dict[str, str]:
        """The files of pairs that are named, by their keys."""
        return {key: file for key in self.PAIRS if (file := getattr(self, key))}

    @property
    def columns_of_nodes(self) -> list[tuple[str, str]]:
        """The keys that name columns of the table of nodes, each with a column."""
        named = [(key, getattr(self, key)) for key in self.COLUMNS]
        return [(key, column) for key, value in named for column in ((value,) if isinstance(value, str) else value or ())]

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """The keys that have no effect beside others of this table, each with the reason and a way out."""
        yield from ()

    @field_validator("*", mode="before")
    @classmethod
    def _exactly(cls, value: object, info: ValidationInfo) -> object:
        """An integer for a float is that integer, or refused."""
        kinds = _parts(cls.model_fields[str(info.field_name)].annotation)
        return as_exact_float(value) if float in kinds and int not in kinds else value


def set_keys(table: Model) -> set[str]:
    """The keys of a table that have another value than the default."""
    return {name for name, field in type(table).model_fields.items() if getattr(table, name) != field.get_default()}


def _parts(kind: object) -> set[object]:
    """A type and those that it is made of."""
    return {kind}.union(*map(_parts, get_args(kind))) if get_origin(kind) is not Literal else {kind}
