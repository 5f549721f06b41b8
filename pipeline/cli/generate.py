"""The commands `generate graph500` and `generate social`: random graphs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from pipeline.cli.arguments import Integer, Number

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernels.generators import Drawing

generate = App(name="generate", help="Write a random graph, the same for the same seed on a CPU and on a GPU.")
Flag = Annotated[bool, Parameter(negative="")]


@generate.command
def graph500(
    *, scale: Integer, out: Path, seed: Integer = 1, weights: Flag = False, as_drawn: Flag = False, backend: str = "auto"
) -> None:
    """Write Graph500's graph of 2^SCALE ids and 16 edges for each, as Graphalytics' graph500-SCALE.

    ```
    graphmill generate graph500 --scale 22 --out graphs/graph500-22
    graphmill graphalytics graphs/graph500-22 --out out/graph500-22
    graphmill run graphs/graph500-22/graph500-22.e.parquet --undirected --stages wcc --out out/wcc
    ```

    `OUT` gets a `.properties` file, and vertices and edges as Parquet: each edge once, ascending, without self-loops and vertices
    that have no edge. Memory is bounded, whatever the number of edges.

    Args:
        scale: 1 to 31.
        out: A new folder.
        seed: Of the random numbers.
        weights: Give the edges weights 1 to 999, which depend on their ends.
        as_drawn: Write all 16 edges for each id in the order in which they are drawn, with self-loops and parallel edges, and
            nothing else.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The files are the same.
    """
    from kernels import generators

    _write(f"graph500-{scale}", lambda: generators.graph500(scale, seed), out, backend, weights, as_drawn)


@generate.command
def social(
    *,
    vertices: Integer,
    out: Path,
    seed: Integer = 1,
    degree: Number = 32,
    exponent: Number = 2.5,
    clustering: Number = 0.3,
    backend: str = "auto",
) -> None:
    """Write a social graph: degrees by a power law, communities in which friends of friends are friends, weights 1 to 999.

    ```
    graphmill generate social --vertices 1000000 --out graphs/social
    ```

    `OUT` gets the same files as by `graphmill generate graph500`. The method is BTER (Kolda, Pinar, Plantenga, Seshadhri, 2014).

    Args:
        vertices: Number of ids; few of them have no edge, and are left out.
        out: A new folder.
        seed: Of the random numbers.
        degree: Expected mean degree.
        exponent: Of the power law.
        clustering: Expected mean of the local clustering coefficients.
        backend: cpu, gpu, or auto (default): the GPU if there is one. The files are the same.
    """
    from kernels.generators import social as of_social

    options = degree, exponent, clustering
    _write(f"social-{vertices}", lambda: of_social.social(vertices, seed, *options), out, backend, weighted=True)


def _write(
    name: str, drawing: "Callable[[], Drawing]", out: Path, backend: str, weighted: bool, as_drawn: bool = False
) -> None:  # fmt: skip
    from pipeline.config.loading import checked
    from pipeline.errors import BadConfig
    from pipeline.graphalytics.generated import GeneratedFiles, GenerateOptions
    from pipeline.runtime.memory_watch import followed

    try:
        drawn = drawing()
    except ValueError as error:
        raise BadConfig(f"--{error}") from None
    files = GeneratedFiles(name, checked(GenerateOptions, "options", out=out, backend=backend))
    with followed():
        written = (files.write_drawn if as_drawn else files.write)(drawn, weighted)
    vertices = "" if written.vertices is None else f"{written.vertices:,} vertices, "
    print(f"{name}: {vertices}{written.edges:,} edges in {out}")
