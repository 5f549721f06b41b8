"""Vector instructions over the trees of a batch, for compiled loops. Importing this module imports Numba.

Numba leaves these loops scalar, because it unrolls a loop of constant length before it looks for vectors. Arrays have one
dimension, and places in them count entries: a vector is the `LANES` entries from a place on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kernels.trees.constants import LANES


@intrinsic  # type: ignore[untyped-decorator]
def relax(context: Any, lengths: Any, near: Any, far: Any, weight: Any) -> Any:
    """Lower the lengths at `far` to those at `near` plus `weight`, of the lengths' type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _Vectors(context, builder, signature.args[0], arguments[0])
        begin, end = at.pointer(arguments[1]), at.pointer(arguments[2])
        total = at.add(at.load(begin), at.splat(arguments[3]))
        at.store(at.least(total, at.load(end)), end)
        return context.get_dummy_value()

    return types.void(lengths, types.intp, types.intp, lengths.dtype), generate


@intrinsic  # type: ignore[untyped-decorator]
def lower(context: Any, lengths: Any, near: Any, far: Any, weight: Any) -> Any:
    """As `relax`; whether any length became smaller."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _Vectors(context, builder, signature.args[0], arguments[0])
        end = at.pointer(arguments[2])
        total, before = at.add(at.load(at.pointer(arguments[1])), at.splat(arguments[3])), at.load(end)
        less = at.compare("<", total, before)
        at.store(builder.select(less, total, before), end)
        return at.any(less)

    return types.boolean(lengths, types.intp, types.intp, lengths.dtype), generate


@intrinsic  # type: ignore[untyped-decorator]
def copy(context: Any, target: Any, place: Any, origin: Any, near: Any) -> Any:
    """Set the entries of `target` at `place` to those of `origin`, of the same type, at `near`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, at = (_Vectors(context, builder, signature.args[side], arguments[side]) for side in (0, 2))
        to.store(at.load(at.pointer(arguments[3])), to.pointer(arguments[1]))
        return context.get_dummy_value()

    return types.void(target, types.intp, origin, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def fill(context: Any, target: Any, place: Any, value: Any) -> Any:
    """Set the entries of `target` at `place` to `value`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to = _Vectors(context, builder, signature.args[0], arguments[0])
        to.store(to.splat(arguments[2]), to.pointer(arguments[1]))
        return context.get_dummy_value()

    return types.void(target, types.intp, target.dtype), generate


@intrinsic  # type: ignore[untyped-decorator]
def examine_row(context: Any, lengths: Any, places: Any, tails: Any, weights: Any, given: Any) -> Any:
    """Examine a row, with the lengths at `places[0]`, by its arcs from `places[2]` to `places[3]`; `places[4]` is 1 for a join.

    `given`, of the lengths' type, gets at `places[1]` the tails of the first tight arcs from nearer rows, or equally near ones if
    the row is a join, or `far`; and behind them the least lengths that arcs give, or `far`, which stands at
    `places[5]`.

    Returns whether the row in a tree has a loose arc, no tail, no length, or none that is one. The bits of lengths order as
    lengths do; those of NaN, of what is negative, and of -0.0 are beyond those of `far`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, to = (_Vectors(context, builder, signature.args[side], arguments[side]) for side in (0, 4))
        row, place, begin, end, join, beyond = (builder.extract_value(arguments[1], part) for part in range(6))
        own, none = at.load(at.pointer(row)), to.load(to.pointer(beyond))
        join = builder.trunc(join, ir.IntType(1))
        first, least = at.kept(none), at.kept(none)
        # The last arc that is seen is the first one.
        with at.backwards((begin, end), signature.args[2:4], arguments[2:4]) as (tail, weight):
            near = at.load(at.pointer(at.place(tail)))
            total = at.add(near, at.splat(weight))
            nearer = builder.select(join, at.compare("<=", near, own), at.compare("<", near, own))
            tight = builder.and_(nearer, at.compare("==", total, own))
            builder.store(at.least(total, builder.load(least)), least)
            builder.store(builder.select(tight, at.splat(at.from_index(tail)), builder.load(first)), first)
        tails_found, shortest = builder.load(first), builder.load(least)
        to.store(tails_found, to.pointer(place))
        to.store(shortest, to.pointer(place, LANES))
        unusual = builder.or_(at.compare("<", shortest, own), at.compare("==", tails_found, none))
        unusual = builder.or_(unusual, at.compare("==", own, none))
        return at.any(builder.or_(unusual, builder.icmp_unsigned(">", at.bits(own), at.bits(none))))

    return types.boolean(lengths, types.UniTuple(types.intp, 6), tails, weights, given), generate


@intrinsic  # type: ignore[untyped-decorator]
def transpose(context: Any, origin: Any, vectors: Any, far: Any, target: Any, places: Any) -> Any:
    """Write `LANES` vectors by lane, with -1 in the place of `far`.

    The vectors are in `origin` from `vectors[0]` on, `vectors[1]` apart; lane l is written to `target`, of integers or the same
    floats, from `places[0] + l' * places[1]` on, where l' is entry l of the array `places[2]`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, to = (_Vectors(context, builder, signature.args[side], arguments[side]) for side in (0, 3))
        (first, apart), (place, pitch) = ([builder.extract_value(arguments[side], part) for part in (0, 1)] for side in (1, 4))
        kind = signature.args[4].types[2]
        trees = context.make_array(kind)(context, builder, builder.extract_value(arguments[4], 2))
        columns = [at.load(at.pointer(at.along(first, apart, number))) for number in range(LANES)]
        for _ in range(LANES.bit_length() - 1):  # each turn interleaves the first half with the second one
            pairs = list(zip(columns[: LANES // 2], columns[LANES // 2 :], strict=True))
            columns = [at.interleaved(*pair, half) for pair in pairs for half in (0, 1)]
        none = to.splat(to.number(-1))
        for number, column in enumerate(columns):
            written = builder.select(at.compare("==", column, at.splat(arguments[2])), none, to.converted(column, at))
            index = [ir.Constant(ir.IntType(64), number)]
            tree = builder.load(cgutils.get_item_pointer(context, builder, kind, trees, index, wraparound=False))
            to.store(written, to.pointer(builder.add(place, builder.mul(tree, pitch))))
        return context.get_dummy_value()

    pair = types.UniTuple(types.intp, 2)
    return types.void(origin, pair, origin.dtype, target, places), generate


class _Vectors:
    """Instructions on vectors of one array, of unsigned integers or floats."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self._context, self._builder, self._kind = context, builder, kind
        self._view = context.make_array(kind)(context, builder, array)
        self._float = isinstance(kind.dtype, types.Float)
        self._vector = ir.VectorType(context.get_value_type(kind.dtype), LANES)

    def pointer(self, place: Any, behind: int = 0) -> Any:
        place = self._builder.add(place, ir.Constant(place.type, behind))
        item = cgutils.get_item_pointer(self._context, self._builder, self._kind, self._view, [place], wraparound=False)
        return self._builder.bitcast(item, self._vector.as_pointer())

    def load(self, pointer: Any) -> Any:
        return self._builder.load(pointer, align=self._kind.dtype.bitwidth // 8)

    def store(self, vector: Any, pointer: Any) -> None:
        self._builder.store(vector, pointer, align=self._kind.dtype.bitwidth // 8)

    def splat(self, value: Any) -> Any:
        first = self._builder.insert_element(ir.Constant(self._vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        return self._builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

    def add(self, one: Any, other: Any) -> Any:
        return self._builder.fadd(one, other) if self._float else self._builder.add(one, other)

    def compare(self, how: str, one: Any, other: Any) -> Any:
        return (self._builder.fcmp_ordered if self._float else self._builder.icmp_unsigned)(how, one, other)

    def least(self, one: Any, other: Any) -> Any:
        return self._builder.select(self.compare("<", one, other), one, other)

    def bits(self, vector: Any) -> Any:
        width = self._kind.dtype.bitwidth
        return self._builder.bitcast(vector, ir.VectorType(ir.IntType(width), LANES)) if self._float else vector

    def any(self, flags: Any) -> Any:
        """Whether any of the flags of a vector is set."""
        bits = self._builder.bitcast(flags, ir.IntType(LANES))
        return self._builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    def number(self, value: int) -> Any:
        return ir.Constant(self._vector.element, value)

    def kept(self, vector: Any) -> Any:
        """A pointer to a vector that a loop changes, which compilers keep in registers."""
        variable = cgutils.alloca_once(self._builder, self._vector)
        self._builder.store(vector, variable)
        return variable

    @contextmanager
    def backwards(self, arcs: tuple[Any, Any], kinds: Any, sides: Any) -> Iterator[tuple[Any, Any]]:
        """A loop over arcs from the last one to the first: its tail and weight, of two arrays `sides` of types `kinds`."""
        builder, (begin, end) = self._builder, arcs
        views = [self._context.make_array(kind)(self._context, builder, side) for kind, side in zip(kinds, sides, strict=True)]
        with cgutils.for_range(builder, builder.sub(end, begin)) as loop:
            arc = builder.sub(builder.sub(end, loop.index), ir.Constant(end.type, 1))
            yield tuple(
                builder.load(cgutils.get_item_pointer(self._context, builder, kind, view, [arc], wraparound=False))
                for kind, view in zip(kinds, views, strict=True)
            )

    def place(self, index: Any) -> Any:
        """Where the vector of an index, of an unsigned type, begins."""
        wide = self._builder.zext(index, ir.IntType(64)) if index.type.width < 64 else index
        return self._builder.mul(wide, ir.Constant(wide.type, LANES))

    def from_index(self, index: Any) -> Any:
        """An index, of an unsigned type, as a number of the lengths' type."""
        element = self._vector.element
        if self._float:
            return self._builder.uitofp(index, element)
        if index.type.width == element.width:
            return index
        return (self._builder.zext if index.type.width < element.width else self._builder.trunc)(index, element)

    def along(self, first: Any, apart: Any, number: int) -> Any:
        return self._builder.add(first, self._builder.mul(apart, ir.Constant(apart.type, number)))

    def interleaved(self, one: Any, other: Any, half: int) -> Any:
        """Entries of the lower (0) or upper half (1) of two vectors in turn."""
        places = [half * LANES // 2 + lane // 2 + lane % 2 * LANES for lane in range(LANES)]
        return self._builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), LANES), places))

    def converted(self, vector: Any, of: "_Vectors") -> Any:
        """A vector of another array's entries, none negative, as this array's."""
        if self._vector == of._vector:
            return vector
        if of._float:
            return self._builder.fptosi(vector, self._vector)
        return (self._builder.trunc if self._kind.dtype.bitwidth < of._kind.dtype.bitwidth else self._builder.zext)(
            vector, self._vector
        )
