"""The parameters of flows, as the command line and files of deployments state them."""

import inspect
import json
from collections.abc import Mapping
from typing import Any, get_type_hints

from prefect import Flow
from pydantic import TypeAdapter, ValidationError

from pipeline.errors import BadConfig
from pipeline.suggestions import did_you_mean

SHOWN = 80  # characters of a value in a message


class ParameterText(str):
    """A parameter's value on the command line: JSON or, if the parameter does not take that, text."""


def parameters_of(arguments: list[str]) -> dict[str, ParameterText]:
    """Parameters written as NAME=VALUE. Raises BadConfig for an argument of another form, and for a name that is given twice."""
    parameters: dict[str, ParameterText] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals:
            raise BadConfig(f"{argument}: is not NAME=VALUE")
        if name in parameters:
            raise BadConfig(f"{name}: is given twice")
        parameters[name] = ParameterText(value)
    return parameters


def checked(origin: str, flow: Flow[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a flow's parameters, as JSON has them. Raises BadConfig, after `origin`, for one that it does not take."""
    types, names = get_type_hints(flow.fn, include_extras=True), list(inspect.signature(flow.fn).parameters)
    for name in given:
        if name not in names:
            known = f"its parameters are {', '.join(names)}{did_you_mean(name, names)}"
            raise BadConfig(f"{origin}: {name} is not a parameter of {flow.name}; {known}")
    return {name: _value(f"{origin}: {name}", TypeAdapter(types[name]), value) for name, value in given.items()}


def _value(option: str, takes: TypeAdapter[Any], given: Any) -> Any:
    problems = []
    for reading in _readings(given):
        try:
            return takes.dump_python(takes.validate_python(reading), mode="json")
        except ValidationError as error:
            problems += error.errors()
    problem = problems[0]
    inside = "".join(f"[{index}]" for index in problem["loc"] if isinstance(index, int))
    shown = str(problem["input"])
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    raise BadConfig(f"{option}{inside}: {problem['msg'].removeprefix('Value error, ')} (got {shown!r})")


def _readings(given: Any) -> list[Any]:
    """How a value can be read: one of the command line as text or, if it is that, as JSON, which comes first."""
    if not isinstance(given, ParameterText):
        return [given]
    try:
        return [str(given), json.loads(given)][::-1]
    except ValueError:
        return [str(given)]
