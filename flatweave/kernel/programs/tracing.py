"""A Python function becomes a kernel: it is run once, on pull arrays and numbers.

Parameters of the host are, for each argument, its extents and then its buffer, or the number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError, NestingError
from flatweave.base.plan import Param, Plan, Result
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.conversion import cast
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.tree import LEAF, Tree, flatten, unflatten
from flatweave.kernel.arrays.chunks import flatten as one_row
from flatweave.kernel.arrays.pulls import Pull, element_seen, rows, total
from flatweave.kernel.arrays.pushes import Push
from flatweave.kernel.programs.simulated import simulate
from flatweave.kernel.storage.stores import Memory, read, written
from flatweave.kernel.writing.code import Extent, KernelTrace, extent_of, number
from flatweave.kernel.writing.elements import Kind
from flatweave.kernel.writing.finish import finish
from flatweave.lower.machine.machine import Machine
from flatweave.ops import KernelProgram
from flatweave.terms.syntax import Atom, BufferType, Const, Var


@record
class Held:
    """One array or number that a kernel gives: its atoms on the host, and what the runtime must
    know of it."""

    atoms: tuple[Atom, ...]
    described: Result


def trace_kernel(
    name: str, body: Callable[[list[Any]], Any], leaves: Sequence[Leaf], machine: Machine,
    threads: int, checks: bool = True,
) -> tuple[KernelProgram, Tree]:  # fmt: skip
    """The kernel that `body` writes, and the structure of its results."""
    made = KernelTrace(name, machine, threads, checks)
    with made.running():
        args = [_argument(made, leaf) for leaf in leaves]
        found, outer = flatten(body(args))
        results = unflatten(outer, [_result(made, value) for value in found])
    held, tree = flatten(results)
    unit, tried = finish(made, [atom for each in held for atom in each.atoms])
    params = tuple(_param(var) for var in made.params)
    plan = Plan(params, tuple(each.described for each in held), made.sites.rows)

    def again(other: Machine) -> KernelProgram:
        return trace_kernel(name, body, leaves, other, threads, checks)[0]

    return KernelProgram(name, unit, plan, threads, simulate, machine, again, tried), tree


def _param(var: Var) -> Param:
    if isinstance(var.type, BufferType):
        return Param(var.type.dtype, True)
    assert isinstance(var.type, DType)
    return Param(var.type, False)


def _argument(made: KernelTrace, leaf: Leaf) -> Any:
    """The array or number that stands for an argument; of rank n, arrays of arrays."""
    hint = "".join(c if c.isalnum() else "_" for c in leaf.name) or "x"
    if not leaf.shape:
        return Tracer(made.scalar_param(hint, leaf.dtype), made.root)
    extents: list[Extent] = []
    for extent in leaf.shape:
        n = made.scalar_param("n", i64)
        made.root.natural.add(n)
        made.root.extents.add(n)
        made.hints[n] = extent
        extents.append(Tracer(n, made.root))
    buffer = made.root.bind(hint, BufferType(leaf.dtype))
    made.params.append(buffer)
    flat = read((buffer,), Kind(LEAF, (leaf.dtype,)), total(tuple(extents)))
    if len(extents) == 1:
        return flat
    return rows(tuple(extents), lambda *at: flat.at(_ravel(at, extents)))


def _ravel(at: Sequence[Any], extents: Sequence[Extent]) -> Any:
    place = at[0]
    for i, extent in zip(at[1:], extents[1:], strict=True):
        place = place * extent + i
    return place


def _result(made: KernelTrace, value: Any) -> Any:
    """What a kernel returns, in memory: an array for each leaf of its elements."""
    if isinstance(value, Memory):
        value = value.pull()
    if isinstance(value, Pull | Push):
        made.returned = value.made
        shape, flat = _shape(value)
        own = flat.memory if isinstance(flat, Pull) else None
        if own is not None and own.buffers[0] in made.buffers:  # the kernel's
            return _memory(own, shape)
        found = written(flat, barrier=False)
        if len(found) > 1:
            return tuple(_memory(each, ()) for each in found)
        return _memory(found[0], shape)
    try:
        leaf = number(value, "a result")
    except ArgumentError:
        raise ArgumentError(
            f"{made.name} returns {kind_of(value)}, which is no array and no number.",
            where=user_location(), remedy="Return pull or push arrays, numbers, or tuples of them.",
        ) from None  # fmt: skip
    leaf = cast(leaf, leaf.element)
    return Held((leaf.atom,), Result(leaf.element, None))


def _memory(found: Memory, shape: tuple[Extent, ...]) -> Any:
    """An array for each leaf of the elements in memory, of this shape if they have another than
    one row."""
    extents = tuple(map(extent_of, shape or (found.length,)))
    held = [
        _held(buffer, dtype, extents)
        for buffer, dtype in zip(found.buffers, found.kind.dtypes, strict=True)
    ]
    return unflatten(found.kind.tree, held)


def _held(buffer: Var, dtype: DType, extents: tuple[Atom, ...]) -> Held:
    known = tuple(int(e.value) if isinstance(e, Const) else None for e in extents)
    found = tuple(extent for extent in extents if isinstance(extent, Var))
    return Held((buffer, *found), Result(dtype, known))


def _shape(value: Pull | Push) -> tuple[tuple[Extent, ...], Pull | Push]:
    """The extents of an array of arrays, to its numbers, and those one after the other."""
    if isinstance(value, Push):
        is_one = value.known_length is not None and value.arrays == 1
        return (value.length,) if is_one else (), value
    element = element_seen(value)
    if not isinstance(element, Pull):
        if isinstance(element, Push):
            raise NestingError(
                "a kernel returns an array of push arrays.",
                where=user_location(),
                remedy="Give each to a block: pconcat(arrays).",
            )
        return (value.length,), value
    inner, _ = _shape(element)
    return (value.length, *inner), one_row(value)
