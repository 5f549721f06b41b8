"""The proof of counts, least distances and means by zones: all are counted again by NumPy and Arrow, in plain floats."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from kernels.reductions.groups import GroupSums
from pipeline.errors import ProofFailed

RULE = "all counts, least values and means by zones are those of a recount from the rows of the table by vertices, to 1e-9"
OF_TREES = (
    "the least distance of each tree in every zone, its sums over all zones with random factors, and all sums of one tree of "
    "each batch are those of a recount, to 1e-9"
)
OF_ZONES = "those of the sources of each zone are merged again: counts and least distances are equal, sums to 1e-9"
_CLOSE = 1e-9  # relative
_SUMS = [0, 2, 4]  # the first floats of the sums of `GroupSums`


def _require(step: str, holds: Any, reason: str) -> None:
    if not holds:
        raise ProofFailed(f"{step}: {reason} differs from a recount")


def require_trees(step: str, distances: Array, numbers: Array, weights: Array, limit: Any, known: GroupSums) -> None:
    """Compare what is known of k trees by the groups of their vertices, [k, G], with their distances [k, n]. Raises ProofFailed.

    Sums that no float holds are not compared: they are refused with a message of their own.

    Args:
        numbers (int64 [n]), weights (float64 [n]), limit: As for `by_groups`.
    """
    if not np.isfinite(known.sums).all():
        return
    near = (distances >= 0) & (distances <= limit)
    lengths = np.where(near, distances, 0).astype(np.float64)
    factors = np.random.default_rng(0).uniform(1, 2, known.counts.shape[1])  # zones that change places change the sums
    of_vertex = factors[numbers]
    totals = np.stack([lengths @ of_vertex, lengths @ (weights * of_vertex), near @ (weights * of_vertex)], axis=1)
    _require(step, np.array_equal(known.reached.sum(axis=1), near.sum(axis=1)), "a number of pairs")
    _require(step, np.allclose(known.reached @ factors, near @ of_vertex, rtol=_CLOSE, atol=0), "a number of pairs of zones")
    stated = np.einsum("kgs,g->ks", known.sums[..., _SUMS], factors)
    _require(step, np.allclose(stated, totals, rtol=_CLOSE, atol=0), "a sum over all zones")
    if not distances.size:
        return
    _require(step, np.array_equal(known.least, _least(distances, near, numbers, known.least)), "the least distance of a zone")
    counted = [np.bincount(numbers, of, known.counts.shape[1]) for of in (np.ones(len(numbers)), ~near[0])]
    _require(step, np.array_equal(known.counts[0], np.stack(counted, axis=1)), "a number of pairs of a zone")
    added = [np.bincount(numbers, of, known.counts.shape[1]) for of in (lengths[0], lengths[0] * weights, near[0] * weights)]
    _require(step, np.allclose(known.sums[0][:, _SUMS], np.stack(added, axis=1), rtol=_CLOSE, atol=0), "a sum of a zone")


def _least(distances: Array, near: Array, numbers: Array, like: Array) -> Array:
    """The least distance of each tree in each zone, in the form of `like`, [k, G]: -1 where no vertex is near."""
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    most = np.iinfo(distances.dtype).max if distances.dtype.kind == "i" else np.inf
    nearest = np.minimum.reduceat(np.where(near, distances, most)[:, order], begins, axis=1)
    least = np.full_like(like, -1)
    least[:, numbers[order[begins]]] = np.where(nearest == most, -1, nearest)
    return least


class MergedAgain:
    """What is known of the groups of sources, merged in another way than `GroupSums.merge` does.

    Attributes:
        counts (int64 [Z, G, 2]), least ([Z, G]), sums (float64 [Z, G, 3]): As of `GroupSums`, whose sums are single floats here.
    """

    def __init__(self, like: GroupSums) -> None:
        self.counts, self.least = np.zeros_like(like.counts), like.least.copy()
        self.sums = np.zeros((*like.least.shape, 3))

    def add(self, rows: GroupSums, groups: Array, weights: Array) -> None:
        """Add what is known of k sources, [k, G], to their groups, int64 [k], with their weights, float64 [k]."""
        factors = np.stack([np.ones_like(weights), weights, weights], axis=1)[:, np.newaxis]
        for group in np.unique(groups).tolist():
            of_group = np.flatnonzero(groups == group)
            self.counts[group] += rows.counts[of_group].sum(axis=0)
            with np.errstate(over="ignore", invalid="ignore"):  # which is refused later
                self.sums[group] += (rows.sums[of_group][..., _SUMS] * factors[of_group]).sum(axis=0)
            known = np.concatenate([self.least[group][np.newaxis], rows.least[of_group]])
            most = np.iinfo(known.dtype).max if known.dtype.kind == "i" else np.inf
            least = np.where(known < 0, most, known).min(axis=0)
            self.least[group] = np.where((known < 0).all(axis=0), -1, least)

    def require_same(self, step: str, known: GroupSums) -> None:
        """Raise ProofFailed if a merged value is another one."""
        _require(step, np.array_equal(self.counts, known.counts), "a number of pairs of two zones")
        _require(step, np.array_equal(self.least, known.least), "the least distance between two zones")
        _require(step, np.allclose(self.sums, known.sums[..., _SUMS], rtol=_CLOSE, atol=0), "a sum of two zones")


def require_rows(step: str, stated: pa.Table, rows: pa.Table, means: Mapping[str, tuple[str, bool]], counted: str) -> None:
    """Compare the rows of a table by zones with a recount of those that it was made from. Raises ProofFailed.

    Args:
        stated: Columns `zone`, a second key, the number of rows `counted` and perhaps how many of them are `unreached`, `min`
            and means; sorted by zone, null last, and key.
        rows: Columns `zone`, the key, `weight`, and what means are of.
        means: Of each mean its column in `rows`, and whether it is weighted.
    """
    keys = ["zone", next(name for name in rows.column_names if name not in ("zone", "weight"))]
    columns = {name: rows[name] for name in keys} | {"value": rows[next(iter(means.values()))[0]]}
    for mean, (name, weighted) in means.items():
        value = rows[name].cast(pa.float64(), safe=False)
        weight = pc.if_else(pc.is_valid(value), rows["weight"] if weighted else pa.scalar(1.0), 0.0)
        columns[f"{mean} sum"] = pc.multiply(value, weight)
        columns |= {f"{mean} size": pc.abs(columns[f"{mean} sum"]), f"{mean} weight": weight}
    summed = [(name, "sum") for name in columns if name.endswith((" sum", " size", " weight"))]
    recount = pa.table(columns).group_by(keys).aggregate([*summed, ("value", "min"), ("value", "count"), ([], "count_all")])
    recount = recount.sort_by([(name, "ascending") for name in keys])
    for name in keys:
        _require(step, recount[name].equals(stated[name].cast(recount[name].type)), f"column {name}")
    _require(step, recount["count_all"].equals(stated[counted]), f"column {counted}")
    if "min" in stated.column_names:
        unreached = pc.subtract(recount["count_all"], recount["value_count"])
        _require(step, unreached.equals(stated["unreached"]), "column unreached")
        _require(step, recount["value_min"].equals(stated["min"].cast(recount["value_min"].type)), "column min")
    for mean in means:
        total, size, weight = (recount[f"{mean} {part}_sum"].fill_null(0.0).to_numpy() for part in ("sum", "size", "weight"))
        due, slack = (np.divide(of, weight, out=np.full(len(of), np.nan), where=weight > 0) for of in (total, _CLOSE * size))
        shown = stated[mean].fill_null(np.nan).to_numpy()
        _require(step, np.array_equal(np.isnan(shown), np.isnan(due)), f"column {mean}")
        _require(step, (np.isnan(due) | (np.abs(shown - due) <= slack)).all(), f"column {mean}")
