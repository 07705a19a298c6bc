"""Reductions, scans and filters of an array, by the unit whose code is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms.block_scans import Warps, reduce_by_warps, scan_by_warps
from flatweave.algorithms.lanes import reduce_in_lanes, scan_in_lanes
from flatweave.base.errors import ArgumentError, NestingError
from flatweave.base.source import user_location
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.tree import unflatten
from flatweave.kernel.chunks import split_up
from flatweave.kernel.code import extent_of, here, level, number, trace
from flatweave.kernel.loops import cond, for_all, met, seq_for, when
from flatweave.kernel.operators import (
    Check,
    as_thread,
    elements_of,
    keep_laws,
    kind_of_elements,
    length_of_all,
    operator_on,
    reduce_in_chunks,
    scan_in_chunks,
    takes_chunks,
)
from flatweave.kernel.pulls import Pull, element_seen, need_pull
from flatweave.kernel.pushes import Push, Put
from flatweave.kernel.stores import force
from flatweave.kernel.units import concat_p, generate
from flatweave.kernel_ir import hierarchy
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, WARP, Values
from flatweave.kernel_ir.syntax import Sync
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom

# All elements of an array combined, or all prefixes, by the unit whose code is written.
#
#     total = fk.reduce(op, xs, 0)                 of a block: by its warps, each in steps of lanes
#     sums, total = fk.scan(op, xs, 0)             a push array of the prefixes, and all of them
#
# What a machine does best is found when the kernel is made for it: the lanes of vector registers
# on a CPU, collectives of warps where lanes are threads; one by one in code of a thread. The
# operator must be associative, and need not commute; elements may be tuples.


Op = Callable[[Any, Any], Any]
REGISTERS = 4
"""Registers of a step on a machine of vectors: additions that do not wait for each other."""


def reduce(op: Op, xs: Any, identity: Any, *, check: bool = True) -> Any:
    """The elements combined in their order; `identity` is neutral, and the result of no elements.

    By an operator that is seen to commute, such as +, in another order, which is always the same.

    In code of a block or warp all its threads share the work and may read the result; in code of
    the grid it takes two launches, whose result is a number of the host. There `op` must be
    associative, as fw.reduce says. The first call tries it on a few elements of the first block,
    unless `check` is False.

    Types: `op: (t, t) -> t, xs: pull t[n], identity: t -> t`. Raises OperatorError for an
    `op` that is not associative. Source: M. Harris, *Optimizing Parallel Reduction in CUDA*.

        >>> @fk.kernel
        ... def example(xs):
        ...     def block(part):
        ...         return fk.singleton(fk.reduce(fw.add, part, 0))
        ...     return fk.pconcat_map(block, fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([ 6, 22], dtype=int64)
    """
    array = need_pull(xs, "reduce", "The array comes second: fk.reduce(op, xs, neutral).")
    return _reduced(op, array, identity, "reduce", Check(check, user_location()))


def _reduced(op: Op, array: Pull, identity: Any, who: str, check: Check) -> Any:
    """The elements combined, for a function that the user called."""
    around = level()
    if around is GRID:
        sums = _sums(op, array, identity, who, check)
        return force(generate(1, lambda _: reduce(op, sums, identity, check=False))).at(0)
    if around is BLOCK and takes_chunks(array):
        return reduce_in_chunks(op, array, identity, who, check)
    if around is THREAD:
        kind = kind_of_elements(array)
        start = kind.value(kind.atoms(identity, "the neutral element"))
        return seq_for(0, array.length, lambda i, s: op(s, array.at(i)), start)
    fold = _Fold(op, array, identity, who, check)
    b = here().builder
    if around is BLOCK:
        found = reduce_by_warps(
            b, fold.operator, fold.elements, fold.warps, in_any_order=fold.commutes
        )
    else:
        found = reduce_in_lanes(
            b, fold.operator, fold.elements, fold.warps.width, masked=fold.warps.masked,
            in_any_order=fold.commutes,
        )  # fmt: skip
        b.emit(Sync(WARP.word))  # what its lanes have read may be written from now on
    return fold.kind.value(found)


def scan(
    op: Op, xs: Any, identity: Any, before: Any = None, *, exclusive: bool = False,
    check: bool = True,
) -> Push:
    """All prefixes; they go on from `before`, if it is given. With `exclusive` element i is what
    stands before i.

    Elements are computed twice where a block has several warps, and in code of the grid, where it
    takes three launches: force them before if they are expensive. What is put must not be what
    `xs` reads. `op` and `identity` keep the laws that `reduce` asks for, and are tried unless
    `check` is False.

    Types: `op: (t, t) -> t, xs: pull t[n], identity: t, before: t -> push t[n]`. Raises
    OperatorError for an `op` that is not associative. Source: scans of blocks (Hillis and
    Steele 1986).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.scan(fw.add, part, 0), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([ 0,  1,  3,  6,  4,  9, 15, 22], dtype=int64)
    """
    array = need_pull(xs, "scan", "The array comes second: fk.scan(op, xs, neutral).")
    tried = Check(check, user_location())

    def write(put: Put) -> None:
        around = level()
        if around is GRID:
            _scan_of_grid(op, array, (identity, before), put, exclusive=exclusive, check=tried)
            return
        if around is THREAD:
            _one_by_one(op, array, identity if before is None else before, put, exclusive=exclusive)
            return
        if around is BLOCK and takes_chunks(array):
            scan_in_chunks(op, array, identity, before, put, exclusive=exclusive, check=tried)
            return
        fold = _Fold(op, array, identity, "scan", tried)
        first = None if before is None else tuple(fold.kind.atoms(before, "what stands before"))

        def put_there(c: Builder, i: Atom, values: Values) -> None:
            tree = fold.kind.tree
            as_thread(c, (i, *values), lambda at, *atoms: put(at, unflatten(tree, atoms)))

        b = here().builder
        if around is BLOCK:
            scan_by_warps(
                b, fold.operator, fold.elements, fold.warps, put_there, first, exclusive=exclusive
            )
        else:
            start = fold.operator.neutral if first is None else first
            scan_in_lanes(
                b, fold.operator, fold.elements, fold.warps.width, start, put_there,
                exclusive=exclusive, masked=fold.warps.masked,
            )  # fmt: skip

    return Push(length_of_all(array), write)


def _one_by_one(op: Op, array: Pull, start: Any, put: Put, *, exclusive: bool) -> None:
    """Prefixes in a thread."""
    kind = kind_of_elements(array)

    def turn(i: Any, before: Any) -> Any:
        after = op(before, array.at(i))
        put(i, before if exclusive else after)
        return after

    seq_for(0, array.length, turn, kind.value(kind.atoms(start, "the neutral element")))


# In code of the grid each block has a part of the array, and one block combines what they give:
#
#     launch blocks     sums[b] = reduce op part b
#     launch 1          reduce op sums, or before = the exclusive scan of sums
#     launch blocks     scan op part b, from before[b] on


def _parts(array: Pull, identity: Any) -> Pull:
    """What each block gets: the last part is filled up."""
    return split_up(trace().block_elements, array, pad=identity)


def _sums(op: Op, array: Pull, identity: Any, who: str, check: Check) -> Pull:
    """The elements of each block combined, in memory of the grid."""
    if isinstance(element_seen(array), Pull):
        raise ArgumentError.here(
            f"{who} in code of the grid takes elements, and those of its array are rows.",
            "Go through the rows: fk.pconcat_map(f, xs), where f gets one row.",
        )
    parts = _parts(array, identity)
    found: Pull = force(
        generate(parts.length, lambda b: _reduced(op, parts.at(b), identity, who, check))
    )
    return found


def _scan_of_grid(
    op: Op, array: Pull, start: tuple[Any, Any], put: Put, *, exclusive: bool, check: Check
) -> None:
    """Prefixes by all blocks, in three launches; `start` is the neutral element, and what stands
    before all."""
    identity, before = start
    sums, parts = _sums(op, array, identity, "scan", check), _parts(array, identity)
    first = force(
        generate(1, lambda _: scan(op, sums, identity, before, exclusive=True, check=False))
    )

    def block(b: Any) -> None:
        base = b * trace().block_elements

        def put_there(i: Any, value: Any) -> None:
            when(base + i < array.length, lambda: put(base + i, value))

        scan(
            op, parts.at(b), identity, first.at(b), exclusive=exclusive, check=False
        ).write(Put(put_there))

    for_all(parts.length, block)


class _Fold:
    """An operator and the elements it is for, as code of the machine's warps and lanes."""

    def __init__(self, op: Op, array: Pull, identity: Any, who: str, check: Check) -> None:
        made = trace()
        self.kind = kind = kind_of_elements(array)
        self.operator = operator_on(kind, op, identity)
        combined = self.operator.function(here().builder)
        keep_laws(op, combined, kind, array, self.operator.neutral, who, check)
        self.commutes = is_commutative(combined)
        self.elements = hierarchy.Pull(extent_of(array.length), elements_of(kind, array))
        machine = made.machine
        width = machine.lanes(list(kind.dtypes))
        if machine.simt:
            self.warps = Warps(max(1, -(-made.threads // width)), width)
        else:
            self.warps = Warps(1, min(64, REGISTERS * width), masked=False)


# -- across the blocks of a launch -----------------------------------------------------------------


# Arrays whose length is found by computing: how many elements are kept, and where each goes.
#
# kept = fk.filter(lambda x: x > 0, xs)        in code of the grid; a push array
#
# 1. each thread counts what it keeps of a chunk     counts = 2 0 3
# 2. one block adds the counts up                    offsets = 0 2 2 5; the last one is the
#                                                    length, a number of the host from now on
# 3. each thread visits its chunk again, and puts its kept elements from its offset on


CHUNK = 64
"""The number of elements that a thread visits in order."""


def filter(keep: Callable[[Any], Any], xs: Any) -> Push:
    """The elements for which `keep` holds, in their order.

    In code of the grid: it takes two launches to know how many there are, and what stores them is
    a third. Elements are computed twice; force an array that is dear.

    Types: `keep: t -> bool, xs: pull t[n] -> push t[number kept]`. Raises NestingError outside
    of the grid's code, DTypeError for a `keep` that gives no bool. Source: stream compaction by
    a scan (Blelloch 1990).

        >>> fk.kernel(lambda xs: fk.filter(lambda x: x % 3 == 0, xs))(np.arange(8))
        Array([0, 3, 6], dtype=int64)
    """
    array = need_pull(xs, "filter")
    if level() is not GRID:
        raise NestingError.here(
            f"filter in code of a {level().word}: how many elements it keeps is known after a "
            "launch.",
            "Filter in code of the grid, outside of pconcat_map; or let each thread put "
            "what it keeps with make_push, in room for all.",
        )
    chunks = (array.length + (CHUNK - 1)) // CHUNK
    counts = force(Pull(chunks, lambda c: _through(array, c, 0, lambda i, at, x: _step(keep, x))))
    places = force(generate(1, lambda _: concat_p(0, scan(_plus, counts, 0))))
    total = places.at(chunks)

    def write(put: Put) -> None:
        def thread(c: Any) -> None:
            def element(_: Any, at: Any, x: Any) -> Any:
                kept = keep(x)
                when(kept, lambda: put(at, x))
                return cond(kept, lambda: 1, lambda: 0)

            _through(array, c, places.at(c), element)

        threads = trace().threads
        for_all(
            (chunks + (threads - 1)) // threads,
            lambda b: for_all(
                as_tracer(minimum(threads, chunks - b * threads)), lambda t: thread(b * threads + t)
            ),
        )

    return Push(total, write)


def _step(keep: Callable[[Any], Any], x: Any) -> Any:
    return cond(keep(x), lambda: 1, lambda: 0)


def _through(
    array: Pull, chunk: Any, start: Any, element: Callable[[Any, Any, Any], Any]
) -> Tracer:
    """`start` and what `element(i, sum so far, x)` gives for each element of a chunk, added up."""
    first = chunk * CHUNK
    end = minimum(first + CHUNK, array.length)
    before = number(start, "where a chunk begins")
    found: Tracer = seq_for(first, end, lambda i, at: at + element(i, at, array.at(i)), before)
    return found


def _plus(a: Any, b: Any) -> Any:
    return a + b


def seq_scan(op: Callable[[Any, Any], Any], xs: Any, carry: Any = None) -> Push:
    """All prefixes, by one unit in a loop; they go on from `carry` if it is given.

    Types: `op: (t, t) -> t, xs: pull t[n], carry: t -> push t[n]`. Raises ArgumentError for
    what is no pull array. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.seq_scan(fw.add, part), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([ 0,  1,  3,  6,  4,  9, 15, 22], dtype=int64)
    """
    array = need_pull(xs, "seq_scan")

    def write(put: Put) -> None:
        def turn(i: Any, before: Any) -> Any:
            value = op(before, array.at(i))
            put(i, value)
            return value

        if carry is not None:
            seq_for(0, array.length, turn, met(op, array, carry))
        else:
            when(array.length > 0, lambda: _from_first(array, put, turn))

    return Push(array.length, write)


def _from_first(array: Pull, put: Put, turn: Callable[[Any, Any], Any]) -> None:
    """Prefixes of at least one element."""
    start = array.at(0)
    put(0, start)
    seq_for(1, array.length, turn, start)
