"""Gathers: compiled loops return what NumPy does, and refuse rows that do not exist."""

import subprocess
import sys

import numba  # noqa: F401 (without it nothing is compiled)
import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.cpu.parallel import first_other, gathered, looked_up

LENGTHS = [1, 10**9]  # from which on loops are compiled


@pytest.fixture(params=LENGTHS)
def long(request, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", request.param)


@pytest.mark.parametrize("rows", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.bool_, np.int32, np.int64, np.float32, np.float64])
def test_gathered_values_are_those_of_numpy(long, kind, rows):
    values = (np.arange(50) - 20).astype(kind)
    at = np.random.default_rng(1).integers(0, 50, 200).astype(rows)
    assert np.array_equal(gathered(values, at), values[at])
    assert gathered(values[::2], at // 2).tolist() == values[::2][at // 2].tolist()
    at[::3] = -1
    found = gathered(values, at, 1)
    assert found.dtype == kind
    assert np.array_equal(found, np.where(at < 0, np.ones((), kind), values[at]))


def test_values_for_no_row_are_negative_too(long):
    assert gathered(np.array([0.5, -0.0]), np.array([1, -1, 0]), -1).tolist() == [-0.0, -1.0, 0.5]
    assert gathered(np.empty(0, np.int64), np.array([-1, -1]), -1).tolist() == [-1, -1]
    assert gathered(np.empty(0, np.int64), np.empty(0, np.int32)).tolist() == []


@pytest.mark.parametrize("row", [3, 2**31 - 1, -(2**31), -1])
def test_a_row_that_does_not_exist_is_refused(row, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    rows = np.array([0, 2, row, 1], np.int32)
    with pytest.raises(IndexError, match=f"row {row} is not in 0..2"):
        gathered(np.arange(3), rows)
    if row != -1:
        with pytest.raises(IndexError, match=f"row {row}"):
            gathered(np.arange(3), rows, -1)


def test_the_first_other_value_is_found(long):
    others, rows = np.arange(100) * 7, np.random.default_rng(2).permutation(100).astype(np.int32)
    values = others[rows]
    assert first_other(values, others, rows) == -1
    values[[40, 70]] += 1
    assert first_other(values, others, rows) == 40


def test_numba_is_not_imported_for_a_gather():
    """A run on a GPU writes tables from long arrays of NumPy, too."""
    gather = "gathered(np.arange(1 << 20), np.arange(1 << 20, dtype=np.int32), -1)"
    code = f"import sys, numpy as np\nfrom kernels.cpu.parallel import gathered\n{gather}\nsys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ids_are_looked_up_however_far_they_are(long):
    table, low = np.array([4, 5, 6, -1], np.int32), -1
    ids = np.array([-1, 0, 1, 2, -2, 2**63 - 1, -(2**63)])
    assert looked_up(table, low, ids).tolist() == [4, 5, 6, -1, -1, -1, -1]
    assert looked_up(table, 2**63 - 3, np.array([2**63 - 1, 2**63 - 4, -(2**63)])).tolist() == [6, -1, -1]
