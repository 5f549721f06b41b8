"""The folder of the answers: what it may replace, and what calls that ended early leave."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from uuid import uuid4

import pytest

from pipeline.errors import BadConfig
from pipeline.steps.reach import reach_into
from pipeline.store.manifest import check, read
from tests.pipeline.reach.inputs import write_pairs


def test_a_folder_that_is_not_ours_is_not_replaced(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3], [6])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / "file").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    for name in ("mine", "file", "link"):
        with pytest.raises(BadConfig, match="would be replaced"):
            reach_into(votes, pairs, tmp_path / name)
    with pytest.raises(BadConfig, match="would be replaced"):
        reach_into(votes, pairs, votes / "steps" / "reachability_index")
    assert (tmp_path / "mine" / "letter").read_text() == (tmp_path / "file").read_text() == "dear"
    assert reach_into(votes, pairs, tmp_path / "empty").facts["rows"] == 1


@pytest.mark.parametrize("place", [".", "reachability_labels/answers", "reachability_index/more/answers"])
def test_answers_are_not_written_into_a_run(small, place, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    latest = small[0] / "latest"
    with pytest.raises(BadConfig, match=r"answers: is inside .*, the folder of a (run|reachability_index), which nothing may be"):
        reach_into(latest, pairs, latest / place / "answers")
    check(read(latest.resolve()))


def test_answers_are_not_written_to_a_url(small, tmp_path, monkeypatch):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadConfig, match="is a URL; it must be a folder of this machine"):
        reach_into(small[0], pairs, Path("s3://bucket/answers"))
    assert list(tmp_path.iterdir()) == [tmp_path / "pairs.parquet"]


def test_what_a_killed_call_left_is_removed_by_the_next(small, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    names = (f".out-{'a1' * 8}", ".out-files-a1_b2c3d", ".out-files-projects", f".more-{'a1' * 8}")
    left, attempts, mine, other = (tmp_path / name for name in names)
    for folder in (left, attempts, mine, other):
        folder.mkdir()
        (folder / ("part-00000.parquet" if folder != attempts else uuid4().hex)).write_text("half")
    (mine / "letter").write_text("dear")
    at_work = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(at_work, fcntl.LOCK_SH)
    reach_into(small[0], pairs, tmp_path / "out")
    assert left.exists() and attempts.exists(), "they may belong to another call that is still running"
    os.close(at_work)
    assert reach_into(small[0], pairs, tmp_path / "out").reused
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, mine.name, "out", "pairs.parquet"]


def test_a_late_file_of_a_lost_worker_does_not_fail_the_call(small, tmp_path, monkeypatch):
    remove = os.rmdir

    def remove_too_late(path, **options):
        if "files-" in str(path):
            (Path(path) / uuid4().hex).write_text("half")
        remove(path, **options)

    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", remove_too_late)
        answers = reach_into(small[0], pairs, tmp_path / "out")
    check(answers)
    assert len(list(tmp_path.glob(".*"))) == 1
    assert reach_into(small[0], pairs, tmp_path / "out").reused
    assert not list(tmp_path.glob(".*"))
