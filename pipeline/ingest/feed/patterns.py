"""Patterns of paths, such as `parts/**/*.csv`: the folder where the search begins, and which files below it are meant."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from kernels.records import dataclass

_MAGIC, _MAGIC_IN_URLS = re.compile(r"[*?[]"), re.compile(r"[*[]")  # in a URL a question mark begins the query
_HIDDEN, _UNFINISHED = (".", "_"), (".crc", ".part", ".tmp")


def has_magic(path: str, url: bool = False) -> bool:
    """Whether a path, or the path of a URL, is a pattern: it has `*`, `?` or `[`."""
    return bool((_MAGIC_IN_URLS if url else _MAGIC).search(path))


@dataclass(frozen=True)
class Pattern:
    """Files below a folder whose relative paths match, or that are in a folder whose path does, as a shell expands patterns.

    `*` stands for any letters of a name, `?` for one, `[a-c]` for one of these, and `**` for any folders.
    """

    root: str
    names: tuple[str, ...]  # patterns of the folders and of the file below `root`

    @classmethod
    def of(cls, path: str, url: bool = False) -> "Pattern":
        """The pattern that a path states; a path without one is a folder, whose files all match, also those in its folders."""
        names = path.split("/")
        first = next((number for number, name in enumerate(names) if has_magic(name, url)), len(names))
        root = "/".join(names[:first]) or ("/" if path.startswith("/") else "")
        return cls(root, tuple(names[first:]) or ("**",))

    @property
    def depth(self) -> int | None:
        """How many levels below `root` have files and folders that match; None: any."""
        return None if "**" in self.names else len(self.names)

    def matches(self, relative: str) -> bool:
        """Whether a file or folder at this path below `root`, or a folder around it, matches."""
        names = relative.split("/")
        return any(_match(self.names, names[:level]) for level in range(1, len(names) + 1))

    def ignores(self, name: str) -> bool:
        """Whether a file or folder of this name is left out, as other readers of feeds do, unless the pattern names it.

        It begins with a dot or an underscore (`_SUCCESS`, `_temporary`, `.part-0.crc`) and is no partition (`_day=1`), or it is
        a checksum or is still being written.
        """
        hidden = name.startswith(_HIDDEN) and "=" not in name
        stated = any(other[:1] == name[:1] and fnmatchcase(name, other) for other in self.names)
        return (hidden and not stated) or (name.endswith(_UNFINISHED) and name not in self.names)


def _match(patterns: Sequence[str], names: Sequence[str]) -> bool:
    if not patterns or not names:
        return not patterns and not names
    if patterns[0] == "**":
        return len(patterns) == 1 or any(_match(patterns[1:], names[skipped:]) for skipped in range(len(names)))
    return fnmatchcase(names[0], patterns[0]) and _match(patterns[1:], names[1:])
