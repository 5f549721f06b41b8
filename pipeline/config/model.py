"""What all tables of a configuration share: the base class, and the types of single values."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MIB = 2**20
LARGEST = 2**63 - 1
Natural = Annotated[int, Field(strict=True, ge=0, le=LARGEST)]  # strict: 2.0, "2" and true are not integers
Positive = Annotated[int, Field(strict=True, gt=0, le=LARGEST)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Choice = Literal["auto", "cpu", "gpu"]
_URL = re.compile("[a-zA-Z][a-zA-Z0-9+.-]+:/")


def _local(value: Path) -> Path:
    """Return the absolute path, because Arrow takes a relative path with a colon for a URL."""
    if _URL.match(str(value)):
        raise ValueError("is a URL; it must be a folder of this machine")
    if "\0" in str(value):
        raise ValueError("has a null character, which no path can have")
    return value.absolute()


LocalFolder = Annotated[Path, AfterValidator(_local)]


class Model(BaseModel):
    """A frozen table that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
