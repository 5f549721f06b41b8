"""The Prefect server that is configured, and what its errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from prefect.settings import get_current_settings

from pipeline.errors import BadConfig


def address() -> str:
    """The address of the server's API. Raises BadConfig if no server is configured."""
    url = get_current_settings().api.url
    if not url:
        raise BadConfig("PREFECT_API_URL is not set: it is the address of the server (docs/operations.md)")
    return url


@contextmanager
def asking() -> Iterator[None]:
    """Raise BadConfig if the server does not answer the block's requests, or refuses one."""
    url = address()
    try:
        yield
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status == httpx.codes.UNAUTHORIZED:
            raise BadConfig(f"{url}: the server refuses the password; export PREFECT_API_AUTH_STRING as it has it") from None
        raise BadConfig(f"{url}: the server answered {status}: {_detail(error.response)}") from None
    except httpx.TransportError as error:
        raise BadConfig(f"{url}: the server does not answer ({error or type(error).__name__})") from None


def _detail(response: httpx.Response) -> str:
    """What the body of an answer states, in at most 300 characters."""
    try:
        return str(response.json()["detail"])[:300]
    except (ValueError, KeyError, TypeError):
        return response.reason_phrase
