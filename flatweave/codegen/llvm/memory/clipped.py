"""Reads at places that are clipped: one load of neighbours where no lane of a step is.

    k: i64 = minimum (maximum (add i c) 0) last       i + c for all lanes, but near the ends
    x: f32 = load xs k          if 0 <= the first lane's i + c, the last lane's <= last:
                                        load <16 x float>            (reversed for c - i)
                                else:   llvm.masked.gather
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, REVERSED, UNIFORM
from flatweave.codegen.llvm.text.module import vec
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Var

MOST = 4
"""Bounds that are followed: a place that is clipped, and clipped again."""
Load = Callable[[Emitter, str, DType, Held], str]


class Clipped(NamedTuple):
    """A linear place, and the numbers that it is bounded by: fn (maximum, minimum) and its text."""

    place: Held
    ends: Sequence[tuple[str, str]]


def find_clipped(e: Emitter, index: Atom) -> Clipped | None:
    """The place behind an index, if that is linear but for bounds that all lanes share."""
    ends: list[tuple[str, str]] = []
    while len(ends) <= MOST and isinstance(index, Var):
        if e.hold(index).shape in (LINEAR, REVERSED):
            return Clipped(e.hold(index), ends) if ends else None
        made = e.made.get(index)
        if not isinstance(made, Apply) or made.fn not in ("maximum", "minimum"):
            return None
        bounds = [arg for arg in made.args if e.hold(arg).shape is UNIFORM]
        if len(bounds) != 1:
            return None
        ends.append((made.fn, e.uniform(bounds[0])))
        (index,) = (arg for arg in made.args if arg is not bounds[0])
    return None


def load_clipped(
    e: Emitter, buffer: str, kept: DType, index: Held, found: Clipped, run: Load, gather: Load
) -> str:
    """The elements at `index`: by `run` at the place that is clipped, if no bound changes it."""
    code, kind = e.code, vec(kept, e.width)
    near, apart, after = code.names("near", "clipped", "read")
    code.branch(_stays(e, found), near, apart)
    arms = []
    for label, load, place in ((near, run, found.place), (apart, gather, index)):
        code.label(label)
        text = load(e.inside(), buffer, kept, place)
        arms.append((text, code.block))
        code.jump(after)
    code.label(after)
    return code.phi(kind, arms)


def _stays(e: Emitter, found: Clipped) -> str:
    """Whether no bound changes the place of any lane, nor is one beyond the greatest integer."""
    code, low = e.code, e.lowest(found.place)
    high = code.let(f"add i64 {low}, {e.width - 1}")
    whole = code.let(f"icmp sge i64 {high}, {low}")
    for fn, end in found.ends:
        compare = f"sge i64 {low}" if fn == "maximum" else f"sle i64 {high}"
        fits = code.let(f"icmp {compare}, {end}")
        whole = code.let(f"and i1 {whole}, {fits}")
    return whole
