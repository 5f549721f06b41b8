"""Guess how a text is written: its encoding, its decimal sign and separators of thousands, and its texts for "no value"."""

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.ingest.values.numbers import USUAL, NumberForm

NULLS = ("NA", "N/A", "n/a", "NULL", "null", "None", "none", "NaN", "nan", r"\N", "-")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Numbers of which no other form is a number, too: with both signs, or with other than three digits behind the only one.
_FORMS = {
    NumberForm(",", "."): re.compile(r"-?\d{1,3}(?:\.\d{3})+,\d*"),
    NumberForm(".", ","): re.compile(r"-?\d{1,3}(?:,\d{3})+\.\d*"),
    NumberForm(".", "'"): re.compile(r"-?\d{1,3}(?:'\d{3})+(?:\.\d*)?"),
    NumberForm(","): re.compile(r"-?\d*,(?:\d{1,2}|\d{4,})"),
}
_EITHER = re.compile(r"-?\d{1,3},\d{3}")


@dataclass(frozen=True)
class Written:
    """How numbers are written, and which texts are none; `why` is for people, empty if all is as usual."""

    form: NumberForm = USUAL
    why: str = ""


AS_USUAL = Written()


def encoding_of(head: bytes) -> str | None:
    """The encoding of a text that begins like this; None for UTF-8. Bytes that are not UTF-8 are those of Western Europe."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        try:
            head.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return None


def written(columns: Sequence[Sequence[str]]) -> Written:
    """How the numbers in some columns are written."""
    examples: dict[NumberForm, str] = {}
    nulls: set[str] = set()
    for fields in columns:
        absent = {field for field in fields if field in NULLS}
        values = [field for field in fields if field and field not in absent]
        form, example = _form_of(values)
        if example:
            examples.setdefault(form, example)
        if values and absent and all(form.plain(value) for value in values):
            nulls |= absent
    form = max(examples, key=lambda each: (each.decimal == ",", bool(each.thousands)), default=USUAL)
    reasons = (
        [f"decimal {form.decimal!r}, thousands {form.thousands or 'none'}: {examples[form]!r} is a number"] if examples else []
    )
    reasons += [f"{', '.join(map(repr, sorted(nulls)))} among numbers for no value"] if nulls else []
    return Written(NumberForm(form.decimal, form.thousands, frozenset(nulls)), "; ".join(reasons))


def may_be_either(fields: Iterable[str]) -> str | None:
    """A number of a column whose commas may be decimal signs or separators of thousands; None for another column."""
    values = [field for field in fields if field and field not in NULLS]
    with_comma = [value for value in values if _EITHER.fullmatch(value)]
    alike = with_comma and all(_EITHER.fullmatch(value) or value.isdecimal() for value in values)
    return with_comma[0] if alike else None


def _form_of(values: Sequence[str]) -> tuple[NumberForm, str]:
    """The form in which all values are numbers, and a value that no other form has; the usual form without one."""
    for form, certain in _FORMS.items():
        example = next((value for value in values if certain.fullmatch(value)), "")
        if example and all(form.plain(value) for value in values):
            return form, example
    return USUAL, ""
