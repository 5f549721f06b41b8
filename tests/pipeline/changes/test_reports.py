"""The report of a run of changes shows the changed graph: its maps and queries are those of a rebuild."""

import json
import re

import duckdb
import pandas
import pytest

from pipeline.changes import change
from pipeline.config.run import RunConfig
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from tests.reports import Page

NAMES = ["ana", "bo'b", "cem {folder}", 'da"n', "eve", "fay", "gus"]
PLACES = [(0, 0), (1, 0), (1, 1), (0, 1), (2, 1), (2, 0)]
EDGES = [(0, 1, 4), (1, 2, 1), (2, 3, 2), (3, 0, 7), (1, 5, 3), (4, 4, 1)]
ALONE = [(number, number, 0) for number in range(6)]
INSERTED, DELETED = [(0, 2, 5), (3, 6, 1), (5, 6, 2), (6, 8, 1)], [(1, 2, 1)]


def lines_of(edges, named):
    def text(number):
        name = NAMES[number] if number < len(NAMES) else "aaa"  # which becomes the first one
        return '"' + name.replace('"', '""') + '"' if named else str(number)

    return [f"{text(src)},{text(dst)},{weight}" for src, dst, weight in edges]


def config(folder, edges, named, out, directed):
    (folder / f"{out}.csv").write_text("\n".join(["src,dst,weight", *lines_of(edges, named), ""]))
    places = [line.partition(",")[0] + f",{x},{y}" for line, (x, y) in zip(lines_of(ALONE, named), PLACES, strict=True)]
    (folder / "places.csv").write_text("\n".join(["vertex,x,y", *places, ""]))
    changes = [f"{op},{line}" for op, edges in (("insert", INSERTED), ("delete", DELETED)) for line in lines_of(edges, named)]
    (folder / "changes.csv").write_text("\n".join(["op,src,dst,weight", *changes, ""]))
    graph = {"source": str(folder / f"{out}.csv"), "coordinates": str(folder / "places.csv"), "directed": directed}
    return RunConfig.model_validate(
        {"graph": graph, "output": folder / out, "stages": ["sssp", "mst", "wcc", "reachability"], "backend": "cpu",
         "sources": [NAMES[number] if named else number for number in (2, 1)]}
    )  # fmt: skip


def shown(published):
    page = Page((published.path / "report.html").read_text())
    maps = page.html.partition('id="maps">')[2].partition("</section>")[0]
    maps = re.sub(r'<figure class="map">\s*<figcaption><b>Changes since.*?</figure>', "", maps, flags=re.DOTALL)
    images = re.findall(r"data:image/png;base64,[^\"]+", maps)
    listed = {name: json.loads(re.search(f'id="{name}">(.*?)</script>', page.html)[1]) for name in ("vertices", "values")}
    note = re.search(r'<p class="note">(.*?)</p>', maps)[1]
    return page, images, listed["vertices"], listed["values"][-len(images) // 2 :], note


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_maps_and_queries_are_those_of_a_rebuild(tmp_path, named, directed):
    run(config(tmp_path, EDGES, named, "out", directed))
    published = change(tmp_path / "out", tmp_path / "changes.csv")
    after = [edge for edge in EDGES if edge not in DELETED] + INSERTED
    rebuilt = run(config(tmp_path, after, named, "rebuilt", directed))
    (page, images, vertices, values, note), others = shown(published), shown(rebuilt)
    assert len(images) == 2 * 3
    assert images == others[1] and (vertices, values, note) == others[2:]
    line = "arcs" if directed else "edges"
    assert note.startswith(f"5 {line} of the graph drawn") and f"Not drawn: 3 {line} with" in note
    assert vertices["id"] == (sorted(NAMES[:6]) if named else [*map(str, range(6))])
    facts = RunFacts.of(published).graph
    rows = dict(row for row in page.tables[page._headed["From the edge list to the graph"]] if len(row) == 2)
    assert rows["Arcs by changes since"] == ("+ 3" if directed else "+ 6") and rows["Arcs in the graph"] == str(facts.arcs)
    assert "4 inserted, 1 deleted" in page.text
    again = [(1, 2, 1), (0, 2, 5)]  # without new ids
    rows = [f"{'insert' if number == 0 else 'delete'},{line}" for number, line in enumerate(lines_of(again, named))]
    (tmp_path / "again.csv").write_text("op,src,dst,weight\n" + "\n".join(rows) + "\n")
    after = [edge for edge in after if edge != again[1]] + again[:1]
    published, rebuilt = change(tmp_path / "out", tmp_path / "again.csv"), run(config(tmp_path, after, named, "third", directed))
    assert shown(published)[1:] == shown(rebuilt)[1:]


def test_queries_name_sources_whose_numbers_have_changed(tmp_path):
    """The first run is asked again after the next one; the id that a query cannot have is found by its number in its run."""
    first = run(config(tmp_path, EDGES, True, "out", False))
    second = change(tmp_path / "out", tmp_path / "changes.csv")
    for published in (first, second):
        page = Page((published.path / "report.html").read_text())
        queries = [words for words in page.words if words.startswith("SELECT vertex, (SELECT id") and " AS id, distance" in words]
        frames = [words for words in page.words if "paths.source.isin" in words]
        assert len(queries) == len(frames) == 2
        for name, number, query, frame in zip(("bo'b", "cem {folder}"), (1, 2), queries, frames, strict=True):
            folder, other = ("/latest/", f"/{published.path.name}/")[:: 1 if name == "bo'b" else -1]
            assert folder in query and folder in frame and other not in query + frame
            found = duckdb.sql(query.replace("LIMIT 5", "LIMIT 99")).fetchall()
            assert found[-1][1:3] == (name, 0)
            *lines, last = frame.splitlines()
            names = {"pandas": pandas}
            exec("\n".join(lines), names)
            read = eval(last, names)
            assert read["vertex"].tolist() == [row[0] for row in found[:5]]
            assert set(read["source"]) == {number + (folder == "/latest/" or published is second)}


def test_questions_name_vertices(tmp_path):
    published = run(config(tmp_path, EDGES, True, "out", True))
    text = Page((published.path / "report.html").read_text()).text
    assert "reached from bo'b, the vertex of highest out-degree (2)" in text and "How many reach ana, the vertex" in text
