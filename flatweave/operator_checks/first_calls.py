"""Operators tried in the first calls of a program, until each has met elements that say something.

    checks = FirstCalls(program)
    checks(args)        before a call; raises Broken

    ys = map f xs                  the first elements of ys are f of those of xs
    s  = scan op ne ys             op is tried on them

Arrays are computed element by element, as they are needed (`lazy_interp.py`). That all is well is
remembered on disk, for the next process.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.syntax import Program, print_program
from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.operator_checks.in_kernels import (
    FAILED,
    Array,
    FirstBlocks,
    Unknown,
    elements,
    read,
    readable,
    row_of,
    unraveled,
)
from flatweave.operator_checks.laws import Broken
from flatweave.operator_checks.lazy_interp import STEPS, LazyInterp
from flatweave.ops import CallKernel, Generate, Map, Nest, Permute, Reduce, ReduceSegments, Scan
from flatweave.runtime.cache import facts, process_cache
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.control import For, If, While
from flatweave.terms.operators import is_lawful
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op
from flatweave.terms.traverse import free_vars, needed_for

FOR_EVER = 2**62  # calls


class FirstCalls:
    """What is left to try of a program's operators.

    Until tries have evaluated as many lets as one may, every call makes one; then those calls whose
    number is a power of two. `untried` is how many calls go by before the next try: whoever makes
    one of these counts it.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._calls = self._spent = 0
        self.untried = ctypes.c_int64(0)
        self.is_done = False
        if not program.unproven:
            self._finish()
        self._name = ""
        self._untried: Untried | None = None

    def __call__(self, args: Sequence[Any]) -> None:
        """Try the operators on a call's arguments; raises Broken."""
        if self.untried.value > 0:
            self.untried.value -= 1
            return
        self._calls += 1
        if self._calls == 1 and self._is_remembered():
            self._finish()
            return
        try:
            is_done = self._try(args)
        except Broken:
            self._calls = self._spent = 0  # the next call with these elements fails as well
            raise
        if is_done:
            self._finish()
            if self._name:
                process_cache().put(self._name, b"1")
        elif self._spent > STEPS:
            number = (1 << self._calls.bit_length()) - 1  # the last call before the next try
            self.untried.value = number - self._calls
            self._calls = number

    def _finish(self) -> None:
        """Try nothing any more."""
        self.is_done, self.untried.value = True, FOR_EVER

    def _try(self, args: Sequence[Any]) -> bool:
        """Try the operators that have not met elements that count; whether none is left."""
        if self._untried is None:
            self._untried = Untried(self._program)
        sampler = Sampler(self._program, [readable(arg) for arg in args], self._untried)
        sampler.run()
        self._spent += sampler.spent
        return sampler.is_done

    def _is_remembered(self) -> bool:
        if config.no_cache or not facts():
            return False
        text = f"operators hold\0{facts()}\0{print_program(self._program)}"
        self._name = hashlib.sha256(text.encode()).hexdigest()
        return process_cache().get(self._name) is not None


FIRST, MORE = 64, 16  # elements from the start, and from the middle and the end
FEW = 8  # where those take long, or there are fewer
SHARE = 2  # evaluating the elements may take 1 / SHARE of the remaining lets
ROWS = 3  # elements where each is an array; rows of a map, iterations of a loop
WRITES = 64
IN_KERNELS = 2  # lets that take as long as one in the simulator


def _positions(size: int | None) -> Iterator[Value]:
    """Where elements are read, until that is known of all of them."""
    if size is None or size > FIRST + 2 * MORE:
        first = np.arange(FIRST)
        if size is not None:
            yield np.concatenate(
                [first, np.arange(size // 2, size // 2 + MORE), np.arange(size - MORE, size)]
            )
        yield first
    else:
        yield np.arange(size)
    for count in (FEW, 3):
        if size is None or count < size:
            yield np.arange(count)
    if size is not None and size > FEW:
        yield np.arange(size - FEW, size)


TRIED = (Reduce, Scan, ReduceSegments, Permute, CallKernel)
ENTERED = (Map, Generate, Nest, For, While, If)
LOOKED_AT = frozenset([*TRIED, *ENTERED])


class Untried:
    """The operators of a program that have not met elements that count, and where they are.

    It is kept from call to call; calls on several threads may use it at once.
    """

    def __init__(self, program: Program) -> None:
        self._lines = {line.instruction for line in program.unproven}
        self.around: set[Let] = set()  # the lets whose functions have some
        self.slices: dict[tuple[Lambda, bool], list[tuple[Let, bool]]] = {}
        self.batched: dict[Lambda, bool] = {}
        self.lets = dict.fromkeys(self._found_in(program.fn))

    def _found_in(self, fn: Lambda) -> list[Let]:
        """The lets of a body whose operators are tried, in the order of the program."""
        found: list[Let] = []
        for let in fn.lets:
            if type(let.op) not in LOOKED_AT:
                continue
            inside = [each for inner in bodies(let.op) for each in self._found_in(inner)]
            if self._is_tried(let):
                found.append(let)
            elif inside:
                self.around.add(let)
                found += inside
        return found

    def _is_tried(self, let: Let) -> bool:
        if not isinstance(let.op, TRIED) or let.where is None:
            return False
        if isinstance(let.op, CallKernel):
            return let.op.program.tried is not None
        known = isinstance(let.op, Reduce) and let.op.known
        return not known and let.where.instruction in self._lines

    def slice(self, fn: Lambda, whole: bool) -> list[tuple[Let, bool]]:
        """The lets of a body that are needed to try the operators in it, and which are read."""
        if (fn, whole) not in self.slices:
            chosen = {let for let in fn.lets if let in self.lets or let in self.around}
            roots = [var for let in fn.lets if let in chosen for var in free_vars(let.op)]
            read = set(needed_for(fn.lets, [*roots, *(fn.results if whole else ())]))
            self.slices[fn, whole] = [
                (let, let in read) for let in fn.lets if let in read or let in chosen
            ]
        return self.slices[fn, whole]


def bodies(op: Op) -> Sequence[Lambda]:
    """The functions of an operation that are entered."""
    match op:
        case Map(fn=fn) | Generate(fn=fn) | Nest(fn=fn) | For(body=fn) | While(body=fn):
            return (fn,)
        case If(then=then, other=other):
            return (then, other)
    return ()


class Sampler(LazyInterp):
    """Tries those operators of a program that calls at certain lines were given."""

    def __init__(
        self, program: Program, given: Sequence[Any], untried: Untried | None = None
    ) -> None:
        super().__init__()
        self.program = program
        self._untried = untried or Untried(program)
        self._batched = self._untried.batched
        self._root = Env()
        for param, value in zip(program.fn.params, given, strict=True):
            if value is not None:
                self._root.values[param] = (
                    np.asarray(value, param.type.numpy) if isinstance(param.type, DType) else value
                )

    @property
    def is_done(self) -> bool:
        """Whether every operator has been tried on elements that count."""
        return not self._untried.lets

    @property
    def spent(self) -> int:
        """How many lets the last run evaluated, and one more."""
        return 1 + STEPS - self.lets_left

    def run(self) -> None:
        """Try the operators that have not been tried; raises Broken."""
        self.lets_left = STEPS
        with suppress(Unknown), np.errstate(all="ignore"):
            self._visit(self._root, self.program.fn)

    # -- bodies -----------------------------------------------------------------------------------

    def _visit(self, env: Env, fn: Lambda, whole: bool = False) -> None:
        """Evaluate what is needed of a body, and try the operators in it."""
        for let, is_read in self._untried.slice(fn, whole):
            if let in self._untried.around or let in self._untried.lets:
                try:
                    if let in self._untried.lets:
                        self._try(env, let)
                    else:
                        self._enter(env, let.op)
                except Broken as broken:
                    broken.where = broken.where or let.where
                    raise
                except FAILED:
                    pass
            if is_read:
                self._let(env, let)

    def _enter(self, env: Env, op: Op) -> None:
        """Try the operators inside the functions of an operation, on its first elements."""
        match op:
            case Map(fn=fn, xs=xs, depth=1):
                rows = self._arrays(env, xs)
                self._rows(env, fn, rows[0].shape[0], lambda i: [row_of(x, i) for x in rows])
            case Generate(shape=shape, fn=fn):
                extents = [self._extent(env, extent) for extent in shape]
                known = [extent for extent in extents if extent is not None]
                count = math.prod(known) if len(known) == len(extents) else None
                self._rows(env, fn, count, lambda i: [
                    np.asarray(k) for k in unraveled(tuple(extents), np.asarray(i))
                ])  # fmt: skip
            case Nest(count=count_, fn=fn):
                count = self._extent(env, count_)
                self._rows(env, fn, count, lambda i: [np.asarray(i)])
            case If(condition=condition, then=then, other=other):
                holds = bool(self.atom(env, condition))
                self._visit(env.inner(), then if holds else other)
            case For(lo=lo, hi=hi, step=step, body=body, init=init):
                state: Sequence[Any] = self.atoms(env, init)
                first, last, by = (int(self.atom(env, x)) for x in (lo, hi, step))
                for i in range(first, min(last, first + ROWS * by), by):
                    state = self._turn(env, body, [np.asarray(i), *state])
            case While(condition=condition, body=body, init=init):
                state = self.atoms(env, init)
                for _ in range(ROWS):
                    if not self.call(env, condition, state)[0]:
                        return
                    state = self._turn(env, body, state)

    def _rows(
        self, env: Env, fn: Lambda, count: int | None, row: Callable[[int], Sequence[Any]]
    ) -> None:
        """The first calls of an element function that works on arrays."""
        for i in range(ROWS if count is None else min(count, ROWS)):
            inside = env.inner()
            inside.values.update(zip(fn.params, row(i), strict=True))
            self._visit(inside, fn)

    def _turn(self, env: Env, body: Lambda, state: Sequence[Any]) -> Values:
        """The state after one iteration of a loop."""
        inside = env.inner()
        inside.values.update(zip(body.params, state, strict=True))
        self._visit(inside, body, whole=True)
        return self.atoms(inside, body.results)

    # -- operators --------------------------------------------------------------------------------

    def _try(self, env: Env, let: Let) -> None:
        """Try one operator; it is done where that counts."""
        op = let.op
        if isinstance(op, CallKernel):
            counts = self._try_kernel(env, op)
        elif isinstance(op, Permute):
            counts = self.try_writes(env, op) or is_lawful(op.fn)
        else:
            assert isinstance(op, Reduce | Scan | ReduceSegments)
            arrays = self._arrays(env, op.xs)
            flags = op.starts if isinstance(op, Scan) else ()
            flags = (op.starts,) if isinstance(op, ReduceSegments) else flags
            columns, begins = self.neighbours(op.fn, arrays, self._arrays(env, flags))
            count = begins.size
            if not (isinstance(op, Scan) and op.reverse):
                columns, begins = self.after_initial(env, op.neutral, columns, begins)
            counts = self.associates(
                env, op.fn, columns, begins, initial=begins.size - count
            )
        if counts:
            self._untried.lets.pop(let, None)

    def _try_kernel(self, env: Env, op: CallKernel) -> bool:
        """Try the operators of a kernel where its first blocks meet them."""
        tries = FirstBlocks(op.program.tried, self.lets_left // IN_KERNELS)
        try:
            return tries.run(self._arrays(env, op.args))
        finally:
            self.lets_left -= IN_KERNELS * tries.spent

    # -- elements of operators ---------------------------------------------------------------------

    def neighbours(
        self, fn: Lambda, arrays: Sequence[Array], flags: Sequence[Array]
    ) -> tuple[Values, Value]:
        """A few elements, and where one of them has no neighbour before it."""
        shape = arrays[0].shape
        if any(isinstance(param.type, ArrayType) for param in fn.params):
            return self._few_rows(arrays, flags)
        size = arrays[0].size
        for at in _positions(size):
            indices = unraveled(shape, at)
            with suppress(Unknown), self.within(SHARE):
                columns = tuple([elements(x, indices) for x in arrays])
                begins = np.diff(at, prepend=-2) != 1
                for flag in flags:
                    begins |= elements(flag, indices if flag.ndim == len(shape) else [at])
                return columns, begins
        raise Unknown

    def after_initial(
        self, env: Env, initial: Sequence[Atom], columns: Values, begins: Value
    ) -> tuple[Values, Value]:
        """The elements with the initial one before them, where it is known."""
        try:
            first = tuple(map(self._whole, self.atoms(env, initial)))
        except Unknown:
            return columns, begins
        pairs = list(zip(first, columns, strict=True))
        if not begins.size or any(f.shape != x.shape[1:] for f, x in pairs):
            return columns, begins
        joined = tuple(np.concatenate([f[None], x]) for f, x in pairs)
        return joined, np.concatenate([[True, False], begins[1:]])

    def _few_rows(
        self, arrays: Sequence[Array], flags: Sequence[Array]
    ) -> tuple[Values, Value]:
        """The first elements, of which some are arrays."""
        count = ROWS if arrays[0].shape[0] is None else min(ROWS, arrays[0].shape[0])
        rows = [[self._whole(row_of(x, i)) for i in range(count)] for x in arrays]
        begins = np.arange(count) == 0
        for flag in flags:
            begins |= elements(flag, [np.arange(count)])
        return tuple(np.stack(row) for row in rows if row), begins

    def try_writes(self, env: Env, op: Permute) -> bool:
        """Try what meets at one index: what is there, then what is written, in order."""
        targets, values = self._arrays(env, op.dest), self._arrays(env, op.xs)
        (indices,) = self._arrays(env, (op.indices,))
        extent, count = targets[0].shape[0], indices.shape[0]
        if extent is None:
            raise Unknown
        at = np.arange(WRITES if count is None else min(count, WRITES))
        index = elements(indices, [at])
        inside = (index >= 0) & (index < extent)
        if not inside.any():
            return False
        # the elements that are written to, renumbered
        places, index = np.unique(index[inside], return_inverse=True)
        there = tuple(read(x, [places]) for x in targets)
        written = tuple(elements(x, [at[inside]]) for x in values)
        columns, begins = operators.met(there, index, written)
        if op.neutral:
            self.is_neutral(env, op.fn, self.atoms(env, op.neutral), columns)
        return self.associates(env, op.fn, columns, begins, commutes=True)
