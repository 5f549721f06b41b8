"""Write the files of a new run: its configuration with a comment at each key, and its deployment."""

import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomlkit
import yaml

from pipeline.cli.init.look import Seen
from pipeline.config.model import Model
from pipeline.config.reference import ROOT, RUN_SCHEMA, header, keys, tables
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig
from pipeline.ingest.formats.format import TABLES
from pipeline.redaction import quoted

SHOWN = ("", "graph", "graph.columns", "expect", "layout", "cluster")  # the tables that most runs use
WIDTH = 110
_PATHS = ("source", "coordinates", "nodes", "output", "facilities", "sources")  # which are relative to the file
COMMON = """\
    concurrency_limit: *one_at_a_time
    work_pool: *work_pool
"""  # of all deployments, defined above them


def configuration(config: RunConfig, seen: Seen, folder: Path) -> str:
    """The text of a run's TOML file in `folder`: keys that are set, and all others as comments with an example."""
    schema = ROOT / RUN_SCHEMA
    reference = os.path.relpath(schema, folder)
    lines = [f"#:schema {reference}", ""] if schema.is_file() and reference.isprintable() else []
    lines += [
        f"# {quoted(config.graph.title)}: made by `graphmill init`. A key in a comment is not set; its value is an example."
    ]
    chosen: dict[str, object] = {"graph.speed": config.graph.columns.speed}
    chosen["graph.node_columns"] = config.graph.nodes or config.graph.coordinates
    chosen["reject"] = config.reject.model_fields_set
    chosen["graph.osm"] = seen.is_of_roads
    shown = (*SHOWN, *(name for name, is_chosen in chosen.items() if is_chosen), *config.of_products)
    for name, model in tables():
        if name in shown and (name != "graph.columns" or seen.format in TABLES or config.graph.columns.model_fields_set):
            part: Any = config
            for step in name.split(".") if name else ():
                part = getattr(part, step)
            is_set = any(key.name in part.model_fields_set for key in keys(model)) if part else False
            lines += ["", f"{'' if is_set else '# '}[{name}]"] if name else []
            lines += _keys(model, part, folder)
    others = ", ".join(header(name) for name, _ in tables() if name and name not in shown)
    return "\n".join([*lines, "", f"# More tables: {others}. docs/configuration.md describes every key.", ""])


def _keys(model: type[Model], part: Model | None, folder: Path) -> Iterator[str]:
    for key in keys(model):
        value = getattr(part, key.name) if part and key.name in part.model_fields_set else None
        yield ""
        yield from textwrap.wrap(key.meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
        if value is None:
            yield f"# {key.name} = {key.example}"
        else:
            is_path = key.name in _PATHS and not (key.name == "sources" and isinstance(value, tuple))  # of vertices
            yield f"{key.name} = {_toml(_relative_to(value, folder) if is_path else value)}"


def _toml(value: Any) -> str:
    """A value as TOML; whatever a text contains, it stays one value."""
    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())


def _relative_to(path: Any, folder: Path) -> str | list[str]:
    """A path, or each of several, relative to the folder of the file that contains it; a URL as it is."""
    if isinstance(path, tuple):
        return [str(_relative_to(one, folder)) for one in path]
    return str(path) if "://" in str(path) else os.path.relpath(Path(path).absolute(), folder)


def deployment(run: Path, seen: Seen, cron: str, timezone: str) -> str:
    """The text of a deployment file for a run's file, in the form of the project's prefect.yaml.

    Raises BadConfig where there is no clone, whose code a deployment runs.
    """
    try:
        common, _, _ = (ROOT / "prefect.yaml").read_text(encoding="utf-8").partition("deployments:\n")
    except OSError:
        raise BadConfig("a deployment runs the code of a clone, and graphmill is not installed from one") from None
    title = f"# {quoted(run.stem)}, made by `graphmill init`; `python -m flows deploy` in the clone deploys it."
    common = re.sub(r"\A(#.*\n)+", lambda _: f"{title}\n", common)
    flow = "road_network" if seen.placed or seen.format in ("dimacs", "arcs") else "social_network"
    entry = {
        "name": run.stem,
        "entrypoint": f"flows/analytics.py:{flow}",
        "description": f"{run.stem}, every night.",
        "parameters": {"run": str(run)},
        "schedules": [{"cron": cron, "timezone": timezone, "slug": "nightly"}],
    }
    written = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=float("inf"), default_flow_style=None)
    return f"{common}deployments:\n{textwrap.indent(written, '  ')}{COMMON}"
