"""How each table of a run is proved: by a certificate, by what checked it when it was made, or not, because it is a copy."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.stages import DERIVED
from pipeline.store.facts import ProofFacts
from pipeline.store.facts.run import CustomStageFacts
from pipeline.tables import files as tables
from pipeline.tables.changes import SUFFIX
from pipeline.tables.definitions import PLACES

_CHECKED = {
    "reached": "by the proved index, searches checked",
    "paths": "each arc checked",
    PLACES: "distances checked, a sample searched again",
    **{name: table.proof for name, table in DERIVED.items() if table.checked},
    **{name: table.proof for name, table in GRAPH_TABLES.items()},
}
_COPIED = {
    "coordinates": "copied from the source's file",
    **{name: table.proof for name, table in DERIVED.items() if not table.checked},
}
_OF_CHANGES = "turns the previous run's table into this one"


class Proved(NamedTuple):
    """Whether a table is proved, and how; or what it is copied from."""

    holds: bool
    how: str


def proof_of_table(table: str, proofs: Mapping[str, ProofFacts], custom: Mapping[str, CustomStageFacts]) -> Proved:
    """The proof of a published table; `proofs` are those of stages and products, `custom` the user's stages, by their names."""
    if table in custom:
        return Proved(table in proofs, custom[table].proved)
    if table.endswith(SUFFIX):
        return Proved(True, _OF_CHANGES)
    proof = next((proof for stage, proof in proofs.items() if tables.table_of(stage) == table), None)
    if proof is None:
        return Proved(table in _CHECKED, _CHECKED.get(table) or _COPIED.get(table, "not proved"))
    return Proved(
        proof.holds, f"certificate and oracle ({proof.oracle.solver or 'a second solver'})" if proof.oracle else "certificate"
    )


def sentence(custom: Mapping[str, CustomStageFacts] | None) -> str:
    """What a run with these stages of the user's may claim: `every answer proved`, and how theirs are."""
    words = [f"{name}: {stage.proved}" for name, stage in (custom or {}).items()]
    return "; ".join([f"every answer {'of the other stages ' if words else ''}proved", *words])


def counted_proofs(names: Iterable[str], proofs: Mapping[str, ProofFacts], custom: Mapping[str, CustomStageFacts]) -> str:
    """How many of some tables are proved, and which are not: `2 of 3; coordinates: copied from the source's file`."""
    by_table = {name: proof_of_table(name, proofs, custom) for name in names}
    others = [f"{name}: {proof.how}" for name, proof in by_table.items() if not proof.holds]
    return "; ".join([f"{len(by_table) - len(others)} of {len(by_table)}", *others])
