"""The keys of a run's configuration, found in its models."""

from typing import Any, get_args

from pipeline.config.model import Model
from pipeline.config.run import RunConfig


def keys_of(model: type[Model], table: str = "") -> list[tuple[str, Any]]:
    """All keys of a table and of the tables in it that are no tables themselves, each with its type."""
    found: list[tuple[str, Any]] = []
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        inner = [kind for kind in kinds if issubclass(kind, Model)]
        found += keys_of(inner[0], f"{table}{name}.") if inner else [(table + name, field.annotation)]
    return found


KEYS = dict(keys_of(RunConfig))
