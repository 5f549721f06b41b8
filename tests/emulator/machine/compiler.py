"""Compiles CUDA sources to shared libraries, kept in EMULATED_CACHE or the user's cache under the hash of their inputs."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.emulator.machine.translation import translate
from tests.kept import CACHE as KEPT
from tests.kept import kept

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("EMULATED_CACHE", KEPT / "emulator"))
# Kernels rely on access through pointers of other types, as NVRTC allows.
_FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-U_FORTIFY_SOURCE"),
    *("-fno-strict-aliasing", "-ffp-contract=off"),
    "-fno-gnu-unique",  # variables of equal names in two modules stay separate
)
_AS_HERE = "--fmad=false", "--ftz=false"  # NVRTC's options for what g++ does without any, or with those above
# What a GPU does otherwise than this processor, or than the source says: sanitizer.cpp reports it.
_CHECKS = "-fsanitize=signed-integer-overflow,shift-exponent,bounds,float-cast-overflow,alignment"


def machine() -> Path:
    """The library that runs kernels."""
    sources = sorted(map(str, HERE.glob("*.cpp")))
    return kept(_place(), lambda made: _run(["g++", *_FLAGS, "-O2", *sources, "-o", str(made)]))


def module(code: str, options: Sequence[str]) -> Path:
    """The library of a CUDA source. Raises ValueError with the message of g++ or of the translation if they refuse it."""
    defined = ["-D__CUDACC__", *(option for option in options if option not in _AS_HERE)]

    def make(made: Path) -> None:
        preprocessed = _run(["g++", "-E", "-x", "c++", *defined, "-"], code)
        given = "-include", str(HERE / "cuda.h"), "-x", "c++", "-"
        _run(["g++", *_FLAGS, _CHECKS, *given, "-o", str(made)], translate(preprocessed))

    return kept(_place(code, _CHECKS, *defined, *_headers(options)), make)


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
