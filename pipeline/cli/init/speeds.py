"""Guess how the speeds and lengths of a table of edges are read."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.config.graph import GraphConfig, SpeedConfig
from pipeline.ingest.values.numbers import NumberForm
from pipeline.ingest.values.speeds import PER_SECOND, Speeds


@dataclass(frozen=True)
class LikelySpeeds:
    """How speeds and lengths are read; why, empty if they are not; and what else to say."""

    how: SpeedConfig
    reason: str
    notes: tuple[str, ...] = ()


def guessed_speeds(graph: GraphConfig, length: str, speed: str, values: Sequence[str], form: NumberForm) -> LikelySpeeds:
    """How the columns `length` and `speed` are read; `values` are the first ones of the second.

    Units are those of the columns' names. Where a value states no speed, the default is the middle one of those stated.
    """
    stated = graph.speed.model_dump(exclude_unset=True)
    guessed = {"length_unit": "km"} if length.lower() == "km" else {}
    guessed |= {"unit": "mph"} if speed.lower().endswith("mph") else {}
    how = SpeedConfig.model_validate(guessed | stated)
    speeds, by_any_default = Speeds(form, how.unit), Speeds(form, how.unit, PER_SECOND[how.unit])
    texts = ["" if form.is_null(value) else value for value in values]
    wrong = next((text for text in texts if by_any_default.code(text) is None), None)
    if wrong is not None:
        return LikelySpeeds(graph.speed, "", (f"{speed!r} is not used: {by_any_default.why_unknown(wrong.encode())}",))
    known = sorted(one for text in texts if (one := speeds.stated(text)) is not None)
    if not known:
        return LikelySpeeds(graph.speed, "", (f"{speed!r} is not used: no row states a speed",))
    notes = tuple[str, ...]()
    if len(known) < len(texts) and how.default is None:
        middle = round(float(known[len(known) // 2] / PER_SECOND[how.unit]), 2)
        how = SpeedConfig.model_validate(guessed | stated | {"default": middle})
        origin = f"the middle one of those that {len(known):,} of {len(texts):,} rows state"
        notes = (f"rows without a speed get {middle:g} {how.unit}, {origin} (guessed); [graph.speed] default states another",)
    units = f"{how.length_unit} and {how.unit}, unless [graph.speed] says otherwise"
    return LikelySpeeds(how, f"by its name, beside {length!r}: weights are travel times, in milliseconds; {units}", notes)
