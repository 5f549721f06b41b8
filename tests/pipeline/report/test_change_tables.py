"""What the report shows of change tables: rows by table, a map and a chart of the changes of distance."""

import json
import re

import numpy as np
import pytest

from pipeline.report.change_tables import HEADS
from pipeline.tables import files as tables
from tests.pipeline.report.pictures import image
from tests.reports import Page, grid, run


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The grid after the road between 1 and 2 became longer, and those of crossing 12 were closed."""
    text, places = grid(12)
    arcs = [arc for arc in text.splitlines(keepends=True)[1:] if not re.match("a 12 |a [0-9]+ 12 ", arc)]
    arcs = [re.sub("^a (1 2|2 1) .*", r"a \1 50", arc) for arc in arcs]
    return run(
        tmp_path_factory.mktemp("changed"), f"p sp 144 {len(arcs)}\n" + "".join(arcs), places, ["sssp", "wcc"], sources=(1, 60)
    )


def test_rows_that_changed_are_counted_and_mapped(steps, changed):
    page = changed.page(before=steps)
    (heads, *rows) = page.table_under("Changed rows of the tables")
    assert tuple(heads) == HEADS
    by_table = {row[0]: row for row in rows}
    assert by_table["sssp"][1:3] == ["288", "288"] and by_table["sssp"][-1].startswith("distance ")
    assert "1 vertex reached only before or only now" in page.text and "Not compared: scc, only the old run has it." in page.text
    assert {"Changes since the last run", "Changes of distance since the last run"} <= {word.strip() for word in page.words}
    assert len(page.attributes("img")) == 1 + len(image(changed.page()))
    (shown, *_) = json.loads(re.search('id="values">(.*?)</script>', page.html)[1])
    named = [int(vertex) for vertex in json.loads(re.search('id="vertices">(.*?)</script>', page.html)[1])["id"]]
    at = dict(zip(named, shown, strict=True))
    found = dict.fromkeys(range(1, 145), 0)
    (old,) = (answer for answer in steps.answers if answer.manifest.step == "sssp")
    for before, now in zip(tables.read(old.path).to_pylist(), tables.read(changed.answers[0].path).to_pylist(), strict=True):
        if now["distance"] is not None:
            found[now["vertex"]] = max(found[now["vertex"]], abs(now["distance"] - before["distance"]))
    found[12] = "reached only before, or only now"
    assert at == {vertex: by or None for vertex, by in found.items()} and None in at.values()
    picture = image(page)[0]
    assert len(np.unique(picture[picture[..., 3] > 0][:, :3], axis=0)) > 3  # several changes, and what has not changed
    text = (changed.draw(before=steps).path / "report.md").read_text()
    assert "| table | rows before |" in text and "| sssp | 288 | 288 |" in text


def test_without_distances_the_map_marks_what_changed(tmp_path):
    text, places = grid(4)
    before = run(tmp_path / "a", text, places, stages=["wcc"])
    arcs = [arc for arc in text.splitlines(keepends=True)[1:] if not re.match("a 4 |a [0-9]+ 4 ", arc)]
    now = run(tmp_path / "b", f"p sp 16 {len(arcs)}\n" + "".join(arcs), places, stages=["wcc"])
    page = now.page(before=before)
    assert page.table_under("Changed rows of the tables")[1] == ["wcc", "16", "16", "0", "0", "1", "labels 1 time"]
    assert "1 vertex with a change in a table of vertices." in page.text
    same = Page((before.draw(before=before).path / "report.html").read_text())
    assert "No row of a table has changed." in same.text and not same.attributes("img")
