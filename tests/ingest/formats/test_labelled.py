"""GraphML, GML and Pajek as NetworkX and igraph write them, compared with what NetworkX reads; and files that are refused."""

import re
from collections import Counter

import igraph
import networkx
import pytest

from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.store.names import open_names
from pipeline.tables import files as tables

WRITERS = {
    "graphml": (networkx.write_graphml_xml, networkx.read_graphml, "write_graphml"),
    "gml": (networkx.write_gml, networkx.read_gml, "write_gml"),
    "net": (networkx.write_pajek, networkx.read_pajek, "write_pajek"),
}
NAMES = {"graphml": "graphml", "gml": "gml", "net": "pajek"}


def ingested(folder, name, content, **options):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return ingest(GraphConfig(source=str(folder / name), **options), folder / "work")


def named(folder):
    """Edges with names, and all names."""
    names = open_names(folder).array().to_pylist()
    table = tables.read(folder.path).to_pydict()
    ends = [[names[number] for number in table[end]] for end in ("src", "dst")]
    return list(zip(*ends, *([table["weight"]] if "weight" in table else []), strict=True)), names


def counted(edges, directed):
    return Counter((*(ends if directed else sorted(ends)), *weight) for *ends, weight in ((e[0], e[1], e[2:]) for e in edges))


def sample(directed, weight):
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(["München", "a b", 'q"<&>', "7", "alone"])
    pairs = [("a b", "München"), ("München", "7"), ("7", "7"), ('q"<&>', "a b")]
    graph.add_edges_from((src, dst, {"weight": weight + place} if weight else {}) for place, (src, dst) in enumerate(pairs))
    return graph


@pytest.mark.parametrize("weight", [None, 3, 0.25])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("suffix", WRITERS)
def test_what_networkx_writes_is_what_it_reads(suffix, directed, weight, tmp_path):
    write, read, _ = WRITERS[suffix]
    graph = sample(directed, weight)
    if suffix == "net":  # which NetworkX does not escape
        graph = networkx.relabel_nodes(graph, {'q"<&>': "q<&>"})
    write(graph, tmp_path / "written")
    folder = ingested(tmp_path, f"g.{suffix}", (tmp_path / "written").read_bytes())
    edges, names = named(folder)
    expected = read(tmp_path / "written")
    has = weight or suffix == "net"  # NetworkX writes weights of 1.0
    attributes = [(src, dst, values["weight"]) if has else (src, dst) for src, dst, values in expected.edges(data=True)]
    assert counted(edges, directed) == counted(attributes, directed)
    assert set(names) == set(map(str, expected.nodes))
    facts = [folder.facts[name] for name in ("format", "directed", "directed_by", "declared_vertices")]
    assert facts == [NAMES[suffix], directed, "file", 5]
    if weight and suffix != "net":
        assert folder.facts["weight"] == ("int64" if weight == 3 else "double")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("suffix", WRITERS)
def test_what_igraph_writes_is_read(suffix, directed, tmp_path):
    graph = igraph.Graph(n=6, edges=[(0, 1), (1, 2), (2, 0), (3, 3)], directed=directed)
    if suffix != "net":
        graph.es["weight"], graph.es["colour"] = [1, 2.5, 3, 4], ["r", "g", "b", "x]"]
    graph.write(str(tmp_path / "written"), format="pajek" if suffix == "net" else suffix)
    folder = ingested(tmp_path, f"g.{suffix}", (tmp_path / "written").read_bytes())
    edges, names = named(folder)
    assert len(names) == 6
    number = {name: place for place, name in enumerate(sorted(names))}
    ends = [(number[src], number[dst]) for src, dst, *_ in edges]
    assert counted(ends, directed) == counted([(0, 1), (1, 2), (2, 0), (3, 3)], directed)
    assert suffix == "net" or [weight for *_, weight in edges] == [1.0, 2.5, 3.0, 4.0]
    assert folder.facts["directed"] == directed


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>
<key id="d1" for="edge" attr.name="km" attr.type="double"/>
<graph edgedefault="directed">
<node id="a"/><node id="b"/>
<edge source="a" target="c"><data key="d1">7</data></edge>
<edge source="b" target="a"><data key="d0"> 5 </data><data key="d1">8</data></edge>
<node id="c"/>
</graph></graphml>
"""
GML = """Creator "x
y"
graph [
  directed 1
  node [ id 1 label "a" graphics [ x 1 label "z" ] ]
  node [ id 2 label "b&#228;" ]
  # a comment
  edge [ source 1 target 2 weight 3 km 4.5 ]
]
"""
PAJEK = """*Network x
*Vertices 4
1 "a" 0.1 0.2
2 "b c" ic Red
3 d
% a comment
*Arcs
1 2 3
2 3 4 c Blue
*Edges
3 4 5
"""


def test_a_graphml_document_has_defaults_nodes_behind_edges_and_chosen_weights(tmp_path):
    folder = ingested(tmp_path, "g.xml", GRAPHML)
    assert named(folder) == ([("a", "c", 2), ("b", "a", 5)], ["a", "b", "c"])
    assert folder.facts["ignored_columns"] == ["km"]
    folder = ingested(tmp_path, "g.xml", GRAPHML, columns={"weight": "km"})
    assert named(folder)[0] == [("a", "c", 7), ("b", "a", 8)]
    assert named(ingested(tmp_path, "g.xml", GRAPHML, columns={"weight": False}))[0] == [("a", "c"), ("b", "a")]


def test_gml_has_labels_entities_and_chosen_weights(tmp_path):
    assert named(ingested(tmp_path, "g.gml", GML)) == ([("a", "bä", 3)], ["a", "bä"])
    assert named(ingested(tmp_path, "g.gml", GML, columns={"weight": "km"}))[0] == [("a", "bä", 4.5)]
    plain = re.sub(' label "[^"]*"', "", GML)
    assert named(ingested(tmp_path, "g.gml", plain))[0] == [("1", "2", 3)]


def test_pajek_has_arcs_and_edges_labels_and_numbers(tmp_path):
    folder = ingested(tmp_path, "g.net", PAJEK)
    arcs = [("a", "b c", 3), ("b c", "d", 4), ("d", "4", 5), ("4", "d", 5)]
    assert named(folder) == (arcs, ["4", "a", "b c", "d"])
    assert folder.facts["directed"]
    folder = ingested(tmp_path, "g.net", PAJEK, ids="integer")
    assert tables.read(folder.path).to_pydict() == {"src": [1, 2, 3, 4], "dst": [2, 3, 4, 3], "weight": [3, 4, 5, 5]}
    assert (folder.facts["first_id"], folder.facts["declared_vertices"]) == (1, 4)
    stated = named(ingested(tmp_path, "g.net", PAJEK, directed=False))[0]
    assert stated == arcs[:3]
    lists = PAJEK.partition("*Arcs")[0] + "*Edgeslist\n1 2 3\n4 1\n"
    assert named(ingested(tmp_path, "g.net", lists))[0] == [("a", "b c"), ("a", "d"), ("4", "a")]


ENTITIES = '<?xml version="1.0"?>\n<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<graphml><graph/></graphml>'
LONG = f'<graphml><graph edgedefault="directed"><node id="{"x" * 17 * 2**20}"/></graph></graphml>'
EDGES_FIRST = PAJEK.replace("*Arcs", "*Edges").replace("*Edges\n3", "*Arcs\n3")
WRONG = {
    "entities": ("g.graphml", ENTITIES, 2, "has a document type"),
    "xml": ("g.graphml", GRAPHML.replace("</graph>", ""), 10, "is not XML: mismatched tag"),
    "end of xml": ("g.graphml", GRAPHML.partition("</graph>")[0], 10, "is not XML: no element found"),
    "long element": ("g.graphml", LONG, 1, "an element is longer than 16777216 bytes"),
    "unknown node": ("g.graphml", GRAPHML.replace('<node id="c"/>', ""), 7, "the edge is at 'c', but no <node> has this id"),
    "node twice": ("g.graphml", GRAPHML.replace('<node id="c"/>', '<node id="a"/>'), 9, "a second <node> has the id 'a'"),
    "weight": ("g.graphml", GRAPHML.replace(" 5 ", "-5"), 8, "weight '-5' is not in"),
    "no default": ("g.graphml", GRAPHML.replace("<default>2</default>", ""), 8, "has a weight, but edges before it have none"),
    "both kinds": ("g.graphml", GRAPHML.replace('"b" target', '"b" directed="false" target'), 8, "has another direction"),
    "no direction": ("g.graphml", GRAPHML.replace(' edgedefault="directed"', ""), 5, "edgedefault is ''"),
    "hyperedge": ("g.graphml", GRAPHML.replace('<node id="c"/>', "<hyperedge/>"), 9, "has a <hyperedge>"),
    "nested": ("g.graphml", GRAPHML.replace('<node id="c"/>', "<graph/>"), 9, "has a second <graph>"),
    "gml: unknown node": ("g.gml", GML.replace("target 2", "target 3"), 8, "its target '3' is no node before it"),
    "gml: label twice": ("g.gml", GML.replace("b&#228;", "a"), 6, "label 'a' is that of the node on line 5, too"),
    "gml: end": ("g.gml", GML[:-3], None, "ends within 'graph'"),
    "gml: bracket": ("g.gml", GML + "]\n", 10, "']' without '['"),
    "gml: weight": ("g.gml", GML.replace("weight 3", 'weight "x"'), 8, "weight 'x' is not a number"),
    "gml: late direction": ("g.gml", GML.replace("  # a comment", "directed 0"), 7, "directed comes behind nodes"),
    "gml: no weight": ("g.gml", GML[:-2] + "edge [ source 1 target 1 ] ]\n", 9, "has no weight, but edges before it have some"),
    "pajek: label twice": ("g.net", PAJEK.replace('"b c"', '"a"'), 4, "label 'a' is also on line 3"),
    "pajek: label of a number": ("g.net", PAJEK.replace('"a"', '"4"'), 3, "label '4' is the number of a vertex without a label"),
    "pajek: number": ("g.net", PAJEK.replace("3 4 5", "3 5 5"), 11, "'5' is not the number of a vertex, 1..4"),
    "pajek: only then arcs": (
        "g.net",
        PAJEK.replace("*Arcs", "*Edges").replace("*Edges\n3", "*Arcs\n3"),
        11,
        "an arc behind edges",
    ),
    "pajek: relations": ("g.net", PAJEK.replace("*Edges", "*Edges :2"), 10, "several relations"),
    "pajek: matrix": ("g.net", PAJEK.replace("*Edges", "*Matrix"), 10, "section '*Matrix' is not supported"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(name, tmp_path):
    file, content, line, reason = WRONG[name]
    with pytest.raises(BadInput, match=re.escape(reason)) as caught:
        ingested(tmp_path, file, content)
    assert line is None or caught.value.line == line


def test_the_number_of_edges_is_limited(tmp_path):
    with pytest.raises(BadInput, match="line 8: more than 1 edges"):
        ingested(tmp_path, "g.graphml", GRAPHML, limits=Limits(edges=1))
