"""Types of arguments that several commands share."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import Token


def _integer(_: type[int], tokens: "Sequence[Token]") -> int:
    """Refuse a fraction, which Cyclopts would round."""
    value = tokens[0].value
    try:
        return int(value)
    except ValueError:
        raise ValueError(f'"{value}" is not an integer') from None


def _number(_: type[object], tokens: "Sequence[Token]") -> int | float:
    """Take a number exactly: of the types `int | float` Cyclopts would try the integer first, and round."""
    from pipeline.numerals import exact_number

    return exact_number(tokens[0].value)


Number = Annotated[int | float, Parameter(converter=_number)]
Integer = Annotated[int, Parameter(converter=_integer)]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document instead of text.")]


def print_json(document: Any) -> None:
    """Print what a command found, for programs."""
    from pipeline.strict_json import written

    print(written(document, indent=1))
