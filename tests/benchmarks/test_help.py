"""Each command of the benchmarks prints its help. Those on a GPU import the stand-in for CuPy, without a GPU or a compiler."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.emulator import STAND_INS

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "benchmarks" / "runs" / "scripts"  # what a user would write instead; the benchmark of runs starts them
HELP = """
import contextlib, io, json, runpy, sys
import cupy

cupy.RawKernel = lambda *source: None  # the stand-in would compile it at once
ends = {}
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            runpy.run_module(module, run_name="__main__")
        except BaseException as error:
            ends[module] = [repr(error), printed.getvalue().splitlines()[:1]]
print(json.dumps(ends))
"""


def test_every_command_prints_its_help():
    files = [path for path in ROOT.glob("benchmarks/**/*.py") if '__name__ == "__main__"' in path.read_text()]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files if path.parent != SCRIPTS]
    commands = {module: module.removesuffix(".__main__") for module in modules}
    assert len(commands) > 10
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (STAND_INS, ROOT)))}
    asked = [sys.executable, "-W", "ignore", "-c", HELP, *commands]
    ended = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    for module, (end, lines) in json.loads(ended.stdout).items():
        assert end == "SystemExit(0)", module
        assert lines[0].startswith(f"usage: python -m {commands[module]} [-h]"), module
    assert [*json.loads(ended.stdout)] == [*commands]
