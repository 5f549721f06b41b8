"""The places that a command on a product was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.steps.derived.names import naming
from pipeline.steps.places.columns import PlaceColumns
from pipeline.steps.places.table import PlaceTable
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import PlaceFacts, listing
from pipeline.tables.definitions import PLACES

FOLDER = f"_{PLACES}"  # in that of the table of a product, whose readers skip names that begin like this


@dataclass(frozen=True)
class PlacesOfCommand:
    """The places among the vertices of a command.

    Attributes:
        listed: Those without an id, which the manifest lists.
        table: Those of files of places; None if there is no such file.
    """

    listed: Sequence[PlaceFacts] = field(default_factory=tuple)
    table: PlaceTable | None = None

    def beside(self, options: Mapping[str, str]) -> dict[str, PlaceColumns | None]:
        """The places at the vertices of columns, each of which has those of an option."""
        placed = self.table.placed if self.table else {}
        return {column: placed[option].columns if option in placed else None for column, option in options.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a step whose table has these places; without places there are none."""
        return listing(self.listed) | ({"placed": self.table.digest} if self.table else {})

    def write(self, folder: Path, runtime: Runtime) -> None:
        """Write the table of the places beside that of the product, with the names of the runtime. Raises ProofFailed."""
        if table := self.table:
            (folder / FOLDER).mkdir()
            naming(runtime, PLACES, lambda inner: table.write(inner).stored())(folder / FOLDER)


NO_PLACES = PlacesOfCommand()
