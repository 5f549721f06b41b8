"""Parquet files that libcudf decodes, by a stand-in and on the emulated GPU."""

# ruff: noqa: E402, F401  (the imports below need the emulator)
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.one.test_decoding import (
    decoded,
    test_a_damaged_page,
    test_a_decoder_that_is_wrong,
    test_a_file_without_rows,
    test_a_footer_that_states_too_small_values,
    test_the_same_edges_as_from_tables,
    test_values_that_are_refused,
    test_ways_of_writing,
)
