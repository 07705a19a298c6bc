"""Reads at one of two places in a row: one load of neighbours where all lanes choose the same.

    k: i64 = add i s                              i + s for the first lanes of a step, or for all,
    p: bool = ge k n                              i + s - n for the others, or for none
    j: i64 = select p (sub k n) k
    x: f32 = load xs (add first j)    if the first and the last lane choose the same:
                                              load <16 x float>        (reversed for s - i)
                                      else:   llvm.masked.gather

So a rotation, a ring, and places counted from the end where they are below 0 are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, REVERSED, UNIFORM, Shape
from flatweave.codegen.llvm.memory.clipped import Load
from flatweave.codegen.llvm.text.module import vec
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Var

MOST = 4
"""Functions that are followed from a place to what it is computed from."""
_COMPARES = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


class Test(NamedTuple):
    """A comparison of places in a row with a number that all lanes share, and which comes first."""

    compare: str
    place: Held
    bound: str
    turned: bool


class Chosen(NamedTuple):
    """One of two places by a test, and numbers that are added to it."""

    test: Test
    then: Place
    other: Place
    added: tuple[str, ...] = ()


Place = Held | Chosen


def find_chosen(e: Emitter, index: Atom) -> Chosen | None:
    """What an index is chosen from, if that is linear."""
    found = _place(e, index, 0)
    if not isinstance(found, Chosen):
        return None
    return found if len({place.shape for place in _leaves(found)}) == 1 else None


def _place(e: Emitter, index: Atom, depth: int) -> Place | None:
    if e.hold(index).shape in (LINEAR, REVERSED):
        return e.hold(index)
    made = e.made.get(index) if isinstance(index, Var) and depth < MOST else None
    if not isinstance(made, Apply) or index.type is not i64:
        return None
    if made.fn == "add":
        return _added(e, made, depth)
    if made.fn != "select":
        return None
    test = _test(e, made.args[0])
    then, other = (_place(e, arg, depth + 1) for arg in made.args[1:])
    return Chosen(test, then, other) if test and then and other else None


def _added(e: Emitter, made: Apply, depth: int) -> Place | None:
    """A place and a number that all lanes share."""
    numbers = [arg for arg in made.args if e.hold(arg).shape is UNIFORM]
    if len(numbers) != 1:
        return None
    (place,) = (arg for arg in made.args if arg is not numbers[0])
    found = _place(e, place, depth + 1)
    if not isinstance(found, Chosen):
        return None
    return found._replace(added=(*found.added, e.uniform(numbers[0])))


def _test(e: Emitter, condition: Atom) -> Test | None:
    made = e.made.get(condition) if isinstance(condition, Var) else None
    if not isinstance(made, Apply) or made.fn not in _COMPARES or made.args[0].type is not i64:
        return None
    first, second = (e.hold(arg) for arg in made.args)
    compare = _COMPARES[made.fn]
    if first.shape in (LINEAR, REVERSED) and second.shape is UNIFORM:
        return Test(compare, first, second.text, turned=False)
    if second.shape in (LINEAR, REVERSED) and first.shape is UNIFORM:
        return Test(compare, second, first.text, turned=True)
    return None


def _leaves(place: Place) -> Iterator[Held]:
    if isinstance(place, Held):
        yield place
    else:
        yield from _leaves(place.then)
        yield from _leaves(place.other)


def load_chosen(
    e: Emitter, buffer: str, kept: DType, index: Held, found: Chosen, run: Load, gather: Load
) -> str:
    """The elements at `index`: by `run` from where all lanes read, if they choose the same."""
    code, kind = e.code, vec(kept, e.width)
    near, apart, after = code.names("near", "chosen", "read")
    same: list[str] = []
    first = _first(e, found, same)
    shape: Shape = next(_leaves(found)).shape
    whole = same[0]
    for other in same[1:]:
        whole = code.let(f"and i1 {whole}, {other}")
    code.branch(whole, near, apart)
    arms = []
    for label, load, place in ((near, run, Held(shape, first)), (apart, gather, index)):
        code.label(label)
        text = load(e.inside(), buffer, kept, place)
        arms.append((text, code.block))
        code.jump(after)
    code.label(after)
    return code.phi(kind, arms)


def _first(e: Emitter, place: Place, same: list[str]) -> str:
    """The place of lane 0; to `same` goes whether the other lanes choose as it does."""
    if isinstance(place, Held):
        return place.text
    chosen = _agreed(e, place.test, same)
    then, other = (_first(e, each, same) for each in (place.then, place.other))
    text = e.code.let(f"select i1 {chosen}, i64 {then}, i64 {other}")
    for number in place.added:
        text = e.code.let(f"add i64 {text}, {number}")
    return text


def _agreed(e: Emitter, test: Test, same: list[str]) -> str:
    """What lane 0 finds. Places between two that are found so are, unless integers wrap there."""
    code, low = e.code, e.lowest(test.place)
    high = code.let(f"add i64 {low}, {e.width - 1}")
    same.append(code.let(f"icmp sge i64 {high}, {low}"))
    ends = []
    for end in (low, high):
        pair = f"{test.bound}, {end}" if test.turned else f"{end}, {test.bound}"
        ends.append(code.let(f"icmp {test.compare} i64 {pair}"))
    same.append(code.let(f"icmp eq i1 {ends[0]}, {ends[1]}"))
    return ends[0]
