"""Read TOML files; their text is checked before it is parsed, so that no file can exhaust memory or time."""

import re
import tomllib
from pathlib import Path
from typing import Any

from pipeline.config.model import MIB
from pipeline.errors import BadConfig
from pipeline.numerals import Rounded, exact_float

_PARTS = 6  # of a key; a configuration has keys of up to three
_NESTING = 100
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' r"'''.*?'''|" r'"(?:[^"\\\n]|\\.)*+"|' r"'[^'\n]*+'|#[^\n]*+", re.DOTALL
)  # comments, and what is quoted
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_PARTS}}}[\w-]")


class NotToml(BadConfig):
    """The file is not valid TOML."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises BadConfig, with the file and what is wrong; NotToml unless the file cannot be opened."""
    try:
        with path.open("rb") as file:
            content = file.read(MIB + 1)
        if len(content) > MIB:
            raise NotToml(f"{path}: has more than {MIB} bytes, the limit for a configuration")
        text = content.decode().replace("\r\n", "\n")
        _require_shallow(path, text)
        return tomllib.loads(text, parse_float=exact_float)
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except Rounded as error:
        raise BadConfig(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise NotToml(f"{path}: is not valid TOML: byte {error.start} is not UTF-8") from None
    except ValueError as error:  # also an integer of over 4,300 digits, or a null character in the path
        raise NotToml(f"{path}: is not valid TOML: {error}") from None


def _require_shallow(path: Path, text: str) -> None:
    """Refuse keys and nesting for which the parser would take memory that is quadratic in their length, or all of its stack."""
    plain = _TEXT.sub(lambda match: "q" + "\n" * match[0].count("\n"), text)
    excess, limit, depth = _LONG_KEY.search(plain), f"a key of more than {_PARTS} parts", 0
    for bracket in () if excess else re.finditer(r"[\[{\]}]", plain):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > _NESTING:
            excess, limit = bracket, f"more than {_NESTING} brackets within each other"
            break
    if excess:
        line = plain.count("\n", 0, excess.start()) + 1
        raise NotToml(f"{path}: line {line}: has {limit}, the limit for a configuration")
