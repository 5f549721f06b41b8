"""Docs stay short: the form and length of each decision, and the number of words of all pages."""

import re
from datetime import date

import pytest

from tests.project.docs import ROOT

DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
MOST_WORDS = 300  # of a decision
MOST_WORDS_OF_DOCS = 55_000  # of docs and decisions
LINK = r"\[\d{4}\]\((\d{4}-[\w-]+\.md)\)"
# A decision may be amended by a later one, or superseded.
HEAD = re.compile(
    r"# (?P<number>\d{4}): \S[^\n]*\n\n"
    r"Date: (?P<date>\d{4}-\d{2}-\d{2})\. "
    rf"Status: (?:proposed|rejected|accepted(?:, amended by {LINK})?|superseded by {LINK})\.\n\n"
)
ALTERNATIVES = "**Alternatives.**"
OTHER_ALTERNATIVES = re.compile(r"^[*#_ ]*(?:tried|rejected|not done|considered)\b", re.IGNORECASE | re.MULTILINE)


def faults(name: str, text: str) -> list[str]:
    """What is wrong with the form of a decision; empty if nothing is."""
    found = []
    head = HEAD.match(text)
    if head is None or head["number"] != name[:4]:
        found.append("it has to begin with its number, title, date and status")
    else:
        try:
            date.fromisoformat(head["date"])
        except ValueError:
            found.append(f"{head['date']} is not a date")
    if text.count(ALTERNATIVES) != 1 or OTHER_ALTERNATIVES.search(text):
        found.append(f"alternatives have to be under one heading, {ALTERNATIVES}")
    if (words := len(text.split())) > MOST_WORDS:
        found.append(f"it has {words} words, more than {MOST_WORDS}")
    return found


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_the_form_of_decisions(page):
    assert faults(page.name, page.read_text(encoding="utf-8")) == []


def test_decisions_are_numbered_in_the_order_of_their_dates_and_listed():
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    texts = [page.read_text(encoding="utf-8") for page in DECISIONS]
    dates = [head["date"] for text in texts if (head := HEAD.match(text))]
    assert dates == sorted(dates)
    listed = [f"{number}. [{text.partition(': ')[2].partition(chr(10))[0]}]({page.name})"
              for number, (page, text) in enumerate(zip(DECISIONS, texts, strict=True), 1)]  # fmt: skip
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in index if re.match(r"\d+\. ", line)] == listed


def test_all_docs_have_few_words():
    words = {page.relative_to(DOCS).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in DOCS.rglob("*.md")}
    longest = sorted(words.items(), key=lambda item: -item[1])[:5]
    assert sum(words.values()) <= MOST_WORDS_OF_DOCS, f"docs/ has {sum(words.values())} words; the longest pages: {longest}"


PAGE = """# 0007: Title

Date: 2026-11-22. Status: accepted.

**Context.** Why. **Decision.** What.

**Alternatives.** None was better.
"""


@pytest.mark.parametrize(
    "status",
    ["accepted", "proposed", "accepted, amended by [0009](0009-later.md)", "superseded by [0010](0010-a-later-one.md)"],
)
def test_a_page_of_the_form_is_accepted(status):
    assert faults("0007-page.md", PAGE.replace("accepted", status)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Date: 2026-11-22. ", "", "date and status"),
        ("2026-11-22", "2026-02-30", "not a date"),
        ("2026-11-22", "22 November", "date and status"),
        (" Status: accepted.", "", "date and status"),
        ("accepted", "done", "date and status"),
        ("accepted", "superseded", "date and status"),
        ("0007", "0008", "date and status"),
        ("**Alternatives.**", "**Rejected.**", "one heading"),
        ("better.", "better.\n\n**Tried.** More.", "one heading"),
        ("better.", "better.\n\n## Not done\n\nMore.", "one heading"),
        ("better.", "better.\n\n**Alternatives.** More.", "one heading"),
        ("better.", "better " * 290, "words"),
    ],
)
def test_a_page_of_another_form_is_refused(old, new, fault):
    assert [text for text in faults("0007-page.md", PAGE.replace(old, new)) if fault in text]
