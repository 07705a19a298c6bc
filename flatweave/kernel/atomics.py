"""Indivisible updates of one element, and words by which blocks wait for earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import bool_, u32
from flatweave.base.errors import ArgumentError, DTypeError, NestingError
from flatweave.frontend.values.scope import Scope, entered
from flatweave.frontend.values.tree import LEAF
from flatweave.kernel.checks import guarded
from flatweave.kernel.code import emit, here, level, number, place, trace
from flatweave.kernel.elements import Kind
from flatweave.kernel.pulls import Pull
from flatweave.kernel.stores import MEMORY_IN_TEXT, Memory, need_memory, written
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, Level, UnitCode
from flatweave.kernel_ir.memory_ops import ATOMIC, EXCHANGE, Atomic, AtomicUpdate, LockedUpdate
from flatweave.terms.build import lambda_of
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, BufferType, Lambda, Var
from flatweave.terms.traverse import free_vars

# Updates of one element of memory that are indivisible, whoever else is at it.
#
#     atomic(op, m, i, value)       m[i] = op(m[i], value), by any operator, of any elements
#     atomic_add(m, i, value)       the same with +; gives what was there before
#     atomic_exchange(m, i, value)  m[i] = value; gives what was there before
#
# Updates without an instruction on a machine use compare-and-swap, and those of elements wider
# than a word use a lock. The order of updates is unspecified, so operators must commute.


STRIPES = {GRID: 4096, BLOCK: 64}
"""The number of locks that indices of memory share: in the grid's memory, and in a block's."""
Op = Callable[[Any, Any], Any]


def atomic(op: Op, m: Memory, i: Any, value: Any) -> None:
    """m[i] = op(m[i], value), indivisibly, for any function of two elements.

    Components that know nothing of each other are updated one by one.

    Types: `op: (t, t) -> t, m: Memory of t[n], i: integer, value: t -> None`. Raises
    IndexOutOfBounds for an index outside, DTypeError when `op` gives no t, NestingError outside
    of a thread's code. Source: Obsidian (Svensson 2013), for any operator by compare-and-swap.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic(fw.mul, cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([45,  6], dtype=int64)
    """
    need_memory(m, "atomic")
    _in_threads("atomic")
    values = m.kind.atoms(value)
    if _space(m) == "local":  # nobody else is at it
        m[i] = op(m[i], value)
        return
    fn = _operator(op, m.kind)
    guarded(i, m.length, MEMORY_IN_TEXT, lambda at: _apply(fn, m, place(at), values))


def _apply(fn: Lambda, m: Memory, at: Atom, values: list[Atom]) -> None:
    """m[at] = fn(m[at], values), indivisibly."""
    names = component_functions(fn)
    if names is not None:
        for name, buffer, atom in zip(names, m.buffers, values, strict=True):
            if name in ATOMIC:
                emit(Atomic(name, buffer, at, atom))
            else:
                emit(AtomicUpdate(lambda_of(name, dtype_in(buffer)), buffer, at, (atom,)))
    elif len(values) == 1:
        emit(AtomicUpdate(fn, m.buffers[0], at, tuple(values)))
    else:
        around = GRID if _space(m) == "global" else BLOCK
        locks = _locks(around)
        emit(LockedUpdate(fn, locks, STRIPES[around], m.buffers, at, tuple(values)))


def atomic_exchange(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] = value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples, NestingError outside of a thread's code.
    Source: CUDA's `atomicExch`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_exchange(cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([3, 6], dtype=int64)
    """
    return _update(EXCHANGE, m, i, value)


def atomic_add(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] += value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples, NestingError outside of a thread's code.
    Source: CUDA's `atomicAdd`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_add(cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([11,  6], dtype=int64)
    """
    return _update("add", m, i, value)


def atomic_sub(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] -= value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples, NestingError outside of a thread's code.
    Source: CUDA's `atomicSub`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_sub(cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([-1,  6], dtype=int64)
    """
    kind = need_memory(m, "atomic_sub").kind
    return atomic_add(m, i, -kind.value(kind.atoms(value)))


def atomic_inc(m: Memory, i: Any) -> Any:
    """`m[i] += 1`; gives what was there before.

    Types: `m: Memory of t[n], i: integer -> t`. Raises IndexOutOfBounds for an index outside,
    DTypeError for elements that are tuples, NestingError outside of a thread's code. Source:
    CUDA's `atomicAdd` of 1.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_inc(cells, 0)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([7, 6], dtype=int64)
    """
    return atomic_add(m, i, 1)


def atomic_min(m: Memory, i: Any, value: Any) -> Any:
    """m[i] becomes the smaller one; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples, NestingError outside of a thread's code.
    Source: CUDA's `atomicMin`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_min(cells, t, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([3, 3], dtype=int64)
    """
    return _update("minimum", m, i, value)


def atomic_max(m: Memory, i: Any, value: Any) -> Any:
    """m[i] becomes the greater one; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples, NestingError outside of a thread's code.
    Source: CUDA's `atomicMax`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_max(cells, t, 6)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([6, 6], dtype=int64)
    """
    return _update("maximum", m, i, value)


def atomic_and(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] &= value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples or of floats, NestingError outside of a
    thread's code. Source: CUDA's `atomicAnd`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_and(cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([1, 6], dtype=int64)
    """
    return _update("and", m, i, value)


def atomic_or(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] |= value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples or of floats, NestingError outside of a
    thread's code. Source: CUDA's `atomicOr`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_or(cells, 0, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([7, 6], dtype=int64)
    """
    return _update("or", m, i, value)


def atomic_xor(m: Memory, i: Any, value: Any) -> Any:
    """`m[i] ^= value`; gives what was there before.

    Types: `m: Memory of t[n], i: integer, value: t -> t`. Raises IndexOutOfBounds for an index
    outside, DTypeError for elements that are tuples or of floats, NestingError outside of a
    thread's code. Source: CUDA's `atomicXor`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     cells = fk.fill(xs)
        ...     fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.atomic_xor(cells, t, 3)))
        ...     return cells
        >>> updated(np.array([5, 6]))
        Array([6, 5], dtype=int64)
    """
    return _update("xor", m, i, value)


def _update(fn: str, m: Memory, i: Any, value: Any) -> Any:
    """One of the functions that machines have; the value from before."""
    what = f"atomic_{NAMES.get(fn, fn)}"
    need_memory(m, what)
    _in_threads(what)
    dtype = m.kind.dtypes[0]
    adds_bools = fn == "add" and dtype is bool_
    bitwise = fn in ("and", "or", "xor") and dtype.is_float
    of_words = fn != EXCHANGE and m.kind.tree != LEAF  # floats of 16 bits, and tuples
    if len(m.buffers) != 1 or of_words or adds_bools or bitwise:
        raise DTypeError.here(
            f"{what} updates one number that has such an operation, and the elements here are "
            f"{m.kind}.",
            "Use fk.atomic(op, m, i, value), which takes any operator and elements of any "
            "kind, and gives nothing back.",
        )
    (atom,) = m.kind.atoms(value)
    return guarded(
        i, m.length, MEMORY_IN_TEXT,
        lambda at: m.kind.value(emit(Atomic(fn, m.buffers[0], place(at), atom))),
    )  # fmt: skip


NAMES = {"minimum": "min", "maximum": "max"}
"""Functions whose updates have another name."""


def _in_threads(what: str) -> None:
    """Refuse code that runs once for several threads: how many of them would do it?"""
    around = level()
    if around is not THREAD:
        raise NestingError.here(
            f"{what} in code of a {around.word}: each thread does its own update, and here is "
            "none.",
            "Write it inside of a for_all over threads; for_all(1, ..) is one of them.",
        )


def _space(m: Memory) -> str:
    type_ = m.buffers[0].type
    assert isinstance(type_, BufferType)
    return type_.space


def _operator(op: Op, kind: Kind) -> Lambda:
    """The operator as a function of two elements' leaves."""
    code = here().builder.inner()
    inside = trace().scope_of(code)
    old = [code.param("old", dtype) for dtype in kind.dtypes]
    new = [code.param("new", dtype) for dtype in kind.dtypes]
    with entered(inside):
        made = op(kind.value(old), kind.value(new))
        results = kind.atoms(made, "what the operator of an atomic gives")
    inside.closed = True
    fn = code.close([*old, *new], results)
    if any(map(_varies, free_vars(fn))):
        raise ArgumentError.here(
            "the operator of an atomic reads a number of the thread around it.",
            "Make it part of the value: a tuple of numbers is a value, too; or read "
            "arguments of the kernel.",
        )
    return fn


def _varies(var: Var) -> bool:
    """Whether a variable is bound inside of the units that share the block's work."""
    scope = trace().homes[var]
    return any(isinstance(around.builder, UnitCode) and around.builder.level < BLOCK
               for around in scope.around())  # fmt: skip


def _locks(around: Level) -> Var:
    """Locks that nobody holds, made at the head of the code of a level."""
    scope = _outermost(around)
    made = trace()
    found = made.locks.get(scope)
    if found is None:
        with entered(scope):
            free = number(0, "a lock").astype(u32)
            (memory,) = written(Pull(STRIPES[around], lambda i: free), barrier=True)
        found = made.locks[scope] = memory.buffers[0]
    return found


def _outermost(around: Level) -> Scope:
    """The outermost code of a level's unit around the code that is being written; of the grid, the
    code that launches the block."""
    chain = list(here().around())
    heads = [scope for scope in chain if isinstance(scope.builder, UnitCode)]
    if around is BLOCK:
        return next(scope for scope in heads if scope.builder.level is BLOCK)  # type: ignore[attr-defined]
    block = next(scope for scope in heads if scope.builder.level is BLOCK)  # type: ignore[attr-defined]
    assert block.outer is not None
    return block.outer
