"""A Python function becomes a program: it is run once on traced arguments.

    trace("f", body, [Leaf(f32, 1, "xs")])       f (n: i64) (xs: f32[n]) => ..
    parts_of(pairs: f64[n, 2])                   Complex(generate [n] (i => pairs[i, 0]), ..)
    interleaved(Complex(re, im))                 weave [n, 2] [re, im]
    interleaved(parts_of(pairs))                 pairs: an argument that is a result is not copied

The parameters are, for each argument: its extents, then itself; then, likewise, every host array
that the function reads without taking it as an argument. Nothing of the program depends on a size.
Complex numbers are arrays of floats with one axis more at both ends of a program; both parts of a
result are written in one pass, that which computes them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import PARTS, DType, i64, u16
from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.base.pretty import Note
from flatweave.base.recording import OPEN, compiled
from flatweave.base.records import record, replace
from flatweave.base.source import asides, user_location
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import as_tracer, emit, stored
from flatweave.frontend.values.array import HostArray, Tracer, kind_of
from flatweave.frontend.values.elsewhere import has_views
from flatweave.frontend.values.exchange import Captured
from flatweave.frontend.values.foreign_arrays import is_native
from flatweave.frontend.values.number_formats import (
    OF,
    Complex,
    Interleaved,
    Short,
    is_complex,
    is_short,
    pairs_of,
)
from flatweave.frontend.values.scope import Scope, Trace, current, entered
from flatweave.frontend.values.tree import Tree, flatten, map_leaves, paths
from flatweave.ops import Generate, Index, Weave
from flatweave.runtime.calls import LEAST
from flatweave.runtime.cpu import Memory, address_of, is_frozen
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var, array_type

TWO = index(2)
OF_NUMPY = "setting an array element"  # how NumPy's own message begins, where ours is its cause

T = TypeVar("T")


def parts_of(pairs: Tracer, weak: bool = False) -> Complex:
    """The complex numbers of an array of floats whose last axis has the extent 2."""
    shape = pairs.extents[:-1]

    def part(number: Atom) -> Tracer:
        return _generated(shape, lambda *at: emit(Index(pairs.atom, (*at, number), False))[0])

    parts = part(ZERO), part(ONE)
    pairs.scope.trace.pairs[parts[0].atom, parts[1].atom] = pairs.atom
    if weak:
        return Complex(*(Tracer(each.atom, each.scope, weak=True) for each in parts))
    return Complex(*parts)


def pairs_in(z: Complex) -> Tracer | None:
    """The array of pairs of floats whose parts these numbers are, where there is one."""
    is_array = isinstance(z.real, Tracer)
    known = z.real.scope.trace.pairs.get((z.real.atom, z.imag.atom)) if is_array else None
    return None if known is None else Tracer(known, current().home((known,)))


def read_again(z: Complex) -> Complex:
    """The same numbers; where they are those of an argument they are read here once more, so that
    nothing is stored before a branch that reads them."""
    pairs = pairs_in(z)
    return z if pairs is None else parts_of(pairs)


def interleaved(value: T) -> T | Interleaved:
    """A complex result as the array of floats that it is in memory; anything else as it is."""
    found = value if isinstance(value, Complex) else lifted(value)
    if not isinstance(found, Complex):
        return value
    real, imag = found.real, found.imag
    if not isinstance(real, Tracer):
        raise Unsupported.here(
            "rows of complex numbers that may differ in length.",
            "Return their parts, fw.real(z) and fw.imag(z); functions of fw.linalg and"
            " fw.fft take stacks of arrays as they are.",
        )

    passed = pairs_in(found)
    if passed is not None:
        return Interleaved(passed)

    if real.ndim and not current().is_mapped:
        pairs = Weave((*real.extents, TWO), (real.atom, imag.atom))
        return Interleaved(emit(pairs)[0])

    def part(*at: Atom) -> Tracer:
        scope, parts = current(), (_read(real, at[:-1]), _read(imag, at[:-1]))
        is_real = scope.apply("eq", at[-1], ZERO)
        atom = scope.apply("select", is_real, *(each.atom for each in parts))
        return Tracer(atom, scope.home((atom,)))

    return Interleaved(_generated((*real.extents, TWO), part))


def lifted(value: T) -> T | Complex:
    """A complex array or number from outside as a value of the trace; anything else as it is."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, complex) and type(value) is complex:
        return Complex(as_tracer(value.real), as_tracer(value.imag))
    if is_complex(value):
        numbers: Any = value
        scope = current()
        source = numbers if isinstance(numbers, HostArray) else None
        read = None if source is None else pairs_of
        var = scope.trace.capture(pairs_of(numbers), True, source, read)
        return parts_of(Tracer(var, scope))
    return value


def _read(array: Tracer, at: tuple[Atom, ...]) -> Tracer:
    return emit(Index(array.atom, at, checked=False))[0] if array.ndim else array


def _generated(shape: tuple[Atom, ...], fn: Callable[..., Tracer]) -> Tracer:
    """An array from a function of its indices, which are inside."""
    if not shape:
        return fn()

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, shape, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        return [fn(*params).atom]

    function = current().function([i64] * len(shape), body, "i")
    return emit(Generate(tuple(shape), function))[0]


Values = np.ndarray[Any, np.dtype[Any]]


# -- Views of memory as arguments: a program reads their elements where they are -------------------
#
#    xs[::2], m[1:-1, 1:-1], m[:, ::-1], m.T, np.broadcast_to(xs, (9, n))
#
#    view_of(m[::-1, 1:4])          View(memory [n, width], shape (n, 3), Layout(order=(0, 1), ..))
#    xs = generate [n, 3] (i, j => index memory [n - 1 - i, j])     what the program takes it for
#
# The layout of a view is a part of a call's signature, as its dtype and rank are: a program is made
# for each. Distances in memory are extents of `memory`, but that of the last axis is in the layout.
# Its last row may end where the view does: only elements of the view are read.


MOST_APART = 2
"""The greatest distance of elements along the last axis: with a greater one, a copy reads each line
of the cache once."""


class Layout(NamedTuple):
    """Where the elements of a view are: its rank, the axes that move in memory, the outermost
    first, the distance of elements along the last of these, and which axes are reversed and have
    extent 1."""

    rank: int
    order: tuple[int, ...]
    apart: int
    reverse: tuple[int, ...]
    ones: tuple[int, ...]

    @property
    def own(self) -> int | None:
        """The axis whose extent is that of memory's first axis."""
        return None if len(self.order) == 1 and self.apart > 1 else self.order[0]

    @property
    def words(self) -> tuple[int, ...]:
        """The rank, then the layout as machine code knows it (runtime/calls.ll)."""
        reverse, ones = (sum(1 << axis for axis in axes) for axes in (self.reverse, self.ones))
        own = -1 if self.own is None else self.own
        return self.rank, len(self.order), self.apart, reverse, ones, own, *self.order


@record
class View:
    """The memory of a view, as an array of the axes that move in it; the view's shape, and where
    its elements are."""

    memory: Values
    shape: tuple[int, ...]
    layout: Layout

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the elements."""
        return self.memory.dtype

    @property
    def flat(self) -> list[Any]:
        """The arguments of a program: extents that memory has not, memory's own, and memory."""
        own, ones = self.layout.own, self.layout.ones
        extents = [n for axis, n in enumerate(self.shape) if axis != own and axis not in ones]
        return [*extents, *self.memory.shape, self.memory]


def view_of(values: Values) -> View | None:
    """An array that is not contiguous as a view; None where it is, or had better be copied."""
    dtype, shape, size = values.dtype, values.shape, values.itemsize
    if values.flags.c_contiguous or not values.flags.aligned or values.size < LEAST.value:
        return None
    if not has_views(dtype) or not is_native(dtype):
        return None
    strides = values.strides
    moving = [axis for axis, n in enumerate(shape) if n > 1 and strides[axis]]
    if not moving or any(stride % size for stride in strides):
        return None
    order = sorted(moving, key=lambda axis: -abs(strides[axis]))
    apart = [abs(strides[axis]) // size for axis in order]
    if apart[-1] > MOST_APART:
        return None
    extents = [shape[order[0]] if len(order) > 1 else (shape[order[0]] - 1) * apart[0] + 1]
    for k, axis in enumerate(order[1:], 1):
        unit = apart[k] if k + 1 < len(order) else 1
        extent, rest = divmod(apart[k - 1], unit)
        if rest or (shape[axis] - 1) * (apart[k] // unit) >= extent:
            return None
        extents.append(extent)
    reverse = tuple(axis for axis in moving if strides[axis] < 0)
    lowest = address_of(values) + sum((shape[axis] - 1) * strides[axis] for axis in reverse)
    memory = np.asarray(Memory(lowest, dtype, tuple(extents), values, is_frozen(values)))
    ones = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return View(memory, shape, Layout(len(shape), tuple(order), apart[-1], reverse, ones))


# -- Tracing ---------------------------------------------------------------------------------------


@record(eq=True)
class Leaf:
    """An argument as the trace sees it: a scalar (of rank 0) or an array, and its name.

    `shape` holds the extents of the call that is being traced: messages show them. The axes in
    `ones` have extent 1 in every call of this trace, which lets them be broadcast. A `view` is read
    where its elements are.
    """

    dtype: DType
    name: str
    origin: str
    shape: tuple[int, ...] = ()
    weak: bool = False
    ones: frozenset[int] = frozenset()
    view: View | None = None


@record(eq=True)
class Traced:
    """A traced function: its program, the tree of its results, and the arrays that it captures."""

    program: Program
    tree: Tree
    captured: tuple[Captured, ...]
    notes: tuple[Note, ...] = ()

    @property
    def hidden(self) -> tuple[Any, ...]:
        """The values of the parameters for those arrays, as these are now."""
        return hidden_arguments([each.now() for each in self.captured])


def trace(
    name: str,
    body: Callable[[list[Any]], Any],
    leaves: Sequence[Leaf],
    stretches: bool = False,
    in_chunks: bool = False,
) -> Traced:
    """Run `body` on traced arguments; what it returns are the program's results."""
    begin = time.perf_counter_ns()
    made = Trace(name, stretches, in_chunks)
    made.where = user_location()
    made.frame, made.asides = sys._getframe(), asides()
    try:
        with entered(made.root):
            results = body([_parameter(made, leaf) for leaf in leaves])
            found, tree = flatten(map_leaves(_in_memory, results, _is_kept_otherwise))
            names = paths(tree)
            traced = [_result(name, leaf, path) for leaf, path in zip(found, names, strict=True)]
    except ValueError as error:
        if isinstance(error.__cause__, UserError) and str(error).startswith(OF_NUMPY):
            raise error.__cause__ from None
        raise
    finally:
        made.root.closed, made.frame = True, None
    fn = made.root.builder.close(made.params, [value.atom for value in traced])
    if OPEN:
        compiled(name, "trace", begin)
    program = Program(name, fn, tuple(made.unproven))
    notes = {f"{where}: {text}": Note(f"{where}: {text}", where, reason=text)
             for text, where in made.notes}  # fmt: skip
    return Traced(program, tree, tuple(made.captured), tuple(notes.values()))


def _is_kept_otherwise(value: Any) -> bool:
    """Whether a result has a dtype that programs do not know."""
    return is_complex(value) or is_short(value)


def _in_memory(value: Any) -> object:
    """A result as programs have it: complex numbers as pairs, floats of 16 bits as words."""
    return stored(value) if is_short(value) else interleaved(value)


def _parameter(made: Trace, leaf: Leaf) -> Tracer | Complex | Short:
    """The traced argument for a leaf."""
    if leaf.dtype.is_short:
        return OF[leaf.dtype](_floats(made, replace(leaf, dtype=u16)))
    if leaf.dtype.is_complex:
        floats = replace(leaf, dtype=PARTS[leaf.dtype], shape=(*leaf.shape, 2), weak=False)
        return parts_of(_floats(made, floats, pairs=True), leaf.weak)
    return _floats(made, leaf)


def _floats(made: Trace, leaf: Leaf, pairs: bool = False) -> Tracer:
    """The traced argument for a leaf as it is in memory: complex numbers are pairs of floats."""
    hint = "".join(c if c.isalnum() else "_" for c in leaf.name) or "x"
    if leaf.view is not None:
        return _viewed(made, leaf, leaf.view, hint)
    if leaf.shape:
        var = made.array_param(hint, leaf.shape, leaf.dtype, leaf.ones, pairs)
    else:
        var = made.scalar_param(hint, leaf.dtype)
        if leaf.weak:
            made.numbers.add(var)
    made.origins[var] = f"from {leaf.origin}"
    return Tracer(var, made.root, leaf.weak)


def _viewed(made: Trace, leaf: Leaf, view: View, hint: str) -> Tracer:
    """The traced argument for a view: each element is read where it is in memory."""
    layout = view.layout
    extents: list[Atom] = [
        ONE if axis in layout.ones or axis == layout.own else made.extent_param(extent)
        for axis, extent in enumerate(view.shape)
    ]
    memory = made.array_param(hint, view.memory.shape, leaf.dtype)
    made.origins[memory] = f"from {leaf.origin}"
    if layout.own is not None:
        extents[layout.own] = array_type(memory).shape[0]

    def element(*at: Atom) -> Tracer:
        scope = current()
        place = []
        for axis in layout.order:
            i = at[axis]
            if axis in layout.reverse:
                i = scope.apply("sub", scope.apply("sub", extents[axis], ONE), i)
            if axis == layout.order[-1] and layout.apart > 1:
                i = scope.apply("mul", i, index(layout.apart))
            place.append(i)
        return emit(Index(memory, tuple(place), checked=False))[0]

    return _generated(tuple(extents), element)


def _result(name: str, leaf: Any, path: str) -> Tracer:
    """A returned leaf as a traced array."""
    try:
        return as_tracer(leaf)
    except ArgumentError as failure:
        if isinstance(leaf, UserError):
            raise
        where = f" at result{path}" if path else ""
        raise ArgumentError(
            f"{name} returns {kind_of(leaf)}{where}, which is not an array or a number.",
            where=failure.where,
            remedy="Return arrays, numbers, and tuples, lists, dicts or dataclasses of them.",
        ) from None


def hidden_arguments(hidden: Sequence[Values]) -> tuple[Any, ...]:
    """The values of the parameters that stand for arrays from outside: extents, then the array."""
    flat: list[Any] = []
    for values in hidden:
        flat.extend(extent for extent in values.shape if extent != 1)
        flat.append(values if values.ndim else values[()])
    return tuple(flat)
