"""Each bound of pyproject.toml states its reason, and a test here fails when the reason is gone; the lock files agree."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from kernels.gpu import devices
from tests.project.dependencies.advisories import ROOT, locked

TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)
# Where the reason of a bound is tested. Of a lower bound alone it never goes: old releases do not change.
TESTED = {"prefect": "test_prefect", "nvidia-cuda-nvrtc": "test_cuda", "nvidia-cuda-sanitizer-api": "test_cuda"}


def requirements() -> list[Requirement]:
    project = PROJECT["project"]
    groups = *project["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()
    lists = PROJECT["build-system"]["requires"], project["dependencies"], *groups
    return [Requirement(each) for listed in lists for each in listed]


def test_every_bound_has_a_reason():
    bounded = [each for each in requirements() if each.specifier]
    assert bounded
    for each in bounded:
        line = next(line for line in TEXT.splitlines() if re.search(rf'"{re.escape(each.name)}[\[=<>!~]', line))
        assert "  # " in line, f"say beside {each} why it has a bound"
        if any(one.operator not in (">=", ">") for one in each.specifier):
            assert TESTED[each.name] in globals(), f"{each} needs a test that fails when its reason is gone"


def test_prefect():
    """A new minor version may change what Prefect does not document."""
    assert (ROOT / "flows" / "prefect_internals.py").exists()
    assert {yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["prefect-version"]} == locked()["prefect"]


def test_what_packages_do_not_document_was_tried_with_the_locked_versions():
    names = {"CuPy": "cupy-cuda13x"}
    found = {}
    for package in ("flows", "kernels", "pipeline"):
        for path in (ROOT / package).rglob("*_internals.py"):
            name, versions = re.search(
                r"(?:tried with|compared with the sources of) (\w+) ([\d., and]+)", path.read_text(encoding="utf-8")
            ).groups()
            found[name] = re.findall(r"\d+(?:\.\d+)+", versions)
    del found["Python"]
    assert found
    for name, tried in found.items():
        for version in locked()[names.get(name, name.lower())]:
            assert any(f"{version}.".startswith(f"{one}.") for one in tried), f"{name} {version} is locked, tried were {tried}"


@pytest.mark.parametrize("name", ["nvidia-cuda-nvrtc", "nvidia-cuda-sanitizer-api"])
def test_cuda(name):
    """They are those of the oldest CUDA that a driver has to support, which the launchers and the documents state."""
    oldest = Version(f"{devices._CUDA // 1000}.{devices._CUDA % 1000 // 10}")
    bound = next(each.specifier for each in requirements() if each.name == name)
    assert bound.contains(f"{oldest}.1") and not bound.contains(f"{oldest.major}.{oldest.minor + 1}")
    assert f"driver {devices._LEAST_DRIVER} or later" in (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["run.txt", "dev.txt"])
def test_what_runs_without_a_gpu_is_what_runs_with_one(file):
    """Otherwise the tests would not try the versions that RAPIDS allows."""
    with_gpu = locked("gpu.txt")
    assert {name: versions for name, versions in locked(file).items() if versions != with_gpu[name]} == {}


def test_the_lock_files_satisfy_every_bound():
    for each in requirements():
        assert all(map(each.specifier.contains, locked()[canonicalize_name(each.name)])), each
