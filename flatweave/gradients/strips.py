"""Reverse mode of a loop whose states would not fit into memory: some are saved, others again.

    s = for 0 n (i, s => f i s) s0
        ==>
    s, starts, tape = for 0 chunks (c, s, starts, tape =>      starts = starts with s at c
        s, tape = for 0 (length c) (j, s, tape => .. f (c chunk + j) s, tape with s at j) s
        in s, starts, tape) s0
    s' = for 0 chunks (q, s', tape =>                          c = chunks - 1 - q
        tape = for 0 (if q == 0 then 0 else length c) (..) starts[c]
        s' = for 0 (length c) (k, s' => s = tape[length c - 1 - k], .. f' s') s'
        in s', tape) s'0

Where all states fit, there is one chunk: nothing is computed again. Where they do not, there are
as many chunks as a chunk has iterations, and the tape is that of one chunk: two levels of
strip-mining (Griewank and Walther, Evaluating Derivatives, chapter 12). The last chunk's tape is
still there when the way back begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flatweave.base.config import config
from flatweave.base.dtypes import f64, i64
from flatweave.base.records import record
from flatweave.gradients.control import Loop, state_params
from flatweave.gradients.values import chosen, dtype_of, owned, part_of, shape_of, with_part, zero
from flatweave.runtime.systems import system
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Var, types_of

Atoms = Sequence[Atom]
Counter = Callable[[Builder, Loop, Atom], Atom]


def most_bytes() -> int:
    """What a tape may take: a quarter of memory, unless the schedule says it. A power of two, so
    that machines of about one size have one program."""
    if config.schedule.tape is not None:
        return config.schedule.tape
    return 1 << (system().memory() // 4).bit_length() - 1


@record
class Strips:
    """A loop of `count` iterations in chunks; the tape holds the states of one chunk."""

    op: Loop
    counter: Counter
    saved: tuple[int, ...]
    count: Atom
    chunk: Atom
    chunks: Atom
    sizes: tuple[Atom, ...]  # of each part of the state

    def length(self, b: Builder, base: Atom) -> Atom:
        """How many iterations the chunk has that begins at one."""
        return b.apply("minimum", b.sub(self.count, base), self.chunk)

    def room(self, b: Builder, parts: Iterable[int], count: Atom) -> list[Atom]:
        """Zeroed arrays for parts of `count` states."""
        dtypes = [dtype_of(atom.type) for atom in self.op.init]
        return [zero(b, ArrayType(dtypes[k], (b.mul(count, self.sizes[k]),))) for k in parts]

    def run(self, b: Builder, base: Atom, count: Atom, state: Atoms, tapes: Atoms) -> Sequence[Var]:
        """The state after some iterations from `base` on, and the tape with those before them."""
        width = len(state)

        def step(inner: Builder, j: Var, *at: Var) -> Atoms:
            written = [
                with_part(inner, tape, inner.mul(j, self.sizes[k]), at[k], self.sizes[k])
                for k, tape in zip(self.saved, at[width:], strict=True)
            ]
            i = inner.add(base, j)
            counter = [self.counter(inner, self.op, i)] if isinstance(self.op, For) else []
            after = inner.inline(self.op.body, [*counter, *at[:width]])
            return [*(owned(inner, atom) for atom in after), *written]

        fn = b.function([i64, *types_of((*state, *tapes))], step, optional=True)
        return b.emit(For(index(0), count, index(1), fn, (*state, *tapes)))

    def forward(self, b: Builder) -> For:
        """The loop: its state, the states before chunks, and the last chunk's tape."""
        width = len(self.op.init)
        starts = self.room(b, range(width), self.chunks)
        tapes = self.room(b, self.saved, self.chunk)

        def step(inner: Builder, c: Var, *at: Var) -> Atoms:
            base = inner.mul(c, self.chunk)
            state, rest = at[:width], at[width:]
            begun = [
                with_part(inner, tape, inner.mul(c, size), value, size)
                for tape, size, value in zip(rest, self.sizes, state, strict=False)
            ]
            made = self.run(inner, base, self.length(inner, base), state, rest[len(begun) :])
            return [*made[:width], *begun, *made[width:]]

        init = (*self.op.init, *starts, *tapes)
        fn = b.function([i64, *types_of(init)], step, optional=True)
        return For(index(0), self.chunks, index(1), fn, init)

    def start(self, b: Builder, c: Atom, starts: Atoms) -> list[Atom]:
        """The state before a chunk."""
        each = zip(starts, self.sizes, self.op.init, strict=True)
        return [part_of(b, tape, b.mul(c, size), shape_of(like)) for tape, size, like in each]

    def back(
        self, b: Builder, starts: Atoms, tapes: Atoms, given: Atoms,
        step: Callable[[Atom, Atom, Atoms], Lambda],
    ) -> Sequence[Var]:  # fmt: skip
        """The cotangents before the loop. `step` takes a chunk's first iteration, its length and
        its tape, and gives the reverse step of one iteration."""
        width = len(given)

        def turn(inner: Builder, q: Var, *at: Var) -> Atoms:
            c = inner.sub(inner.sub(self.chunks, index(1)), q)
            base = inner.mul(c, self.chunk)
            length = self.length(inner, base)
            again = chosen(inner, inner.apply("eq", q, index(0)), index(0), length)
            state = self.start(inner, c, starts)
            tape = self.run(inner, base, again, state, at[width:])[len(state) :]
            loop = For(index(0), length, index(1), step(base, length, tape), at[:width])
            return [*inner.emit(loop), *tape]

        init = (*given, *tapes)
        fn = b.function([i64, *types_of(init)], turn, optional=True)
        return b.emit(For(index(0), self.chunks, index(1), fn, init))


def strips(
    b: Builder, op: Loop, counter: Counter, saved: Sequence[int], count: Atom
) -> Strips | None:
    """How to divide a loop; None where its states are known to fit."""
    sizes = tuple(b.product(shape_of(param)) for param in state_params(op))
    each: Atom = index(0)
    for k in saved:
        each = b.add(each, b.mul(sizes[k], index(dtype_of(op.init[k].type).bytes)))
    room = b.apply("floordiv", index(most_bytes()), b.apply("maximum", count, index(1)))
    fits = b.apply("le", each, room)
    if not saved or (isinstance(fits, Const) and fits.value):
        return None
    root = b.cast(b.apply("ceil", b.apply("sqrt", b.cast(count, f64))), i64)
    chunk = b.apply("maximum", chosen(b, fits, count, root), index(1))
    chunks = b.ceil_div(count, chunk)
    return Strips(op, counter, tuple(saved), count, chunk, chunks, sizes)
