"""Parameters of flows on the command line: what is taken, and what is refused before anything runs."""

import pytest

from flows.analytics import FLOWS
from flows.parameters import checked, parameters_of
from pipeline.errors import BadConfig


def taken(flow, *arguments):
    return checked(f"{flow}/nightly", FLOWS[flow], parameters_of(list(arguments)))


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["sources=[0, 107]", "backend=gpu"], {"sources": [0, 107], "backend": "gpu"}),
        (['sources=["ana", "2.35,48.85", 3]'], {"sources": ["ana", "2.35,48.85", 3]}),
        (["run=a=b.toml", "publish_as=x"], {"run": "a=b.toml", "publish_as": "x"}),
        (["run=2024", "publish_as=true"], {"run": "2024", "publish_as": "true"}),  # texts, although they are JSON
        (["backend=null", "sources=[]"], {"backend": None, "sources": []}),
    ],
)
def test_a_value_is_what_the_parameter_takes(arguments, values):
    assert taken("social-network", *arguments) == values


def test_truth_values_are_json():
    assert taken("reachability", "witness=true", "pairs=p.parquet") == {"witness": True, "pairs": "p.parquet"}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("given", ["tpu", "CPU", "1", '["cpu"]', ""])
def test_a_wrong_backend_is_refused_with_those_there_are(flow, given):
    with pytest.raises(BadConfig) as refused:
        taken(flow, f"backend={given}")
    assert str(refused.value).startswith(f"{flow}/nightly: backend: ")
    assert all(f"'{name}'" in str(refused.value) for name in ("auto", "cpu", "gpu"))


@pytest.mark.parametrize(
    ("flow", "argument", "words"),
    [
        ("road-network", "sorces=[1]", "sorces is not a parameter of road-network; its parameters are run, sources, backend"),
        ("road-network", "sorces=[1]", "did you mean 'sources'?"),
        ("road-network", "pairs=p.parquet", "pairs is not a parameter"),
        ("graph-changes", "sources=[1]", "its parameters are run, arrivals"),
        ("road-network", "sources=[1, 2.5]", "sources[1]: "),
        ("road-network", "sources=[-1]", "sources[0]: "),
        ("road-network", "sources=ana", "sources: Input should be a valid list (got 'ana')"),
        ("reachability", "witness=maybe", "witness: Input should be a valid boolean"),
        ("road-network", f"backend={'x' * 9999}", f"(got '{'x' * 80}...')"),
    ],
)
def test_what_a_flow_does_not_take_is_named(flow, argument, words):
    with pytest.raises(BadConfig) as refused:
        taken(flow, argument)
    assert words in str(refused.value) and len(str(refused.value)) < 400


@pytest.mark.parametrize(("arguments", "words"), [(["a"], "a: is not NAME=VALUE"), (["a=1", "a=2"], "a: is given twice")])
def test_arguments_that_are_no_parameters_are_refused(arguments, words):
    with pytest.raises(BadConfig, match=words):
        parameters_of(arguments)
