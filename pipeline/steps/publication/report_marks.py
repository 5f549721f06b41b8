"""Marks in the text of a report for facts about the run that publishes it; publication replaces them.

A report that is still valid is not drawn again, but each run has an id, a time and a run before it.
"""

import datetime as dt
import html
import re
from collections.abc import Mapping
from pathlib import Path

from kernels.records import dataclass
from pipeline import markdown
from pipeline.errors import Damaged
from pipeline.store.facts.run import StepFacts
from pipeline.store.workspace import linked_run

# The folders of the link and of this run. No text of a user's has this form: HTML escapes it, and Markdown's code is `unmarked`.
FOLDER, OWN = "<!--folder-->", "<!--own-->"
_WORD_JOINER = "\u2060"  # takes no place in a line
Figures = Mapping[str, int | float]


def unmarked(code: str) -> markdown.Markdown:
    """Markdown of a user's text without a mark, which looks the same."""
    return markdown.Markdown(code.replace("<!--", f"<!{_WORD_JOINER}--"))


@dataclass(frozen=True)
class Compared:
    """A run that is compared with, and its figures by what they say; the id is empty if there is none."""

    run: str
    figures: Figures


def latest_run(latest: Path) -> Compared:
    """The run that `latest` links to."""
    try:
        facts = linked_run(latest).facts
    except Damaged:
        return Compared("", {})
    return Compared(facts["run"], facts.get("figures") or {})


@dataclass(frozen=True)
class Marks:
    """What replaces the marks: the run's id, its folders, its steps, its figures, the run before it, and SHA-256 of files."""

    run: str
    folder: str  # by its link, which will name other runs
    own: str
    steps: Mapping[str, StepFacts]
    figures: Figures
    before: Compared
    sums: Mapping[str, str]  # by BLAKE3 digests; they may be known only when the report is drawn

    def fill_in(self, name: str, text: str) -> str:
        """The text of the report's file `name`, HTML or Markdown, with its marks replaced."""
        is_html = name.endswith(".html")
        escape = html.escape if is_html else str  # in Markdown it is in code only
        made = sum(not step.reused for step in self.steps.values())
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        rest = " and found the others still valid; their times are marked." if made < len(self.steps) else "."
        published = f"Run {self.run}, published {now}. It made {made} of its {len(self.steps)} steps{rest}"
        text = text.replace("<!--published-->", published)

        def when(mark: re.Match[str]) -> str:
            did = self.steps.get(mark[1])
            if did is None or not did.reused:
                return ""
            made = f"made {dt.datetime.fromisoformat(did.created):%Y-%m-%d %H:%M} UTC"
            return f'<span class="when">{made}</span>' if is_html else f" ({made})"

        text = re.sub("<!--when ([\\w-]+)-->", when, text)
        text = re.sub("<!--sha256 (\\w+)-->", lambda mark: self.sums.get(mark[1], "not known"), text)
        return (
            text.replace("<!--changes-->", self._compared_figures(is_html))
            .replace(FOLDER, escape(self.folder))
            .replace(OWN, escape(self.own))
        )

    def _compared_figures(self, is_html: bool) -> str:
        before, now = self.before, self.figures
        if not before.run:
            return _paragraph("There is no run before this one.", is_html)
        names = [*now, *(name for name in before.figures if name not in now)]
        rows = [(name, before.figures.get(name), now.get(name)) for name in names]
        rows = [row for row in rows if row[1] != row[2]]
        same = f"{len(names) - len(rows)} of {len(names)} figures are those of run {before.run}."
        if not rows:
            return _paragraph(f"None: {same[0].lower() + same[1:]}", is_html)
        texts = [(name, _text(old), _text(new), _change(old, new)) for name, old, new in rows]
        heads = ("figure", "run before", "this run", "change")
        if not is_html:
            lines = [f"| {' | '.join(heads)} |", "|---|---:|---:|---:|", *(f"| {markdown.cells(row)} |" for row in texts)]
            return "\n".join([*lines, "", same])
        head = "".join(f'<th scope="col"{number}>{word}</th>' for word, number in zip(heads, _ALIGNED, strict=True))
        cells = [
            f'<th scope="row">{html.escape(name)}</th>' + "".join(f'<td class="n">{text}</td>' for text in rest)
            for name, *rest in texts
        ]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        table = f'<table class="changes"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        return f'<div class="scroll">{table}</div>' + _paragraph(same, is_html)


_ALIGNED = ("", *(' class="n"',) * 3)


def _paragraph(text: str, is_html: bool) -> str:
    return f'<p class="sentence">{html.escape(text)}</p>' if is_html else text


def _text(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _change(old: float | None, new: float | None) -> str:
    if old is None or new is None:
        return "new" if old is None else "gone"
    share = f" ({(new - old) / abs(old):+.2%})" if old else ""
    return (f"{new - old:+,}" if isinstance(new - old, int) else f"{new - old:+,.6g}") + share
