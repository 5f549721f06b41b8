"""The generated graphs of `benchmarks.runs.rates`, and what is asked of each: every stage, product and table of the graph."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.runs import sources
from kernels.registry import BY_NAME
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import PRODUCTS

FEW = 3  # pairs of vertices for maximum flows, and sources of products in a graph that is not swept
FIRST = "wcc"  # the stage that every run has
OPTIONS: dict[str, dict[str, Any]] = {
    "betweenness": {"epsilon": 0.5},
    "edge_betweenness": {"epsilon": 0.5},
    "closure": {},
}  # of stages on larger graphs; empty: none
# The steps that depend on the weights.
WEIGHED = frozenset(
    {"sssp", "mst", "max_flow", "betweenness", "edge_betweenness", *(product.name for product in PRODUCTS.values())}
)


@dataclass(frozen=True)
class RateCase:
    """A graph: its name, its rows, and how they are read."""

    name: str
    rows: Callable[[], pa.Table]
    directed: bool
    suffix: str = ".parquet"
    sources: int = 400  # of each product
    thresholds: tuple[float, ...] = (10_000, 20_000)  # of isochrones
    small: bool = False  # whether all stages may have their usual options
    steps: frozenset[str] | None = None  # those that are asked for; None: all

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the source and the files of vertices and pairs into a folder; return the table `[graph]`."""
        table, path = self.rows(), folder / f"graph{self.suffix}"
        if self.suffix == ".parquet":
            pq.write_table(table, path)
        else:
            pyarrow.csv.write_csv(table, path)
        ids = pc.unique(table["src"])
        some = ids.take(pa.array(np.linspace(0, len(ids) - 1, min(self.sources, len(ids))).astype(np.int64)))
        pq.write_table(pa.table({"vertex": some}), folder / "vertices.parquet")
        for name, count in (("trips", len(some)), ("pairs", FEW)):
            pairs = {"src": some[:count], "dst": pc.take(some, pa.array(np.roll(np.arange(len(some)), 1)[:count]))}
            pq.write_table(pa.table(pairs), folder / f"{name}.parquet")
        return {"source": str(path), "directed": self.directed}

    def asked(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """A name of a step, and the keys of a run that makes it, of every step that `graphmill estimate` knows."""
        return ((step, keys) for step, keys in self._all(folder) if self.steps is None or step in self.steps)

    def _all(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        vertices, pairs = str(folder / "vertices.parquet"), {"pairs": str(folder / "pairs.parquet")}
        for stage in BY_NAME:
            if stage in OPTIONS and not self.small:
                if OPTIONS[stage]:
                    yield stage, {"stages": [stage], stage: OPTIONS[stage]}
            else:
                yield stage, {"stages": [stage], **({stage: pairs} if BY_NAME[stage].has_pairs else {})}
        asked: dict[str, dict[str, Any]] = {
            "nearest": {"facilities": vertices, "count": 3},
            "isochrones": {"thresholds": self.thresholds, "sources": vertices},
            "closeness": {"sources": vertices},
            "flows": {"pairs": str(folder / "trips.parquet")},
        }
        for product in PRODUCTS.values():
            if product.configuration:
                yield product.name, {"stages": [FIRST], product.name: asked[product.name]}
        for table in GRAPH_TABLES:
            yield table, {"stages": [FIRST], table: True}
        queries = {"pairs": str(folder / "trips.parquet"), "witness": True}
        for step in ("reached", "paths"):
            yield step, {"stages": ["reachability"], "queries": queries}
        if self.suffix == ".csv":
            yield "named", {"stages": [FIRST], "named": True}


def grid(side: int, weight: Callable[[pa.ChunkedArray], pa.ChunkedArray] | None = None) -> pa.Table:
    """A thinned grid, with weights made from integers."""
    table = pa.concat_tables(sources.grid(side))
    return table.set_column(2, "weight", weight(table["weight"])) if weight else table


def social(people: int, friends: int = 5) -> pa.Table:
    """Who follows whom, with names as ids and no weights: the popular ones are followed more often, and a third follow back."""
    random = np.random.default_rng(sources.SEED)
    src = np.repeat(np.arange(1, people), friends)
    dst = (src * random.random(len(src)) ** 3).astype(np.int64)
    back = random.random(len(src)) < 1 / 3
    names = pa.array([f"person-{number:07d}" for number in random.permutation(people)])
    columns = {"src": np.concatenate([src, dst[back]]), "dst": np.concatenate([dst, src[back]])}
    return pa.table({end: names.take(pa.array(column)) for end, column in columns.items()})


def tenths(weights: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimal weights with one digit after the point."""
    return pc.divide(pc.cast(weights, pa.float64()), 10.0)


def roots(weights: pa.ChunkedArray) -> pa.ChunkedArray:
    """Weights that are multiples of no power of ten or two."""
    return pc.sqrt(pc.cast(weights, pa.float64()))


def cases(scale: int, side: int) -> list[RateCase]:
    """The graphs: a small one, in which what each step takes at least counts, and larger ones."""
    skewed, people = partial(sources.kronecker, scale), 2 ** (scale + 1)
    return [
        RateCase("small grid", partial(grid, 30), False, small=True),
        RateCase("grid", partial(grid, side), False),
        RateCase("grid, decimals", partial(grid, side, tenths), False, thresholds=(1000.0, 2000.0), steps=WEIGHED),
        RateCase("grid, floats", partial(grid, side, roots), False, thresholds=(500.0, 1000.0), steps=WEIGHED),
        RateCase("Kronecker", lambda: pa.concat_tables(skewed()), True, sources=FEW),
        RateCase("Kronecker as CSV", lambda: pa.concat_tables(skewed()).slice(0, 2**20), True, ".csv", steps=frozenset()),
        RateCase("social, names", partial(social, people), True, ".csv", sources=FEW),
    ]
