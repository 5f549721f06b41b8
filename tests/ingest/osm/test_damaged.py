"""Damaged and hostile files are refused by name and place, or read; they end no process, and raise nothing else."""

import random
import struct
import zlib

import numpy as np
import pytest

from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.roads import OsmConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.formats.osm.blobs import LONGEST, blobs
from pipeline.ingest.formats.osm.extract import extract
from pipeline.ingest.formats.osm.pbf import PbfReader
from pipeline.ingest.formats.osm.strings import distinct_names
from pipeline.ingest.formats.osm.xml import XmlReader
from pipeline.ingest.roads.profile import Profile
from pipeline.ingest.roads.relations import Restriction, TurnRelations
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Way, read, write

NODES = [Node(one, one / 1000, one % 3 / 1000, **({"barrier": "gate"} if one == 5 else {})) for one in range(1, 12)]
WAYS = [Way(1, [1, 2, 3, 4, 5], name="Allee"), Way(2, [5, 6, 7, 3], maxspeed="30"), Way(3, [8, 9], {"building": "yes"})]
PARTS = "pbf,pbf_compression=none", "pbf", "pbf,pbf_dense_nodes=false,pbf_compression=none"


def varint(value):
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def framed(kind, content, size=None):
    header = field(1, kind) + field(3, len(content) if size is None else size)
    return struct.pack(">I", len(header)) + header + content


def packed(data):
    return field(2, len(data)) + field(3, zlib.compress(data))


FEATURES = field(4, b"OsmSchema-V0.6") + field(4, b"DenseNodes")
HEADER = framed(b"OSMHeader", packed(FEATURES))
SORTED = framed(b"OSMHeader", packed(FEATURES + field(5, b"Sort.Type_then_ID")))


def zigzag(value):
    return varint(value << 1 ^ value >> 63 if value >= 0 else (-value << 1) - 1)


def block(*groups, strings=(b"", b"highway", b"primary"), more=b""):
    return field(1, b"".join(field(1, text) for text in strings)) + b"".join(field(2, group) for group in groups) + more


def way(refs=(1, 1), keys=b"\x01", values=b"\x02", more=b"", id=7):
    return field(3, field(1, id) + field(2, keys) + field(3, values) + field(8, b"".join(map(zigzag, refs))) + more)


def dense(ids=(1, 1), lat=(5, 5), lon=(5, 5), more=b""):
    return field(2, b"".join(field(n, b"".join(map(zigzag, each))) for n, each in ((1, ids), (8, lat), (9, lon))) + more)


def read_bytes(data, folder, **limits):
    path = folder / "a.osm.pbf"
    path.write_bytes(data)
    return extract("a.osm.pbf", PbfReader(path, "a.osm.pbf", Limits(**limits)), Profile(OsmConfig(profile="car")))


def test_the_writer_of_these_tests_writes_streets(tmp_path):
    streets = read_bytes(HEADER + framed(b"OSMData", packed(block(dense(), way()))), tmp_path)
    assert (streets.ways.tolist(), streets.nodes.ids.tolist(), streets.nodes.units.tolist()) == ([7], [1, 2], [[5, 5], [10, 10]])
    plain = field(1, field(1, 2) + field(8, 10) + field(9, 12)) + field(1, field(1, 4) + field(8, 0) + field(9, 1))
    streets = read_bytes(HEADER + framed(b"OSMData", field(1, block(plain, way()))), tmp_path)
    assert streets.nodes.units.tolist() == [[6, 5], [-1, 0]]
    coarse = block(dense(), way(), more=field(17, 1000) + field(19, 2**64 - 500) + field(20, 149))
    assert read_bytes(HEADER + framed(b"OSMData", packed(coarse)), tmp_path).nodes.units.tolist() == [[51, 45], [101, 95]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (HEADER[:30], "the blob at byte 0: the file ends before its end"),
        (HEADER + b"\0\0", f"the blob at byte {len(HEADER)}: the file ends before its end"),
        (HEADER + struct.pack(">I", 2**17), "states a header of 131072 bytes, the limit is 65536"),
        (HEADER + framed(b"OSMData", b"", LONGEST + 1), f"states {LONGEST + 1} stored bytes, the limit is {LONGEST}"),
        (HEADER + framed(b"OSMData", field(2, LONGEST + 1) + field(3, b"x")), f"states {LONGEST + 1} bytes of content"),
        (HEADER + framed(b"OSMData", field(3, zlib.compress(b"x"))), "does not state its size"),
        (HEADER + framed(b"OSMData", field(2, 5) + field(3, zlib.compress(b"x"))), "has 1 bytes, not the 5 that it states"),
        (HEADER + framed(b"OSMData", field(2, 1) + field(3, zlib.compress(b"xyz"))), "has more than 1 bytes, not the 1"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(3, zlib.compress(b"x" * 9)[:-4])), "the compressed data is corrupt"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(3, b"nonsense")), "the compressed data is corrupt"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(5, b"BZh91")), "has bzip2, which is obsolete"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(6, b"\xff\xff")), "the compressed data is corrupt"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(7, b"\xff\xff")), "the compressed data is corrupt"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(4, b"\xff\xff")), "the compressed data is corrupt"),
        (HEADER + framed(b"OSMData", field(2, 9) + field(1, b"x") + field(3, b"x")), "it is not one content"),
        (HEADER + framed(b"OSMData", b"\xff\xff\xff"), "it is not one content"),
        (HEADER + HEADER, "is a second header of the file"),
        (framed(b"OSMData", packed(b"")), "is not the header of the file"),
        (framed(b"OSMHeader", packed(field(4, b"HistoricalInformation"))), "has the history of OpenStreetMap"),
        (framed(b"OSMHeader", packed(field(4, b"Magic"))), "needs a reader with Magic"),
        (HEADER + framed(b"OSMData", packed(block(way(keys=b"\x09")))), "way 0 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(way(values=b"")))), "way 0 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(way(more=field(8, b"\2"))))), "way 0 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(way(refs=(-5, 1))))), "node with the id -5"),
        (HEADER + framed(b"OSMData", packed(block(dense(lat=(10**12, 5)), way()))), "node 0 of a group is damaged, or its coord"),
        (HEADER + framed(b"OSMData", packed(block(dense(lat=(5,)), way()))), "node 1 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(dense(lat=(5, 5, 5)), way()))), "node 2 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(dense(more=field(10, b"\1\2\0\1")), way()))), "node 1 of a group is damaged"),
        (HEADER + framed(b"OSMData", packed(block(way(), more=field(17, 0)))), "its granularity is 0"),
        (HEADER + framed(b"OSMData", packed(field(2, way()))), "has 0 tables of strings"),
        (HEADER + framed(b"OSMData", packed(field(2, b"\x1a\x7f"))), "a group of its elements is damaged"),
    ],
)
def test_a_damaged_blob_is_named(data, reason, tmp_path):
    with pytest.raises(BadInput) as error:
        read_bytes(data, tmp_path)
    assert reason in str(error.value) and str(error.value).startswith("a.osm.pbf: ")


def test_what_expands_too_much_is_refused(tmp_path):
    zeros = framed(b"OSMData", packed(field(9, bytes(20 * 2**20))))
    with pytest.raises(BadInput, match=r"decompress to over .* more than 200 times, the limit"):
        read_bytes(HEADER + zeros * 2, tmp_path)
    with pytest.raises(BadInput, match=r"more than 1000 bytes of content, the limit \(graph.limits.bytes\)"):
        read_bytes(HEADER + framed(b"OSMData", packed(field(9, bytes(1001)))), tmp_path, bytes=1000)


def test_blobs_of_nodes_are_read_once_if_the_file_says_that_it_is_sorted(tmp_path):
    nodes = [framed(b"OSMData", packed(block(dense(ids=(first, 1))))) for first in (1, 3, 5)]
    ways = framed(b"OSMData", packed(block(way(refs=(1, 3, 2)))))  # nodes 1, 4 and 6
    path = tmp_path / "a.osm.pbf"
    path.write_bytes(SORTED + b"".join(nodes) + ways)
    reader = PbfReader(path, "a.osm.pbf", Limits())
    streets = extract("a.osm.pbf", reader, Profile(OsmConfig(profile="car")))
    assert (streets.nodes.ids.tolist(), streets.nodes.units.tolist()) == ([1, 4, 6], [[5, 5], [10, 10], [10, 10]])
    assert streets.nodes.known.all() and len(reader.skipped) == 3
    with pytest.raises(
        BadInput, match=rf"the blob at byte {len(SORTED)}: has ways or relations before the last nodes, but the file says"
    ):
        read_bytes(SORTED + ways + b"".join(nodes) + ways, tmp_path)
    with pytest.raises(BadInput, match=r"more than 100 bytes of content, the limit"):
        read_bytes(SORTED + b"".join(nodes) + ways, tmp_path, bytes=100)


def test_names_are_those_of_streets_in_any_block(tmp_path):
    def ways(*wanted):  # (id, class, name)
        keys = [b"\1\4" if name else b"\1" for _, _, name in wanted]
        values = [bytes([kind, name] if name else [kind]) for _, kind, name in wanted]
        made = [way(keys=key, values=value, id=one[0]) for key, value, one in zip(keys, values, wanted, strict=True)]
        strings = b"", b"highway", b"primary", b"footway", b"name", b"\xff", "All\u00e9e".encode(), b"Weg", b"Gasse"
        return framed(b"OSMData", packed(block(b"".join(made), strings=strings)))

    first, second = [(1, 2, 7), (2, 3, 5), (3, 2, 6), (4, 2, 0), (5, 2, 7)], [(6, 2, 8), (7, 2, 6), (8, 2, 8)]
    read_as = read_bytes(HEADER + ways(*first) + ways(*second) + ways((9, 3, 8)), tmp_path)
    names = [None if number < 0 else read_as.names[number].as_py() for number in read_as.name.tolist()]
    assert read_as.ways.tolist() == [1, 3, 4, 5, 6, 7, 8]
    assert names == ["Weg", "All\u00e9e", None, "Weg", "Gasse", "All\u00e9e", "Gasse"]
    assert len(read_as.names) == 4  # each once for each block, and none of the others
    with pytest.raises(BadInput, match=r"the name b'\\xff' of a way is not UTF-8"):
        read_bytes(HEADER + ways(*first) + ways((6, 2, 8), (7, 2, 5)), tmp_path)


def test_groups_of_ways_number_names_for_themselves():
    """They share an array as long as the block's strings, so that many small groups are not each as slow as the block."""
    strings, data = np.array([[0, 1], [1, 3], [3, 6]], np.int32), np.frombuffer(b"abbccc", np.uint8)
    numbers = np.full(3, -1, np.int32)
    for names, texts, own in (([2, -1, 0, 2], [b"ccc", b"a"], [0, -1, 1, 0]), ([1, 0], [b"bb", b"a"], [0, 1])):
        of_ways, ends, content = np.array(names, np.int32), np.zeros(len(names) + 1, np.int64), np.empty(6, np.uint8)
        count = distinct_names(data, strings, of_ways, numbers, ends, content)
        assert [content[ends[name] : ends[name + 1]].tobytes() for name in range(count)] == texts
        assert of_ways.tolist() == own
        assert numbers.tolist() == [-1, -1, -1]


def test_the_limit_of_edges_holds(tmp_path):
    path = write(tmp_path / "a.osm.pbf", NODES, WAYS)
    with pytest.raises(BadInput, match="has 6 arcs, the limit is 2 edges"):
        ingest(GraphConfig(source=str(path), osm={"profile": "car"}, limits=Limits(edges=2)), tmp_path / "work")


def mutated(data, chosen):
    for _ in range(chosen.choice([1, 1, 2, 5])):
        at = chosen.randrange(len(data))
        how = chosen.randrange(4)
        byte = bytes([chosen.choice([0, 1, 127, 128, 255, chosen.randrange(256)])])
        data = (
            data[:at] + byte + data[at + 1 :] if how < 2 else data[:at] + data[at + chosen.randrange(1, 9) :]
            if how == 2 else data[:at] + byte * chosen.randrange(1, 12) + data[at:]
        )  # fmt: skip
    return data


@pytest.mark.sampled
@pytest.mark.parametrize("form", PARTS)
def test_mutated_files_are_refused_or_read(form, tmp_path):
    """Bytes of the file, and bytes within its blobs, whose sizes and compression are then right."""
    path, chosen = write(tmp_path / "seed.osm.pbf", NODES, WAYS, form), random.Random(form)
    whole, contents = path.read_bytes(), [blob.data() for blob in blobs(path, "seed")]
    refused = 0
    for number in range(20_000 if NIGHTLY else 300):
        data = mutated(whole, chosen)
        if number % 4:
            changed = [mutated(one, chosen) if chosen.random() < 0.5 else one for one in contents]
            data = HEADER + b"".join(framed(b"OSMData", packed(one)) for one in changed)
        try:
            read_bytes(data, tmp_path)
        except BadInput:
            refused += 1
    assert refused


@pytest.mark.sampled
def test_mutated_xml_is_refused_or_read(tmp_path):
    data, chosen = write(tmp_path / "a.osm", NODES, WAYS).read_bytes(), random.Random(1)
    for _ in range(20_000 if NIGHTLY else 200):
        path = tmp_path / "b.osm"
        path.write_bytes(mutated(data, chosen))
        try:
            extract("b.osm", XmlReader(path, "b.osm", Limits()), Profile(OsmConfig(profile="car")))
        except BadInput:
            continue


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><osm/>', "has a document type"),
        ("<x/>", "has the name of a file of format osm, but does not begin like one"),
        ("<osmChange/>", "holds changes, not a map"),
        ('<osm><way id="1"><nd ref="x"/></way></osm>', "a <nd> has ref 'x', which is not an integer"),
        ('<osm><way id="1" visible="false"/></osm>', "a <way> is deleted"),
        ("<osm><way></osm>", "is not XML"),
        ('<osm><way id="1"><nd ref="-4"/><nd ref="2"/><tag k="highway" v="primary"/></way></osm>', "node with the id -4"),
        (
            '<osm><node id="1" lon="190" lat="1"/><way id="1"><nd ref="1"/><tag k="highway" v="primary"/></way></osm>',
            "node 1: lon '190' is not in -180..180 degrees",
        ),
    ],
)
def test_damaged_xml_is_refused(text, reason, tmp_path):
    (tmp_path / "a.osm").write_text(text)
    with pytest.raises(BadInput, match=reason):
        read(tmp_path / "a.osm", tmp_path / "work")


def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path):
    path = write(tmp_path / "seed.osm.pbf", NODES, WAYS)
    whole, borders = path.read_bytes(), {blob.offset for blob in blobs(path, "seed")}  # where a file may end
    for end in sorted({*range(1, len(whole), 7)} - borders):
        (tmp_path / "a.osm.pbf").write_bytes(whole[:end])
        with pytest.raises(BadInput):
            read(tmp_path / "a.osm.pbf", tmp_path / "work")


def relation(roles=b"\3\4\3", members=b"\2\2\2", types=b"\1\0\1", more=b""):
    return field(
        4, field(1, 7) + field(2, b"\1\2") + field(3, b"\2\5") + field(8, roles) + field(9, members) + field(10, types) + more
    )


def turns_of(data, folder):
    turns = TurnRelations(OsmConfig(profile="car"))
    strings = b"", b"type", b"restriction", b"from", b"via", b"no_u_turn", b"to"
    path = folder / "a.osm.pbf"
    path.write_bytes(HEADER + framed(b"OSMData", packed(block(*data, strings=strings))))
    extract("a.osm.pbf", PbfReader(path, "a.osm.pbf", Limits(), set()), Profile(OsmConfig(profile="car")), turns)
    return turns


@pytest.mark.parametrize(
    "damaged",
    [
        relation(roles=b"\3"), relation(types=b""), relation(members=b"\2\2"), relation(roles=b"\3\4\x63"),
        relation(members=b"\1\1\1"),
        relation(more=field(9, b"\2")), relation(members=b"\2\2\x80"), relation(members=b"\xff" * 9 + b"\1" + b"\2\2"),
    ],
)  # fmt: skip
def test_a_damaged_restriction_is_refused(tmp_path, damaged):
    whole = turns_of([relation(), relation(roles=b"\3\4\6")], tmp_path)
    assert (whole.read, whole.restrictions, whole.left) == (1, [], {"no member `to`": 1})
    assert turns_of([relation(roles=b"\3\4\6")], tmp_path).restrictions == [Restriction(7, False, (1, 3), (2,))]
    with pytest.raises(BadInput, match="relation 0 of a group is damaged"):
        turns_of([damaged], tmp_path)


@pytest.mark.sampled
def test_mutated_restrictions_are_read_or_refused(tmp_path):
    chosen, sound = random.Random(2), relation(roles=b"\3\4\6")
    for _ in range(20_000 if NIGHTLY else 300):
        data = bytearray(sound)
        for _ in range(chosen.randrange(1, 3)):
            data[chosen.randrange(2, len(data))] = chosen.randrange(256)
        try:
            turns_of([bytes(data)], tmp_path)
        except BadInput as error:
            assert "damaged" in str(error)
