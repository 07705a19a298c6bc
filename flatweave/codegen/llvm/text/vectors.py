"""Vectors rearranged: broadcasts, shuffles, parts of a vector, masks as words.

    splat(body, f32, 4, "%x")            %t0 = insertelement <4 x float> poison, float %x, i64 0
                                         %t1 = shufflevector .. <4 x i32> zeroinitializer
    shuffle(body, kind, "%x", [1, 0])    %t2 = shufflevector <4 x i32> %x, .. <i32 1, i32 0>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.text.module import Body, is_constant, vec


def indices(lanes: Iterable[int]) -> str:
    """The mask of a shuffle."""
    listed = [f"i32 {i}" for i in lanes]
    return f"<{len(listed)} x i32> <{', '.join(listed)}>"


def shuffle(body: Body, kind: str, text: str, lanes: Iterable[int], other: str = "poison") -> str:
    """Lanes of one vector, or of two side by side, in the order given."""
    return body.let(f"shufflevector {kind} {text}, {kind} {other}, {indices(lanes)}")


def padded(
    body: Body, kind: str, text: str, lanes: int, full: int, fill: str = "poison"
) -> str:
    """More lanes behind those there are: all of them the first one of `fill`, or any of its."""
    behind = range(lanes, full) if full <= 2 * lanes else [lanes] * (full - lanes)
    return shuffle(body, kind, text, [*range(lanes), *behind], fill)


def splat(body: Body, dtype: DType, width: int, text: str) -> str:
    """The same value in every lane."""
    if is_constant(text):
        return f"splat ({dtype.llvm} {text})"
    kind = vec(dtype, width)
    one = body.let(f"insertelement {kind} poison, {dtype.llvm} {text}, i64 0")
    zeros = f"<{width} x i32> zeroinitializer"
    return body.let(f"shufflevector {kind} {one}, {kind} poison, {zeros}")


def joined(body: Body, element: str, parts: Sequence[str], lanes: int) -> str:
    """Vectors of so many lanes side by side; their number is a power of two."""
    while len(parts) > 1:
        kind = f"<{lanes} x {element}>"
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffle(body, kind, low, range(2 * lanes), high) for low, high in pairs]
        lanes *= 2
    return parts[0]


def word_of_mask(body: Body, width: int, mask: str) -> str:
    """A mask of at most 64 lanes as an i64, lane 0 lowest."""
    whole = body.let(f"bitcast <{width} x i1> {mask} to i{width}")
    return whole if width == i64.bits else body.let(f"zext i{width} {whole} to i64")


def mask_of_word(body: Body, width: int, text: str) -> str:
    """The low bits of an i64 as a mask of so many lanes."""
    if width < i64.bits:
        text = body.let(f"trunc i64 {text} to i{width}")
    return body.let(f"bitcast i{width} {text} to <{width} x i1>")
