"""Compressed files of several frames: short ones of zstd are decompressed on all cores, and every byte comes once, in order."""

import random

import pytest
from backports import zstd

from pipeline.config.graph import Limits
from pipeline.errors import BadInput
from pipeline.ingest import decompress
from pipeline.ingest.source import locate, stored


def content(path) -> bytes:
    with stored(locate(str(path))) as source:
        return b"".join(decompress.chunks(source, Limits()))


def frame(rng: random.Random, text: bytes) -> bytes:
    options = {
        zstd.CompressionParameter.checksum_flag: rng.randint(0, 1),
        zstd.CompressionParameter.content_size_flag: rng.randint(0, 1),
        zstd.CompressionParameter.compression_level: rng.choice([1, 3, 19]),
    }
    if rng.random() < 0.5:
        return zstd.compress(text, options=options)
    compressor = zstd.ZstdCompressor(options=options)
    return compressor.compress(text) + compressor.flush()


@pytest.mark.parametrize("seed", range(20))
def test_frames_are_read_in_order_and_a_cut_file_is_refused(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(decompress, "SHORT", rng.choice([64, 3000, 1 << 24]))
    monkeypatch.setattr(decompress, "CHUNK", rng.choice([1 << 10, 1 << 23]))
    texts = [bytes(rng.choices(b"0123456789 \n", k=rng.choice([0, 1, 7, 5000]))) * rng.choice([1, 300]) for _ in range(5)]
    data = b"".join(frame(rng, text) for text in texts)
    path = tmp_path / "edges.zst"
    path.write_bytes(data)
    assert content(path) == b"".join(texts)
    for end in (4, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        try:
            assert b"".join(texts).startswith(content(path))  # it was cut between two frames
        except BadInput as error:
            assert "truncated or corrupt" in str(error)


def test_zeros_between_frames_are_refused_as_zstd_does(tmp_path):
    path = tmp_path / "edges.zst"
    path.write_bytes(zstd.compress(b"1 2\n") + b"\0" + zstd.compress(b"3 4\n"))
    with pytest.raises(BadInput, match="truncated or corrupt"):
        content(path)
