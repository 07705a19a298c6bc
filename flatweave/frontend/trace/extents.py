"""Arithmetic and checks on extents: i64 atoms, of which arrays' shapes are made.

    same(n, m, ..)        n, and unless it is known that n == m a check which stops the program
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, TypeVar

from flatweave.base.dtypes import i64
from flatweave.base.errors import NegativeExtentError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.trace.run_time_checks import check, check_message, fit, is_refused, total
from flatweave.frontend.trace.tracers import extent_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import Part, current
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const, Var

ZERO, ONE = index(0), index(1)
NEGATIVE = "negative_extent"
A = TypeVar("A", bound=Atom)


def add(a: Atom, b: Atom) -> Atom:
    """a + b"""
    return current().apply("add", a, b)


def sub(a: Atom, b: Atom) -> Atom:
    """a - b"""
    return current().apply("sub", a, b)


def mul(a: Atom, b: Atom) -> Atom:
    """a * b"""
    return current().apply("mul", a, b)


def floordiv(a: Atom, b: Atom) -> Atom:
    """a // b"""
    return current().apply("floordiv", a, b)


def mod(a: Atom, b: Atom) -> Atom:
    """a % b, in [0, b)"""
    result = current().apply("mod", a, b)
    if isinstance(result, Var):
        known_natural(result)
    return result


def least(a: Atom, b: Atom) -> Atom:
    """The smaller of two."""
    return current().apply("minimum", a, b)


def greatest(a: Atom, b: Atom) -> Atom:
    """The greater of two; natural when one of them is."""
    scope = current()
    if isinstance(b, Const) and b.value == 0 and scope.is_natural(a):
        return a
    result = scope.apply("maximum", a, b)
    if isinstance(result, Var) and (scope.is_natural(a) or scope.is_natural(b)):
        known_natural(result)
    return result


def select(condition: Atom, a: Atom, b: Atom) -> Atom:
    """a where the condition holds, else b."""
    scope = current()
    result = scope.apply("select", condition, a, b)
    if isinstance(result, Var) and scope.is_natural(a) and scope.is_natural(b):
        known_natural(result)
    return result


def product(extents: Sequence[Atom]) -> Atom:
    """The number of elements of a shape, which was checked to fit."""
    total: Atom = ONE
    for extent in extents:
        total = mul(total, extent)
    return total


def known_natural(atom: A) -> A:
    """Remember that an i64 is not negative."""
    if isinstance(atom, Var):
        current().natural.add(atom)
    return atom


def known_extent(atom: A) -> A:
    """Remember that an i64 is the extent of an array that exists."""
    known_natural(atom)
    if isinstance(atom, Var):
        current().extents.add(atom)
    return atom


def known_part(part: Atom, whole: Atom, cut: Any, *, is_first: bool) -> None:
    """Remember that an extent is one of the two parts of another, cut in some way."""
    current().trace.parts[part] = Part(whole, cut, is_first)


def joined(parts: Sequence[Atom], who: str) -> Atom:
    """The extent of parts end to end: that of the whole, where they are known to be its parts."""
    left: Sequence[Atom] | None = parts
    while left is not None:
        parts, left = left, _with_a_whole(left)
    sum_: Atom = ZERO
    for part in parts:
        sum_ = total(sum_, part, who)
    known_extent(sum_)
    return sum_


def _with_a_whole(parts: Sequence[Atom]) -> list[Atom] | None:
    """The extents, two of which are both parts of another one, with that instead; None if none."""
    known = current().trace.parts
    for i, j in permutations(range(len(parts)), 2):
        first, second = known.get(parts[i]), known.get(parts[j])
        if first and first.is_first and first._replace(is_first=False) == second:
            return [first.whole, *(part for k, part in enumerate(parts) if k not in (i, j))]
    return None


def are_same(a: Atom, b: Atom) -> bool:
    """Whether two extents are known to be equal: one atom, or a check here has found it."""
    if a == b:
        return True
    scope = current()
    homes = [scope.trace.homes[atom] for atom in (a, b) if isinstance(atom, Var)]
    is_here = all(home in scope.around() for home in homes)
    return is_here and scope.is_checked(scope.apply("eq", a, b))


def same(
    a: Atom, b: Atom, message: str, origins: Sequence[str] = (),
    remedy: str = "Bring both to one extent.",
) -> Atom:  # fmt: skip
    """The one extent that two arrays must share, the outermost known of the two.

    `{0}` and `{1}` in the texts stand for the two extents.
    """
    if a == b:
        return a
    scope = current()
    equal = scope.apply("eq", a, b)
    if isinstance(a, Const) and isinstance(b, Const) and is_refused(equal):
        texts = [filled(text, (a.value, b.value)) for text in (message, *origins, remedy)]
        raise ShapeError(
            texts[0], where=user_location(), origins=[t for t in texts[1:-1] if t],
            remedy=texts[-1],
        )  # fmt: skip
    if not scope.is_checked(equal):
        home = check(equal, "same", (a, b), check_message(message, origins, remedy))
        home.checked.add(equal)
    if isinstance(b, Const):
        return b
    return b if _depth(b) < _depth(a) else a


def _depth(atom: Atom) -> int:
    return current().home((atom,)).depth


def filled(text: str, values: Sequence[Any]) -> str:
    """A message with its values."""
    for i, value in enumerate(values):
        text = text.replace(f"{{{i}}}", str(value))
    return text


def same_length(arrays: Sequence[Tracer], who: str, names: Sequence[str] = ()) -> Atom:
    """The one extent along axis 0 of several arrays."""
    first = arrays[0]
    length = first.extents[0]
    for number, other in enumerate(arrays[1:], 1):
        pair = (names[0], names[number]) if names else ("the first", f"number {number + 1}")
        length = same(
            length,
            other.extents[0],
            f"{who} needs arrays of one length, got {{0}} and {{1}}.",
            [origin_line(first, pair[0], "{0}"), origin_line(other, pair[1], "{1}")],
            "Cut both to the shorter one, for instance with xs[:n], or pad the shorter one.",
        )
    return length


def origin_line(array: Tracer, name: str, length: str, axis: int = 0) -> str:
    """Where an array came from, for messages: `xs: f32[3]  from argument 1 of saxpy`.

    `length` stands for the extent along `axis`; the others are not known when the check fails.
    """
    shown = [str(e.value) if isinstance(e, Const) else "?" for e in array.extents]
    shown[axis] = length
    return f"{name}: {array.element.name}[{', '.join(shown)}]  {origin(array)}".rstrip()


def length_of(value: Any, what: str) -> Atom:
    """A user's length as an extent; NegativeExtentError now, or a check when it runs."""
    extent = extent_of(value, what)
    scope = current()
    if scope.is_natural(extent):
        return extent
    holds = scope.apply("ge", extent, ZERO)
    if scope.is_checked(holds):
        known_natural(extent)
        return extent
    if isinstance(extent, Const) and is_refused(holds):
        raise NegativeExtentError.here(
            f"{what} must not be negative, got {extent.value}.", "Use 0 for an empty array."
        )
    message = check_message(
        f"{what} must not be negative, got {{0}}.",
        remedy="Use fw.maximum(n, 0) where an empty array is meant.",
    )
    home = check(holds, NEGATIVE, (extent,), message)
    if isinstance(extent, Const):
        return ZERO  # after a check that fails
    home.natural.add(extent)
    return extent


def shape_of(shape: Any, who: str) -> tuple[Atom, ...]:
    """A user's shape, an extent or a tuple of them, as extents."""
    parts = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    extents = tuple(length_of(part, f"an extent of {who}") for part in parts)
    fit(extents)
    return extents


def scalar_i64(atom: Atom, weak: bool = False) -> Tracer:
    """An i64 atom as the user sees it."""
    assert atom.type is i64
    return Tracer(atom, current().home((atom,)), weak)


def origin(value: Tracer) -> str:
    """Where a traced value came from: `from argument 1 of saxpy`, `from saxpy.py:12`."""
    atom = value.atom
    if not isinstance(atom, Var):
        return ""
    known = value.scope.trace.origins.get(atom)
    if known is not None:
        return known
    home = value.scope.trace.homes[atom]
    for let in reversed(home.builder.lets):
        if atom in let.vars:
            return f"from {let.where}" if let.where and let.where.is_known else ""
    return ""


def unravel(k: Atom, shape: Sequence[Atom]) -> list[Atom]:
    """The index of the k-th element of a shape in row-major order."""
    at: list[Atom] = []
    for extent in reversed(shape[1:]):
        at.append(mod(k, extent))
        k = floordiv(k, extent)
    at.append(k)
    return at[::-1]
