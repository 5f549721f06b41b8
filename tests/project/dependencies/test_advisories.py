"""No locked version has a vulnerability that requirements/advisories.json knows; the file is as old as its `date`."""

import datetime as dt
import json

import pytest
from packaging.version import Version

from tests.project.dependencies.advisories import FILE, ROOT, affects, condensed, locked

KNOWN = json.loads(FILE.read_text())
# Of packages that listen or read strangers' files, vulnerabilities that are younger than the database; the first safe version.
YOUNGER = {
    "distributed": "2026.1.0",  # CVE-2026-23528: script injection in the dashboard
    "pyarrow": "14.0.1",  # CVE-2023-47248: code in data files
}


def test_every_locked_package_was_looked_up():
    assert set(KNOWN["packages"]) == set(locked()), "run `make advisories` after `make lock`"
    assert dt.date.fromisoformat(KNOWN["date"]) <= dt.datetime.now(dt.UTC).date()


def test_no_locked_version_has_a_known_vulnerability():
    bad = [
        f"{name} {version}: {advisory['id']} {' '.join(advisory['aliases'])}"
        for name, versions in locked().items()
        for version in versions
        for advisory in KNOWN["packages"][name]
        if affects(advisory, version)
    ]
    assert not bad
    assert all(Version(version) >= Version(safe) for name, safe in YOUNGER.items() for version in locked()[name])


@pytest.mark.parametrize(
    ("events", "versions", "affected", "safe"),
    [
        ([{"introduced": "0"}, {"fixed": "2.11.3"}], ["2.11.2"], ["1.0", "2.11.2"], ["2.11.3", "3.0"]),
        ([{"introduced": "1.0"}, {"last_affected": "1.2"}], [], ["1.0", "1.2"], ["0.9", "1.3"]),
        ([{"introduced": "1"}, {"fixed": "2"}, {"introduced": "3"}], [], ["1.5", "3.1"], ["2.5"]),
        ([], ["1.0.0", "1.1"], ["1.0.0", "1.1"], ["1.2"]),
    ],
)
def test_an_affected_version_is_found(events, versions, affected, safe):
    stated = {
        "package": {"name": "Some.Package"},
        "ranges": [{"type": "ECOSYSTEM", "events": events}] if events else [],
        "versions": versions,
    }
    advisory = condensed({"id": "PYSEC-0", "affected": [stated]}, "some-package")
    assert all(affects(advisory, version) for version in affected) and not any(affects(advisory, version) for version in safe)


def test_every_lock_file_has_hashes():
    for path in (ROOT / "requirements").glob("*.txt"):
        pinned = path.read_text().replace("\\\n", "").splitlines()
        assert all("--hash=sha256:" in line for line in pinned), path
