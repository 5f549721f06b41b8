"""The `.properties` file of a graph of the benchmark."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import BadInput

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")  # of a file, also if the properties name it without
PARQUET = ".parquet"  # of files, or folders of files, in the place of text
_KEYS = ("vertex-file", "edge-file", "directed", "algorithms", "meta.vertices", "meta.edges")
_LISTS = ("vertex-properties.names", "vertex-properties.types", "edge-properties.names", "edge-properties.types")
PARAMETERS: dict[str, dict[str, type]] = {
    "bfs": {"source-vertex": int},
    "cdlp": {"max-iterations": int},
    "lcc": {},
    "pr": {"damping-factor": float, "num-iterations": int},
    "sssp": {"source-vertex": int, "weight-property": str},
    "wcc": {},
}


@dataclass(frozen=True)
class GraphProperties:
    """What the file states."""

    name: str
    vertices: Path
    edges: Path
    num_vertices: int
    num_edges: int
    directed: bool
    edge_properties: tuple[str, ...]
    algorithms: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name, in the order of the file, with parameters

    @property
    def weight(self) -> int | str | bool:
        """The column of the edge file that has the weights, its name in Parquet and otherwise from 1, or False."""
        stated = self.algorithms.get("sssp", {}).get("weight-property")
        if not stated:
            return False
        return str(stated) if self.edges.suffix == PARQUET else 3 + self.edge_properties.index(stated)


def read_properties(folder: Path) -> GraphProperties:
    """Read the one `.properties` file of a folder. Raises BadInput, which names the line, the value and the key."""
    files = sorted(folder.glob("*.properties"))
    if len(files) != 1:
        raise BadInput(folder, f"has {len(files)} files *.properties, and the benchmark needs one")
    file = files[0]
    values, lines = _values(file)
    names = {key.split(".")[1] for key in values if key.startswith("graph.") and key.count(".") > 1}
    if len(names) != 1:
        raise BadInput(file, f"describes {len(names)} graphs, not one: keys begin with graph.NAME.")
    (name,) = names
    return _Reader(file, f"graph.{name}.", values, lines).read(name)


def _values(file: Path) -> tuple[dict[str, str], dict[str, int]]:
    """The values by their keys, and the lines of these."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(file, f"line {number}: {text!r} is not KEY = VALUE")
        key = key.strip()
        if key in values:
            raise BadInput(file, f"line {number}: {key} is stated again, after line {lines[key]}")
        values[key], lines[key] = value.strip(), number
    return values, lines


class _Reader:
    """Takes the keys of one graph."""

    def __init__(self, file: Path, prefix: str, values: dict[str, str], lines: dict[str, int]) -> None:
        self._file, self._prefix, self._values, self._lines = file, prefix, values, lines

    def read(self, name: str) -> GraphProperties:
        """All keys. Raises BadInput for one that is missing, wrong or not known."""
        known = {self._prefix + key for key in (*_KEYS, *_LISTS)}
        known |= {f"{self._prefix}{algorithm}.{key}" for algorithm, keys in PARAMETERS.items() for key in keys}
        for key, value in self._values.items():
            if key not in known:
                raise BadInput(self._file, f"line {self._lines[key]}: {key} = {value}: is not a key of the benchmark")
        edge_properties = self._listed("edge-properties.names")
        algorithms = {}
        for algorithm in self._listed("algorithms"):
            if algorithm not in PARAMETERS:
                raise self._wrong("algorithms", f"{algorithm} is not one of {', '.join(PARAMETERS)}")
            algorithms[algorithm] = {key: self._typed(f"{algorithm}.{key}", kind) for key, kind in PARAMETERS[algorithm].items()}
        stated = algorithms.get("sssp", {}).get("weight-property")
        if stated is not None and stated not in edge_properties:
            raise self._wrong(
                "sssp.weight-property", f"is not one of edge-properties.names: {', '.join(edge_properties) or 'none'}"
            )
        return GraphProperties(
            name, self._path("vertex-file"), self._path("edge-file"), self._typed("meta.vertices", int),
            self._typed("meta.edges", int), self._switch("directed"), edge_properties, algorithms,
        )  # fmt: skip

    def _text(self, key: str) -> str:
        try:
            return self._values[self._prefix + key]
        except KeyError:
            raise BadInput(self._file, f"{self._prefix}{key} is missing") from None

    def _wrong(self, key: str, reason: str) -> BadInput:
        full = self._prefix + key
        return BadInput(self._file, f"line {self._lines[full]}: {full} = {self._values[full]}: {reason}")

    def _typed(self, key: str, kind: type) -> Any:
        text = self._text(key)
        try:
            return kind(text)
        except ValueError:
            raise self._wrong(key, f"is not {'an integer' if kind is int else 'a number'}") from None

    def _switch(self, key: str) -> bool:
        if (text := self._text(key)) not in ("true", "false"):
            raise self._wrong(key, "is neither true nor false")
        return text == "true"

    def _listed(self, key: str) -> tuple[str, ...]:
        text = self._text(key) if key in _KEYS else self._values.get(self._prefix + key, "")
        return tuple(filter(None, (part.strip() for part in text.split(","))))

    def _path(self, key: str) -> Path:
        stated = self._file.parent / self._text(key)
        for suffix in SUFFIXES:
            if (path := stated.with_name(stated.name + suffix)).is_file() or (path.is_dir() and not suffix):
                return path
        raise self._wrong(key, "there is no such file beside, nor compressed")
