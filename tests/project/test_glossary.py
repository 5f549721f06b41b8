"""Prose and identifiers use the terms of docs/glossary.md: retired words do not come back."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_TERMS = 60
# What is retired, and what to write.
RETIRED = {
    r"\bwhole numbers?\b": "integer",
    r"\bin vain\b": "without effect, or say what was wasted",
    r"\bhearsay\b": "ghosts' values, received labels",
    r"\brooms?\b": "memory, buffer, space",
    r"\bseat(?:s|ed|ing)?\b": "placement",
    r"(?<!e-)\bmails?\b": "message, mailbox",
    r"\bone_worker": "single_rank",
    r"\b(?:told|hears?|heard)\b": "sent, receive, received",
    r"\b(?:is|are|was) no (?:table|file|folder|number|integer|row|vertex|array|toml|parquet|whole)\b": "is not a ...",
    r"\bwithout a word\b": "by default",
    r"\bsomebody\b": "a user, another process, ...",
    r"\bshall\b": "must, or the present tense",
    r"\bthe house\b": "the layout, the code",
}
SUFFIXES = {".md", ".py", ".cu", ".cuh", ".toml", ".yaml", ".html", ".css", ".h", ".cpp"}
EXCEPT = {"tests/project/test_glossary.py", "benchmarks/results", "requirements", "LICENSE"}


def project_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split("\0")  # fmt: skip
    names = [name for name in listed if name and not any(name.startswith(prefix) for prefix in EXCEPT)]
    return sorted(ROOT / name for name in names if Path(name).suffix in SUFFIXES and (ROOT / name).exists())


@cache
def corpus() -> list[tuple[str, str]]:
    """Name and text of everything that people read in the project."""
    return [(path.relative_to(ROOT).as_posix(), text) for path in project_files() for text in words_of(path)]


def words_of(path: Path) -> Iterator[str]:
    """A file as it is, and with identifiers as words. No retired term contains signs of code."""
    content = path.read_text(encoding="utf-8")
    yield content
    yield re.sub(r"\w+_\w*", lambda name: f"|{name[0].replace('_', ' ')}", content)


@pytest.mark.parametrize("retired", RETIRED)
def test_a_retired_word_is_not_used(retired):
    pattern = re.compile(retired, re.IGNORECASE)
    found = {(name, 1 + text.count("\n", 0, match.start())) for name, text in corpus() for match in pattern.finditer(text)}
    listed = "\n".join(f"{name}:{line}" for name, line in sorted(found))
    assert not found, f"{retired} is retired; write {RETIRED[retired]}:\n{listed}"


def test_the_glossary_has_one_meaning_for_each_of_few_terms():
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [(term, meaning) for term, meaning in rows if term != "term" and not term.startswith("---")]
    terms = [term for names, _ in rows for term in names.split(", ")]
    assert len(rows) <= MOST_TERMS
    assert len(set(terms)) == len(terms)
    assert all(meaning.strip() for _, meaning in rows)


def test_this_test_sees_words_wherever_they_are(tmp_path):
    source = tmp_path / "module.py"
    source.write_text('"""A docstring."""\n\nname_of_it = f"a message {1}"  # a comment\n')
    texts = " ".join(words_of(source))
    assert all(word in texts for word in ("docstring", "name of it", "message", "comment"))
