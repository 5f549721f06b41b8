"""`python -m examples paths.top_down GRAPH VERTEX`: run an algorithm on a graph, and print the beginning of its answer."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any

import graphmill
from kernels.gpu.loader import to_host

_SHOWN = 10  # rows


def main(arguments: Sequence[str]) -> None:
    """Run the algorithm that the first argument names; without one, list all."""
    here = Path(__file__).parent
    names = sorted(f"{path.parent.name}.{path.stem}" for path in here.glob("*/[a-z]*.py"))
    names.remove("weights.edges")  # which others use
    parser = ArgumentParser("python -m examples", description=f"Run one of {', '.join(names)}.")
    parser.add_argument("algorithm", choices=names, metavar="ALGORITHM", help="its --help says what it needs besides a graph")
    name = parser.parse_args(arguments[:1]).algorithm
    run(name, getattr(import_module(f"examples.{name}"), name.rpartition(".")[2]), arguments[1:])


def run(name: str, algorithm: Callable[..., Any], arguments: Sequence[str]) -> None:
    """Run an algorithm on the graph that its arguments name; an error that a user can fix ends it with one line.

    Of the algorithm's parameters behind the graph, those of type int without a default, and lists of these, are vertices.
    """
    parser = ArgumentParser(f"python -m examples {name}", description=getdoc(algorithm))
    parser.add_argument("graph", help="a folder of runs, the TOML file of a run or a graph, or a graph file")
    _, *parameters = signature(algorithm).parameters.values()
    for parameter in parameters:
        parser.add_argument(parameter.name, **_argument(parameter))
    parser.add_argument("--undirected", action="store_true", help="a line of the graph file is an edge in both directions")
    parser.add_argument("--backend", default="auto", help="cpu, gpu or auto, the default")
    given = parser.parse_args(arguments)
    stated: dict[str, Any] = {"directed": False} if given.undirected else {}
    try:
        opened = graphmill.open(given.graph, backend=given.backend, **stated)
        answer = algorithm(opened.graph, *(_value(getattr(given, parameter.name), opened) for parameter in parameters))
    except (graphmill.GraphmillError, ValueError) as error:
        sys.exit(f"{parser.prog}: {error}")
    print(opened)
    if isinstance(answer, tuple):
        print(*map(to_host, answer), sep="\n")
    else:
        _show(to_host(answer), opened)


def _argument(parameter: Parameter) -> dict[str, Any]:
    if parameter.default is not Parameter.empty:
        return {"type": parameter.annotation, "nargs": "?", "default": parameter.default}
    if parameter.annotation in (int, float):
        return {"type": float if parameter.annotation is float else str}
    return {"nargs": "+"}


def _value(given: Any, opened: graphmill.OpenedGraph) -> Any:
    if isinstance(given, list):
        return opened.rows(given).tolist()
    return opened.row(given) if isinstance(given, str) else given


def _show(answer: Any, opened: graphmill.OpenedGraph) -> None:
    if len(answer) != opened.graph.num_vertices:
        print(answer)
        return
    print("row  vertex  answer")
    for row, vertex in enumerate(opened.ids(range(min(_SHOWN, len(answer))))):
        print(f"{row}  {vertex}  {answer[row]}")
    if len(answer) > _SHOWN:
        print(f"... {len(answer) - _SHOWN:,} more")


if __name__ == "__main__":
    main(sys.argv[1:])
