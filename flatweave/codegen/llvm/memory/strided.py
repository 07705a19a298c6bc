"""Reads at every second, third or fourth place: loads of neighbours, woven apart in registers.

    k: i64 = add (mul i 2) c       i linear:    s, s + 2, .. s + 2 (W - 1)
    x: f32 = load xs k             load <W x float> at s, load <W x float> at s + W - 1, one shuffle

No element is read but between the first and the last that are wanted. For a stride of n these are n
loads and n - 1 shuffles, where a gather makes a load for each lane.
"""

from __future__ import annotations

from typing import NamedTuple

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, UNIFORM
from flatweave.codegen.llvm.text.module import vec
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const, Var

STRIDES = (2, 3, 4)
MOST = 4
"""Distances that are followed: a place plus a number, plus another one."""


class Strided(NamedTuple):
    """The linear place that is multiplied, by what, and what is added then."""

    place: Held
    stride: int
    behind: tuple[str, ...]


def find_strided(e: Emitter, index: Atom) -> Strided | None:
    """How an index comes from a linear one, if it does by a small factor."""
    behind: list[str] = []
    while len(behind) <= MOST and isinstance(index, Var):
        made = e.made.get(index)
        if not isinstance(made, Apply) or len(made.args) != 2:
            return None
        if made.fn == "mul":
            return _multiplied(e, made, tuple(behind))
        uniform = [arg for arg in made.args if e.hold(arg).shape is UNIFORM]
        if made.fn != "add" or len(uniform) != 1:
            return None
        behind.append(e.uniform(uniform[0]))
        (index,) = (arg for arg in made.args if arg is not uniform[0])
    return None


def _multiplied(e: Emitter, made: Apply, behind: tuple[str, ...]) -> Strided | None:
    place, factor = made.args if isinstance(made.args[1], Const) else made.args[::-1]
    if not isinstance(factor, Const) or factor.value not in STRIDES:
        return None
    held = e.hold(place)
    return Strided(held, int(factor.value), behind) if held.shape is LINEAR else None


def load_strided(e: Emitter, buffer: str, kept: DType, found: Strided) -> str:
    """The elements, where all lanes run."""
    code, width, stride, kind = e.code, e.width, found.stride, vec(kept, e.width)
    first = code.let(f"mul i64 {e.lowest(found.place)}, {stride}")
    for distance in found.behind:
        first = code.let(f"add i64 {first}, {distance}")
    text, at = "", dict[int, int]()  # of lanes: where in `text` their elements are
    for k in range(stride):
        start = k * width if k < stride - 1 else stride * (width - 1) + 1 - width
        begin = code.let(f"add i64 {first}, {start}")
        place = code.let(f"getelementptr inbounds {kept.llvm}, ptr {buffer}, i64 {begin}")
        run = code.let(f"load {kind}, ptr {place}, align {kept.bytes}")
        in_run = {
            lane: lane * stride - start
            for lane in range(width)
            if min(lane * stride // width, stride - 1) == k
        }
        if not k:
            text, at = run, in_run
            continue
        order = ", ".join(_place(lane, at, in_run, width) for lane in range(width))
        text = code.let(f"shufflevector {kind} {text}, {kind} {run}, <{width} x i32> <{order}>")
        at = {lane: lane for lane in (*at, *in_run)}
    return text


def _place(lane: int, at: dict[int, int], in_run: dict[int, int], width: int) -> str:
    """Which of the elements of two vectors a lane takes."""
    if lane in at:
        return f"i32 {at[lane]}"
    return f"i32 {width + in_run[lane]}" if lane in in_run else "i32 poison"
