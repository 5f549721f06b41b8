"""The texts of numbers as countries and programs write them: decimal sign, thousands separators, and texts for "no value"."""

import re
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.graph import GraphConfig, NodeColumns

_BLANKS = " \t"


@dataclass(frozen=True)
class NumberForm:
    """How a file writes numbers.

    Attributes:
        decimal: The decimal sign.
        thousands: The character between groups of three digits; empty if there are none.
        nulls: Texts that stand for "no value".
    """

    decimal: str = "."
    thousands: str = ""
    nulls: Set[str] = field(default_factory=frozenset)

    @staticmethod
    def of(config: GraphConfig | NodeColumns) -> "NumberForm":
        """The form that a configuration states for a file."""
        return NumberForm(config.decimal, config.thousands or "", frozenset(config.null))

    def __str__(self) -> str:
        """Which form is stated, in words."""
        separated = f", thousands {self.thousands!r}" if self.thousands else ""
        return f"as stated (graph.decimal {self.decimal!r}{separated})"

    @property
    def is_usual(self) -> bool:
        """Whether numbers are written as programs write them."""
        return self.decimal == "." and not self.thousands

    def plain(self, text: str) -> str | None:
        """The number as programs write it; None for a text that is not a number of this form.

        >>> NumberForm(",", ".").plain("1.234,5"), NumberForm(",").plain("1.5"), NumberForm(thousands="'").plain("12'34")
        ('1234.5', None, None)
        """
        if self._pattern.fullmatch(text) is None:
            return None
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")

    def plain_column(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The numbers of trimmed texts as programs write them, null where there is none. Raises ArrowInvalid for other texts."""
        if not pc.all(pc.match_substring_regex(texts, f"^(?:{self._pattern.pattern})$"), min_count=0).as_py():
            raise pa.ArrowInvalid("a text is not a number")
        texts = pc.replace_substring(texts, self.thousands, "") if self.thousands else texts
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")

    def without_nulls(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The trimmed texts; null where one is empty or stands for no value."""
        trimmed = pc.utf8_trim(texts, _BLANKS)
        absent = pc.is_in(trimmed, pa.array(["", *sorted(self.nulls)], trimmed.type))
        return pc.if_else(absent, pa.scalar(None, trimmed.type), trimmed)

    def is_null(self, text: str) -> bool:
        """Whether a trimmed text stands for no value."""
        return not text or text in self.nulls

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        mark, grouped = re.escape(self.decimal), ""
        if self.thousands:
            grouped = f"|[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+"
        return re.compile(f"[-+]?(?:(?:[0-9]+{grouped})(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?")


USUAL = NumberForm()
