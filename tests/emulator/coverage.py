"""Which kernels of the project the emulated GPU has launched, each as "file:name"."""

import re

from kernels.gpu.loader import ROOT
from tests.emulator.machine.launch import LAUNCHED

_ATTRIBUTES = r"(?:void|TEAM|__\w+__\s*\((?:[^()]|\([^()]*\))*\))\s+"
_KERNEL = re.compile(rf"__global__\s+(?:{_ATTRIBUTES})*(\w+)\s*\(")


def all_kernels() -> set[str]:
    """Those of all sources and headers."""
    return {f"{file}:{name}" for file, (_, names) in _files().items() for name in names}


def launched_kernels() -> set[str]:
    """Those that this process has launched; a launched source ends with the text of a file, or includes it."""
    files = _files()
    return {
        f"{file}:{name}"
        for code, name in LAUNCHED
        for file, (text, names) in files.items()
        if name in names and (code.endswith(text) or f'#include "{file}"' in code)
    }


def _files() -> dict[str, tuple[str, list[str]]]:
    """Text and kernels of each file that has some."""
    paths = {path.relative_to(ROOT).as_posix(): path for suffix in ("cu", "cuh") for path in ROOT.rglob(f"*.{suffix}")}
    texts = {file: path.read_text(encoding="utf-8") for file, path in paths.items()}
    return {file: (text, _KERNEL.findall(text)) for file, text in texts.items() if "__global__" in text}
