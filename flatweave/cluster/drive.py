"""Runs a divided program: for each step all chunks, then what is exchanged between them.

The client computes small programs itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.errors import ShapeError
from flatweave.base.recording import run
from flatweave.base.schedule import OF_CHUNKS
from flatweave.cluster.chunk_program import LocalProgram, Param, ParamKind
from flatweave.cluster.executor import Chunk, Executor, Folding, Job, Rows, ran
from flatweave.cluster.row_ranges import located_by, spanned_by
from flatweave.cluster.rules import rule_of
from flatweave.cluster.shuffled import brought, exchange_of
from flatweave.cluster.steps import Divided, Exchanged, Local, Part, Whole
from flatweave.cluster.windows import (
    ArrayCache,
    Ends,
    Seen,
    Windows,
    cuts_of_rows,
    one_less,
    runs,
    shorter_by_one,
)
from flatweave.frontend.call.direct import keep
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.call.signature import fingerprint
from flatweave.frontend.values.chunked import Chunked, Piece
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, array_type
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

# What the client computes itself: programs of a few lets, compiled once.
#
# A loop of the client executes the same lets in each iteration, and the code that combines parts
# is generated again for each: programs of one text from the same lines are one.


FEW = 1 << 12
"""Up to this number of elements the interpreter runs functions, which saves compilation."""

_MADE: dict[Any, Any] = {}


def program_of(let: Let) -> Program:
    """A let as a program of what it reads."""
    params = sorted(free_vars(let.op), key=lambda var: isinstance(var.type, ArrayType))
    return Program("client", Lambda(tuple(params), (let,), let.vars))


def computed(program: Program, args: Sequence[Any]) -> list[Any]:
    """A program on values of the client: of scalars by the interpreter, else compiled."""
    types = [atom.type for atom in (*program.fn.params, *program.fn.results)]
    lets = program.fn.lets
    if any(isinstance(type_, ArrayType) for type_ in types) or any(lambdas_in(x.op) for x in lets):
        return run(program.name, _compiled(program), list(args))
    return interp.run(program, args)


def called(name: str, fn: Lambda, beside: Sequence[Var], args: Sequence[Any]) -> list[Any]:
    """A function on values for what it reads from outside, then for its parameters."""
    params = [*beside, *fn.params]
    order = sorted(range(len(params)), key=lambda k: isinstance(params[k].type, ArrayType))
    closed = Lambda(tuple(params[k] for k in order), fn.lets, fn.results)
    given = [args[k] for k in order]
    program = Program(name, closed)
    few = sum(map(np.size, given)) <= FEW
    return interp.run(program, given) if few else computed(program, given)


def _compiled(program: Program) -> Any:
    lines = tuple(let.where for let in walk_lets(program.fn))
    key = config.cpu, program.name, fingerprint(program.fn), lines
    made = _MADE.get(key)
    if made is None:
        made = compile_program(program, "cpu", True, OF_CHUNKS)
        keep(_MADE, key, made)
    return made


# Runs a divided program: for each step all chunks, then what is exchanged between them.
#
# results_of(divided, place, args)      args: numbers, arrays, and Chunked for arrays in chunks


class TooLarge(Exception):
    """An array in chunks that would go to every chunk as a whole, and need not."""

    def __init__(self, array: Var) -> None:
        super().__init__(array)
        self.array = array


def results_of(
    divided: Divided, place: Executor, args: Sequence[Any], known: ArrayCache | None = None
) -> list[Any]:
    """A program's results: values, and Chunked for those that are in chunks.

    Arrays that are read at computed indices go to every chunk; those that prove too large
    are asked of their owners, for which the program is divided once more and begins anew.
    """
    known = known or ArrayCache()
    pairs = zip(divided.params, args, strict=True)
    read = [(var, xs) for var, xs in pairs if var in divided.read_anywhere]
    large = [var for var, xs in read if not place.replicates(xs.nbytes)]
    while True:
        try:
            return Drive(divided.by_owner(large), place, known).results(args)
        except TooLarge as found:
            divided.large.add(found.array)


class Drive:
    """One run: what is whole, what is in chunks, and how each space is cut."""

    def __init__(self, divided: Divided, place: Executor, known: ArrayCache | None = None) -> None:
        self.divided = divided
        self.place = place
        self.whole: dict[Var, Any] = {}
        self.chunks: dict[Var, Chunked] = {}
        self.bounds: dict[Atom, tuple[int, ...]] = {}
        self.given: dict[Var, list[list[Any]]] = {}
        self._known = known or ArrayCache()
        self._ends = Ends(place, self._known)
        self._windows = Windows(
            divided, self.chunks, self.whole, place, self._known, self._ends
        )  # fmt: skip

    def results(self, args: Sequence[Any]) -> list[Any]:
        """The program's results: values, and Chunked for those that are in chunks."""
        for param, arg in zip(self.divided.params, args, strict=True):
            if param in self.divided.split:
                self._keep(param, arg)
            else:
                self.whole[param] = arg
        for step, made in zip(self.divided.steps, self.divided.programs, strict=True):
            match step:
                case Whole():
                    self._client(step)
                case Exchanged():
                    self._exchange(step)
                case Local():
                    self._chunks(step, made)
        return [self.value(atom) for atom in self.divided.results]

    # -- what rules ask ---------------------------------------------------------------------------

    def value(self, atom: Atom) -> Any:
        if isinstance(atom, Const):
            return np.asarray(atom.value, atom.dtype.numpy)[()]
        return self.chunks[atom] if atom in self.chunks else self.whole[atom]

    def entire(self, atom: Atom) -> Any:
        found = self.value(atom)
        return found.load(0, len(found)) if isinstance(found, Chunked) else found

    def call(self, name: str, fn: Lambda, args: Sequence[Any]) -> list[Any]:
        beside = free_vars(fn)
        return called(name, fn, list(beside), [*map(self.entire, beside), *args])

    def brought(self, arrays: Sequence[Any], parts: Sequence[Part]) -> list[list[Any]]:
        return brought(self.place, arrays, parts)

    # -- the client -------------------------------------------------------------------------------

    def _client(self, step: Whole) -> None:
        """Lets over what is whole."""
        for let in step.lets:
            program = program_of(let)
            args = [self.entire(var) for var in program.fn.params]
            self.whole.update(zip(let.vars, computed(program, args), strict=True))
            longer = shorter_by_one(let.op)
            if longer in self.bounds:
                self.bounds[let.vars[0]] = one_less(self.bounds[longer])

    def _exchange(self, step: Exchanged) -> None:
        exchange = exchange_of(step.let.op)
        assert exchange is not None
        for var, value in exchange.run(self, step.let, step.made).items():
            if var in self.divided.split:
                self._keep(var, value)
            else:
                self.whole[var] = value

    def run(self, divided: Divided, args: Sequence[Any]) -> list[Any]:
        """The results of a body, for exchanges."""
        return results_of(divided, self.place, args, self._known)

    # -- chunks -----------------------------------------------------------------------------------

    def _chunks(self, step: Local, made: LocalProgram) -> None:
        bounds = self._bounds(step)
        chunks = [Chunk(k, begin, end) for k, (begin, end) in enumerate(pairwise(bounds))]
        folding = Folding(self, step, made, len(chunks))
        stored: list[list[Any]] = []
        tasks = (Job(c, self._arguments(step, made, c)) for c in chunks if c.begin < c.end)
        read = [p.of for p in made.params if p.kind is ParamKind.ROWS and p.of in self.chunks]
        size = sum(self.chunks[var].nbytes for var in read if var is not None)
        found = ran(self.place, made, tasks, size)
        for chunk in chunks:
            results = next(found)[1] if chunk.begin < chunk.end else []
            if results:
                stored.append(results[: len(step.stores)])
            folding.add(chunk, results)
        rows = [chunk.end - chunk.begin for chunk in chunks if chunk.begin < chunk.end]
        for k, var in enumerate(step.stores):
            self._store(var, [self.place.piece(x[k], n) for x, n in zip(stored, rows, strict=True)])
        for let, parts in zip(step.folds, folding.parts(), strict=True):
            self._fold(let, parts, rows)

    def _fold(self, let: Let, parts: Sequence[Sequence[Any]], rows: Sequence[int]) -> None:
        """A fold of a step whose chunks have these numbers of rows, those without any left out."""
        rule = rule_of(let.op)
        assert rule is not None
        self.whole.update(rule.whole(self, let, parts))
        if rule.stays:
            self.given[let.vars[0]] = rule.missing(self, let, parts)
        for var, k, count in rule.keeps(let):
            found = [
                self.place.piece(part[k], own if count is None else int(part[count]))
                for part, own in zip(filter(None, parts), rows, strict=True)
            ]
            self._store(var, found)

    def _store(self, var: Var, pieces: Sequence[Piece]) -> None:
        type_ = array_type(var)
        row = tuple(int(self.value(extent)) for extent in type_.shape[1:])
        self._keep(var, Chunked.of(pieces, type_.dtype.numpy, row))

    def _keep(self, var: Var, array: Chunked) -> None:
        self.chunks[var] = array
        self.bounds.setdefault(array_type(var).shape[0], array.bounds)

    def _bounds(self, step: Local) -> tuple[int, ...]:
        """Where a space is cut: as the first array over it, or as the largest that is read."""
        if step.space not in self.bounds:
            self.bounds[step.space] = self._bounds_of(step, int(self.value(step.space)))
        return self.bounds[step.space]

    def _bounds_of(self, step: Local, extent: int) -> tuple[int, ...]:
        lets = (*step.lets, *step.folds)
        read = [v for let in lets for v in free_vars(let.op) if v in self.chunks]
        largest = max((self.chunks[v] for v in read), key=lambda xs: xs.nbytes, default=None)
        cuts = largest.bounds if largest is not None else (0,)
        located, spanned = located_by(step), spanned_by(step)
        if located and located[0] in self.chunks:
            return self._ends.cuts(self.chunks[located[0]], extent)
        if spanned is not None:
            return cuts_of_rows(self.value(spanned), cuts)
        return (0, *_cuts_within(cuts, extent), extent)

    def _arguments(self, step: Local, made: LocalProgram, chunk: Chunk) -> list[Any]:
        """What the program takes for one chunk."""
        windows = self._windows.of(step, made, chunk.begin, chunk.end)
        return [self._argument(param, *chunk, windows) for param in made.params]

    def _argument(
        self, param: Param, number: int, begin: int, end: int,
        windows: Seen,
    ) -> Any:  # fmt: skip
        kind, var = param.kind, param.of
        if kind is ParamKind.BEGIN:
            return begin
        if kind is ParamKind.COUNT:
            return end - begin
        if kind is ParamKind.ENTRIES:
            return end - begin + 1
        assert var is not None
        if kind is ParamKind.OFFSETS:
            return self._rows(var, begin, end + 1)
        if kind in (ParamKind.FIRST, ParamKind.TOTAL, ParamKind.ALONG):
            return self._elements(param, begin, end)
        if kind is ParamKind.GIVEN:
            return self.given[var][number][param.number]
        if kind is ParamKind.ROWS:
            return self._rows(var, begin, end)
        if kind is ParamKind.WHOLE:
            return self.shared(var)
        least, most = windows.rows[var]
        if kind is ParamKind.LEAST:
            return least if param.along is None else windows.zeros[var][param.along]
        if kind is ParamKind.BASE:
            return self._ends.begin(self.value(var), least)
        if kind is ParamKind.EXTENT:
            return most - least
        array = self.chunks.get(var)
        if array is None:
            return self.whole[var][least:most]
        if (least, most) == (0, len(array)) and len(array.pieces) > 1:
            return self.shared(var)
        return Rows.of(array, *runs(least, most, len(array)), separate=True)

    def _elements(self, param: Param, begin: int, end: int) -> Any:
        """Of rows of varying lengths their elements, where these begin, or how many there are."""
        assert param.of is not None
        offsets = self.value(param.along or param.of)
        first, last = (self._ends.entry(offsets, k) for k in (begin, end))
        if param.kind is ParamKind.ALONG:
            if not first <= last <= len(self.value(param.of)):
                raise _no_offsets(last, len(self.value(param.of)))
            return self._rows(param.of, first, last)
        return first if param.kind is ParamKind.FIRST else last - first

    def _rows(self, var: Var, begin: int, end: int) -> Any:
        array = self.chunks.get(var)
        if array is None:
            return self.whole[var][begin:end]
        return Rows.of(array, (begin, end))

    def shared(self, var: Var) -> Any:
        """A value of the client, or an array in chunks that every chunk needs all of."""
        if not isinstance(var.type, ArrayType):
            return self.whole[var]
        array = self.chunks.get(var)
        if array is not None:
            if var in self.divided.read_anywhere and not self.place.replicates(array.nbytes):
                raise TooLarge(var)
            every = Rows.of(array, (0, len(array)))
            return self._known.of("shared", array, lambda: self.place.share(every))
        value = np.ascontiguousarray(self.whole[var])
        return self._known.of("shared", self.whole[var], lambda: self.place.share(value))


def _no_offsets(last: int, total: int) -> ShapeError:
    """The error for offsets that nobody could look at before."""
    return ShapeError(
        f"the offsets of ragged must rise to the number of values, got {last} for {total} values.",
        remedy="Give where each row begins in values, and then where the last one ends.",
    )


def _cuts_within(cuts: Sequence[int], extent: int) -> list[int]:
    """The cuts of an extent: at the same rows as the array that is read; if it has many more or
    fewer rows, as after a reshape, at the same fractions."""
    rows = cuts[-1]
    if rows and not rows <= 2 * extent <= 4 * rows:
        cuts = sorted({cut * extent // rows for cut in cuts})
    return [cut for cut in cuts if 0 < cut < extent]
