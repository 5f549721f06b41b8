"""CHANGELOG.md: its form, and bullets that are short enough to be read."""

import re
import tomllib

from tests.project.docs import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MOST_WORDS = 25  # of a bullet
RELEASE = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


def bullets(text: str) -> list[str]:
    return [" ".join(found.split()) for found in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


def too_long(text: str) -> list[str]:
    return [bullet for bullet in bullets(text) if len(bullet.split()) > MOST_WORDS]


def test_each_bullet_is_short():
    assert bullets(TEXT)
    assert too_long(TEXT) == []


def test_a_long_bullet_is_found():
    assert too_long("- a word\n- " + 13 * "word " + "\n  " + 13 * "word " + "\n- more\n") == [" ".join(26 * ["word"])]


def test_every_line_belongs_to_a_bullet_or_a_heading():
    _, _, released = TEXT.partition("## [Unreleased]\n")
    assert [line for line in released.splitlines() if line and not line.startswith(("- ", "  ", "## ", "### "))] == []


def test_the_newest_release_has_the_version_of_the_project_and_a_date():
    (first, _), (newest, date), *_ = RELEASE.findall(TEXT)
    assert first == "Unreleased"
    assert newest == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert date
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }
