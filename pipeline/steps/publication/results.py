"""The folders that the steps of a run wrote, and whether they may be published."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from kernels.records import dataclass
from kernels.registry import BY_NAME
from pipeline.comparison.versions import of_step
from pipeline.errors import ProofFailed
from pipeline.store.facts import ProofFacts
from pipeline.store.facts.products import PROVED, CustomFacts, ProductFacts
from pipeline.store.facts.run import CustomStageFacts, PlaceFacts
from pipeline.store.index.folder import index_of
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.steps.turns.turned import Turned


@dataclass(frozen=True)
class Results:
    """What the steps of a run wrote."""

    name: str  # name of the graph
    edges: Folder
    graph: Folder
    # answers, proofs: every published answer needs a proof of exactly its content.
    answers: Sequence[Folder]
    proofs: Sequence[Folder]
    report: Folder | None = None
    source: Folder | None = None  # the edge list as it was read, if `edges` has places on its streets
    derived: Sequence[Folder] = ()  # tables of vertices, which follow from the graph and from proved answers
    of_graph: Sequence[Folder] = ()  # tables of the stored graph, which each checked itself against it
    capacities: Folder | None = None  # the stored graph of stages that add parallel arcs, if that is another one
    turned: "Turned | None" = None  # the graph of stages of paths, if turns matter
    reached: Folder | None = None  # answers to queries, from the index of one of `answers`
    paths: Folder | None = None  # the paths of these answers
    changes: Folder | None = None  # the change tables since the run before
    custom: Sequence[Folder] = ()  # tables of stages that the user wrote
    products: Sequence[Folder] = ()  # tables made from shortest paths, each of which was proved when it was made
    places: Sequence[PlaceFacts] = ()  # that the configuration names, without those of files of places
    placed: Folder | None = None  # table `places`: those of files
    hierarchies: Sequence[Folder] = ()  # the graph's hierarchy and its order, if products were swept
    named: Mapping[str, Folder] = field(default_factory=dict)  # by steps: tables with names, published in the place of theirs
    sha256: Mapping[str, str] = field(default_factory=dict)  # of the files that the edges were read from, by their BLAKE3 digests

    @property
    def indexes(self) -> list[Folder]:
        """The indexes of answers that have one."""
        return [index_of(answer) for answer in self.answers if "index" in answer.manifest.inputs]

    def graph_of(self, answer: Folder) -> Folder:
        """The stored graph from which an answer follows."""
        return self.capacities if self.capacities and BY_NAME[answer.manifest.step].adds_parallel else self.graph

    @property
    def tabled(self) -> list[Folder]:
        """The steps whose files are tables."""
        others = filter(None, (self.placed, self.reached, self.paths))
        return [*self.answers, *self.derived, *self.of_graph, *self.products, *self.custom, *others]

    @property
    def published(self) -> dict[str, Folder]:
        """The steps whose files are published as tables, by the names of these; without table `coordinates`."""
        return {tables.table_of(step.manifest.step): self.named.get(step.manifest.step, step) for step in self.tabled}


def steps_of(results: Results) -> list[Folder]:
    """All steps whose content is published or was proved."""
    steps = [
        results.source,
        results.edges,
        results.graph,
        results.capacities,
        *((results.turned.split, results.turned.graph) if results.turned else ()),
        *results.indexes,
        *results.hierarchies,
        *results.tabled,
        *results.named.values(),
        *results.proofs,
        results.changes,
        results.report,
    ]
    return [step for step in steps if step]


def require_proofs(results: Results) -> None:
    """Raise ProofFailed unless the layout and each answer are proved, and all other tables were made from them."""
    proofs = [proof.manifest.inputs for proof in results.proofs if ProofFacts.of(proof).holds]
    proved = {(inputs["graph"], inputs["answer"]) for inputs in proofs}
    _require_answers(results, proved)
    for table in results.derived:
        made_from = table.manifest.inputs
        if (results.graph.digest, made_from["answer"]) not in proved or made_from["graph"] != results.graph.digest:
            raise ProofFailed(
                f"{table.path}: was made from another graph, or from an answer without a proof; nothing is published"
            )
    if other := [
        table
        for table in (*results.of_graph, *results.products, *results.custom, *filter(None, [results.placed]))
        if table.manifest.inputs["graph"] != results.graph.digest
    ]:
        raise ProofFailed(f"{other[0].path}: was made from another graph; nothing is published")
    for step in results.tabled:
        if (named := results.named.get(step.manifest.step)) and named.manifest.inputs["table"] != step.digest:
            raise ProofFailed(f"{named.path}: has the names of another table; nothing is published")
    if results.reached and results.reached.manifest.inputs["index"] not in {index.digest for index in results.indexes}:
        raise ProofFailed(f"{results.reached.path}: was answered by another index than this run's; nothing is published")
    made_from = {"graph": results.graph.digest, "reached": results.reached.digest if results.reached else ""}
    if results.paths and results.paths.manifest.inputs != made_from:
        raise ProofFailed(f"{results.paths.path}: has paths of other answers or of another graph; nothing is published")
    compared = results.changes.manifest.inputs if results.changes else {}
    for name, table in results.published.items() if results.changes else ():
        if compared.get(f"new {name}") != of_step(table).digest:
            raise ProofFailed(f"{table.path}: is not the table whose change table would be published; nothing is published")


def _require_answers(results: Results, proved: set[tuple[str, str]]) -> None:
    """Raise ProofFailed for a layout without a proof, or an answer that is not among those that are `proved` for their graph."""
    for graph in filter(None, (results.graph, results.capacities, results.turned.graph if results.turned else None)):
        if not graph.facts.get("proof"):
            raise ProofFailed(f"{graph.path}: no proof of its layout; nothing is published")
    for answer in results.answers:
        if (results.graph_of(answer).digest, answer.digest) not in proved:
            raise ProofFailed(f"{answer.path}: no proof of this answer holds; nothing is published")


def proof_of(product: Folder) -> ProofFacts:
    """The proof of a product, which its own step checked."""
    facts = ProductFacts.of(product)
    return ProofFacts(stage=product.manifest.step, backend=facts.backend, holds=True, oracle=None, **vars(facts.proof))


def proofs_of(results: Results) -> Iterator[ProofFacts]:
    """The proofs of a run's stages and products, and of the user's stages that have one."""
    yield from map(ProofFacts.of, results.proofs)
    yield from map(proof_of, results.products)
    yield from filter(None, map(proof_of_custom, results.custom))


def proof_of_custom(table: Folder) -> ProofFacts | None:
    """The proof of a table that a user's stage wrote, if the user's certificate holds for it."""
    facts = CustomFacts.of(table)
    if facts.proved != PROVED:
        return None
    return ProofFacts(
        stage=tables.table_of(table.manifest.step), backend=facts.backend, holds=True, oracle=None, **vars(facts.proof)
    )


def custom_facts_of(table: Folder) -> CustomStageFacts:
    """How the manifest of a run describes a user's stage."""
    facts = CustomFacts.of(table)
    return CustomStageFacts(file=facts.file, sha256=facts.sha256, options=facts.options, proved=facts.proved)
