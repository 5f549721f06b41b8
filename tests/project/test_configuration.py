"""docs/configuration.md and the JSON schemas: equal to what the code gives, complete, and true."""

import json
import tomllib

import jsonschema
import pytest

from pipeline.config.loading import run_config
from pipeline.config.reference import GRAPH_SCHEMA, ROOT, RUN_SCHEMA, files, header, keys, tables
from pipeline.config.run import RunConfig


def test_generated_files_are_those_of_the_code():
    for path, text in files().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "run make docs-configuration"


def test_every_key_has_a_meaning_and_every_example_is_valid():
    lines = []
    for name, model in tables():
        lines += [header(name)] if name else []
        lines += [f"{key.name} = {key.example}" for key in keys(model)]
        assert all(len(key.meaning) > 10 for key in keys(model))
    content = tomllib.loads("\n".join(lines))  # all at once, though some have no effect beside others
    one_rank = {key: value for key, value in content.items() if key != "cluster"}  # which a stage of the user's own needs
    configs = {"cluster": run_config("examples", **content | {"custom": []}), "custom": run_config("examples", **one_rank)}
    for name, model in tables():
        found = configs.get(name, configs["cluster"])
        for part in name.split(".") if name else ():
            found = getattr(found, part)
            found = found[0] if isinstance(found, tuple) else found
        for key in keys(model):
            assert getattr(found, key.name) is not None
    assert not refusals(RUN_SCHEMA, content)


def refusals(schema, content):
    checker = jsonschema.Draft202012Validator(json.loads((ROOT / schema).read_text()))
    return [error.message for error in checker.iter_errors(content)]


@pytest.mark.parametrize(("folder", "schema"), [("runs", RUN_SCHEMA), ("graphs", GRAPH_SCHEMA)])
def test_the_projects_files_follow_the_schema_that_they_name(folder, schema):
    for path in (ROOT / "conf" / folder).glob("*.toml"):
        first = path.read_text().partition("\n")[0]
        assert (path.parent / first.removeprefix("#:schema ")).resolve() == ROOT / schema
        assert not refusals(schema, tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    "content",
    ['stagse = ["bfs"]', 'stages = ["dfs"]', "keep = -1", 'keep = "7"', "sources = [1.5]", '[layout]\norder = "random"'],
)
def test_the_schema_refuses_what_a_run_refuses(content):
    good = {"graph": "graph.toml", "output": "out"}
    assert not refusals(RUN_SCHEMA, good)
    wrong = tomllib.loads(content)
    assert refusals(RUN_SCHEMA, good | wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RunConfig(**{"graph": {"source": "g"}, "output": "out"} | wrong)
