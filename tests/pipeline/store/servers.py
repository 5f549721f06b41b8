"""A server of S3's protocol for tests, on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import fsspec
import pytest

SECRET = "s3cr3t-k3y"


@contextmanager
def object_storage() -> Iterator[dict[str, str]]:
    """A server that fsspec uses for s3 URLs, also in processes with these variables, until the block exits."""
    from moto.server import ThreadedMotoServer  # every process that collects tests would wait for it

    with pytest.MonkeyPatch.context() as patch:
        started = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        started.start()
        address = "http://{}:{}".format(*started.get_host_and_port())
        given = {
            "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": "/nowhere",
        }  # fmt: skip
        for name, value in given.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").clear_instance_cache()
        yield given
        started.stop()
        fsspec.filesystem("s3").clear_instance_cache()
