"""Hidden folders for unfinished files are removed by their owner or, if it was killed, by the next run; nothing else is."""

import errno
import os
import signal
from itertools import count

import pytest

from pipeline.errors import message
from pipeline.store.scratch import remove_dead, scratch
from tests.faults.children import die_at


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def leave_behind(around):
    """A process that is killed while it has a folder in `around`."""
    if not (child := os.fork()):
        with scratch(around) as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / "file").write_text("half")
            (folder / "outside").symlink_to(around / "letter")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_folder_is_private_and_removed_at_the_end(tmp_path):
    with pytest.raises(KeyError), scratch(tmp_path) as folder:
        assert folder.parent.parent == tmp_path and folder.parent.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("half")
        raise KeyError
    assert not names(tmp_path)


def test_an_error_without_a_number_keeps_its_text(tmp_path):
    with pytest.raises(OSError, match=r"^could not load a file$") as raised, scratch(tmp_path):
        raise OSError("could not load a file")
    assert message(raised.value).startswith("could not load a file")
    with pytest.raises(OSError, match=str(tmp_path)), scratch(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_a_killed_process_left_is_removed_and_nothing_that_it_links_to(tmp_path):
    (tmp_path / "letter").write_text("dear")
    leave_behind(tmp_path)
    assert len(names(tmp_path)) == 2
    with scratch(tmp_path) as alive:
        (alive / "file").write_text("half")
        remove_dead(tmp_path)
        assert (alive / "file").exists()
        assert names(tmp_path) == [alive.parent.name, "letter"]


def test_a_process_killed_at_any_file_operation_leaves_nothing_that_stays(tmp_path):
    for event in count(1):
        if not (child := os.fork()):
            try:
                die_at(event)
                with scratch(tmp_path) as folder:
                    (folder / "file").write_text("half")
            finally:
                os._exit(0)
        ended = os.waitpid(child, 0)[1] == 0
        remove_dead(tmp_path)
        assert not names(tmp_path)
        if ended:
            break
    assert event > 10


MINE = ".graphmill-0123456789abcdef"


@pytest.mark.parametrize("name", [".git", ".ssh", ".graphmill-projects", f"{MINE}.bak", ".bfs-0123456789abcdef", MINE])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_folders_of_others_are_kept(tmp_path, name, kind):
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "elsewhere" / "place" if kind == "link" else tmp_path / name
    place.mkdir()
    if kind == "link":
        (tmp_path / name).symlink_to(place)
    if name != MINE or kind == "link":  # with our mark, but through a link, or under another name
        (place / "owner.lock").write_text("")
    (place / "files").mkdir()
    (place / "files" / "letter").write_text("dear")
    remove_dead(tmp_path)
    assert (tmp_path / name / "files" / "letter").read_text() == "dear"


@pytest.mark.parametrize("planted", ["link", "fifo", "folder"])
def test_a_planted_lock_is_not_followed(tmp_path, planted):
    (tmp_path / MINE / "files").mkdir(parents=True)
    lock, target = tmp_path / MINE / "owner.lock", tmp_path / "target"
    target.write_text("dear")
    {"link": lambda: lock.symlink_to(target), "fifo": lambda: os.mkfifo(lock), "folder": lock.mkdir}[planted]()
    remove_dead(tmp_path)
    assert target.read_text() == "dear"


def test_linked_files_are_not_removed_through_the_link(tmp_path):
    (tmp_path / MINE).mkdir()
    (tmp_path / MINE / "owner.lock").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / MINE / "files").symlink_to(tmp_path / "mine")
    remove_dead(tmp_path)
    assert (tmp_path / "mine" / "letter").read_text() == "dear"
