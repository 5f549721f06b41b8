"""Every CUDA source compiles without a GPU, for each architecture and each of its types, and no kernel spills its registers."""

import hashlib
import re
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings import nvrtc

from benchmarks.published import SOURCES as SOURCES_TO_COMPARE
from kernels.gpu.loader import C_NAMES, ROOT, options
from kernels.graph import distance_dtype
from tests.kept import CACHE, kept

TO_COMPARE = ROOT / SOURCES_TO_COMPARE
PUBLISHED = (f"{SOURCES_TO_COMPARE}{path.relative_to(TO_COMPARE)}" for path in TO_COMPARE.rglob("*.cu"))
SOURCES = sorted([*(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.cu")), *PUBLISHED])
# What launchers of published methods give as macros.
PUBLISHED_SIZES: dict[str, dict[str, Any]] = {
    "bfs.cu": {"THREADS": 256},
    "grail/three_queues.cu": {"THREADS": 256, "LANES": 32, "STATUS": np.dtype(np.int64)},
    "wcc.cu": {"THREADS": 512, "WARP_ROW": 32},
}
RMAT = Path(__file__).parents[1] / "gpu" / "rmat.cu"
# Of each architecture the sizes that launchers derive from it (kernels/gpu/teams.py, paths/team.py, pagerank/tiles.py,
# library/dynamic/pages/batches/cuda.py), or from it and the free memory (betweenness/certificate/cuda.py).
SMALL = {"TEAM_BLOCKS": 1, "LIST_BYTES": 24576, "TILE_IN_SHARED": 0, "WIDTH": 32, "GROUP_BLOCKS": 3, "PAGE_BLOCKS": 12}
LARGE = {"TEAM_BLOCKS": 16, "LIST_BYTES": 49152, "TILE_IN_SHARED": 1, "WIDTH": 32, "GROUP_BLOCKS": 4, "PAGE_BLOCKS": 12}
LITTLE_MEMORY = {"WIDTH": 8, "GROUP_BLOCKS": 2}
SIZES = {
    "sm_80": SMALL | {"TILE_IN_SHARED": 1},
    "sm_86": SMALL,
    "sm_89": SMALL | LITTLE_MEMORY,
    "sm_90": LARGE,
    "sm_100": LARGE | {"PAGE_BLOCKS": 10},
    "sm_120": LARGE | {"PAGE_BLOCKS": 10, "TEAM_BLOCKS": 8, "LIST_BYTES": 24576, "TILE_IN_SHARED": 0},
}
SPILL = re.compile(
    r"Function properties for (\w+)\s+(?:ptxas +\. +)?\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
REGISTERS = re.compile(r"Compiling entry function '(\w+)'(?:(?!Compiling)[\s\S])*?Used (\d+) registers")
INTEGERS = [kind for kind in C_NAMES if kind.kind == "i"]
TYPES = {"EDGE": INTEGERS, "ROW": INTEGERS, "WEIGHT": list(C_NAMES)}
INCLUDE = re.compile(r"""^\s*#\s*include\s*["<](.+)[">]""", re.MULTILINE)
KEPT = CACHE / "nvrtc"


@cache
def whole(source: str) -> str:
    """The text of a source and of all that it includes; the compiler's own headers are no files."""
    text = (ROOT / source).read_text(encoding="utf-8")
    return text + "".join(whole(header) for header in INCLUDE.findall(text) if (ROOT / header).exists())


@cache
def words(source: str) -> frozenset[str]:
    """The words of a source and of all that it includes."""
    return frozenset(re.findall(r"\w+", whole(source)))


def excused(kernel: str, text: str) -> bool:
    """Whether a line `// spills: REASON` stands above the kernel."""
    return re.search(rf"^// spills: \S.*\n(?:.*\n)?.*\b{kernel}\(", text, re.MULTILINE) is not None


def sums(source: str, weight: np.dtype) -> list[np.dtype]:
    """Types that sums of these weights are made in: searches try integers in 32 bits first."""
    widest = distance_dtype(np.empty(0, weight))
    searches = source.startswith(("sssp/", "paths/", "trees/", f"{SOURCES_TO_COMPARE}sssp")) and "certificate" not in source
    return [np.dtype(np.int32), widest] if searches and weight.kind == "i" else [widest]


def covers(types: dict[str, np.dtype]) -> bool:
    """Whether the types are among the few combinations that have every type of every macro once, the widest together."""
    turns = range(max(map(len, TYPES.values())))
    return any(all(kind == TYPES[macro][turn % len(TYPES[macro])] for macro, kind in types.items()) for turn in turns)


@cache
def sizes_of(source: str, architecture: str) -> dict[str, Any]:
    """The sizes that a source needs as macros."""
    if source.startswith(SOURCES_TO_COMPARE):
        return PUBLISHED_SIZES.get(source.removeprefix(SOURCES_TO_COMPARE), {})
    return {name: size for name, size in SIZES[architecture].items() if name in words(source)}


def cases():
    """Every type on sm_90, and sources with sizes on every architecture; by night all sources, and all combinations of types."""
    for source in SOURCES:
        macros = [macro for macro in TYPES if macro in words(source)]
        combinations = [dict(zip(macros, kinds, strict=True)) for kinds in product(*(TYPES[macro] for macro in macros))]
        marks = [() if covers(types) else pytest.mark.nightly for types in combinations]
        if "SUM" in words(source):
            summed = [[types | {"SUM": kind} for kind in sums(source, types["WEIGHT"])] for types in combinations]
            marks = [mark for mark, all_sums in zip(marks, summed, strict=True) for _ in all_sums]
            combinations = [types for all_sums in summed for types in all_sums]
        for number, (types, mark) in enumerate(zip(combinations, marks, strict=True)):
            for architecture in SIZES if number == 0 else ("sm_90",):
                name, sizes = "-".join([source, architecture, *map(str, types.values())]), sizes_of(source, architecture)
                marked = mark if architecture == "sm_90" or sizes else pytest.mark.nightly
                yield pytest.param(source, architecture, types | sizes, id=name, marks=marked)


def compile_source(text: str, name: str, arguments: list[str]) -> tuple[bool, str]:
    """Compile as the loader does, to machine code; whether it worked, and the compiler's words."""
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    (result,) = nvrtc.nvrtcCompileProgram(program, len(arguments), [argument.encode() for argument in arguments])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode(errors="replace").rstrip("\0")


def report_of(source: str, arguments: list[str], generated: str = "") -> str:
    """The compiler's report on a source, after what is generated for it; kept by all that it is made of, for it takes minutes."""

    def make(report: Path) -> None:
        compiled, log = compile_source(generated + (ROOT / source).read_text(encoding="utf-8"), source, arguments)
        assert compiled, log
        report.write_text(log, encoding="utf-8")

    parts = [version("nvidia-cuda-nvrtc"), source, generated + whole(source), *arguments]
    return kept(KEPT / hashlib.sha256("\0".join(parts).encode()).hexdigest(), make).read_text(encoding="utf-8")


@pytest.mark.parametrize(("source", "architecture", "macros"), list(cases()))
def test_it_compiles_without_spills(source, architecture, macros):
    log = report_of(source, [*options(source, **macros), f"--gpu-architecture={architecture}", "--ptxas-options=-v"])
    found, text = SPILL.findall(log), whole(source)
    assert found, f"no kernel in the compiler's report:\n{log}"
    for kernel, stores, loads in found:
        assert (int(stores), int(loads)) == (0, 0) or excused(kernel, text), f"{kernel} spills {stores} bytes"
    for kernel, registers in REGISTERS.findall(log):
        bounded = re.search(rf"__launch_bounds__\([^)]*\)[^;{{]*?\b{kernel}\(", text)
        assert bounded or int(registers) <= 64, (
            f"{kernel}: a block of 1024 threads may have 64 registers per thread, not {registers}"
        )


def test_no_source_depends_on_the_architecture():
    """Sizes are macros, so that the emulated GPU, which compiles for none, runs the code of each."""
    assert not [source for source in SOURCES if "__CUDA_ARCH__" in whole(source)]


@pytest.mark.parametrize("architecture", SIZES)
def test_the_tests_own_source_compiles(architecture):
    compiled, log = compile_source(RMAT.read_text(encoding="utf-8"), RMAT.name, [f"--gpu-architecture={architecture}"])
    assert compiled, log


def test_a_spill_would_be_seen():
    """The canary: a kernel held to few registers, with more values alive than fit."""
    values = range(256)
    body = [f"float v{i} = in[{i} * 32 + threadIdx.x];" for i in values]
    body += [
        "for (int turn = 0; turn < in[0]; ++turn) {",
        *(f"v{i} = v{i} * v{(7 * i + 1) % len(values)} + 1;" for i in values),
        "}",
    ]
    body += [f"out[{i} * 32 + threadIdx.x] = v{i};" for i in values]
    head = 'extern "C" __global__ void __launch_bounds__(1024) hungry(const float* in, float* out)'
    text = "\n".join([head, "{", *body, "}"])
    compiled, log = compile_source(text, "canary.cu", ["--gpu-architecture=sm_90", "--ptxas-options=-v"])
    assert compiled, log
    assert any(int(stores) > 0 for _, stores, _ in SPILL.findall(log)), log
