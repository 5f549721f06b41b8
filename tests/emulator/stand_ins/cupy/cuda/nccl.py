"""NCCL between threads."""

from __future__ import annotations

from tests.sharded.fake_nccl import library

globals().update(vars(library()))
