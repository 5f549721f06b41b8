"""Copies of the project to which the blocks of a page were applied, as its reader would."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.project.docs import ROOT

_BLOCK = re.compile(r"^`([^`]+)`(?:, [^\n]*)?\n\n```(?:python no-run|cuda|markdown|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COPIED = ("kernels", "pipeline", "flows", "tests", "benchmarks", "docs/*.md", "conf", "pyproject.toml", "prefect.yaml")


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a page, or of a part of it, that stand below the name of a file: name and text."""
    return _BLOCK.findall(text)


def copy_with(folder: Path, text: str, anchors: Mapping[str, tuple[str, ...]]) -> Path:
    """Copy the project to a folder and apply the blocks of a page.

    Args:
        anchors: For each file that exists, the texts before which its blocks are inserted, in turn. Others are new files.
    """
    tracked = subprocess.check_output(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard", *_COPIED], cwd=ROOT, text=True)
    compiled = (path.relative_to(ROOT).as_posix() for path in (ROOT / "kernels").rglob("__pycache__/*.nb?"))
    for name in (*filter(None, tracked.split("\0")), *compiled):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)  # with its time, by which Numba knows what it compiled
    left = {name: [*texts] for name, texts in anchors.items()}
    for name, block in blocks(text):
        path = folder / name
        if name in left:
            _insert(path, block, before=left[name].pop(0))
        else:
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block, encoding="utf-8")
    return folder


def _insert(path: Path, text: str, before: str) -> None:
    head, found, tail = path.read_text(encoding="utf-8").partition(before)
    assert found, f"{path}: no {before!r}"
    path.write_text(head + text + found + tail, encoding="utf-8")


def call(project: Path, *command: object, **environment: str) -> str:
    """The output of Python in a copy. Fails if it does not exit with 0."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=project, text=True, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(project), "COLUMNS": "300"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout
