"""Digests of files: SHA-256 up to a block, a tree of two levels above."""

import hashlib

import pytest

from pipeline.store import digests
from pipeline.store.digests import Digest, digests_of_files, sha256_of


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(digests, "BLOCK", 100)
    monkeypatch.setattr(digests, "_READ", 30)


def expected(data: bytes) -> str:
    blocks = [hashlib.sha256(data[begin : begin + 100]).digest() for begin in range(0, len(data), 100)]
    return hashlib.sha256(data if len(data) <= 100 else b"".join(blocks)).hexdigest()


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_bytes_that_arrive_in_parts_have_the_digest_of_the_file(step, tmp_path):
    contents = [bytes(range(size % 251)) * (size // max(size % 251, 1)) for size in (0, 1, 99, 100, 101, 200, 201, 999)]
    paths = []
    for number, data in enumerate(contents):
        digest = Digest()
        for begin in range(0, len(data), step):
            digest.update(data[begin : begin + step])
        assert digest.hexdigest() == expected(data)
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(data)
    assert digests_of_files(paths) == [expected(data) for data in contents]
    assert [sha256_of(path) for path in paths] == [hashlib.sha256(data).hexdigest() for data in contents]
    assert digests_of_files([]) == []
