"""Digests that were computed early are used for files that nobody has written since."""

import os
import shutil

import pytest

from pipeline.store import digests
from pipeline.store.digests import Unwritten, digests_of_files
from pipeline.store.early import EarlyDigests


@pytest.fixture
def paths(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    found = [folder / str(number) for number in range(3)]
    for path in found:
        path.write_text(path.name * 9)
    return found


@pytest.fixture
def long_ago(monkeypatch):
    """All files were written long ago."""
    clock = digests.time.time_ns
    monkeypatch.setattr("pipeline.store.digests.time.time_ns", lambda: clock() + 10**10)


@pytest.fixture
def read(monkeypatch):
    """The files that are read from now on."""
    found, true = [], digests._digest_of_block
    monkeypatch.setattr(digests, "_digest_of_block", lambda block: found.append(block[0]) or true(block))
    return found


def begun(find):
    early = EarlyDigests(find)
    early._begun.exception()  # when it has ended
    return early


def test_each_file_is_read_once(paths, long_ago, read):
    early = begun(lambda: paths)
    assert sorted(read) == paths
    expected = digests_of_files(paths)
    read.clear()
    assert early.digests_of([*reversed(paths)]) == [*reversed(expected)]
    assert not read


def damaged_with_old_times(path):
    before = path.stat()
    path.write_text("x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path):
    """Give the whole folder to another run."""
    shutil.copytree(path.parent, path.parent.with_name("new"))
    damaged_with_old_times(path.parent.with_name("new") / path.name)
    path.parent.rename(path.parent.with_name("old"))
    path.parent.with_name("new").rename(path.parent)


@pytest.mark.parametrize("write", [damaged_with_old_times, replaced, lambda path: path.write_text("longer" * 99)])
def test_a_file_that_was_written_since_is_read_again(write, paths, long_ago):
    early = begun(lambda: paths)
    before = early.digests_of(paths)
    write(paths[1])
    after = early.digests_of(paths)
    assert after == digests_of_files(paths)
    assert [one != other for one, other in zip(before, after, strict=True)] == [False, True, False]


def test_a_file_that_was_written_just_before_is_read_when_it_is_checked(paths, read):
    early = begun(lambda: paths)
    assert not read
    paths[0].write_text("a")
    assert early.digests_of(paths) == digests_of_files(paths)


def test_files_that_are_not_found_are_read_when_they_are_checked(paths, long_ago):
    def fail():
        raise KeyError

    assert begun(fail).digests_of(paths) == digests_of_files(paths)
    assert begun(list).digests_of(paths) == digests_of_files(paths)


def test_an_error_is_left_to_the_check(paths, long_ago, monkeypatch):
    expected, gone = digests_of_files(paths), paths[1].rename(paths[1].with_name("gone"))
    monkeypatch.setattr("pipeline.store.early.Unwritten", lambda _: True)  # it is removed after it was found
    early = begun(lambda: paths)
    with pytest.raises(FileNotFoundError):
        early.digests_of(paths)
    gone.rename(paths[1])
    assert early.digests_of(paths) == expected
    assert not Unwritten(gone)
