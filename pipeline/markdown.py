"""Text of users in Markdown: it is shown as it is, whatever it contains. Pages that are not ours, such as Prefect's, show it."""

import re
from collections.abc import Iterable

# ASCII punctuation that has a meaning within a line: in CommonMark, in tables and links without brackets, and in HTML. The last
# parts are in what would become a link by itself.
_MEANING = re.compile(r"[\\`*_{}\[\]<>()#+!|~&@$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_BACKTICKS = re.compile("`+")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def escaped(text: object) -> Markdown:
    """The text, on one line, with a backslash before each character that has a meaning in Markdown."""
    if isinstance(text, Markdown):
        return text
    return Markdown(_MEANING.sub(r"\\\g<0>", _on_one_line(str(text))))


def cells(row: Iterable[object]) -> Markdown:
    """The cells of a row of a table."""
    return Markdown(" | ".join(map(escaped, row)))


def code(text: object) -> Markdown:
    """The text as code within a line. In a cell of a table it must not have a vertical bar."""
    shown = _on_one_line(str(text))
    marks = "`" * (1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    return Markdown(f"{marks} {shown} {marks}" if "`" in shown or not shown.strip() else f"{marks}{shown}{marks}")


def fenced(text: object, language: str = "") -> Markdown:
    """The text as a block of code, which no line of it can end."""
    marks = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(str(text))), default=0))
    return Markdown(f"{marks}{language}\n{text}\n{marks}")


def _on_one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else ascii(letter)[1:-1] for letter in text)
