"""The ten questions of docs/tables.md about people, on a larger network, and answered by NetworkX."""

import random
import re
import tomllib
from collections import Counter

import duckdb
import networkx
import pytest

from pipeline.config.loading import run_config
from pipeline.run import run
from tests.project.docs import ROOT, below

PAGE, HEADING = ROOT / "docs" / "tables.md", "Ten questions about people"


@pytest.fixture(scope="module")
def friends(tmp_path_factory):
    """Two circles of friends with few ties between them, and a third apart, in the place of the page's people."""
    folder, draw = tmp_path_factory.mktemp("friends"), random.Random(8)
    people = networkx.Graph()
    circles = [[*"abcdefghij"], [*"klmnopqrst"], [*"uvwx"]]
    named = {"a": "ana", "b": "bob", "k": "eli", "u": "gus", "c": "zo\u00eb, dr"}
    for circle in circles:
        names = [named.get(one, f"{one}{draw.randint(100, 999)}") for one in circle]
        pairs = [(src, dst) for at, src in enumerate(names) for dst in names[:at] if draw.random() < 0.6 or at == 1]
        people.add_edges_from(pairs + [(names[number], names[0]) for number in range(2, len(names))])
        circle[:] = names
    people.add_edges_from([(circles[0][3], circles[1][4]), (circles[0][5], circles[1][4])])
    for number, (src, dst) in enumerate(sorted(people.edges)):
        people[src][dst]["weight"] = (number * 37) % 101
    rows = [f'"{src}","{dst}",{weight}\n' for src, dst, weight in people.edges(data="weight")]
    (folder / "friends.csv").write_text("who,whom,messages\n" + "".join(rows), "utf-8")
    (written,) = below(PAGE, HEADING, "bash")
    config = tomllib.loads(re.search("<<'END'\n(.*?)^END$", written, re.MULTILINE | re.DOTALL)[1])
    config["graph"]["source"] = str(folder / "friends.csv")
    run(run_config("test", **config | {"output": folder / "out" / "friends"}))
    queries = [query.replace("'out/", f"'{folder}/out/") for query in below(PAGE, HEADING, "sql")]
    return people, {query.partition("?")[0][3:]: duckdb.sql(query).fetchall() for query in queries}


def test_there_are_ten(friends):
    assert len(friends[1]) == 10 and all(friends[1].values())


def test_ties(friends):
    people, answers = friends
    assert answers["Who are Ana's contacts"] == sorted((other, tie["weight"]) for other, tie in people["ana"].items())
    common = sorted(networkx.common_neighbors(people, "ana", "bob"))
    assert answers["Which friends do Ana and Bob have in common"] == [(other,) for other in common] and len(common) > 2
    heaviest = sorted(people.edges(data="weight"), key=lambda tie: -tie[2])[:3]
    found = answers["Which ties are the strongest"]
    assert [({src, dst}, weight) for src, dst, weight in found] == [({src, dst}, weight) for src, dst, weight in heaviest]


def test_who_is_central_and_who_connects(friends):
    people, answers = friends
    score = networkx.pagerank(people, weight=None, tol=1e-12, max_iter=1000)
    highest = sorted(score, key=score.get, reverse=True)[:3]
    assert dict(answers["Who is most central"]) == pytest.approx({person: score[person] for person in highest}, rel=0.02)
    between = networkx.betweenness_centrality(people, normalized=False)
    most = sorted(between, key=between.get, reverse=True)[:3]
    assert dict(answers["Who connects most of the others"]) == pytest.approx({person: between[person] for person in most})


def test_distances_components_and_reach(friends):
    people, answers = friends
    far = networkx.shortest_path_length(people, "ana", "eli")
    assert answers["How far is Eli from Ana, a source of the run"] == [(far,)] and far > 2
    parts = {(min(part), len(part)) for part in networkx.connected_components(people)}
    assert {*answers["How large are the components"]} == parts and len(parts) == 2
    assert answers["Whom can Gus reach"] == [(one,) for one in sorted(networkx.descendants(people, "gus"))]


def test_communities(friends):
    """They are those in which nobody has more friends in another one than in the own one."""
    people, answers = friends
    best = dict(answers["Who has the highest score of each community"])
    own = [person for (person,) in answers["Who is in Ana's community"]]
    assert own == sorted(own) and "ana" in own and min(own) in best and 1 < len(best) < 6
    for person in own:
        inside = Counter(other in own for other in people[person])
        assert inside[True] * 2 >= inside[False] and inside[True]
    score = networkx.pagerank(people, weight=None, tol=1e-12, max_iter=1000)
    assert best[min(own)] == max(own, key=score.get)
