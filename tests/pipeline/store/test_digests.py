"""Digests of files equal those of the library in one call, however a file is divided and whatever the number of cores."""

import hashlib
import os

import pytest
from blake3 import blake3

from pipeline.store import digests
from pipeline.store.digests import Digest, digest_of_file, digests_of_files, sha256_of

SIZES = (0, 1, 29, 30, 31, 99, 100, 101, 119, 120, 121, 999)


@pytest.fixture(autouse=True, params=[1, 4], ids="{}-cores".format)
def small_parts(request, monkeypatch):
    monkeypatch.setattr(digests, "LARGE", 100)
    monkeypatch.setattr(digests, "_READ", 30)
    monkeypatch.setattr(digests, "_LEAST", 7)
    monkeypatch.setattr(digests, "cores", lambda: request.param)


def content(size: int) -> bytes:
    return bytes(number * number % 251 for number in range(size))


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_bytes_that_arrive_in_parts_have_the_digest_of_the_file(step, tmp_path):
    contents, paths = [content(size) for size in SIZES], []
    for number, data in enumerate(contents):
        digest = Digest()
        for begin in range(0, len(data), step):
            digest.update(data[begin : begin + step])
        assert digest.hexdigest() == blake3(data).hexdigest()
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(data)
    assert digests_of_files(paths) == [blake3(data).hexdigest() for data in contents]
    assert digests_of_files([paths[-1], paths[-1]]) == [blake3(contents[-1]).hexdigest()] * 2
    assert [sha256_of(path) for path in paths] == [hashlib.sha256(data).hexdigest() for data in contents]
    assert digests_of_files([]) == []


def test_files_are_divided_only_if_a_core_would_have_more_than_its_share(tmp_path, monkeypatch):
    """To divide a file takes buffers for all cores, for which the kernel zeroes more memory than is hashed."""
    divided, true = [], digests._digest_of_large
    monkeypatch.setattr(digests, "_digest_of_large", lambda path: (divided.append(path.name), true(path))[1])
    paths = [tmp_path / str(number) for number in range(8)]
    for path in paths:
        path.write_bytes(content(120))
    (larger := tmp_path / "larger").write_bytes(content(999))
    assert digests_of_files(paths) == [blake3(content(120)).hexdigest()] * 8 and not divided
    assert digests_of_files([*paths[:4], larger])[-1] == blake3(content(999)).hexdigest()
    assert divided == ["larger"] * (digests.cores() > 1)


def test_a_forked_child_computes_digests_after_its_parent_has(tmp_path):
    """Threads of a library do not exist in a forked child, which would wait for them for ever."""
    file = tmp_path / "file"
    file.write_bytes(content(999))
    expected = digest_of_file(file)
    child = os.fork()
    if child == 0:
        os._exit(digest_of_file(file) != expected)
    assert os.waitpid(child, 0)[1] == 0
