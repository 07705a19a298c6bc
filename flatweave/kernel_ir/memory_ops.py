"""Operations on memory besides loads and stores: updates, words for other blocks, prefetches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from flatweave.base.dtypes import DType, i64, u32, u64
from flatweave.kernel_ir import (
    BY_LANE,
    EVERYWHERE,
    IN_LANES,
    UNIFORM_CODE,
    Action,
    KernelOp,
    SimulatedWarp,
    contents_misfit,
    dtype_in,
)
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Const,
    Lambda,
    Type,
    Var,
    index_misfits,
    op,
    operator_misfits,
    types_of,
)

if TYPE_CHECKING:
    from flatweave.terms.batch import Env, Values

# AcquireLanes: the lanes of a warp look at what other blocks have published, all at once.


@op
class AcquireLanes(Action):
    """buffer[index] of each lane, loaded as `acquire` does: what was written before the releases
    that they read from is seen by all lanes of the warp."""

    buffer: Var
    index: Atom
    stands = IN_LANES
    together = True
    gives = BY_LANE
    typed_as = "buffer"


# Prefetch: elements that will be loaded soon.


@op
class Prefetch(Action):
    """Asks for the elements at linear indices, which need not be there; computes nothing."""

    buffer: Var
    index: Atom
    stands = IN_LANES

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        """Nothing: a simulator has no caches."""
        return ()


# LoadWord: neighbouring elements at once.


@op
class LoadWord(KernelOp):
    """The elements from `index` on as the bits of one number, the first one lowest; those outside
    of the `extent` elements that are there are 0. A `whole` word has none of those, in idle lanes
    neither."""

    buffer: Var
    index: Atom
    extent: Atom
    dtype: DType
    whole: bool = False
    stands = IN_LANES | frozenset({"thread"})

    def result_types(self) -> tuple[Type, ...]:
        return (self.dtype,)

    @property
    def elements(self) -> int:
        """How many elements are in a word."""
        return self.dtype.bits // (8 * dtype_in(self.buffer).bytes)

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        yield from index_misfits("the extent", (self.extent,))
        if self.elements < 2 or self.dtype.kind != "u":
            yield f"{self.dtype} is no word of several {dtype_in(self.buffer)}"

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        first, extent = warp.atom(env, self.index), warp.atom(env, self.extent)
        bits = self.dtype.bits // self.elements
        word = np.zeros(first.shape, self.dtype.numpy)
        for k in range(self.elements):
            there = (first + k >= 0) & (first + k < extent)
            if there.any():
                at = np.where(there, first + k, int((first + k)[there].flat[0]))
                part = warp.load(env, self.buffer, at).astype(f"u{bits // 8}").astype(word.dtype)
                word |= np.where(there, part, 0).astype(word.dtype) << word.dtype.type(k * bits)
        return (word,)


# StoreInTurn: several values of an element side by side in memory.


@op
class StoreInTurn(Action):
    """buffer[index * count + k] = values[k]; `streaming` as that of a store."""

    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]
    streaming: bool = False
    stands = EVERYWHERE

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        first = warp.atom(env, self.index) * len(self.values_)
        for k, value in enumerate(self.values_):
            warp.store(env, self.buffer, np.asarray(first + k), warp.atom(env, value))
        return ()


# ThreadMemory: memory of each thread of a block, from one loop over threads to the next.


@op
class ThreadMemory(KernelOp):
    """Memory for `count` elements of each thread: registers, on machines whose lanes are threads.

    It is allowed in code of a block or warp, for loops over at most its threads: thread t of
    each is the same one. `width` is how many lanes a warp has.
    """

    dtype: DType
    count: int
    width: int
    stands = frozenset({"block", "warp"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "local"),)


# Updates of one element in memory that are indivisible, whoever else is at it.


ATOMIC = ("add", "minimum", "maximum", "and", "or", "xor")
"""The functions by which `atomic` combines."""
EXCHANGE = "exchange"
"""What `atomic` does that only replaces."""


@op
class Atomic(Action):
    """buffer[index] = buffer[index] `fn` value, indivisibly; gives what was there before.

    With `exchange`, buffer[index] = value.
    """

    fn: str
    buffer: Var
    index: Atom
    value: Atom
    gives = BY_LANE
    typed_as = "buffer"

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        if self.fn not in (*ATOMIC, EXCHANGE):
            yield f"there is no atomic {self.fn}"


@op
class AtomicUpdate(Action):
    """Element `index` of `buffer` becomes fn(element, values), indivisibly, by any `fn` that
    commutes. An element is one word, or on a CPU two neighbouring u64, aligned as one."""

    fn: Lambda
    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]

    def misfits(self) -> Iterator[str]:
        values = self.values_
        yield from KernelOp.misfits(self)
        yield from operator_misfits(self.fn, types_of(values))
        if len(values) != 1 and (len(values) != 2 or values[0].type is not u64):
            yield f"{len(values)} words are no element"


@op
class LockedUpdate(Action):
    """buffers[index] = fn(buffers[index].., values..), indivisibly, by any `fn` that commutes.

    It runs under the lock of its index: locks[index mod stripes], 1 while it is held. There
    are `stripes` of them, a power of two.
    """

    fn: Lambda
    locks: Var
    stripes: int
    buffers: tuple[Var, ...]
    index: Atom
    values_: tuple[Atom, ...]

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        yield from contents_misfit((self.locks,), (Const(0, u32),))
        yield from operator_misfits(self.fn, types_of(self.values_))
        if self.stripes < 1 or self.stripes & (self.stripes - 1):
            yield f"{self.stripes} locks are no power of two"


# Words that blocks of one launch hand each other: of each store all is seen, or nothing.
#
#     store_whole words 3 [w]             words[3] = w
#     w: i64 = load_whole words 3         what one store has left there, whoever did it
#     store_whole pairs 3 [v, w]          pairs[6] = v, pairs[7] = w, both at once
#
# They order nothing else: a load of the word does not acquire other memory. So
# they take no fence, where a release takes one.


MOST = 2
"""How many words of 64 bits a machine may load or store as a whole."""


@op
class LoadWhole(Action):
    """The `count` words from buffer[index * count] on, as one store has left them; each lane has
    its own index."""

    buffer: Var
    index: Atom
    count: int = 1
    stands = UNIFORM_CODE
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (dtype_in(self.buffer),) * self.count

    def misfits(self) -> Iterator[str]:
        yield from _misfits(self.buffer, self.index, self.count)


@op
class StoreWhole(Action):
    """buffer[index * n + k] = values[k] for all n of them at once; lanes that differ have
    distinct indices."""

    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]
    stands = UNIFORM_CODE

    def misfits(self) -> Iterator[str]:
        yield from _misfits(self.buffer, self.index, len(self.values_))
        yield from contents_misfit((self.buffer,) * len(self.values_), self.values_)


def _misfits(buffer: Var, index: Atom, count: int) -> Iterator[str]:
    yield from index_misfits("the index", (index,))
    yield from contents_misfit((buffer,))
    if dtype_in(buffer) is not i64:
        yield f"words of {dtype_in(buffer)}, not of i64"
    if not 1 <= count <= MOST:
        yield f"{count} words at once: it takes 1 or {MOST}"
