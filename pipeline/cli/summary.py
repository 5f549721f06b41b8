"""What a command says of the run that it has published."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cli.output import accomplish

if TYPE_CHECKING:
    from pipeline.store.manifest import Folder


def summarise(published: "Folder", output: Path) -> None:
    """Print the tables of a published run and their paths."""
    from pipeline.report.wording import answered, changed, counted, read_as, witnessed
    from pipeline.steps.publication.places import farthest
    from pipeline.store.facts.run import RunFacts

    accomplish("the run is published")
    facts = RunFacts.of(published)
    graph = facts.graph
    link = output / facts.published_as
    print(f"\n{graph.name}: {counted(graph.vertices, 'vertex', 'vertices')}, {counted(graph.arcs, 'arc')}; every answer proved")
    for what, sentence in read_as(facts.input).items():
        print(f"  {what.lower():<20} {sentence}")
    if graph.state:
        print(f"  {'changes':<20} {changed(graph.state)}")
    for table, described in facts.tables.items():
        print(f"  {table:<20} {described.rows:>13,} rows   {link / table}")
    if facts.places:
        print(f"  {'places':<20} {farthest(facts.places)}")
    if facts.reached:
        print(f"  {answered(facts.reached)}")
    if facts.paths:
        print(f"  {witnessed(facts.paths)}")
    print(f"  {'report':<20} {'':>18}   {link / 'report.html'}")
    if link.name != "latest":
        print(f"  {'latest':<20} names another run; with --publish-as latest it would name this one")
