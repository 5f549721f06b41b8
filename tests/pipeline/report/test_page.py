"""The report of a grid agrees with its tables and manifests, and loads nothing from elsewhere."""

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise

import duckdb
import numpy as np
import pandas
import pytest
from markdown_it import MarkdownIt

from pipeline.config.run import STAGES
from pipeline.tables import files as tables
from tests.pipeline.report.pictures import ROOT, image
from tests.reports import Page, Steps, run

LOADS = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


def loaded(page: Page) -> list[str]:
    return [value for _, attributes in page.tags for name, value in attributes.items() if name in LOADS]


def test_first_rows_equal_the_tables(steps, page):
    for answer in steps.answers:
        table = tables.read(answer.path)
        expected = [["null" if value is None else str(value) for value in row.values()] for row in table[:6].to_pylist()]
        assert page.head_of(tables.table_of(answer.manifest.step)) == expected
        assert f"6 of {table.num_rows:,} rows" in page.text


def test_counts_and_proofs_equal_the_manifests(steps, page):
    graph, edges = steps.graph.facts, steps.edges.facts
    assert f"{graph['vertices']} vertices, {graph['arcs']} arcs, directed, every arc with its reverse" in page.text
    assert edges["source"]["path"] in page.text
    for proof in steps.proofs:
        for rule in (*proof.facts["rules"], *proof.facts["oracle"]["rules"]):
            assert rule in page.text
    for rule in graph["proof"]["rules"]:
        assert rule in page.text
    assert f"tables proved {len(STAGES)} of {len(STAGES) + 1}" in page.text and "Not proved: coordinates: copied" in page.text
    assert page.text.count("✓") == 0  # the style adds the sign; the text says it in words
    assert page.text.count("holds") == 2 * len(STAGES) + 1


def test_a_stages_row_has_times_and_throughput(steps, page):
    rows = page.table_under("Stages and their times")[1:]
    assert [row[0].startswith(stage) for row, stage in zip(rows, STAGES, strict=True)] == [True] * len(STAGES)
    for answer, proof, row in zip(steps.answers, steps.proofs, rows, strict=True):
        assert row[2] == f"{answer.facts['rows']:,}"
        assert row[3] == f"{answer.facts['seconds'] * 1000:,.1f}"
        assert row[5] == f"{proof.facts['seconds'] * 1000:,.1f}"
        assert row[6] == f"{proof.facts['oracle']['seconds'] * 1000:,.1f}"
        arcs = 2 * steps.graph.facts["arcs"]  # both sources reach the whole grid
        searched = f"{arcs / answer.facts['seconds'] / 1e6:,.1f}"
        assert row[4] == (searched if answer.manifest.step in ("bfs", "sssp") else "\N{EN DASH}")


def test_each_answer_has_a_summary(steps, page):
    table = tables.read(steps.answers[2].path)
    assert f"143 edges of total weight {sum(table['weight'].to_pylist())}; 1 tree" in page.text
    assert "1 component; the largest has 144 vertices (100.00%)" in page.text
    assert "2 sources; 288 distances" in page.text
    ranks = tables.read(steps.answers[5].path).to_pylist()
    highest = max(ranks, key=lambda row: row["pagerank"])
    assert f"vertex {highest['vertex']} has the highest pagerank, {highest['pagerank']:.6g}; the 10 highest have" in page.text


def test_charts_state_their_numbers(steps, page):
    bfs, sssp = (tables.read(answer.path).to_pandas() for answer in steps.answers[:2])
    for source, levels in bfs.groupby("source")["distance"]:
        sizes = np.bincount(levels)
        assert f"Levels from {source}" in page.text
        widest = f"widest level {sizes.argmax()} with {sizes.max()} vertices"
        assert f"144 of 144 vertices reached; deepest level {levels.max()}; {widest}." in page.text
    for source, distance in sssp.groupby("source")["distance"]:
        median = int(distance.quantile(0.5, interpolation="lower"))
        assert f"Distances from {source}" in page.text
        assert f"median {median}, farthest {distance.max()} (sum of weights)" in page.text
    drawn = [attributes["aria-label"] for attributes in page.attributes("svg")]
    assert len(drawn) == 5
    assert drawn[0].startswith("Degrees, vertices by degree (arcs). out-degree = in-degree: median 4, mean 3.67, largest 4.")


def test_the_maps_show_the_network(page):
    assert [attributes["alt"][:38] for attributes in page.attributes("img")] == [
        "Map. Shortest-path distance from verte", "Map. Shortest-path distance from verte",
        "Map. The minimum spanning forest, 143 ",
    ]  # fmt: skip
    distance, _, forest = image(page)
    assert 0.02 < (distance[..., 3] > 0).mean() < 0.5
    # Vertex 1 lies in the south-west: dark blue near it, yellow in the opposite corner.
    height, width, _ = distance.shape
    near = distance[height - 60 :, :60][distance[height - 60 :, :60, 3] == 255].mean(axis=0)
    far = distance[:60, width - 60 :][distance[:60, width - 60 :, 3] == 255].mean(axis=0)
    assert near[2] > near[0] and far[0] > far[2] + 80
    # 143 of the 264 edges are the forest's.
    green = (forest[..., 3] > 0) & (forest[..., 1] > forest[..., 0] + 40)
    grey = (forest[..., 3] > 0) & ~green
    assert green.sum() > grey.sum() > 0


def test_the_map_states_its_scale_unit_and_source(page):
    assert "source 1" in page.text
    assert " 2 km " in page.text
    assert f"Longitude is scaled by cos({(40 + 40.11) / 2:.2f}°)" in page.text
    assert "528 arcs of the graph drawn as straight lines" in page.text
    assert "Not drawn:" not in page.text
    marker = next(attributes for _, attributes in page.tags if attributes.get("class") == "marker")
    left, top = re.fullmatch(r"left: ([\d.]+)%; top: ([\d.]+)%", marker["style"]).groups()
    assert float(left) < 5 and float(top) > 95


def test_the_page_loads_nothing_from_elsewhere(steps, page):
    assert all(value.startswith("data:") for value in loaded(page))
    assert not {"link", "iframe", "object", "embed", "form"} & {
        name for name, attributes in page.tags if attributes.get("rel") != "icon"
    }
    style = (ROOT / "pipeline/report/templates/report.css").read_text()
    assert "url(" not in style and "@import" not in style
    scripts = re.findall(r"<script>(.*?)</script>", page.html, re.DOTALL)
    assert len(scripts) == 1
    hashed = f"sha256-{b64encode(sha256(scripts[0].encode()).digest()).decode()}"
    policy = next(attributes for attributes in page.attributes("meta") if "http-equiv" in attributes)
    assert policy["content"] == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{hashed}'"
    assert list(steps.draw("grid").manifest.files) == ["report.html", "report.md", "tops.json"]


def test_the_page_is_accessible_to_screen_readers(page):
    assert page.attributes("html")[0]["lang"] == "en"
    assert all(attributes["alt"] for attributes in page.attributes("img"))
    assert all(attributes["aria-label"] for attributes in page.attributes("svg"))
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.attributes("th"))
    levels = [int(name[1]) for name, _ in page.tags if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1 and max(b - a for a, b in pairwise(levels)) == 1
    names = [attributes["aria-labelledby"] for attributes in page.attributes("section")]
    assert names == [attributes["id"] for name, attributes in page.tags if name == "h2"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_have_enough_contrast(theme):
    style = (ROOT / "pipeline/report/templates/report.css").read_text()
    light, dark = style.split("prefers-color-scheme: dark", 1)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light if theme == "light" else dark))

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    for text in ("ink", "muted", "good", "bad"):
        assert contrast(colours[text], colours["paper"]) >= 4.5  # WCAG 2.2, 1.4.3
    for line in ("first", "second"):
        assert contrast(colours[line], colours["paper"]) >= 3  # 1.4.11


def test_equal_inputs_give_equal_bytes(steps, tmp_path):
    first = steps.draw("grid")
    again = Steps(tmp_path, steps.edges, steps.graph, steps.answers[::-1], steps.proofs[::-1]).draw("grid")
    assert not again.reused
    assert again.manifest.files == first.manifest.files
    assert steps.draw("grid").reused
    assert not steps.draw("another name").reused


def test_names_are_escaped(steps):
    page = steps.page("<script>alert('&')</script> & \"sons\"")
    assert page.html.count("<script>") == 1
    assert page.words.count("<script>alert('&')</script> & \"sons\"") == 1  # the heading
    assert "<script>alert('&')</script> & \"sons\" · graphmill report" in page.words


def test_the_queries_give_the_rows_that_are_shown(steps, page, tmp_path):
    published = steps.publish(tmp_path / "out", "grid")
    shown = Page((published.path / "report.html").read_text())
    texts = [words for words in shown.words if words.startswith("SELECT ")]
    captions = [name for name, _ in shown.tags if name == "caption"]
    assert len(texts) == len(captions) == 2 + 2 + 1 + 2 + 1  # two sources twice, forest, two kinds of components, scores
    tops = [table for table in shown.tables if table and table[0] and table[0][0] in ("vertex", "labels", "src")][: len(texts)]
    for text, top in zip(texts, tops, strict=True):
        rows = duckdb.sql(text.replace(str(tmp_path / "out" / "latest"), str(published.path))).fetchall()
        assert [row[0] for row in top[1:]] == [str(row[0]) for row in rows], text
    frames = [words for words in shown.words if "pandas.read_parquet" in words]
    assert len(frames) == len(texts)
    for frame in frames:
        *lines, last = frame.splitlines()
        names = {"pandas": pandas}
        exec("\n".join(lines), names)
        assert eval(last, names) is not None


def test_the_report_says_what_has_changed_since_the_last_run(tmp_path):
    output = tmp_path / "out"
    first = run(tmp_path / "one", "src,dst,weight\n1,2,5\n2,3,4\n", stages=("mst", "wcc")).publish(output)
    assert "There is no run before this one." in Page((first.path / "report.html").read_text()).text
    second = run(tmp_path / "two", "src,dst,weight\n1,2,5\n2,3,5\n7,8,1\n", stages=("mst", "wcc")).publish(output)
    page = Page((second.path / "report.html").read_text())
    rows = {row[0]: row[1:] for row in page.table_under("Changes since the last run")[1:]}
    assert rows["mst: total weight"] == ["9", "11", "+2 (+22.22%)"]
    assert rows["wcc: components"] == ["1", "2", "+1 (+100.00%)"]
    assert "wcc: vertices of the largest" not in rows
    assert f"figures are those of run {first.path.name}." in page.text
    assert second.facts["figures"]["mst: total weight"] == 11
    third = run(tmp_path / "two", "src,dst,weight\n1,2,5\n2,3,5\n7,8,1\n", stages=("mst", "wcc")).publish(output)
    page = Page((third.path / "report.html").read_text())
    assert f"Run {third.path.name}, published " in page.text
    assert "It made 0 of its 7 steps and found the others still valid; their times are marked." in page.text
    assert page.text.count("made 20") == 4  # edges, graph and two stages
    assert "None: 6 of 6 figures" in page.text


def test_the_markdown_has_results_and_pictures(steps, tmp_path):
    text = (steps.publish(tmp_path / "out", "a [grid](x)").path / "report.md").read_text()
    assert text.startswith("# a \\[grid\\]\\(x\\): 144 vertices, 528 arcs")
    assert text.count("](data:image/png;base64,") == 3
    assert "<!--" not in text and str(tmp_path / "out" / "latest") in text
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert sum(token.type == "table_open" for token in tokens) == 8 + 1
    assert sum(token.type == "fence" for token in tokens) == 8
