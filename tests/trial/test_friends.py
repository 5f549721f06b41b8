"""An analyst of a company's messages: parts of a feed as a German program exports it, and ten questions, each one query."""

import random
import re
from pathlib import Path

import duckdb
import networkx
import pyarrow.parquet as pq
import pytest

from tests.browser.chromium import BROWSER
from tests.pipeline.readers.test_analyst import HEADING, PAGE
from tests.project.docs import below
from tests.trial.windows import in_browser, window

NAMED = {"a": "ana", "b": "bob", "c": "Zoë Groß, Köln", "d": "Jürgen Müller", "k": "eli", "u": "gus"}
BAD = 'Datum;Absender;Empfänger;Minuten;Art\n2026-03-02 10:00;ana;;3,0;"ohne Empfänger"\n'


def write_feed(folder: Path) -> networkx.Graph:
    """Three parts, one with a bad row, one with its columns in another order; the ties, each with its lightest row's minutes."""
    draw, ties, lines = random.Random(8), networkx.Graph(), []
    for circle in ("abcdefghij", "klmnopqrst", "uvwx"):
        names = [NAMED.get(letter, f"{letter}{draw.randint(100, 999)}") for letter in circle]
        pairs = [(src, dst) for at, src in enumerate(names) for dst in names[:at] if draw.random() < 0.6 or at == 1]
        lines += [*pairs, *((names[number], names[0]) for number in range(2, len(names))), *draw.sample(pairs, 2)]
    lines.append(("eli", "Jürgen Müller"))
    rows = []
    for number, (src, dst) in enumerate(lines):
        tenths = draw.randint(1, 1_000_000)  # no two paths weigh the same
        rows.append(
            (f"2026-03-{number % 28 + 1:02d} 10:15", f'"{src}"', dst if "," not in dst else f'"{dst}"', german(tenths), "Anruf")
        )
        before = ties.edges[src, dst]["weight"] if ties.has_edge(src, dst) else tenths
        ties.add_edge(src, dst, weight=min(before, tenths))
    order = [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [0, 1, 2, 3, 4]]
    names = ["Datum", "Absender", "Empfänger", "Minuten", "Art"]
    (folder / "feed").mkdir()
    for part, places in enumerate(order):
        written = [names, *rows[part::3]]
        text = "".join(";".join(row[place] for place in places) + "\r\n" for row in written)
        (folder / "feed" / f"2026-0{part + 1}.csv").write_bytes(text.encode("cp1252"))
    (folder / "feed" / "2026-04.csv").write_bytes(BAD.encode("cp1252"))
    return ties


def german(tenths: int) -> str:
    """A number of tenths, such as 1.234,5."""
    return f"{tenths / 10:,.1f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """The folder, the ties, what commands printed, and the answers to the ten questions by the words before their "?"."""
    folder = tmp_path_factory.mktemp("friends")
    ties = write_feed(folder)
    stages = "bfs,wcc,pagerank,betweenness,communities,closure"
    with window(folder) as shell:
        columns = "--src Absender --dst Empfänger --weight Minuten"
        form = "--delimiter ';' --encoding cp1252 --decimal , --thousands ."
        refused = shell.type(f"graphmill run feed --out out/refused {columns} {form} || echo code $?")
        began = shell.type(f"graphmill init feed --name friends {columns} --undirected --source ana --stages {stages} --reject 5")
        ran = shell.type("graphmill run friends.toml")
        path = shell.type("graphmill path out/friends ana eli --table bfs")
    queries = [query.replace("'out/", f"'{folder}/out/") for query in below(PAGE, HEADING, "sql")]
    answers = {query.partition("?")[0][3:]: duckdb.sql(query).fetchall() for query in queries}
    return folder, ties, {"refused": refused, "init": began, "run": ran, "path": path}, answers


def test_a_bad_row_is_refused_with_the_key_that_allows_it(trial):
    printed = re.sub(r"\s+", " ", trial[2]["refused"])
    assert "feed/2026-04.csv: line 2: dst is empty; [reject] limit leaves such rows out" in printed and "code 1" in printed
    assert not (trial[0] / "out" / "refused").exists()
    rejected = pq.read_table(trial[0] / "out" / "friends" / "latest" / "rejected").to_pylist()
    assert [(Path(row["file"]).name, row["line"], row["column"]) for row in rejected] == [("2026-04.csv", 2, "Empfänger")]


def test_the_feed_is_understood(trial):
    _, ties, printed, _ = trial
    for words in ("Datum (date)", "decimal ','", "thousands", "cp1252", "4; the first one is shown"):
        assert words in printed["init"], words
    assert f"{ties.number_of_nodes()} vertices, {2 * ties.number_of_edges()} arcs" in printed["run"]
    assert "ana" in printed["path"] and "eli" in printed["path"]
    assert "1 of " in printed["run"] and "rejected" in printed["run"]


def test_names_are_in_every_table(trial):
    folder, ties, *_ = trial
    names = sorted(ties.nodes, key=str.encode)
    tables = [path.parent for path in (folder / "out" / "friends" / "latest").glob("*/part-00000.parquet")]
    assert {table.name for table in tables} >= {
        "arcs",
        "bfs",
        "wcc",
        "pagerank",
        "betweenness",
        "communities",
        "closure",
        "vertices",
    }
    for table in tables:
        if table.name != "rejected":
            rows = pq.read_table(table).to_pydict()
            name = "id" if table.name == "vertices" else "src_name" if table.name == "arcs" else "vertex_name"
            assert rows[name] == [names[number] for number in rows[name.removesuffix("_name") if name != "id" else "vertex"]], (
                table
            )


def test_ten_questions(trial):
    _, ties, _, answers = trial
    assert len(answers) == 10
    weights = {other: tie["weight"] / 10 for other, tie in ties["ana"].items()}
    assert answers["Who are Ana's contacts"] == sorted(weights.items(), key=lambda contact: contact[0].encode())
    common = sorted(networkx.common_neighbors(ties, "ana", "bob"), key=str.encode)
    assert answers["Which friends do Ana and Bob have in common"] == [(other,) for other in common] and len(common) > 2
    heaviest = sorted((tie / 10 for *_, tie in ties.edges(data="weight")), reverse=True)[:3]
    assert [weight for *_, weight in answers["Which ties are the strongest"]] == heaviest
    score = networkx.pagerank(ties, weight=None, tol=1e-12, max_iter=1000)
    central = dict(answers["Who is most central"])
    assert len(central) == 3 and central == pytest.approx({person: score[person] for person in central}, rel=0.02)
    assert min(map(score.get, central)) > 0.98 * sorted(score.values())[-3]
    between = networkx.betweenness_centrality(ties, weight="weight", normalized=False)
    most = sorted(between, key=between.get, reverse=True)[:3]
    assert dict(answers["Who connects most of the others"]) == pytest.approx({person: between[person] for person in most})
    assert answers["How far is Eli from Ana, a source of the run"] == [(networkx.shortest_path_length(ties, "ana", "eli"),)]
    parts = {(min(part, key=str.encode), len(part)) for part in networkx.connected_components(ties)}
    assert {*answers["How large are the components"]} == parts and len(parts) == 2
    reached = sorted(networkx.descendants(ties, "gus"), key=str.encode)
    assert answers["Whom can Gus reach"] == [(one,) for one in reached] and reached
    own = {person for (person,) in answers["Who is in Ana's community"]}
    assert "ana" in own and all(sum(other in own for other in ties[person]) * 2 >= ties.degree(person) for person in own)
    best = dict(answers["Who has the highest score of each community"])
    assert score[best[min(own, key=str.encode)]] > 0.98 * max(map(score.get, own))


@pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
def test_the_report_in_a_browser_has_names(trial, tmp_path):
    words, _ = in_browser(trial[0] / "out" / "friends" / "latest" / "report.html", tmp_path)
    assert "Jürgen Müller" in words and "1 of " in words
