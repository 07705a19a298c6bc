"""Calls of the C library, one lane after the other: slow, right, and there on every host.

    x: <4 x float>    ==>    four extractelement, four calls of @sinf, four insertelement
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.text.module import vec
from flatweave.codegen.llvm.text.values import Value


def lane_by_lane(name: str, operands: Sequence[Value]) -> Value:
    """The C library's function of every lane."""
    first = operands[0]
    body, scalar, width = first.body, first.dtype.llvm, first.width
    function = f"@{name}{'f' if first.dtype.bits == 32 else ''}"
    body.declare(f"{scalar} {function}({', '.join([scalar] * len(operands))}) nounwind")
    if width == 1:
        listed = ", ".join(f"{scalar} {x.text}" for x in operands)
        return first.let(f"call {scalar} {function}({listed})")
    kind, total = vec(first.dtype, width), "poison"
    for lane in range(width):
        texts = [body.let(f"extractelement {x.type} {x.text}, i64 {lane}") for x in operands]
        listed = ", ".join(f"{scalar} {text}" for text in texts)
        result = body.let(f"call {scalar} {function}({listed})")
        total = body.let(f"insertelement {kind} {total}, {scalar} {result}, i64 {lane}")
    return Value(body, first.dtype, width, total)
