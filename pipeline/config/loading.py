"""Configurations from TOML files and options: an unknown key, a wrong type or a bad value raises BadConfig.

Paths in a file are relative to that file; `graph` in a run's file is either a table or the path of a graph's file.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from pipeline.config.cluster import ClusterConfig
from pipeline.config.effects import idle_keys, require_effect, require_effect_of_cluster
from pipeline.config.model import Model, url_of
from pipeline.config.products.places import is_table
from pipeline.config.products.zones import H3, is_zone_file, names_cells
from pipeline.config.run import RunConfig
from pipeline.config.sources import read_sources
from pipeline.config.tables import keys_of_files
from pipeline.config.toml import NotToml, read_toml
from pipeline.errors import BadConfig
from pipeline.redaction import quoted
from pipeline.suggestions import did_you_mean

M = TypeVar("M", bound=Model)
# The keys of tables that are paths.
PATHS = ("source", "coordinates", "nodes", "file", "arrivals", "tls_ca", "tls_cert", "tls_key", *keys_of_files())

LISTS = ("source", "arrivals")  # those of them that may be lists of paths


def load_run(
    path: Path,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    default_output: Path | None = None,
    used: Collection[str] = (),
    **changes: Any,
) -> RunConfig:
    """Read the TOML file of a run or a graph. `changes` replace top-level keys, `tables` keys of its tables. Raises BadConfig.

    The file has to be valid without changes, too, but for a missing `output`, which is then `default_output`. A key that has no
    effect is refused, unless it is the file's and has none because of the changes, or its table is among those that are `used` by
    something else than a run.
    """
    content = read_toml(path)
    if "source" in content and "graph" not in content:
        content = {"graph": content}
    if default_output:
        content.setdefault("output", default_output)
    if isinstance(content.get("output"), str) and not url_of(content["output"]):
        content["output"] = Path(os.path.normpath(path.parent / content["output"]))
    content |= {name: anchored(table, path.parent) for name, table in content.items() if isinstance(table, dict)}
    if isinstance(stages := content.get("custom"), list):
        content["custom"] = [anchored(one, path.parent) if isinstance(one, dict) else one for one in stages]
    if isinstance(content.get("graph"), str):
        content["graph"] = _read_graph(path, path.parent / content["graph"])
    content = anchored(content, path.parent, ("sources",))
    original = {"output": "out", **content}
    for name, table in (tables or {}).items():
        if isinstance(content.get(name, {}), dict):
            content[name] = _merged(content.get(name, {}), table)
    config = run_config(str(path), **(content | changes))
    before = config if content | changes == original else run_config(str(path), **original)
    given = {*changes, *(f"{name}.{key}" for name, table in (tables or {}).items() for key in table)}
    given |= {key for key, _ in idle_keys(before)}  # others are idle because options ask for it
    require_effect(str(path), config, {key for key in given if key.partition(".")[0] not in used})
    return config.from_file(path.stem, before)


def _merged(table: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace single keys, also those of a table in a table."""
    inner = {key: _merged(table[key], value) for key, value in changes.items() if isinstance(value, dict) and key in table}
    return {**table, **changes, **inner}


def load_cluster(path: Path) -> ClusterConfig:
    """Read the table `[cluster]` of a run's TOML file, and nothing else of it. Raises BadConfig."""
    table = read_toml(path).get("cluster", {})
    if not isinstance(table, dict):
        raise BadConfig(f"{path}: cluster: is not a table")
    config = checked(ClusterConfig, f"{path}: cluster", **anchored(table, path.parent))
    require_effect_of_cluster(f"{path}: cluster", config)
    return config


def run_config(origin: str, **content: Any) -> RunConfig:
    """Build a run's configuration; `sources` may be the path of a file. Error messages begin with `origin`. Raises BadConfig."""
    if isinstance(sources := content.get("sources"), str):
        if url_of(sources):
            raise BadConfig(f"{origin}: sources: {sources} is a URL; it must be a file of this machine, or a list")
        places = content.get("places")
        named = [name for name in places.values() if isinstance(name, str)] if isinstance(places, dict) else ()
        content["sources"] = sources if names_cells(sources) or is_table(Path(sources), named) else read_sources(Path(sources))
    url, other = url_of(content.get("output")), url_of(content.get("publish_to"))
    if url and other and url != other:
        raise BadConfig(f"{origin}: publish_to: is {quoted(other)}, but output is a URL, too, {quoted(url)}; leave one out")
    return checked(RunConfig, origin, **content)


def checked(model: type[M], origin: str, **content: Any) -> M:
    """Build any table of a configuration, as `run_config`."""
    try:
        return model(**content)
    except ValidationError as error:
        # A tuple whose only item is wrong is also too short, which says nothing.
        problems = [one for one in error.errors() if one["type"] != "too_short" or not one["input"]]
        lines = [f"{'.'.join(map(str, problem['loc']))}: {_sentence(problem, model)}" for problem in problems]
        raise BadConfig(f"{origin}: " + "; ".join(lines)) from None


def _sentence(problem: Any, model: type[Model]) -> str:
    if problem["type"] == "extra_forbidden":
        return "unknown key" + _meant(problem["loc"], model)
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] in ("bool_type", "bool_parsing"):
        return f"must be true or false (got {_shown(problem['input'])})"
    message: str = problem["msg"].removeprefix("Value error, ")
    return message if "password" in message else f"{message} (got {_shown(problem['input'])})"


def _meant(path: tuple[Any, ...], model: type[Model]) -> str:
    """Suggest a key of the same table or, if none is similar, the key of this name in any table."""
    known = [key.rpartition(".") for key in _keys(model)]
    *tables, key = map(str, path)
    here = [name for table, _, name in known if table == ".".join(tables)]
    return did_you_mean(key, here) or did_you_mean(key, ["".join(parts) for parts in known if parts[2] == key], 0)


def _keys(model: type[Model], table: str = "") -> list[str]:
    """All keys of a table and of the tables in it, such as `graph.columns.src`."""
    keys = []
    for name, field in model.model_fields.items():
        inner = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        keys += [table + name, *(key for kind in inner if issubclass(kind, Model) for key in _keys(kind, f"{table}{name}."))]
    return keys


def _shown(value: Any) -> str:
    try:
        return quoted(str(value))
    except ValueError:  # Python does not print an integer of over 4,300 digits
        return "an integer of thousands of digits"


def _read_graph(run: Path, path: Path) -> dict[str, Any]:
    """Read the TOML file that a run's `graph = "..."` names."""
    try:
        return anchored(read_toml(path), path.parent)
    except NotToml as error:
        raise BadConfig(f"{run}: graph: {error}; the graph's own file is `source` in table [graph]") from None


def anchored(table: dict[str, Any], folder: Path, paths: Sequence[str] = PATHS) -> dict[str, Any]:
    """Resolve the relative paths of a table against the folder of its file; a URL stays as it is."""

    def resolved(value: Any) -> Any:
        is_path = isinstance(value, str) and "://" not in value and not value.lower().startswith(H3)
        return os.path.normpath(folder / value) if is_path else value

    given = {key: table[key] for key in paths if key in table}
    given |= {"zone": table["zone"]} if "zone" in table and is_zone_file(table["zone"]) else {}
    return table | {
        key: [*map(resolved, value)] if key in LISTS and isinstance(value, list) else resolved(value)
        for key, value in given.items()
    }
