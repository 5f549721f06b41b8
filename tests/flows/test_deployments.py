"""Files of deployments: what is refused before the server is asked, with the value as the file has it."""

import pytest

from flows.deployments import deploy
from pipeline.errors import BadConfig
from tests.flows.networks import road_run

DEPLOYMENT = """
  - name: {name}
    entrypoint: {entrypoint}
    work_pool: {{name: {pool}}}
    parameters: {{run: {run}{more}}}
"""


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    """The address of one that nobody starts: a file that is not refused would fail with another message."""
    monkeypatch.setattr("flows.deployments.address", lambda: "http://127.0.0.1:9/api")
    monkeypatch.setattr("flows.server.address", lambda: "http://127.0.0.1:9/api")


def refusal(folder, **changes):
    """The message for two deployments of which the second has these values."""
    values = {"name": "people", "entrypoint": "flows/analytics.py:road_network", "pool": "p", "run": road_run(folder), "more": ""}
    file = folder / "d.yaml"
    file.write_text(f"deployments:{DEPLOYMENT.format(**values)}{DEPLOYMENT.format(**values | changes)}")
    with pytest.raises(BadConfig) as refused:
        deploy(file)
    return str(refused.value).removeprefix(f"{file}: ")


@pytest.mark.parametrize(
    "value", ["2024", "null", "~", "on", "no", "yes", "true", "1.5", "0x1F", "2024-01-02", "1_000", ".inf", "[a]"]
)
@pytest.mark.parametrize(("key", "name"), [("name", "name"), ("pool", "work_pool.name")])
def test_a_name_that_yaml_does_not_read_as_text_is_shown(value, key, name, tmp_path):
    message = refusal(tmp_path, **{key: value})
    assert message.startswith(f"deployment 2: {name}: YAML reads ")
    if value != "[a]":
        assert f"YAML reads {value} as " in message and message.endswith(f'not as text; write it as "{value}"')


def test_a_run_and_an_entry_point_are_texts(tmp_path):
    assert refusal(tmp_path, run="2024").startswith("deployment 2: parameters.run: YAML reads 2024 as int")
    assert refusal(tmp_path, entrypoint="on").startswith("deployment 2: entrypoint: YAML reads on as bool")


def test_parameters_that_the_flow_does_not_take_are_refused(tmp_path):
    assert refusal(tmp_path, more=", colour: red").startswith("people: colour is not a parameter of road-network; ")
    assert refusal(tmp_path, more=", backend: tpu").startswith("people: backend: Input should be 'auto', 'cpu' or 'gpu'")
    assert "there is no flow" in refusal(tmp_path, entrypoint="flows/analytics.py:rail_network")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "does not list deployments"),
        ("a: [", "does not list deployments"),
        ("deployments: [{work_pool: {name: graphmill}}]", "does not list deployments"),
        ("deployments: [{name: a, entrypoint: b, work_pool: {name: graphmill}, parameters: {run: RUN}}]", "colour: unknown key"),
    ],
)
def test_nothing_is_deployed_from_a_wrong_file(text, words, tmp_path):
    run = road_run(tmp_path)
    run.write_text('output = "out"\ncolour = 1\n[graph]\nsource = "roads.gr"\n')
    (tmp_path / "d.yaml").write_text(text.replace("RUN", str(run)))
    with pytest.raises(BadConfig, match=words):
        deploy(tmp_path / "d.yaml")


def test_a_missing_file_and_a_silent_server_are_named(tmp_path):
    with pytest.raises(BadConfig, match=r"none\.yaml: No such file"):
        deploy(tmp_path / "none.yaml")
