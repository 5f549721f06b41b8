"""Random feeds, in the forms of many countries and with bad rows among the others, against a plain Python reader."""

import csv
import io
import random

import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.store.names import open_names
from tests.counts import in_turn
from tests.edge_lists import rows_of_edges

FEEDS = range(400)
FORWARD, REVERSE = 1, 2
MEANINGS = {"yes": 1, "-1": 2, "no": 3, "": 3, "FT": 1, "TF": 2, "B": 3, "T": 2, "F": 1, "Y": 1, "closed": 0, "perhaps": None}
ENCODINGS = {"utf-8": None, "cp1252": "cp1252", "utf-16": "utf-16"}
NAMES = ["Köln", "Graz", "Zoë", "a;b", 'the "x"', " y", "7", "NA"]


def feed(draw):
    """The configuration of a feed, and its rows as texts, some of them bad."""
    config = {
        "delimiter": draw.choice(";|\t"), "decimal": draw.choice(".,"), "encoding": ENCODINGS[draw.choice([*ENCODINGS])],
        "null": draw.choice([(), ("NA",), ("NA", "0")]), "ids": "string",
        "columns": {"src": "from", "dst": "to", "weight": "cost", "oneway": "way"},
        "oneway": {"forward": ["Y"], "closed": ["closed"]},
    }  # fmt: skip
    config["thousands"] = draw.choice([None, "'", {".": ",", ",": "."}[config["decimal"]]])
    if draw.random() < 0.5:
        config["columns"]["reverse_weight"] = "back"
    rows = []
    for _ in range(draw.choice([1, 20, 300])):
        row = {"from": draw.choice(NAMES), "note": draw.choice(["", "x", "1.5"]), "to": draw.choice(NAMES)}
        row |= {name: number(draw, config) for name in ("cost", "back")}
        rows.append(row | {"way": draw.choice([*MEANINGS][: -1 if draw.random() < 0.95 else None])})
    return config, rows


def number(draw, config):
    value, bad = draw.choice([0, 1, 12.5, 1234, 1234567.25, -1]), draw.random()
    if bad < 0.03:
        return draw.choice(["", "NA", "x", "1,2.3,4", "12.34.5", "0x1", "1 2", "nan"])
    text = f"{value:,}" if config["thousands"] and draw.random() < 0.7 else f"{value}"
    return text.replace(",", "T").replace(".", config["decimal"]).replace("T", config["thousands"] or "")


def parsed(text, config):
    """The value of a number, or None without one. Raises ValueError for a text that is neither."""
    text = text.strip()
    if not text or text in config["null"]:
        return None
    whole, mark, part = text.removeprefix("-").partition(config["decimal"])
    groups = whole.split(config["thousands"]) if config["thousands"] else [whole]
    ends = len(groups) == 1 or (len(groups[0]) in (1, 2, 3) and all(len(group) == 3 for group in groups[1:]))
    if not (ends and all(group.isdecimal() for group in groups) and (part.isdecimal() or not part)):
        raise ValueError(text)
    value = float("".join(groups) + ("." + part if mark else ""))
    return -value if text.startswith("-") else value


def plain(rows, config):
    """The arcs of a feed, and the numbers of its bad rows, from 0."""
    arcs, bad, two = [], [], "reverse_weight" in config["columns"]
    for number_of_row, row in enumerate(rows):
        try:
            there, back = parsed(row["cost"], config), parsed(row["back"], config) if two else None
            way = row["way"].strip()
            code = MEANINGS["" if way in config["null"] else way]
            wrong = {row["from"], row["to"]} & {"", *config["null"]} or code is None or there is None or (there < 0 and not two)
        except ValueError:
            wrong = True
        if wrong:
            bad.append(number_of_row)
            continue
        if code & FORWARD and there >= 0:
            arcs.append((row["from"], row["to"], there))
        if code & REVERSE and (not two or (back is not None and back >= 0)):
            arcs.append((row["to"], row["from"], back if two else there))
    return arcs, bad


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [seed for (seed,) in in_turn(16, FEEDS)])
def test_a_feed_is_read_as_a_plain_reader_reads_it(seed, tmp_path):
    draw = random.Random(seed)
    config, rows = feed(draw)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]], delimiter=config["delimiter"], lineterminator=draw.choice(["\n", "\r\n"]))
    writer.writeheader()
    writer.writerows(rows)
    (tmp_path / "feed.csv").write_bytes(text.getvalue().encode(config["encoding"] or "utf-8"))
    edges = ingest(GraphConfig(source=str(tmp_path / "feed.csv"), **config), tmp_path / "work", reject=len(rows))
    names, found = open_names(edges).array().to_pylist(), rows_of_edges(edges).to_pydict()
    arcs, bad = plain(rows, config)
    assert [(names[src], names[dst], weight) for src, dst, weight in zip(*found.values(), strict=True)] == arcs
    assert pq.read_table(edges.path / "rejected.parquet")["line"].to_pylist() == [row + 2 for row in bad]
