"""Reductions, scans and filters of an array, by the unit whose code is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms import look_back as algorithm
from flatweave.algorithms.block_scans import Warps, reduce_by_warps, scan_by_warps
from flatweave.algorithms.lanes import reduce_in_lanes, scan_in_lanes
from flatweave.algorithms.look_back import lanes_look_back
from flatweave.algorithms.operator import by_first_warp
from flatweave.algorithms.words import NOTHING, PREFIX, Packing, Slots, Words, packing_of
from flatweave.base.dtypes import i64
from flatweave.base.errors import NestingError
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.tree import unflatten
from flatweave.kernel.algorithms.operators import (
    Check,
    as_thread,
    elements_of,
    keep_law_over_blocks,
    keep_laws,
    kind_of_elements,
    length_of_all,
    operator_on,
    reduce_in_chunks,
    scan_in_chunks,
    takes_chunks,
)
from flatweave.kernel.arrays.loops import cond, for_all, seq_for, when
from flatweave.kernel.arrays.pulls import Pull, need_pull
from flatweave.kernel.arrays.pushes import Push, Put
from flatweave.kernel.arrays.units import concat_p, generate
from flatweave.kernel.storage.atomics import expect_progress
from flatweave.kernel.storage.stores import fill, force
from flatweave.kernel.writing.code import (
    Extent,
    extent_of,
    here,
    level,
    number,
    numbers,
    place,
    trace,
)
from flatweave.kernel.writing.elements import Kind, kind_of_leaves, leaves_of
from flatweave.kernel_ir import arrays
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, WARP, Level
from flatweave.kernel_ir.syntax import Sync
from flatweave.passes.operators import is_commutative, is_exact
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Const

# All elements of an array combined, or all prefixes, by the unit whose code is written.
#
#     total = fk.reduce(op, xs, 0)                 of a block: by its warps, each in steps of lanes
#     sums, total = fk.scan(op, xs, 0)             a push array of the prefixes, and all of them
#
# What a machine does best is found when the kernel is made for it: the lanes of vector registers
# on a CPU, collectives of warps where lanes are threads; one by one in code of a thread. The
# operator must be associative, and need not commute; elements may be tuples.
#
# A scan over all blocks of a launch reads its input once, where two launches read it twice:
# blocks wait for each other (Merrill, Garland 2016).
#
#     chain = fk.chain(blocks, 0)                   in code of the grid: nothing known yet
#     before = fk.look_back(op, chain, b, total)    in code of block b: what all before it have
#
# A block publishes what its own elements combine to, goes back from its left neighbour to the
# nearest block that knows the whole of what is before it, combines in order what it meets, and
# publishes that, and nothing of other memory. It is for machines whose blocks may wait for
# earlier ones: the CPU, CUDA, the simulator. OpenCL promises nothing of the kind. `atomics.py`
# has the words to write another way of waiting.


Op = Callable[[Any, Any], Any]
REGISTERS = 4
"""Registers of a step on a machine of vectors: additions that do not wait for each other."""


def reduce(op: Op, xs: Any, ne: Any, *, check: bool = True) -> Any:
    """The elements combined in their order; `ne` is neutral, and the result of no elements.

    By an operator that is seen to commute, such as +, in another order, which is always the same.

    In code of a block or warp all its threads share the work and may read the result. There `op`
    must be associative: OperatorError for one that is not, as fw.reduce says. The first call tries
    it on a few elements of the first block, unless `check` is False.
    """
    array = need_pull(xs, "reduce", "The array comes second: fk.reduce(op, xs, neutral).")
    around = _level_for("reduce")
    if around is BLOCK and takes_chunks(array):
        return reduce_in_chunks(op, array, ne, Check(check, user_location()))
    if around is THREAD:
        kind = kind_of_elements(array)
        start = kind.value(kind.atoms(ne, "the neutral element"))
        return seq_for(0, array.length, lambda i, s: op(s, array.at(i)), start)
    fold = _Fold(op, array, ne, "reduce", Check(check, user_location()))
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
    op: Op, xs: Any, ne: Any, before: Any = None, *, exclusive: bool = False, check: bool = True
) -> Push:
    """All prefixes; they go on from `before`, if it is given. With `exclusive` element i is what
    stands before i.

    Elements are computed twice where a block has several warps: force them before if they are
    expensive. What is put must not be what `xs` reads. `op` and `ne` keep the laws that `reduce`
    asks for, and are tried unless `check` is False.
    """
    array = need_pull(xs, "scan", "The array comes second: fk.scan(op, xs, neutral).")
    tried = Check(check, user_location())

    def write(put: Put) -> None:
        around = _level_for("scan")
        if around is THREAD:
            _one_by_one(op, array, ne if before is None else before, put, exclusive=exclusive)
            return
        if around is BLOCK and takes_chunks(array):
            scan_in_chunks(op, array, ne, before, put, exclusive=exclusive, check=tried)
            return
        fold = _Fold(op, array, ne, "scan", tried)
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


def _level_for(who: str) -> Any:
    around = level()
    if around is GRID:
        raise NestingError(
            f"{who} is for the threads of a block, and this is code of the grid.",
            where=user_location(),
            remedy=f"Give blocks their parts, pconcat_map(lambda part: fk.{who}(..), "
            "fk.split_up(1024, xs)), and combine what they give by a second launch; or look back, "
            "fk.look_back.",
        )
    return around


class _Fold:
    """An operator and the elements it is for, as code of the machine's warps and lanes."""

    def __init__(self, op: Op, array: Pull, ne: Any, who: str, check: Check) -> None:
        made = trace()
        self.kind = kind = kind_of_elements(array)
        self.operator = operator_on(kind, op, ne)
        combined = self.operator.function(here().builder)
        keep_laws(op, combined, kind, array, self.operator.neutral, who, check)
        self.commutes = is_commutative(combined)
        self.elements = arrays.Pull(extent_of(array.length), elements_of(kind, array))
        machine = made.machine
        width = machine.lanes(list(kind.dtypes))
        if machine.simt:
            self.warps = Warps(max(1, -(-made.threads // width)), width)
        else:
            self.warps = Warps(1, min(64, REGISTERS * width), masked=False)


# -- across the blocks of a launch -----------------------------------------------------------------


@record
class Chain:
    """What blocks know of those before them, in memory of the grid: a slot more than there are
    blocks, the first of which is what stands before all."""

    kind: Kind
    first: Any
    slots: Slots | Words


def chain(blocks: Extent, first: Any) -> Chain:
    """Memory in which `blocks` blocks publish; `first` is what stands before all of them, of the
    dtypes that are combined. A slot is one word where the machine stores them at once."""
    _need(GRID, "chain")
    expect_progress()
    slots = blocks + 1
    kind = kind_of_leaves(*leaves_of(first, "what stands before all blocks"))
    components = [(dtype, dtype.bits) for dtype in kind.dtypes]
    packing = packing_of(components, trace().machine.whole_words)
    if packing is not None:
        words = fill(Pull(slots * packing.count, lambda i: _word(packing, kind.atoms(first), i)))
        return Chain(kind, first, Words(packing, words.buffers[0]))
    states = fill(Pull(slots, lambda i: where(i == 0, _value(PREFIX), _value(NOTHING))))
    aggregates = fill(Pull(slots, lambda i: first))
    prefixes = fill(Pull(slots, lambda i: first))
    return Chain(kind, first, Slots(aggregates.buffers, states.buffers[0], prefixes.buffers))


def _word(packing: Packing, first: list[Atom], i: Any) -> Any:
    """Word i of a chain before any block has published: the first slot is known."""
    found: Any = _value(NOTHING)
    for k, word in enumerate(packing.pack(here().builder, first, PREFIX)):
        found = where(i == k, numbers([word])[0], found)
    return found


def _value(atom: Any) -> int:
    assert isinstance(atom, Const)
    return int(atom.value)


def look_back(
    op: Callable[[Any, Any], Any], chain: Chain, block: Any, total: Any, *, check: bool = True
) -> Any:
    """The combination of all blocks before this one, in order; `total` is this block's aggregate.
    After the call later blocks may continue. Each block of the launch calls it once.

    `op` must be associative. The first call tests it on aggregates of the first blocks, unless
    `check` is False.
    """
    _need_below_grid("look_back")
    at = place(block, "the block")
    mine = tuple(chain.kind.atoms(total, "what a block has"))
    slots, operator = chain.slots, operator_on(chain.kind, op, chain.first)
    b, machine = here().builder, trace().machine
    keep_law_over_blocks(
        op, operator.function(b), operator.neutral, at, mine, "look_back",
        Check(check, user_location()),
    )  # fmt: skip
    if not machine.simt:
        return chain.kind.value(algorithm.go_on(b, slots, at, mine, operator.combine)[0])
    look = lanes_look_back(
        b, slots, at, operator, machine.lanes([i64]), exact=is_exact(operator.function(b))
    )

    def go_on(c: Builder) -> Values:
        return algorithm.go_on(c, slots, at, mine, operator.combine, look)[0]

    return chain.kind.value(by_first_warp(b, chain.kind.dtypes, go_on))


def _need(wanted: Level, who: str) -> None:
    if level() is not wanted:
        raise NestingError(
            f"{who} is for code of the {wanted.word}, and this is code of a {level().word}.",
            where=user_location(), remedy=f"Call it in code of the {wanted.word}.",
        )  # fmt: skip


def _need_below_grid(who: str) -> None:
    if level() in (GRID, THREAD):
        raise NestingError(
            f"{who} is for a whole block, and this is code of a {level().word}.",
            where=user_location(),
            remedy="Call it in code of a block: for_all(blocks, lambda b: ..), outside of the "
            "loops over its threads.",
        )
    expect_progress()


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
    """
    array = need_pull(xs, "filter")
    if level() is not GRID:
        raise NestingError(
            f"filter in code of a {level().word}: how many elements it keeps is known after a "
            "launch.",
            where=user_location(),
            remedy="Filter in code of the grid, outside of pconcat_map; or let each thread put "
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
