"""Memory of each level: `force` computes an array into it, once, for all units to read.

    level     force makes               who may read it after force
    thread    memory of the thread      the thread
    warp      warp_shared, a barrier    the threads of the warp
    block     shared, a barrier         the threads of the block
    grid      a buffer, a launch        everybody: the next launch begins when this one is done
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError, NestingError, ShapeError
from flatweave.base.plan import Site
from flatweave.frontend.values.arguments import number_dtype
from flatweave.frontend.values.array import kind_of
from flatweave.kernel.checks import guarded, need, need_length
from flatweave.kernel.code import Extent, emit, extent_of, here, level, place, trace
from flatweave.kernel.elements import Kind, kind_of_dtype, kind_of_leaves, leaves_of
from flatweave.kernel.pulls import Pull, static
from flatweave.kernel.pushes import Put, pushed
from flatweave.kernel_ir.hierarchy import GRID, MEMORY, THREAD
from flatweave.kernel_ir.host import Alloc
from flatweave.kernel_ir.syntax import Load, Store, Sync
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, BufferType, Const, Let, Op, Var
from flatweave.terms.traverse import free_vars

MEMORY_IN_TEXT = "memory"


class Memory:
    """Memory for elements of one kind, which can be read and written: an array that changes.

    `m[i]` reads, `m[i] = value` writes; between a write by one unit and a read by another there
    must be a barrier.

    Types: `t[length]`. Raises IndexOutOfBounds for an index outside. Source: CUDA's shared and
    global memory.

        >>> @fk.kernel
        ... def incremented(xs):
        ...     m = fk.fill(xs)
        ...     fk.for_all(2, lambda b: m.__setitem__(b, m[b] + 1))
        ...     return m
        >>> incremented(np.array([5, 6]))
        Array([6, 7], dtype=int64)
    """

    __slots__ = ("buffers", "kind", "length")

    def __init__(self, buffers: tuple[Var, ...], kind: Kind, length: Extent) -> None:
        self.buffers = buffers
        self.kind = kind
        self.length = length

    def __getitem__(self, i: Any) -> Any:
        return guarded(i, self.length, MEMORY_IN_TEXT, self.at)

    def at(self, i: Any) -> Any:
        """Element i, of which is known that there is one."""
        at = place(i)
        return self.kind.value([emit(Load(buffer, at))[0] for buffer in self.buffers])

    def __setitem__(self, i: Any, value: Any) -> None:
        atoms = self.kind.atoms(value)

        def store(i: Any) -> None:
            at = place(i)
            for buffer, atom in zip(self.buffers, atoms, strict=True):
                emit(Store(buffer, at, atom))

        guarded(i, self.length, MEMORY_IN_TEXT, store)

    def __len__(self) -> int:
        return static(self.length, "len")

    def pull(self) -> Pull:
        """A pull array that reads this memory when an element is needed."""
        return Pull(self.length, self.at, self)

    def write(self, array: Any) -> None:
        """Write all elements of an array here, without a barrier. What `scatter` puts may go
        anywhere in it; other arrays have at most as many elements.

        Raises ShapeError for a longer array, and IndexOutOfBounds for an index outside.
        """
        program = pushed(array)
        if not program.into:
            message = "an array of {0} elements is written to memory of {1}."
            remedy = "Take those that fit: fk.take(n, xs)."
            need(program.length, self.length, message, remedy, program.length, self.length)

        def store(i: Any, value: Any) -> None:
            for buffer, atom in zip(self.buffers, self.kind.atoms(value), strict=True):
                emit(Store(buffer, place(i), atom))

        program.write(Put(store, room=self.length if program.into else None))


def need_memory(m: Any, who: str) -> Memory:
    """Memory that may be changed."""
    if isinstance(m, Memory):
        return m
    raise ArgumentError.here(
        f"{who} changes memory, got {kind_of(m)}.",
        "Make it with fk.fill(xs) or fk.memory(n, dtype): what force gives is only read.",
    )


def read(buffers: tuple[Var, ...], kind: Kind, length: Extent) -> Pull:
    """The elements in memory."""
    return Memory(buffers, kind, length).pull()


class _Wanted:
    """Memory that is allocated after the code that writes it, when kind and length are known."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.kind: Kind | None = None
        self.buffers: tuple[Var, ...] = ()

    def store(self, i: Any, value: Any) -> None:
        """Store an element; the first one says what all are."""
        if self.kind is None:
            self.kind = kind_of_leaves(*leaves_of(value))
            names = trace().root.builder.names
            self.buffers = tuple(
                names.var("m", BufferType(dtype, self.space)) for dtype in self.kind.dtypes
            )
        at = place(i)
        for buffer, atom in zip(self.buffers, self.kind.atoms(value), strict=True):
            emit(Store(buffer, at, atom))


def written(array: Any, barrier: bool) -> tuple[Memory, ...]:
    """The arrays that a program puts, one or several, computed into memory of this level."""
    program = pushed(array)
    code, around = here().builder, level()
    wanted: dict[int, _Wanted] = {}

    def put(k: int) -> Put:
        def store(i: Any, value: Any) -> None:
            wanted.setdefault(k, _Wanted(around.space)).store(i, value)

        return Put(store, put)

    before = len(code.lets)
    program.write(put(0))
    rest = code.lets[before:]
    del code.lets[before:]
    found = []
    for k in range(program.arrays):
        length = program.length_of(k)
        kind, buffers = _made_of(wanted.get(k), length)
        first, rest = _needed(rest, extent_of(length))
        code.lets += first
        for buffer, dtype in zip(buffers, kind.dtypes, strict=True):
            _make(buffer, dtype, extent_of(length))
        found.append(Memory(buffers, kind, length))
    code.lets += rest
    if barrier and around not in (THREAD, GRID):
        here().emit(Sync(around.word))
    return tuple(found)


def _made_of(wanted: _Wanted | None, length: Extent) -> tuple[Kind, tuple[Var, ...]]:
    """The kind of the elements and the memory they are in; raises if there is no memory."""
    if wanted is None or wanted.kind is None:
        raise ArgumentError.here(
            "force of a push array that puts no element.", "Let its program call put(index, value)."
        )
    if level() is not GRID and not isinstance(length, int):
        raise ShapeError.here(
            f"force makes memory of a {level().word}, whose size is fixed when a kernel is "
            "written, and this length is known at run time only.",
            "Cut the array into parts of one length with split_up, and give each to a "
            "block with pconcat_map.",
        )
    return wanted.kind, wanted.buffers


def _needed(lets: list[Let], atom: Atom) -> tuple[list[Let], list[Let]]:
    """The lets that an atom rests on, scalars all of them, and the others."""
    wanted = {atom} if isinstance(atom, Var) else set()
    first: list[Let] = []
    rest: list[Let] = []
    for let in reversed(lets):
        if wanted.intersection(let.vars) and isinstance(let.op, Apply | Cast | Load):
            wanted.update(free_vars(let.op))
            first.append(let)
        else:
            rest.append(let)
    return first[::-1], rest[::-1]


def _make(buffer: Var, dtype: DType, extent: Atom) -> None:
    """Emit what makes a buffer of the level whose code this is."""
    scope, around, made = here(), level(), trace()
    op: Op
    if around is GRID:
        op = Alloc(dtype, extent, made.sites.add(Site("memory", made.where)))
        made.buffers.append(buffer)
        if isinstance(extent, Var):
            made.root.extents.add(extent)  # for there is memory of this length
    else:
        assert isinstance(extent, Const)
        op = MEMORY[around](dtype, max(1, int(extent.value)))
    scope.builder.lets.append(Let((buffer,), op, made.where))
    scope.builder.bind(buffer, op)
    made.homes[buffer] = scope


def force(array: Any) -> Any:
    """Compute an array once, into memory of the level whose code this is, and let all its units
    read it: a store, and a barrier where there are several.

    In code of the grid it ends a launch. Where units give several arrays, it is a tuple of them.
    Raises ShapeError for a length that is known at run time only, but for the grid's.

    Types: `array: t[n] -> pull t[n]`. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.reverse(fk.force(part)), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    found = tuple(memory.pull() for memory in written(array, barrier=True))
    return found if len(found) > 1 else found[0]


def unsafe_force(array: Any) -> Any:
    """`force`: barriers that are known not to be needed are left out everywhere (the thesis's
    unsafeForce leaves them out for short arrays, and it is the user who must know).

    Types: `array: t[n] -> pull t[n]`. Raises ShapeError as `force`. Source: Obsidian (Svensson
    2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     def block(part):
        ...         return fk.reverse(fk.unsafe_force(part))
        ...     return fk.pconcat_map(block, fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    return force(array)


def force_below(most: int, array: Any) -> Any:
    """`force` of arrays of at most this length, longer ones as they are: two phases become one
    with more work for each thread (the thesis's unsafeForce').

    Types: `most: int, array: t[n] -> t[n]`. Raises ShapeError for a length that is known at run
    time only. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     def block(part):
        ...         return fk.force_below(32, fk.reverse(part))
        ...     return fk.pconcat_map(block, fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    length = static(array.length, "force_below")
    return array if length > most else force(array)


def memory(n: Extent, dtype: Any) -> Memory:
    """Memory of the level whose code this is for n elements, which nobody has written.

    Types: `n: integer, dtype: t -> Memory of t[n]`. Raises ShapeError for an n below 0, and
    below the grid for an n that is known at run time only; KernelError on the interpreter for a
    read of what nobody wrote. Source: CUDA's shared and global memory.

        >>> @fk.kernel
        ... def squares(xs):
        ...     found = fk.memory(4, fw.i64)
        ...     fk.for_all(4, lambda b: found.__setitem__(b, xs[b] * xs[b]))
        ...     return found
        >>> squares(np.arange(4))
        Array([0, 1, 4, 9], dtype=int64)
    """
    if level() is not GRID:
        static(n, f"memory of a {level().word}")
    need_length(n, "memory")
    return memory_of(kind_of_dtype(number_dtype(dtype)), n)


def memory_of(kind: Kind, n: Extent) -> Memory:
    """Memory for n elements of a kind."""
    names = trace().root.builder.names
    buffers = tuple(
        names.var("m", BufferType(dtype, level().space)) for dtype in kind.dtypes
    )
    for buffer, dtype in zip(buffers, kind.dtypes, strict=True):
        _make(buffer, dtype, extent_of(n))
    return Memory(buffers, kind, n)


def fill(array: Any) -> Any:
    """Memory of the current level, with an array in it, after a barrier: as force, to
    be changed.

    Types: `array: t[n] -> Memory of t[n]`. Raises ShapeError for a length that is known at run
    time only, but for the grid's. Source: CUDA's shared and global memory.

        >>> @fk.kernel
        ... def counts(xs):
        ...     found = fk.fill(fk.replicate(3, 0))
        ...     fk.for_all(1, lambda b: fk.for_all(4, lambda t: fk.atomic_inc(found, xs[t])))
        ...     return found
        >>> counts(np.array([0, 2, 2, 1]))
        Array([1, 1, 2], dtype=int64)
    """
    found = written(array, barrier=True)
    return found if len(found) > 1 else found[0]


def barrier() -> None:
    """Wait for all units of the block, or of the warp, whose code this is.

    Raises NestingError in code of one thread: others would wait for ever.

    Types: `() -> None`. Source: CUDA's `__syncthreads`, `__syncwarp`.

        >>> @fk.kernel
        ... def reversed_parts(xs):
        ...     def block(part):
        ...         m = fk.memory(4, fw.i64)
        ...         fk.for_all(4, lambda t: m.__setitem__(t, part[t]))
        ...         fk.barrier()
        ...         return fk.pull(4, lambda t: m[3 - t])
        ...     return fk.pconcat_map(block, fk.split_up(4, xs))
        >>> reversed_parts(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    around = level()
    if around in (THREAD, GRID):
        raise NestingError.here(
            "a barrier in code of one thread: the others might never come to it."
            if around is THREAD else
            "there is no barrier for the grid: its blocks may run in sequence.",
            "End the for_all, and write the barrier after it."
            if around is THREAD else "Each launch waits for the one before: use force, or a second "
            "for_all.",
        )
    here().emit(Sync(around.word))
