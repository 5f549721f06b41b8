"""Feeds of random exports, in parts, with directions, speeds, bad rows and declared vertices, against a plain Python reader."""

import csv
import gzip
import io
import random
import zipfile
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.store.facts import EdgeFacts
from pipeline.store.names import open_names
from pipeline.tables.definitions import REJECTED
from tests.counts import NIGHTLY
from tests.edge_lists import rows_of_edges

NAMES = ["Ana", "Zoë Groß", "müller, j.", "b;c", "d|e", "x y", "007", "Čapek", "émile", "NA"]
ONEWAY = {"yes": (1, 0), "FT": (1, 0), "-1": (0, 1), "T": (0, 1), "no": (1, 1), "": (1, 1), "B": (1, 1)}
SPEEDS = {"50": 50, "30 mph": Fraction(3 * 1609344, 100_000), "60;30": 30, "": 40, "none": 40, "10 m/s": 36}
MOST_BAD = 1000


class Export:
    """How a program writes its files, drawn at random; `keys` are those of the configuration that state it."""

    def __init__(self, draw):
        self.draw = draw
        self.delimiter, self.decimal = draw.choice(",;\t|"), draw.choice(".,")
        self.thousands = draw.choice([None, *{".", ",", "'", " "} - {self.decimal}])
        self.encoding, self.null = draw.choice(["utf-8", "utf-16", "cp1252"]), draw.choice([(), ("NA", "-")])
        self.named, self.kind = draw.random() < 0.5, draw.choice(["", "weight", "oneway", "reverse", "speed", "partition"])
        self.whole = draw.random() < 0.5
        self.columns = {"src": "von", "dst": "nach"} | {
            "": {"weight": False}, "weight": {"weight": "Länge"}, "oneway": {"weight": "Länge", "oneway": "Richtung"},
            "reverse": {"weight": "Länge", "reverse_weight": "zurück"}, "speed": {"weight": "Länge", "speed": "Tempo"},
            "partition": {"weight": "Tag"},
        }[self.kind]  # fmt: skip
        self.keys = {
            "columns": self.columns, "delimiter": self.delimiter, "decimal": self.decimal, "encoding": self.encoding,
            "null": self.null, "format": "csv", "ids": "string" if self.named else "integer",
        }  # fmt: skip
        self.keys |= {"thousands": self.thousands} if self.thousands else {}
        self.keys |= {"speed": {"default": 40}} if self.kind == "speed" else {}

    def number(self, signed=False):
        """A number as this program writes it."""
        value = self.draw.choice([self.draw.randint(0, 9), self.draw.randint(1000, 2_000_000)])
        text = f"{value:,}" if self.whole else f"{value + self.draw.randint(0, 99) / 100:,.2f}"
        text = text.translate({ord(","): self.thousands or "", ord("."): self.decimal})
        return f"-{text}" if signed and self.draw.random() < 0.2 else text

    def row(self):
        """The fields of a row by the names of their columns; some are bad."""
        draw = self.draw
        ends = [str(draw.choice(NAMES[: 7 if self.encoding == "cp1252" else None] if self.named else range(40))) for _ in "12"]
        length = self.number(self.kind == "reverse")
        fields = {"von": ends[0], "nach": ends[1], "Notiz": draw.choice(["", "ja, nein", "a;b"]), "Länge": length}
        fields |= {"Richtung": draw.choice([*ONEWAY]), "Tempo": draw.choice([*SPEEDS])}
        fields["zurück"] = draw.choice(["", *self.null, self.number(True), self.number(True)])
        if draw.random() < 0.1:
            may_be_bad = ["von", "nach", "Länge"][: 3 if self.columns["weight"] == "Länge" else 2]
            fields[draw.choice(may_be_bad)] = draw.choice(["", "1_0x" * (not self.named)])
        return fields

    def write(self, folder):
        """Write parts, each with its columns in another order, and return them in the order in which they are read."""
        parts = []
        for number in range(self.draw.randint(1, 4)):
            names = ["von", "nach", "Notiz", "Länge", "Richtung", "zurück", "Tempo"]
            self.draw.shuffle(names)
            text = io.StringIO()
            writer = csv.writer(text, delimiter=self.delimiter, lineterminator=self.draw.choice(["\n", "\r\n"]))
            rows = [self.row() for _ in range(self.draw.randint(1, 30))]
            writer.writerows([names, *([row[name] for name in names] for row in rows)])
            content, suffix = text.getvalue().encode(self.encoding), self.draw.choice(["", ".gz", ".zip"])
            path = folder / f"Tag={self.draw.randint(1, 9)}" / f"part-{number}.csv{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes({"": bytes, ".gz": gzip.compress, ".zip": zipped}[suffix](content))
            parts.append((path, content))
        return sorted(parts, key=lambda part: str(part[0]).encode())


def zipped(content):
    with zipfile.ZipFile(archive := io.BytesIO(), "w") as file:
        file.writestr("export.csv", content)
    return archive.getvalue()


class Bad(Exception):
    """A row that is refused."""


def plain_number(export, text):
    """The number that a text states, by the documentation; None if it states none. Raises Bad."""
    if text in ("", *export.null):
        return None
    whole, sign, rest = text.removeprefix("-").partition(export.decimal)
    groups = whole.split(export.thousands) if export.thousands else [whole]
    if len(groups) > 1 and (len(groups[0]) > 3 or any(len(group) != 3 for group in groups[1:])):
        raise Bad
    try:
        value = Decimal("".join(groups) + ("." if sign else "") + rest)
    except InvalidOperation:
        raise Bad from None
    return (-value if text.startswith("-") else value), bool(sign)


def plain_arcs(export, row, day):
    """The arcs of a row: ends as texts, and the weight with whether it was written with a decimal sign. Raises Bad."""
    ends = row["von"], row["nach"]
    for end in ends:
        if end in ("", *export.null) or not (export.named or (end.isascii() and end.isdecimal())):
            raise Bad
    if export.kind in ("", "partition"):
        return [(*ends, (Decimal(day), False) if export.kind else None)]
    weight = plain_number(export, row["Länge"])
    if weight is None or (export.kind != "reverse" and weight[0] < 0):
        raise Bad
    if export.kind == "speed":
        time = round(Fraction(weight[0]) * 3600 / SPEEDS[row["Tempo"]])
        return [(*ends, (Decimal(time), False))]
    ahead = behind = (weight, 1)
    if export.kind == "oneway":
        ahead, behind = ((weight, way) for way in ONEWAY[row["Richtung"]])
    elif export.kind == "reverse":
        back = plain_number(export, row["zurück"])
        ahead, behind = (weight, weight[0] >= 0), (back, back is not None and back[0] >= 0)
    else:
        behind = (weight, 0)
    return [(*ends, ahead[0])] * bool(ahead[1]) + [(*ends[::-1], behind[0])] * bool(behind[1])


def plain_reader(export, parts):
    """The arcs of all parts, and the lines of bad rows by part."""
    arcs, bad = [], []
    for path, content in parts:
        names, *rows = csv.reader(io.StringIO(content.decode(export.encoding), newline=""), delimiter=export.delimiter)
        for line, fields in enumerate(rows, 2):
            try:
                arcs += plain_arcs(export, dict(zip(names, fields, strict=True)), path.parent.name.partition("=")[2])
            except Bad:
                bad.append((path.name, line))
    return arcs, bad


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(2000 if NIGHTLY else 40))
def test_random_exports_are_read_as_a_plain_reader_reads_them(seed, tmp_path):
    draw = random.Random(seed)
    export = Export(draw)
    parts = export.write(tmp_path / "feed")
    expected, bad = plain_reader(export, parts)
    declared = sorted({*draw.sample(NAMES[:6], 3)}) if export.named else [str(number) for number in draw.sample(range(30, 60), 5)]
    (tmp_path / "nodes.csv").write_text(
        "id;note\n" + "".join(f"{one};x\n" if ";" not in one else f'"{one}";x\n' for one in declared)
    )
    beside = {"nodes": str(tmp_path / "nodes.csv"), "node_columns": {"declare": True, "delimiter": ";"}}
    folder = ingest(GraphConfig(source=str(tmp_path / "feed"), **export.keys, **beside), tmp_path / "work", reject=MOST_BAD)
    table, names, facts = rows_of_edges(folder), open_names(folder), EdgeFacts.of(folder)
    found = [[names.text(one) if names else str(one) for one in table[end].to_pylist()] for end in ("src", "dst")]
    edges = len(expected) if export.named else len(table) - len(declared)
    assert list(zip(*found, strict=True))[:edges] == [arc[:2] for arc in expected]
    if export.kind:
        decimals = any(arc[2][1] for arc in expected)
        assert table["weight"].to_pylist()[:edges] == [float(arc[2][0]) if decimals else int(arc[2][0]) for arc in expected]
    if export.named:
        assert names.array().to_pylist() == sorted({*declared, *(end for arc in expected for end in arc[:2])}, key=str.encode)
    else:
        assert found[0][edges:] == found[1][edges:] == declared
    rejected = pq.read_table(folder.path / REJECTED).to_pylist() if bad else []
    assert [(row["file"].rpartition("/")[2], row["line"]) for row in rejected] == bad
    assert facts.source.files is None or facts.source.files.count == len(parts)
