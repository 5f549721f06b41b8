"""The commands on products: each reads a run or a graph, and writes a table."""

from pathlib import Path
from typing import Any

from pipeline.cli.options import cluster_table
from pipeline.cli.output import accomplish


def write(name: str, graph: str, out: Path, cluster: str, **options: Any) -> None:
    """Write a product into a folder, and print its size and path."""
    from pipeline.report.wording import counted
    from pipeline.runtime.memory_watch import followed
    from pipeline.steps.products.commands import product_into
    from pipeline.store.edges import FILES
    from pipeline.store.facts.products import ProductFacts

    with followed() as shown, shown.step(name):
        made = product_into(name, graph, out, cluster=cluster_table(cluster), **options)
    accomplish("the table is written")
    facts = ProductFacts.of(made)
    proved = "one tree of each batch" if options.get("proof") == "sample" else "every tree"
    print(f"\n{counted(facts.rows, 'row')} from {counted(facts.sources, 'source')}; {proved} proved   {out / FILES}")
