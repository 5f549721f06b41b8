"""CSV and TSV files as countries and programs write them: decimal signs, separators, encodings, texts for no value, headers."""

import csv
import gzip
import random

import pandas as pd
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges


def read(tmp_path, content, name="g.csv", **options):
    """The edges of a file as a dictionary of columns."""
    source = tmp_path / name
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    return rows_of_edges(ingest(GraphConfig(source=str(source), **options), tmp_path / "work")).to_pydict()


# How numbers are written: keys, and `{:,.2f}` of Python in this form.
FORMS = {
    "German": ({"decimal": ",", "thousands": "."}, lambda text: text.translate(str.maketrans(",.", ".,"))),
    "French": ({"decimal": ",", "thousands": "\u202f"}, lambda text: text.translate({44: "\u202f", 46: ","})),
    "Swiss": ({"thousands": "'"}, lambda text: text.replace(",", "'")),
    "English, quoted": ({"thousands": ",", "delimiter": ","}, lambda text: f'"{text}"'),
    "comma, quoted": ({"decimal": ",", "delimiter": ","}, lambda text: f'"{text.replace(",", "").replace(".", ",")}"'),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_those_that_were_written_and_that_pandas_reads(form, tmp_path):
    keys, written = FORMS[form]
    keys = {"delimiter": ";"} | keys
    numbers = [random.Random(form).random() * 10**power for power in range(8)] + [0.0, 12.0, 999.25, 1000.0]
    lines = [
        f"{row}{keys['delimiter']}{row + 1}{keys['delimiter']}{written(f'{value:,.2f}')}" for row, value in enumerate(numbers)
    ]
    text = "\n".join([keys["delimiter"].join(("src", "dst", "weight")), *lines, ""])
    edges = read(tmp_path, text, **keys)
    assert edges["weight"] == [round(value, 2) for value in numbers]
    stated = {"decimal": keys.get("decimal", "."), "thousands": keys.get("thousands")}
    if (stated["thousands"] or ",").isascii():  # pandas reads no others
        expected = pd.read_csv(tmp_path / "g.csv", sep=keys["delimiter"], float_precision="round_trip", **stated)
        assert edges["weight"] == expected["weight"].tolist()


def test_integers_with_separators_stay_integers(tmp_path):
    edges = read(tmp_path, "src;dst;weight\n1;2;1.234.567\n2;3;890\n", delimiter=";", thousands=".", decimal=",")
    assert edges["weight"] == [1234567, 890]
    assert all(type(weight) is int for weight in edges["weight"])


# value, keys, what the message has
WRONG = {
    "point where a comma is stated": ("1.5", {"decimal": ","}, "weight '1.5' is not a number as stated (graph.decimal ','"),
    "comma without a key": ("1,5", {}, "say so in graph.decimal"),
    "groups of two": ("12.34", {"decimal": ",", "thousands": "."}, "weight '12.34' is not a number as stated"),
    "groups of four": ("1234.567", {"decimal": ",", "thousands": "."}, "is not a number as stated"),
    "two signs": ("1,2,3", {"decimal": ","}, "is not a number as stated"),
    "hexadecimal": ("0x10", {"decimal": ","}, "is not a number as stated"),
    "a text for no value": ("NA", {"null": ["NA"]}, "weight 'NA' stands for no value (graph.null)"),
    "a number for no value": ("-999", {"null": ["-999"]}, "weight '-999' stands for no value (graph.null)"),
    "beyond int64": ("9.223.372.036.854.775.808", {"decimal": ",", "thousands": "."}, "is not in 0..9223372036854775807"),
    "negative": ("-1,5", {"decimal": ","}, "weight '-1,5' is not in 0 or more"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_number_in_another_form_is_refused_with_its_line(case, tmp_path):
    value, keys, reason = WRONG[case]
    with pytest.raises(BadInput) as caught:
        read(tmp_path, f"src;dst;weight\n1;2;0\n\n2;3;{value}\n", delimiter=";", **keys)
    assert caught.value.line == 4
    assert reason in caught.value.reason


@pytest.mark.parametrize(("null", "ids"), [("NA", "string"), ("0", "integer"), ("-", "auto")])
def test_an_id_that_stands_for_no_value_is_refused(null, ids, tmp_path):
    with pytest.raises(BadInput, match=rf"line 3: dst '{null}' stands for no value"):
        read(tmp_path, f"src,dst\n5,7\n5,{null}\n", null=[null], ids=ids)


@pytest.mark.parametrize(
    "keys", [{"decimal": ",", "thousands": ","}, {"encoding": "klingon"}, {"encoding": "rot13"}, {"thousands": "5"}]
)
def test_keys_that_mean_nothing_are_refused(keys):
    with pytest.raises(BadConfig):
        checked(GraphConfig, "test", source="g.csv", **keys)


NAMES = ["Käthe", "José", "Łukasz", "Zoë, jr"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1250"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_encoding_is_decoded(encoding, end, tmp_path):
    names = [name for name in NAMES if name.encode(encoding, "ignore").decode(encoding) == name]
    with (tmp_path / "raw.csv").open("w", encoding=encoding, newline="") as file:
        rows = csv.writer(file, lineterminator=end)
        rows.writerows([("source", "target"), *zip(names, names[1:] + names[:1], strict=True)])
    config = {"encoding": encoding, "columns": {"src": "source", "dst": "target"}}
    content = gzip.compress((tmp_path / "raw.csv").read_bytes())
    edges = read(tmp_path, content, "g.csv.gz", **config)
    known = open_names(ingest(GraphConfig(source=str(tmp_path / "g.csv.gz"), **config), tmp_path / "work")).array().to_pylist()
    expected = pd.read_csv(tmp_path / "raw.csv", encoding=encoding)
    assert [known[number] for number in edges["src"]] == expected["source"].tolist() == names
    assert [known[number] for number in edges["dst"]] == expected["target"].tolist()


@pytest.mark.parametrize(
    ("encoding", "wrong"), [("cp1252", b"\x81"), ("utf-16-le", b"\x00\xd8x\x00"), ("shift_jis", b"\x81\x20")]
)
def test_bytes_of_another_encoding_are_refused_with_their_line(encoding, wrong, tmp_path):
    text = "src,dst\n" + "1,2\n" * 1000
    content = text.encode(encoding) + "1,".encode(encoding) + wrong + "\n5,6\n".encode(encoding)
    with pytest.raises(BadInput, match=rf"line 1002: .*{encoding[:5]}.*graph\.encoding"):
        read(tmp_path, content, encoding=encoding)


def test_a_file_of_another_encoding_names_the_key(tmp_path):
    with pytest.raises(BadInput, match=r"encoding = .utf-16"):
        read(tmp_path, "src,dst\n1,2\n".encode("utf-16"))
    with pytest.raises(BadInput, match=r"byte 0xe4 is wrong.*graph\.encoding"):
        read(tmp_path, "src,dst\nKäthe,b\n".encode("latin-1"))


HEADERS = {
    "delimiter": ('"from, here",to\n1,2\n', "from, here"),
    "blanks": ('" from  here ",to\n1,2\n', "from  here"),
    "quotes": ('"the ""from""",to\n1,2\n', 'the "from"'),
}


@pytest.mark.parametrize("case", HEADERS)
def test_names_of_columns_may_be_quoted(case, tmp_path):
    text, name = HEADERS[case]
    assert read(tmp_path, text, columns={"src": name, "dst": "to"}) == {"src": [1], "dst": [2]}


def test_a_name_with_a_line_break_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"line 1: a quote in the header line does not end on it.*'\"from"):
        read(tmp_path, '"from\nhere",to\n1,2\n', columns={"src": "from here", "dst": "to"}, format="csv")


def test_the_column_without_a_name_that_pandas_writes_is_no_end(tmp_path):
    pd.DataFrame({"src": [5, 6], "dst": [6, 7]}).to_csv(tmp_path / "g.tsv", sep="\t")
    assert read(tmp_path, (tmp_path / "g.tsv").read_bytes(), "g.tsv") == {"src": [5, 6], "dst": [6, 7]}
