"""Guess the columns of a table of edges from their names and from its first rows."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from pipeline.cli.init.dates import are_moments, is_date, may_be_moments
from pipeline.cli.init.forms import AS_USUAL, Written, may_be_either, written
from pipeline.cli.init.speeds import guessed_speeds
from pipeline.config.graph import Columns, GraphConfig, SpeedConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.formats.parquet.types import is_text
from pipeline.ingest.values.numbers import NumberForm
from pipeline.ingest.values.oneway import Meanings

ROWS = 5000  # of a file, that are looked at
DELIMITERS = ",;\t|"
_FEW = 20  # values of a column that may be directions
_BUFFER = 2**20  # bytes of a column of a Parquet file that are read at a time
# Names of columns, the likelier first.
_SRC = (
    "src source from from_id from_node from_node_id from_user who u tail start start_id start_node origin origin_id follower "
    "citing caller sender a id1 node1 ref_in_id fnode f_jnctid user user_id person person_id"
)
_DST = (
    "dst dest destination destination_id target to to_id to_node to_node_id to_user whom v head end end_id end_node followed "
    "followee cited callee receiver recipient b id2 node2 nref_in_id tnode t_jnctid friend friend_id"
)
_WEIGHT = (
    "weight w length distance dist cost time seconds minutes hours metres meters km count amount value duration capacity length_m"
)
_ONEWAY = "oneway one_way dir_travel"
_REVERSE = "reverse_cost reverse_weight cost_reverse rcost"
_BOTH = (("cost_s", "reverse_cost_s"), ("cost", "reverse_cost"))  # weights of both directions; of osm2pgrouting, seconds first
_SPEED = "speed_kph speed_kmh speed_mph maxspeed max_speed speed_limit speed"
_SPEED_AHEAD = "maxspeed_forward"  # of osm2pgrouting, beside maxspeed_backward
_LENGTH = "length_m length distance dist metres meters km"  # those of _WEIGHT that are lengths
_ARCS = "reversed"  # of OSMnx, which writes a row for each direction beside column oneway
_IDS = ("integer", "text")  # kinds that ids may have
BY_NAME, BY_PLACE = "by its name", "as the first column left that may have ids"


@dataclass(frozen=True)
class Sample:
    """Names of a file's columns (numbers from 1 without a header line), what each holds, and how the file has to be read."""

    names: list[str]
    kinds: dict[str, str]  # integer, number, date, text or, in Parquet, the type of what is none of these
    header: bool = True
    delimiter: str | None = None  # None: the format's own
    moments: frozenset[str] = frozenset()  # columns of integers that may be times, whatever they are called
    written: Written = AS_USUAL
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)  # of columns with few different ones
    notes: tuple[str, ...] = ()  # what only the user knows
    speeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the values of columns that may be speeds, "" for none


@dataclass(frozen=True)
class Guess:
    """The columns of the edges, and why those that were not stated were chosen."""

    columns: Columns
    reasons: dict[str, str]  # by the roles src, dst, weight, oneway and reverse_weight
    notes: tuple[str, ...]  # what was found, and not used
    speed: SpeedConfig  # how speeds and lengths are read


def of_text(head: bytes, tab: bool) -> Sample:
    """Look at the first rows of a CSV file, or of a TSV file if `tab`."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[: ROWS + 1] if line.strip()]
    delimiter = "\t" if tab else max(DELIMITERS, key=lambda character: min(line.count(character) for line in lines[:20]))
    rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    header = all(_kind_of(field.strip()) == "text" for field in rows[0])
    names = [name.strip() for name in rows[0]] if header else [str(number) for number, _ in enumerate(rows[0], 1)]
    cut = zip(*(row for row in rows[header:] if len(row) == len(names)), strict=True)
    columns = {name: [field.strip() for field in column] for name, column in zip(names, cut, strict=False)}
    how = written([*columns.values()])
    kinds = {name: _kind(name, map(partial(_plain, how.form), column)) for name, column in columns.items()}
    notes = [
        f"{name!r} is read as text: {value!r} may be a decimal or thousands; state decimal or thousands"
        for name, column in columns.items()
        if kinds[name] == "text" and how.form.is_usual and (value := may_be_either(column))
    ]
    moments = frozenset(name for name, kind in kinds.items() if kind == "integer" and _may_be_moments(columns[name]))
    return Sample(
        names, {name: kinds.get(name, "text") for name in names}, header, None if tab or delimiter == "," else delimiter,
        moments, how, {name: frozenset(column) for name, column in columns.items() if len({*column}) <= _FEW}, tuple(notes),
        {name: tuple(column) for name, column in columns.items() if named_in(_SPEED, [name])},
    )  # fmt: skip


def of_parquet(path: Path, file: str) -> Sample:
    """The columns of a Parquet file, by its footer and the first rows of its texts and integers. Raises BadInput."""
    with reading(file), pq.ParquetFile(path, buffer_size=_BUFFER) as parquet:
        known = {field.name: field.type for field in parquet.schema_arrow}
        kinds, columns = {name: _kind_of_type(kind) for name, kind in known.items()}, dict[str, list[str]]()
        usual = named_in(_ONEWAY, known)
        looked_at = [
            name
            for name, kind in kinds.items()
            if kind in _IDS or (kind == "number" and (name == usual or named_in(_SPEED, [name])))
        ]
        speeds: dict[str, tuple[str, ...]] = {}
        for batch in parquet.iter_batches(ROWS, columns=looked_at):
            columns = {name: [*_texts(batch[name])] for name in looked_at if batch[name].null_count < len(batch)}
            named = [name for name in columns if named_in(_SPEED, [name])]
            speeds = {name: tuple("" if value is None else str(value) for value in batch[name].to_pylist()) for name in named}
            break
    kinds |= {name: _kind(name, column) for name, column in columns.items()}
    moments = frozenset(name for name in columns if kinds[name] == "integer" and _may_be_moments(columns[name]))
    values = {name: frozenset(column) for name, column in columns.items() if len({*column}) <= _FEW}
    return Sample(list(known), kinds, moments=moments, values=values, speeds=speeds)


def guess(file: str, sample: Sample, graph: GraphConfig) -> Guess:
    """The columns that are configured or, for the others, likely. Raises BadInput if there are too few columns."""
    given, kinds, reasons = graph.columns, sample.kinds, dict[str, str]()
    used = {given.weight, given.oneway, given.reverse_weight} | {named_in(_ONEWAY, sample.names)}
    ids = [name for name in sample.names if kinds[name] in _IDS and name not in used]
    if len(others := [name for name in ids if name not in sample.moments]) > 1:
        ids = others
    if len({*ids, *filter(None, (given.src, given.dst))}) < 2:
        seen = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())[:200]
        raise BadInput(file, f"has no two columns of ids among {seen}; --src and --dst name them")

    def guessed(role: str, likely: str, free: Sequence[str]) -> str:
        named = named_in(likely, free)
        reasons[role] = BY_NAME if named else BY_PLACE
        return named or next((name for name in free if not named_in(_WEIGHT, [name])), free[0])

    src = given.src or guessed("src", _SRC, [name for name in ids if name != given.dst])
    others = [name for name in ids if name != src]
    alike = [name for name in others if kinds[name] == kinds.get(src)]
    dst = given.dst or guessed("dst", _DST, alike or others)
    weight = given.weight
    if weight is None:
        numbers = _numbers(sample, src, dst)
        both = next((one for one, other in _BOTH if named_in(one, numbers) and named_in(other, numbers)), "")
        weight = named_in(f"{both} {_WEIGHT}", numbers) or False
        reasons |= {"weight": BY_NAME} if weight else {}
    columns = given.model_copy(update={"src": src, "dst": dst, "weight": weight})
    directions, notes = _directions(sample, graph.model_copy(update={"columns": columns}))
    reasons |= dict.fromkeys(directions, BY_NAME)
    columns, how = columns.model_copy(update=directions), graph.speed
    if (speed := named_in(_SPEED_AHEAD, sample.names)) and not given.speed:
        notes.append(f"{speed!r} is not read: `speed` is one speed of a row, for both directions; times of each may be weights")
    if weight and (speed := named_in(_SPEED, sample.names)) and speed != weight and not given.speed:
        if given.weight is not None or columns.reverse_weight or not named_in(_LENGTH, [str(weight)]):
            notes.append(f"{speed!r} is not read: for travel times name lengths with --weight, and --speed {speed}")
        elif values := sample.speeds.get(speed):
            likely = guessed_speeds(graph, str(weight), speed, values, sample.written.form)
            how, notes = likely.how, [*notes, *likely.notes]
            if likely.reason:
                columns, reasons["speed"] = columns.model_copy(update={"speed": speed}), likely.reason
    return Guess(columns, reasons, (*sample.notes, *notes), how)


def _numbers(sample: Sample, *others: str) -> list[str]:
    return [name for name in sample.names if name not in others and sample.kinds[name] in ("integer", "number")]


def _directions(sample: Sample, graph: GraphConfig) -> tuple[dict[str, str], list[str]]:
    """The columns of directions that are not stated, by their roles, and notes on those that are not used."""
    given, chosen, notes = graph.columns, dict[str, str](), list[str]()
    if graph.directed is False:
        return chosen, notes
    oneway, meanings = named_in(_ONEWAY, sample.names), Meanings.of(graph)
    if oneway and not given.oneway:
        values = sample.values.get(oneway, frozenset() if sample.kinds[oneway] == "bool" else frozenset({"..."}))
        unknown = sorted(value for value in values - sample.written.form.nulls if meanings.code(value) is None)
        if named_in(_ARCS, sample.names):
            notes.append(f"{oneway!r} is not used: beside a column 'reversed', as OSMnx writes it, each direction is a row")
        elif unknown:
            notes.append(f"{oneway!r} is not used: {meanings.why_unknown(unknown[0].encode())}, then --oneway {oneway}")
        else:
            chosen["oneway"] = oneway
    paired = next((other for one, other in _BOTH if named_in(one, [str(given.weight)])), "")
    reverse = named_in(f"{paired} {_REVERSE}", _numbers(sample, str(given.src), str(given.dst), str(given.weight)))
    if reverse and given.weight and not given.reverse_weight:
        chosen["reverse_weight"] = reverse
    return chosen, notes


def named_in(known: str, names: Iterable[str]) -> str | None:
    """The first of the known names that the file has."""
    folded = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(list(names))}
    return next((folded[word] for word in known.split() if word in folded), None)


def _plain(form: NumberForm, value: str) -> str:
    """A value as programs write it; empty if it stands for none."""
    if form.is_null(value):
        return ""
    return value if form.is_usual else form.plain(value) or value


def _may_be_moments(fields: Iterable[str]) -> bool:
    values = [int(field) for field in fields if field.isdecimal()]
    return bool(values) and may_be_moments(values)


def _texts(column: pa.Array) -> Iterable[str]:
    return (str(value) for value in column.to_pylist() if value is not None)


def _kind(name: str, values: Iterable[str]) -> str:
    """The kind of the values in some fields of a column; empty fields are ignored."""
    fields = [field for value in values if (field := value.strip())]
    kinds = {_kind_of(field) for field in fields}
    if kinds == {"date"} or (kinds == {"integer"} and are_moments(name, [int(field) for field in fields])):
        return "date"
    return "text" if kinds & {"text", "date"} or not kinds else "number" if "number" in kinds else "integer"


def _kind_of(field: str) -> str:
    if field.isdecimal():
        return "integer"
    try:
        float(field)
    except ValueError:
        return "date" if is_date(field) else "text"
    return "number"


def _kind_of_type(kind: pa.DataType) -> str:
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "date" if types.is_temporal(kind) else "text" if is_text(kind) else str(kind)
