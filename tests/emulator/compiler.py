"""CUDA sources as shared libraries of this machine, kept in build/emulator, or EMULATED_CACHE, by what they were made of."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.emulator.translation import translate
from tests.kept import kept

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("EMULATED_CACHE", HERE.parent.parent / "build" / "emulator"))
# Kernels count on two's complement, and look at memory through pointers of other types; a GPU's compiler lets them.
_FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-U_FORTIFY_SOURCE"),
    *("-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off"),
    "-fno-gnu-unique",  # two modules' shared variables of one name are not one
)


def machine() -> Path:
    """The library that runs kernels."""
    sources = sorted(map(str, HERE.glob("*.cpp")))
    return kept(_place(), lambda made: _run(["g++", *_FLAGS, "-O2", *sources, "-o", str(made)]))


def module(code: str, options: Sequence[str], architecture: int) -> Path:
    """The library of a CUDA source. Raises ValueError where g++ or the translation refuse it, with their words."""
    defined = [f"-D__CUDA_ARCH__={architecture}0", "-D__CUDACC__", *options]

    def make(made: Path) -> None:
        preprocessed = _run(["g++", "-E", "-x", "c++", *defined, "-"], code)
        _run(["g++", *_FLAGS, "-include", str(HERE / "cuda.h"), "-x", "c++", "-", "-o", str(made)], translate(preprocessed))

    return kept(_place(code, *defined, *_headers(options)), make)


@cache
def _headers_in(folder: str) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*.cuh")))).hexdigest()


def _headers(options: Sequence[str]) -> list[str]:
    return [_headers_in(option[2:]) for option in options if option.startswith("-I")]


@cache
def _own() -> str:
    compiler = _run(["g++", "--version"])
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.*"))) + compiler.encode()).hexdigest()


def _place(*parts: str) -> Path:
    return CACHE / (hashlib.sha256("\0".join([_own(), *_FLAGS, *parts]).encode()).hexdigest() + ".so")


def _run(command: list[str], given: str = "") -> str:
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ValueError(f"{' '.join(command)}: {ended.stderr[:4000]}")
    return ended.stdout
