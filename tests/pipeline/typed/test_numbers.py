"""A number that a user types arrives exactly, or is refused with one sentence: all options, keys and parameters are tried."""

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cyclopts import CycloptsError

from pipeline.cli.command import app
from pipeline.cli.options import SNAP as NO_SNAP
from pipeline.config.loading import checked, load_run, run_config
from pipeline.config.model import Model
from pipeline.config.products import ProductOptions
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.stages import QueryOptions
from pipeline.errors import BadConfig, GraphmillError
from pipeline.numerals import exact_number
from pipeline.run import run
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from tests.pipeline.typed.keys import KEYS, keys_of

NUMBERS = [
    "0.4",
    "2.5",
    "599.9",
    "1e-3",
    f"{2**53 + 1}",
    f"{2**53 + 3}.0",
    f"{2**63 + 1}",
    "3",
    "0.1000000000000000055",
    "-7.25",
    "1e400",
]
# Tables in which a key is required, and stages that a table is for.
BESIDE: dict[str, dict[str, Any]] = {
    "pagerank.seed_weights": {"seeds": [1], "together": True},  # what keys have an effect with
    "graph.speed.default": {},
    "isochrones.beta": {"decay": "exponential", "sums": ["people"]},
    "isochrones.alpha": {"decay": "gravity", "least": 1.0, "sums": ["people"]},
    "isochrones.least": {"decay": "gravity", "alpha": 1.0, "sums": ["people"]},
    "isochrones.buffer": {"polygons": True},
}
NEEDED = {
    "nearest": {"facilities": "f"},
    "isochrones": {"thresholds": [1]},
    "queries": {"pairs": "p"},
    "max_flow": {"pairs": "p"},
}


def same(found: Any, typed: str) -> bool:
    """Whether a value is what was typed: a text to the letter, a number to its last digit."""
    if isinstance(found, dict):
        return [*found] == ["track"] and same(found["track"], typed)
    if isinstance(found, list | tuple):
        return len(found) == 1 and same(found[0], typed)
    if isinstance(found, str | Path):
        return Path(found).name == typed
    return not isinstance(found, bool) and Decimal(repr(found)) == Decimal(typed)


def one_sentence(error: Exception, name: str) -> None:
    said = str(error)
    assert name.rpartition(".")[2] in said or "TOML" in said or "64-bit float" in said or '"' in said, said
    assert "\n" not in said.strip() and len(said) < 400 and "Traceback" not in said


def value_at(config: Model, key: str) -> Any:
    found: Any = config
    for part in key.split("."):
        found = getattr(found, part)
    return found


def content_with(key: str, value: str) -> str:
    """A valid configuration but for one key, as TOML."""
    *tables, name = key.split(".")
    content: dict[str, Any] = {
        "output": "out",
        "stages": ["wcc", "reachability", "bfs", "betweenness", "closure"],
        "graph": {"source": "g"},
    }
    inner = content
    for table in tables:
        inner = inner.setdefault(table, {})
    inner |= NEEDED.get(tables[0] if tables else "", {})
    if tables[:1] in (["max_flow"], ["cdlp"], ["pagerank"], ["edge_betweenness"]):
        content["stages"].append(tables[0])
    if tables == ["graph", "osm"]:
        inner["profile"] = "car"
    if tables[:1] == ["cluster"]:
        content["stages"], inner["scheduler"] = ["wcc"], "local"
    if (beside := BESIDE.get(key)) is not None:
        inner |= beside
        if tables == ["graph", "speed"]:
            content["graph"] |= {"columns": {"weight": "length", "speed": "maxspeed"}}
    if key == "layout.window":
        inner["order"] = "windowed"
    inner[name] = "@"
    return "\n".join(_lines(content)).replace('"@"', value)


def _lines(table: dict[str, Any], path: str = "") -> list[str]:
    plain = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
    inner = [(f"{path}.{key}".strip("."), value) for key, value in table.items() if isinstance(value, dict)]
    return plain + [line for name, value in inner for line in (f"[{name}]", *_lines(value, name))]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_takes_a_number_exactly_or_refuses_it(key, tmp_path):
    file, taken = tmp_path / "a.toml", []
    for typed in NUMBERS:
        for value in (typed, f"[{typed}]", f"{{ track = {typed} }}"):
            file.write_text(content_with(key, value))
            try:
                found = value_at(config := load_run(file), key)
            except BadConfig as error:
                one_sentence(error, key)
                continue
            assert same(found, typed), (typed, found)
            stored = json.loads(json.dumps(config.model_dump(mode="json")))
            for part in key.split("."):
                stored = stored[part]
            assert same(stored, typed), (typed, stored)
            taken.append(typed)
    assert taken or not takes_numbers(KEYS[key]), f"{key}: no number is taken, so nothing was tried"


def takes_numbers(kind: Any) -> bool:
    return kind in (int, float) or any(takes_numbers(inner) for inner in get_args(kind))


def test_the_keys_that_take_numbers_are_found():
    assert {"isochrones.thresholds", "betweenness.epsilon", "cluster.deadline", "expect.max_change", "graph.limits.ratio"} <= set(
        KEYS
    )
    assert sum(takes_numbers(kind) for kind in KEYS.values()) > 30


def named(command: str) -> Any:
    """A command, or one of those below it, by its words."""
    found = app
    for word in command.split():
        found = found[word]
    return found


def commands(of: Any = app, before: str = "") -> list[str]:
    """All commands that can be called."""
    words = [word for word in of if not word.startswith("-")]
    return [
        each
        for word in words
        for each in (commands(of[word], f"{before}{word} ") if not of[word].default_command else [before + word])
    ]


COMMANDS = commands()


def options() -> list[tuple[str, str, Any]]:
    """The options of all commands with their types; those of `run`, which other commands have too, once."""
    return [
        (command, name, argument.hint)
        for command in COMMANDS
        for argument in named(command).assemble_argument_collection()
        for name in argument.names[:1]
        if name.startswith("--") and (command == "run" or not argument.keys)
    ]


def arguments_of(command: str, without: str) -> list[str]:
    """What a command requires, but for one option."""
    found = []
    for argument in named(command).assemble_argument_collection():
        if argument.required and argument.names[0] != without:
            name = argument.names[0]
            found += [name, "1"] if name.startswith("--") else ["x"]
    return found


@pytest.mark.parametrize(("command", "option", "kind"), options())
def test_an_option_takes_a_number_exactly_or_refuses_it(command, option, kind):
    for typed in NUMBERS if takes_numbers(kind) else NUMBERS[1:2]:
        _try(command, option, typed)


def _try(command: str, option: str, typed: str) -> None:
    words = [command, *arguments_of(command, option), f"{option}={typed}"]
    try:
        _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        one_sentence(error, option)
        return
    given = dict(bound.arguments)
    given |= vars(given.pop("options")) if "options" in given else {}
    name = option.removeprefix("--").replace("-", "_")
    assert same(given["as_json" if name == "json" else name], typed)


def test_the_options_that_take_numbers_are_found():
    assert {("matrix", "--cutoff"), ("run", "--keep"), ("prune", "--keep"), ("diff", "--examples"), ("run", "--shards")} <= {
        option[:2] for option in options()
    }
    for option in ("cutoff", "snap-limit"):
        words = ["matrix", "g", "--out", "o", f"--{option}", f"{2**53 + 1}"]
        _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        assert (bound.arguments | bound.arguments.get("snap", NO_SNAP).given)[option.replace("-", "_")] == 2**53 + 1


@pytest.mark.parametrize("model", [MatrixOptions, ProductOptions, QueryOptions])
@pytest.mark.parametrize("typed", NUMBERS)
def test_options_of_commands_keep_numbers(model, typed):
    for name, kind in ((name, kind) for name, kind in keys_of(model) if takes_numbers(kind) and "." not in name):
        try:
            found = checked(model, "options", output="out", **{name: exact_number(typed)})
        except BadConfig as error:
            one_sentence(error, name)
            continue
        except ValueError as error:  # of a numeral that no number is
            assert "is between two 64-bit floats" in str(error) or "is beyond the largest 64-bit float" in str(error)
            continue
        assert same(getattr(found, name), typed), kind


@pytest.mark.parametrize("number", [0.1, 2.5, 1 / 3, 599.9, 1e-3, 5e-324, 1.7976931348623157e308])
def test_numerals_of_other_programs_are_the_numbers_that_they_had(number):
    """C and R print 17 digits where Python prints the shortest numeral."""
    for text in (repr(number), f"{number:.17g}", f"{number:.16e}"):
        assert exact_number(text) == number


def test_toml_reads_integers_and_floats_as_typed():
    """The standard library rounds, which is why the numerals of floats are compared with what they became."""
    assert tomllib.loads("a = 9007199254740993.0")["a"] == 2**53


def _distances(folder: Path) -> list[float]:
    return sorted(pq.read_table(folder)["distance"].to_pylist())


@pytest.mark.parametrize("proof", ["every", "sample"])
@pytest.mark.parametrize(("kind", "unit"), [("int64", 1), ("float64", 0.1), ("float32", 0.25)])
@pytest.mark.parametrize("typed", ["0.4", "2.5", "599.9", "1e-3", "7", f"{2**53 + 3}", "0.30000000000000004", "0.5"])
def test_a_cutoff_means_what_was_typed(kind, unit, typed, proof, tmp_path, monkeypatch):
    """Every distance up to the exact number has a row, and no other; the manifest has the number."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    steps = [1, 2, 3, 7, 2400, 6000, 2**53 // 4]
    table = {
        "src": [0] * len(steps),
        "dst": [*range(1, len(steps) + 1)],
        "weight": pa.array([step * unit for step in steps], kind),
    }
    pq.write_table(pa.table(table), tmp_path / "roads.parquet")
    (tmp_path / "from.txt").write_text("0\n")
    words = [str(tmp_path / "roads.parquet"), "--sources", str(tmp_path / "from.txt"), "--proof", proof, "--backend", "cpu"]
    for name, more in (("all", []), ("cut", ["--cutoff", typed])):
        app(["matrix", *words, "--out", str(tmp_path / name), *more], result_action="return_value", exit_on_error=False)
    every = [distance for distance in _distances(tmp_path / "all") if distance is not None] if more else []
    assert _distances(tmp_path / "cut") == [distance for distance in every if Decimal(repr(distance)) <= Decimal(typed)]
    assert same(manifest.read(tmp_path / "cut").manifest.parameters["cutoff"], typed)


def test_thresholds_arrive_exactly_or_are_refused(tmp_path):
    for kind, given, refused in (
        ("int64", 2.5, True),
        ("int64", 2**53 + 1, False),
        ("float64", 2**53 + 1, True),
        ("float64", 0.4, False),
    ):
        pq.write_table(pa.table({"src": [0], "dst": [1], "weight": pa.array([2], kind)}), tmp_path / "roads.parquet")
        graph, out = {"source": str(tmp_path / "roads.parquet")}, tmp_path / f"{kind}-{given}"
        config = run_config("test", graph=graph, output=out, stages=["wcc"], isochrones={"thresholds": [given]}, backend="cpu")
        if refused:
            with pytest.raises(BadConfig, match=f"isochrones.thresholds: {given}: the distances of this graph are "):
                run(config)
            continue
        facts = RunFacts.of(published := run(config))
        assert facts.configuration.values["isochrones"]["thresholds"] == [given]
        assert set(pq.read_table(published.path / "isochrones")["threshold"].to_pylist()) == {given}


def test_flows_take_the_numbers_of_parameters_exactly(monkeypatch, tmp_path):
    from pydantic import TypeAdapter, ValidationError

    from pipeline.config.model import Vertex

    sources = TypeAdapter(list[Vertex] | None)
    for typed in NUMBERS:
        try:
            found = sources.validate_python([json.loads(typed)])
        except (ValidationError, GraphmillError):
            continue
        assert same(found, typed)
