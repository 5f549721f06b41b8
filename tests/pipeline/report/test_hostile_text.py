"""Text of a source in the report, its Markdown and Prefect's artifacts: shown as it is, never as a tag, a link or a structure."""

import os
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from pipeline import markdown
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store import manifest
from tests.reports import Page

HOSTILE = (
    "<img src=https://evil.example/x.png>", "[click](https://evil.example/login)|pwned|", "![x](https://evil.example)",
    "<https://evil.example>", "`code` ``two``", "*bold* _it_ ~~gone~~", "# head", "a&lt;b&#60;", "\\", "\\<marquee>", "- list",
    "1. list", "line\nnext | row", "\r\n\r\n# head", "\x1b[31m", "\u2028<marquee>", "<!--folder-->", "<!--changes-->",
    "<script>alert(1)</script>",
    "```\n<marquee>", "{folder}", "{{ 7*7 }}", "me@evil.example", "$x$", "'><marquee>", '"><marquee onclick="x">',
)  # fmt: skip
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"inline", "text", "code_inline", "fence", "softbreak", "html_block", "image", "text_special"} | {
    f"{block}_{end}"
    for block in ("heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item", "strong")
    for end in ("open", "close")
}


def tokens_of(text):
    return [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_shown_as_it_is(text):
    for around in ("{}", "| a |\n|---|\n| {} |", "before {} after"):
        tokens = tokens_of(around.format(f"x{markdown.escaped(text)}"))
        kinds = {token.type for token in tokens}
        assert kinds <= {
            "inline", "text", "paragraph_open", "paragraph_close",
            *(f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
        }  # fmt: skip
        cells = sum(token.type == "td_open" for token in tokens)
        assert cells == around.startswith("|")
        shown = "".join(token.content for token in tokens if token.type == "text")
        assert "".join(text.split()) in "".join(shown.split()) or not text.replace("\n", "").replace("\r", "").isprintable()


@pytest.mark.parametrize("text", [*HOSTILE, "`", "``", "````", " ", "a`"])
def test_code_is_not_ended_by_what_it_contains(text):
    inline = tokens_of(f"a {markdown.code(text)} b")
    assert [token.type for token in inline] == ["paragraph_open", "inline", "text", "code_inline", "text", "paragraph_close"]
    (fence,) = tokens_of(markdown.fenced(text.replace("\r", ""), "sql"))
    assert fence.type == "fence" and fence.content == text.replace("\r", "") + "\n"


def test_what_is_written_is_not_escaped_again():
    assert markdown.escaped(markdown.escaped("a_b")) == markdown.cells(["a_b"]) == r"a\_b"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A run whose columns, ids, units, name and folder are hostile."""
    folder = tmp_path_factory.mktemp("hostile") / "<marquee> `x` [y](z)"
    folder.mkdir()
    quoted = ['"' + text.replace('"', '""') + '"' for text in HOSTILE if "\n" not in text and "\r" not in text]
    ids = quoted[:12]
    columns = ",".join(quoted)
    rows = [f"{src},{dst},{number + 1},{columns}" for number, (src, dst) in enumerate(pairwise(ids))]
    (folder / "g.csv").write_text("\n".join([f"src,dst,weight,{columns}", *rows]) + "\n", encoding="utf-8")
    graph = {
        "source": str(folder / "g.csv"),
        "name": HOSTILE[0] + HOSTILE[1],
        "weight": {"name": HOSTILE[1], "unit": HOSTILE[0] + "|"},
    }
    stages = ["sssp", "mst", "wcc", "pagerank"]
    return run(run_config("test", graph=graph, stages=stages, output=folder / "out", backend="cpu", named=True))


def test_the_markdown_has_only_our_structures(published):
    text = (published.path / "report.md").read_text(encoding="utf-8")
    tokens = tokens_of(text)
    assert {token.type for token in tokens} <= OURS
    assert not [token.content for token in tokens if token.type == "html_block" and not token.content.startswith("<!--")]
    assert all(token.attrs["src"].startswith("data:") for token in tokens if token.type == "image")
    rows = [token for token in tokens if token.type in ("tr_open", "tr_close")]
    assert len(rows) % 2 == 0 and rows


def test_the_page_has_only_our_tags(published):
    page = Page((published.path / "report.html").read_text(encoding="utf-8"))
    attributes = [
        value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href", "onclick")
    ]
    assert not [value for value in attributes if "evil" in value or value == "x"]
    assert "<script>alert" not in page.html
    assert {tag for tag, _ in page.tags}.isdisjoint({"marquee", "form"}) and page.text.count("<img src=https://evil") >= 3


def test_the_artifacts_have_only_our_structures(published, monkeypatch, tmp_path):
    monkeypatch.setitem(os.environ, "PREFECT_HOME", str(tmp_path))
    from flows.artifacts import summary

    tokens = tokens_of(summary(manifest.read(published.path)))
    assert {token.type for token in tokens} <= OURS - {"image", "html_block", "fence"}


@pytest.mark.parametrize("mark", ["<!--sha256 abc-->", "<!--when nothing-->", "<!--published-->", "<!--own-->", "<!--changes-->"])
def test_a_name_that_looks_like_a_mark_stays(mark, tmp_path):
    """A mark is what publication replaces in a report; the name of a source is none, in both forms of it."""
    (tmp_path / f"g{mark}.csv").write_text("src,dst\n1,2\n")
    source = str(tmp_path / f"g{mark}.csv")
    run(run_config("test", output=tmp_path / "out", stages=["wcc"], backend="cpu", graph={"source": source, "directed": True}))
    text = (tmp_path / "out" / "latest" / "report.md").read_text(encoding="utf-8")
    assert f"g{mark}.csv" in text.replace("\u2060", "")
    assert f"g{mark}.csv" in Page((tmp_path / "out" / "latest" / "report.html").read_text(encoding="utf-8")).text
