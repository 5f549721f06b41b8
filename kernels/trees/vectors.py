"""Vector instructions over the trees of a batch, for compiled loops. Importing this module imports Numba.

Numba leaves these loops scalar, because it unrolls a loop of constant length before it looks for vectors. Arrays have one
dimension, and places in them count entries: a vector is the `LANES` entries from a place on.
"""

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
def examine(context: Any, lengths: Any, places: Any, arc: Any, given: Any, join: Any) -> Any:
    """Take an arc into account, its weight and tail, from the lengths at `places[0]` to those at `places[1]`.

    `given` has at `places[2]` the tails of tight arcs from nearer rows, or equally near ones if the row is a `join`, of which the
    last one stays, and behind them the least lengths that arcs give. `arc` and `given` have the lengths' type.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, kept = (_Vectors(context, builder, signature.args[side], arguments[side]) for side in (0, 3))
        near, row, place = (builder.extract_value(arguments[1], part) for part in range(3))
        begin, end = at.load(at.pointer(near)), at.load(at.pointer(row))
        weight, tail = (builder.extract_value(arguments[2], part) for part in range(2))
        nearest, least = kept.pointer(place), kept.pointer(place, LANES)
        total = at.add(begin, at.splat(weight))
        nearer = builder.select(arguments[4], at.compare("<=", begin, end), at.compare("<", begin, end))
        given = builder.and_(nearer, at.compare("==", total, end))
        at.store(at.least(total, at.load(least)), least)
        at.store(builder.select(given, at.splat(tail), at.load(nearest)), nearest)
        return context.get_dummy_value()

    kind = lengths.dtype
    return types.void(lengths, types.UniTuple(types.intp, 3), types.UniTuple(kind, 2), given, types.boolean), generate


@intrinsic  # type: ignore[untyped-decorator]
def any_unusual(context: Any, lengths: Any, row: Any, given: Any, place: Any, far: Any) -> Any:
    """Whether `row` in a tree has a loose arc, no tail (`far`), no length (`far`), or none that is one, by what `examine` found.

    The bits of lengths order as lengths do; those of NaN, of what is negative, and of -0.0 are beyond those of `far`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, kept = (_Vectors(context, builder, signature.args[side], arguments[side]) for side in (0, 2))
        own, none = at.load(at.pointer(arguments[1])), at.splat(arguments[4])
        nearest, least = kept.load(kept.pointer(arguments[3])), kept.load(kept.pointer(arguments[3], LANES))
        unusual = builder.or_(at.compare("<", least, own), at.compare("==", nearest, none))
        unusual = builder.or_(unusual, at.compare("==", own, none))
        unusual = builder.or_(unusual, builder.icmp_unsigned(">", at.bits(own), at.bits(none)))
        return at.any(unusual)

    return types.boolean(lengths, types.intp, given, types.intp, lengths.dtype), generate


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
