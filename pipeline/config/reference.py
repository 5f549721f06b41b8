"""The meaning of every key of a configuration, from the comments in the models, as a page and as JSON schemas.

`python -m pipeline.config.reference` writes docs/configuration.md, conf/graphmill.schema.json (a run) and
conf/graph.schema.json (a graph's own file); `described` also gives `graphmill init` its comments.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from pipeline.config import tables as tables_of_run
from pipeline.config.graph import GraphConfig
from pipeline.config.model import LARGEST, Model
from pipeline.config.run import RunConfig

ROOT = Path(__file__).parents[2]
RUN_SCHEMA, GRAPH_SCHEMA = Path("conf/graphmill.schema.json"), Path("conf/graph.schema.json")
HEAD = """\
# Configuration

Every key of a run's TOML file and of a graph's. `make docs-configuration` writes this page and the schemas from the code; a test
compares them.

A run's file has the keys of "A run" at its top, then its tables. `graph` is either a table `[graph]` or the path of a file with
the keys of that table. Paths are relative to the file that contains them. An unknown key, a wrong type and a value out of range
are errors that name the key, and so is a key that has no effect beside the others. `graphmill init GRAPH` writes such a file
for a graph; [tutorial.md](tutorial.md) shows it.

**Editors.** `conf/graphmill.schema.json` describes a run's file and `conf/graph.schema.json` a graph's. A first line such as
`#:schema ../graphmill.schema.json`, a path relative to the file, makes taplo and VS Code's extension *Even Better TOML* complete
keys, show their meaning and mark errors.
"""


@dataclass(frozen=True)
class Key:
    """One key: its name within its table, its type in words, default and example as TOML, and meaning."""

    name: str
    type: str
    default: str
    example: str
    meaning: str


@cache
def described(model: type[Model]) -> dict[str, str]:
    """The descriptions of a model's fields, or the comments: the lines above one or, if there are none, the comment after it."""
    meanings = {name: text for base in model.__bases__ if issubclass(base, Model) for name, text in described(base).items()}
    meanings |= {name: key.description for name, key in model.model_fields.items() if key.description}
    if model.__module__ == tables_of_run.__name__:  # made by a function, without a source
        return meanings
    source = inspect.getsource(model)
    lines, (tree,) = source.splitlines(), ast.parse(source).body
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in model.model_fields:
            first = node.lineno - 1
            while lines[first - 1].lstrip().startswith("# "):
                first -= 1
            behind = lines[(node.end_lineno or 0) - 1].encode()[node.end_col_offset :].decode()
            comments = lines[first : node.lineno - 1] or [behind]
            text = " ".join(comment.strip().removeprefix("#").strip() for comment in comments)
            meanings[node.target.id] = text[:1].upper() + text[1:] + "." * (not text.endswith("."))
    return meanings


def tables(model: type[Model] = RunConfig, name: str = "") -> Iterator[tuple[str, type[Model]]]:
    """The tables of a configuration with their dotted names, depth first; a run's own keys have the name ""."""
    yield name, model
    for key, field in model.model_fields.items():
        if inner := _model_of(field):
            yield from tables(inner, f"{name}.{key}" if name else key)


def header(name: str) -> str:
    """The line with which a table begins in a run's file: `[graph]` or, where there may be several, `[[custom]]`."""
    several = get_origin(RunConfig.model_fields[name.partition(".")[0]].annotation) is tuple
    return f"[[{name}]]" if several else f"[{name}]"


def keys(model: type[Model]) -> Iterator[Key]:
    """The keys of a table that are not tables themselves."""
    properties, meanings = model.model_json_schema()["properties"], described(model)
    for name, field in model.model_fields.items():
        if not _model_of(field):
            default = "required" if field.is_required() else _default(field)
            yield Key(name, _type(properties[name]), default, toml(example(model, name)), meanings[name])


def example(model: type[Model], name: str) -> Any:
    """A value for a key: the field's first example or, without one, what its type and default suggest."""
    field = model.model_fields[name]
    if field.examples:
        return field.examples[0]
    if isinstance(field.default, bool):
        return not field.default
    choices = model.model_json_schema()["properties"][name].get("enum", [])
    if others := [choice for choice in choices if choice != field.default]:
        return others[-1]
    assert field.default, f"{model.__name__}.{name} needs Field(examples=[...])"
    return field.default


def schema(model: type[Model]) -> dict[str, Any]:
    """The JSON schema of a file with this model's keys, each with its meaning."""
    document = model.model_json_schema()
    for table in {inner for _, inner in tables(model)}:
        part = document if table is model else document["$defs"][table.__name__]
        for name, meaning in described(table).items():
            part["properties"][name]["description"] = meaning
            part["properties"][name].pop("title", None)
    if model is RunConfig:
        for name, moved in (("graph", ("$ref",)), ("sources", ("type", "items"))):  # which may be the path of a file
            value = document["properties"][name]
            inline = {key: value.pop(key) for key in moved}
            document["properties"][name] = {"anyOf": [inline, {"type": "string"}], **value}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | document


def page() -> str:
    """The text of docs/configuration.md."""
    parts = [HEAD]
    for name, model in tables():
        parts += [f"## {f'`{header(name)}`' if name else 'A run'}\n", f"{(model.__doc__ or '').splitlines()[0]}\n"]
        stated = [f"`{key.example}`" if model.model_fields[key.name].examples else "" for key in keys(model)]
        rows = [
            f"| `{k.name}` | {k.type} | {k.default} | {shown} | {k.meaning} |"
            for k, shown in zip(keys(model), stated, strict=True)
        ]
        parts += ["| key | type | default | example | meaning |\n|---|---|---|---|---|", *rows, ""]
    return "\n".join(parts).rstrip() + "\n"


def files() -> dict[Path, str]:
    """The generated files of the project, by their path in it."""
    schemas = {RUN_SCHEMA: schema(RunConfig), GRAPH_SCHEMA: schema(GraphConfig)}
    return {Path("docs/configuration.md"): page()} | {
        path: json.dumps(content, indent=1, ensure_ascii=False) + "\n" for path, content in schemas.items()
    }


def _model_of(field: FieldInfo) -> type[Model] | None:
    """The table that a field is, if it is one."""
    types = [field.annotation, *get_args(field.annotation)]
    return next((kind for kind in types if isinstance(kind, type) and issubclass(kind, Model)), None)


def _default(field: FieldInfo) -> str:
    return "none" if field.default is None else f"`{toml(field.default)}`"


def toml(value: Any) -> str:
    """A value as TOML: text, a number, a truth value, a list or a table."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_bare(key)} = {toml(one)}" for key, one in value.items()) + " }" if value else "{}"
    if isinstance(value, bool | list | tuple | str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:_}" if isinstance(value, int) and value > 9999 else str(value)


def _bare(key: str) -> str:
    """A key as TOML, quoted where it must be."""
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)


def _type(part: dict[str, Any]) -> str:
    """A type of a JSON schema in words."""
    if "anyOf" in part:
        return " or ".join(_type(one) for one in part["anyOf"] if one.get("type") != "null")
    if "enum" in part:
        return "one of " + ", ".join(f"`{choice}`" for choice in part["enum"])
    if part["type"] == "array":
        return f"list: {_type(part['items'])}"
    if "const" in part:
        return f"`{toml(part['const'])}`"
    if part["type"] == "object":
        values = part.get("additionalProperties")
        return f"table: {_type(values)}" if values else "table"
    words = {"string": "text", "boolean": "boolean", "number": "number", "integer": "integer"}[part["type"]]
    bounds = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    if part.get("exclusiveMinimum", 1) < part.get("minimum", 0):  # implied
        del bounds["exclusiveMinimum"]
    limits = [f"{said} {toml(part[key])}" for key, said in bounds.items() if part.get(key, LARGEST) < LARGEST]
    return ", ".join([re.sub("^text$", "path", words) if part.get("format") == "path" else words, *limits])


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")
