"""The folder of the answers: what it may replace, and what calls that ended early leave."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from pipeline.errors import BadConfig
from pipeline.steps.reach import reach_into
from pipeline.store.manifest import check, read
from pipeline.store.scratch import scratch
from tests.pipeline.reach.inputs import write_pairs
from tests.pipeline.store.test_scratch import leave_behind


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
    with pytest.raises(BadConfig, match=r"answers: is inside .*, the folder of a (run|reachability_index), to which nothing"):
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
    (tmp_path / f".out-{'a1' * 8}").mkdir()
    (tmp_path / f".out-{'a1' * 8}" / "part-00000.parquet").write_text("dear")
    kept = sorted(tmp_path.iterdir())
    leave_behind(tmp_path)
    with scratch(tmp_path) as of_another_call:
        reach_into(small[0], pairs, tmp_path / "out")
        assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "out", of_another_call.parent])


def test_a_late_file_of_a_lost_worker_does_not_fail_the_call(small, tmp_path, monkeypatch):
    remove = os.rmdir

    def remove_too_late(path, **options):
        if path == "attempts":
            Path(f"/proc/self/fd/{options['dir_fd']}", path, uuid4().hex).write_text("half")
        remove(path, **options)

    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", remove_too_late)
        answers = reach_into(small[0], pairs, tmp_path / "out")
    check(answers)
    assert len(list(tmp_path.glob(".*"))) == 1
    assert reach_into(small[0], pairs, tmp_path / "out").reused
    assert not list(tmp_path.glob(".*"))
