"""The base class of all facts."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.errors import Damaged
from pipeline.store.manifest import Folder


class Facts(BaseModel):
    """Base class: frozen, with exactly the fields of the manifest's JSON, of exactly their types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True, defer_build=True)

    @classmethod
    def of(cls, folder: Folder) -> Self:
        """Read the facts of a folder. Raises Damaged if a field is missing, unknown or of another type."""
        try:
            facts: Self = folder.validated.get(cls) or folder.validated.setdefault(cls, cls.model_validate(folder.facts))
            return facts
        except ValidationError as error:
            field = ".".join(map(str, (first := error.errors()[0])["loc"]))
            raise Damaged(f"{folder.path}: its manifest's fact {field!r} is invalid: {first['msg']}") from None

    def stored(self) -> dict[str, Any]:
        """The JSON of the manifest: only fields that were given a value or null."""
        return self.model_dump(by_alias=True, exclude_unset=True)
