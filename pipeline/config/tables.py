"""The tables of stages and of products in a run's configuration, as the registry names them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import Field, ValidationInfo, create_model, field_validator

from kernels.registry import ALGORITHMS
from pipeline.config.model import Model
from pipeline.config.stages import QueriesConfig
from pipeline.registry.entries import Product, Stage
from pipeline.registry.products import PRODUCTS
from pipeline.registry.stages import STAGES

M = TypeVar("M", bound=Model)


def _models(entries: Mapping[str, Stage | Product]) -> dict[str, Any]:
    return {name: entry.resolve("configuration") for name, entry in entries.items() if entry.configuration}


OF_STAGES, OF_PRODUCTS = _models(STAGES), _models(PRODUCTS)  # their classes, by name


def keys_of_files() -> set[str]:
    """The keys of these tables that name files of vertices or pairs."""
    models = (QueriesConfig, *OF_STAGES.values(), *OF_PRODUCTS.values())
    return {key for model in models for key in (*model.VERTICES, *model.PAIRS)}


def with_tables(base: type[M]) -> type[M]:
    """A table with the keys of another one, `stages` among them, and these tables.

    A stage whose table has a key without a default has no table unless it is given; then it cannot run.
    """
    fields: dict[str, Any] = {}
    for name, model in OF_STAGES.items():
        if any(key.is_required() for key in model.model_fields.values()):
            meaning = f"For stage `{name}`, which needs it."
            fields[name] = (model | None, Field(default=None, validate_default=True, description=meaning))
        else:
            fields[name] = (model, Field(default=model(), description=f"For stage `{name}`."))
    for name, model in OF_PRODUCTS.items():
        fields[name] = (model | None, Field(default=None, description=model.__doc__.partition("\n")[0]))
    with_pairs = [algorithm.name for algorithm in ALGORITHMS if algorithm.has_pairs]
    checks: dict[str, Any] = {"_needed": field_validator(*with_pairs)(_needed)}
    return create_model(f"{base.__name__}WithTables", __base__=base, __module__=__name__, __validators__=checks, **fields)


def _needed(value: Model | None, info: ValidationInfo) -> Model | None:
    stage = str(info.field_name)
    if value is None and stage in info.data.get("stages", ()):
        raise ValueError(f"stage {stage} needs pairs: name their file with `pairs` in this table or with the option --pairs")
    return value
