"""SHA-256 of source files: computed once for each content, and never for a content that was not read."""

import hashlib

import pytest
from blake3 import blake3

from pipeline.errors import BadInput
from pipeline.store import digests
from pipeline.store.digests import Sums, Unwritten


def begin(sums, path):
    digest = blake3(path.read_bytes()).hexdigest()
    sums.begin(digest, path, Unwritten(path))
    return digest


def test_sums_are_kept_by_content(tmp_path, monkeypatch):
    file, kept = tmp_path / "file", tmp_path / "sums.json"
    file.write_bytes(b"first")
    sums = Sums(kept)
    first = begin(sums, file)
    assert sums.of([first]) == {first: hashlib.sha256(b"first").hexdigest()}
    monkeypatch.setattr(digests, "sha256_of", None)  # the same content under another name is not read again
    file.rename(tmp_path / "other")
    again = Sums(kept)
    assert begin(again, tmp_path / "other") == first
    assert again.of([first, "unknown"]) == sums.of([first])


def test_a_sum_that_nothing_names_is_forgotten(tmp_path):
    kept = tmp_path / "sums.json"
    sums = Sums(kept)
    sums.note("a", "1")
    sums.note("b", "2")
    assert sums.of(["b"]) == {"b": "2"} == Sums(kept).of(["a", "b"])


def test_a_damaged_file_of_sums_counts_as_none(tmp_path):
    kept = tmp_path / "sums.json"
    kept.write_text('{"a": 1}')
    assert Sums(kept).of(["a"]) == {}


def test_a_file_that_changed_since_it_was_read_has_no_sum(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"first")
    sums = Sums()
    sums.begin(blake3(b"another content").hexdigest(), file, Unwritten(file))
    with pytest.raises(BadInput, match="changed while it was read"):
        sums.of([blake3(b"another content").hexdigest()])
