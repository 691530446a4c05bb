"""Two machine instructions that the orders of recency need and the compiler does not find by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, overload

FAN = 32  # entries that `subtract_behind` works on


def one_bits(word: Any) -> Any:
    """Number of bits set in a u8."""
    return np.uint64(int(word).bit_count())


def subtract_behind(counts: Any, first: Any, k: Any, amount: Any) -> None:
    """Subtract `amount`, of the type of `counts`, from counts[first + c] for every c of k+1 .. FAN-1."""
    counts[int(first) + int(k) + 1 : int(first) + FAN] -= amount


@intrinsic  # type: ignore[untyped-decorator]
def _population(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@overload(one_bits)
def _one_bits(word):  # type: ignore[no-untyped-def]
    return lambda word: _population(word)


@intrinsic  # type: ignore[untyped-decorator]
def _subtract(typing_context: Any, counts: Any, first: Any, k: Any, amount: Any) -> Any:
    """As one vector, whose lanes up to k subtract nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lane = context.get_value_type(signature.args[0].dtype)
        vector = ir.VectorType(lane, FAN)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        fits = builder.trunc if lane.width < 64 else lambda value, _: value
        behind = builder.icmp_unsigned(">", vector(list(range(FAN))), _splat(builder, fits(arguments[2], lane), vector))
        less = builder.and_(builder.sext(behind, vector), _splat(builder, arguments[3], vector))
        bytes_of_lane = lane.width // 8
        builder.store(builder.sub(builder.load(place, align=bytes_of_lane), less), place, align=bytes_of_lane)
        return context.get_dummy_value()

    return types.void(counts, types.uint64, types.uint64, counts.dtype), generate


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    one = builder.insert_element(vector(ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, vector(ir.Undefined), ir.VectorType(ir.IntType(32), FAN)([0] * FAN))


@overload(subtract_behind)
def _subtract_behind(counts, first, k, amount):  # type: ignore[no-untyped-def]
    return lambda counts, first, k, amount: _subtract(counts, first, k, amount)
