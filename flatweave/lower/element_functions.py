"""Element functions in kernel IR: scalar work, reads with their checks, control, inner folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.algorithms.loops import Search, long_fold, search_words
from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import bool_, i64, u8, u64
from flatweave.base.plan import CHECK_ERROR, INDEX_ERROR, Site
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import Values
from flatweave.kernel_ir.memory_ops import LoadWord, Prefetch
from flatweave.kernel_ir.syntax import Load, LoadNear, Report
from flatweave.lower.element_loops import (
    FailingLoops,
    fold_in_bytes,
    fold_in_lanes,
    fold_in_order,
    place_in_order,
)
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import WIDEST, Machine
from flatweave.lower.schedule.facts import Part, Word
from flatweave.lower.traverse import row_lookup
from flatweave.lower.traverse.steps import Position, Tile
from flatweave.ops import Check, Fold, Index, Locate
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, scalar_type

# -- Neighbouring positions divided by a constant: few quotients, and near each other --------------
#
#     positions 22 .. 29 by 3:    first = 22 // 3 = 7    rest = 22 - 7 * 3 = 1
#                                 dividends = rest + lane    1 2 3 4 5 6 7 8
#                                 offsets = dividends // 3   0 0 1 1 1 2 2 2
#                                 quotients = first + offsets
#
# Only one number is divided; the offsets of a step are so small that a product and a shift compute
# them. Elements at the quotients are close in memory, so one load reads them for all lanes.


FRACTION = (2 * WIDEST * WIDEST).bit_length()
"""Fraction bits of a reciprocal: exact for divisors and dividends below 2 * WIDEST."""


@record
class Quotient:
    """The quotient of each position of a step, its remainder, and the same as near numbers."""

    quotient: Atom
    remainder: Atom
    near: row_lookup.Near


def divide(b: Builder, base: Atom, flat: Atom, width: int, divisor: int) -> Quotient:
    """The positions `flat`, on lanes from `base` on, divided by a constant above 1."""
    by = index(divisor)
    first = b.apply("floordiv", base, by)
    start = b.mul(first, by)
    places = b.sub(flat, start)
    offsets = _small_quotient(b, places, width, divisor)
    last = b.sub(b.add(base, index(width - 1)), start)
    span = _small_quotient(b, last, width, divisor)
    remainder = b.sub(places, b.mul(offsets, by))
    return Quotient(b.add(first, offsets), remainder, row_lookup.Near(first, offsets, span))


def _small_quotient(b: Builder, place: Atom, width: int, divisor: int) -> Atom:
    """`place // divisor`, for `0 <= place < divisor + width`."""
    if divisor >= width:
        return b.cast(b.apply("ge", place, index(divisor)), i64)
    if divisor & (divisor - 1) == 0:
        return b.apply("shr", place, index(divisor.bit_length() - 1))
    reciprocal = index(-(-(1 << FRACTION) // divisor))
    return b.apply("shr", b.mul(place, reciprocal), index(FRACTION))


def divisor_of(atom: Atom) -> int | None:
    """The constant that positions are divided by so; None for any other."""
    return int(atom.value) if isinstance(atom, Const) and int(atom.value) > 1 else None


class Elements:
    """Emits the lets of an element function; `env` maps the program's variables to kernel atoms.

    Evaluation continues after a failed check, although nothing is safe there: loops run no
    iterations, and reads are at 0. `failed` is that condition in the body that is being emitted.

    `fold_width` is how many lanes share one inner fold: 1 runs it in sequence in each lane, more
    run one element at a time with its fold spread over the lanes, where no lanes are around it.
    """

    def __init__(
        self, kernel: KernelBuilder, position: Atom, checks: bool, fold_width: int = 1
    ) -> None:
        self.kernel = kernel
        self.position = position
        self.checks = checks
        self.fold_width = fold_width
        self.machine: Machine | None = None
        self.own: tuple[Atom, ...] = ()
        self.shape: tuple[Atom, ...] = ()
        self.tile: Tile | None = None
        self.located: Locate | None = None
        self.row: row_lookup.RowOf | None = None
        self.step: Position | None = None
        self._quotients: dict[Atom, Quotient] = {}
        self.ahead = False
        self.furthest: tuple[Index, ...] = ()
        self.parts: Mapping[Var, Part] = {}
        self.searches: Mapping[Var, Search] = {}
        self.even_folds: Sequence[Fold] = ()
        self.env: dict[Var, Atom] = {}
        self.failed: Atom = Const(False, bool_)
        self._depth = 0
        self.loops = FailingLoops()

    def atom(self, atom: Atom) -> Atom:
        if not isinstance(atom, Var):
            return atom
        if atom not in self.env:
            self.env[atom] = self.kernel.scalar(atom)
        return self.env[atom]

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.atom(atom) for atom in atoms)

    def emit(self, b: Builder, lets: Sequence[Let]) -> None:
        loaded: dict[Word, Atom] = {}
        for let in lets:
            b.where = let.where or b.where
            part = self.parts.get(let.vars[0]) if let.vars else None
            found = self._emit(b, let) if part is None else (part_of(self, b, let, part, loaded),)
            self.env.update(zip(let.vars, found, strict=True))

    def call(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of an element function on kernel atoms, its body emitted here."""
        self.env.update(zip(fn.params, args, strict=True))
        self._depth += 1
        self.emit(b, fn.lets)
        self._depth -= 1
        return self.atoms(fn.results)

    def call_separately(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The same in a body whose checks are not known outside of it."""
        failed = self.failed
        found = self.call(b, fn, args)
        self.failed = failed
        return found

    def function(self, b: Builder, fn: Lambda) -> Lambda:
        """An element function as a lambda of the kernel IR."""
        inside, failed = b.inner(), self.failed
        params = [inside.param(p.name, p.type) for p in fn.params]
        made = inside.close(params, self.call(inside, fn, params))
        self.failed = failed
        return made

    def _unless_failed(self, b: Builder, value: Atom, otherwise: Atom) -> Atom:
        """The value, or `otherwise` after a failed check."""
        return b.apply("select", self.failed, otherwise, value)

    def _emit(self, b: Builder, let: Let) -> Sequence[Atom]:
        match let.op:
            case Apply(fn=fn, args=args):
                known = self.atoms(args)
                found = self._first_of_row(fn, known) or self._divided(b, fn, known)
                return (found or b.apply(fn, *known),)
            case Cast(dtype=dtype, arg=arg):
                return (b.cast(self.atom(arg), dtype),)
            case Index():
                return (self._read(b, let.op, let),)
            case Locate():
                return self._locate(b, let.op)
            case If(condition=condition, then=then, other=other):
                return b.choose(
                    self.atom(condition),
                    lambda inside: self.call_separately(inside, then, ()),
                    lambda inside: self.call_separately(inside, other, ()),
                )
            case While():
                return loop_of(self, b, let.op, self.searches.get(let.vars[0]))
            case For(lo=lo, hi=hi, step=step, body=body, init=init):
                lo, hi, step = self.atoms((lo, hi, step))
                hi = self._unless_failed(b, hi, lo)
                return b.emit(For(lo, hi, step, self.function(b, body), self.atoms(init)))
            case Fold():
                in_bytes = self.machine is not None and self.machine.threads_are_long
                folded = self._fold(b, fold_in_bytes(let.op) if in_bytes else let.op)
                return cast_each(b, folded, let.op.fn.result_types())
            case Check():
                return self._check(b, let.op, let)
            case _:
                raise NotImplementedError(f"{let.op.name} inside an element function")

    def _read(self, b: Builder, op: Index, let: Let) -> Atom:
        buffer, shape = self.kernel.array(op.xs)
        indices = list(self.atoms(op.indices))
        if self.tile is not None and (tuple(indices), shape) == (self.own, self.shape):
            return self.tile.read(b, buffer)
        if op.checked and self.checks:
            for axis, extent in enumerate(shape):
                indices[axis] = self._checked(b, indices[axis], extent, op, let, axis)
        near = self._near(b, op, buffer, indices)
        if near is not None:
            return near
        if not (op.checked or isinstance(self.failed, Var)):
            b.assume_elements(shape)
        place = self._place(b, indices, shape)
        if op in self.furthest:
            b.emit(Prefetch(buffer, b.add(place, shape[-1])))
        is_sure = self._depth == 0 and not isinstance(self.failed, Var)
        row = self.step.row_with(place) if is_sure and self.step is not None else None
        read = Load(buffer, place, self.ahead)
        return b.emit(read)[0] if row is None else row.once(read, buffer, place)

    def _place(self, b: Builder, indices: Sequence[Atom], shape: Sequence[Atom]) -> Atom:
        """The position of an element, or 0 where it may depend on a failed check."""
        place = b.ravel(indices, shape)
        is_safe = all(b.is_below(i, extent) for i, extent in zip(indices, shape, strict=True))
        return place if is_safe else self._unless_failed(b, place, index(0))

    def test(self, b: Builder, fn: Lambda) -> Lambda:
        """The condition of a loop, which also ends it after a failed check."""
        made = self.function(b, fn)
        if isinstance(self.failed, Const) and not self.failed.value:
            return made
        inside = b.inner()
        params = [inside.param(p.name, p.type) for p in made.params]
        (holds,) = inside.inline(made, params)
        return inside.close(params, [inside.apply("and", holds, inside.apply("not", self.failed))])

    def _near(self, b: Builder, op: Index, buffer: Var, indices: Sequence[Atom]) -> Atom | None:
        """A read at each position's row, or of that row's end, where rows are close together; or
        at its quotient by a constant."""
        for found in self._quotients.values():
            if len(indices) == 1 and indices[0] is found.quotient:
                near = found.near
                return b.emit(LoadNear(buffer, near.first, near.offset, near.span))[0]
        if self.row is None or self.row.near is None or len(indices) != 1:
            return None
        near, behind = self.row.near, index(0)
        if indices[0] != self.row.row:
            assert self.located is not None
            behind = index(self.located.skip)
            if op.xs != self.located.ends or indices[0] != b.add(self.row.row, behind):
                return None
        return b.emit(LoadNear(buffer, b.add(near.first, behind), near.offset, near.span))[0]

    def _first_of_row(self, fn: str, args: Sequence[Atom]) -> Atom | None:
        """Whether a position is where its row begins, as the walk knows it."""
        if self.row is None or self.row.first is None or fn != "eq":
            return None
        return self.row.first if args in ((self.position, self.row.start), (
            self.row.start, self.position)) else None  # fmt: skip

    def _divided(self, b: Builder, fn: str, args: Sequence[Atom]) -> Atom | None:
        """A step's positions divided by a constant, all lanes together."""
        step = self.step
        if fn not in ("floordiv", "mod") or step is None or args[0] is not step.flat:
            return None
        if step.width == 1 or step.base is None or step.active is not None:
            return None
        by, divisor = args[1], divisor_of(args[1])
        if divisor is None:
            return None
        if by not in self._quotients:
            self._quotients[by] = divide(b, step.base, step.flat, step.width, divisor)
        found = self._quotients[by]
        return found.quotient if fn == "floordiv" else found.remainder

    def _locate(self, b: Builder, op: Locate) -> Sequence[Atom]:
        """The row that the walk knows, or a search."""
        if self.row is not None and op == self.located:
            return self.row.row, self.row.start
        return rows_of(self.kernel, op).search(b, self.atom(op.position))

    def _checked(
        self, b: Builder, i: Atom, extent: Atom, op: Index, let: Let, axis: int
    ) -> Atom:
        """The index, or 0 and a report when it is out of bounds."""
        if b.is_below(i, extent):
            return i
        outside = b.apply("ge", b.cast(i, u64), b.cast(extent, u64))
        if isinstance(outside, Const) and not outside.value:
            return i
        if b.is_first(outside):  # else it is reported already
            site = self.kernel.sites.add(Site("index", let.where, axis=axis))
            with b.when(outside) as report:
                report.emit(Report(INDEX_ERROR, site, self._number(op), i, extent))
        return b.apply("select", outside, index(0), i)

    def _number(self, op: Check | Index) -> Atom:
        """The number of the element at hand, as its user counts them."""
        return self.atom(op.row[0]) if op.row else self.position

    def _check(self, b: Builder, op: Check, let: Let) -> Sequence[Atom]:
        """A report in the lanes where the condition fails, with up to two values."""
        failed = b.apply("not", self.atom(op.condition))
        values = [b.cast(self.atom(value), i64) for value in op.values_[:2]]
        values += [index(0)] * (2 - len(values))
        site = self.kernel.sites.add(Site(op.kind, let.where, op.message, len(op.values_)))
        with b.when(failed) as report:
            report.emit(Report(CHECK_ERROR, site, self._number(op), *values))
        self.failed = b.apply("or", self.failed, failed)
        return ()

    def _fold(self, b: Builder, op: Fold) -> Sequence[Atom]:
        if self.fold_width > 1:
            return self._fold_in_lanes(b, op)
        extent, failed = self._unless_failed(b, self.atom(op.extent), index(0)), self.failed
        if (placed := place_in_order(op)) is not None:
            return fold_in_order(self, b, op, placed, extent, even=op in self.even_folds)
        inside = b.inner()
        k = inside.param("k", i64, self.atom(op.extent))
        state = [inside.param("s", atom.type) for atom in op.neutral]
        values = self.call(inside, op.body, [k])
        self.failed = failed
        body = inside.close([k, *state], self.call_separately(inside, op.fn, [*state, *values]))
        return long_fold(
            b, index(0), extent, 1, body, self.atoms(op.neutral), op.fn,
            lambda c, operands: self.call(c, op.fn, operands),
        )  # fmt: skip

    def _fold_in_lanes(self, b: Builder, op: Fold) -> Sequence[Atom]:
        """One element's fold by all lanes, which do not nest: each runs inner folds."""
        extent = self._unless_failed(b, self.atom(op.extent), index(0))
        width, self.fold_width = self.fold_width, 1
        found = fold_in_lanes(self, b, op, extent, width, self.machine)
        self.fold_width = width
        return found


def part_of(
    elements: Elements, b: Builder, let: Let, part: Part, loaded: dict[Word, Atom]
) -> Atom:
    """An element of a word, which the first of them loads."""
    word, dtype = part.word, scalar_type(let.vars[0])
    if word not in loaded:
        buffer, (extent,) = elements.kernel.array(word.xs)
        first = b.sub(elements.atom(word.index), index(word.offset))
        loaded[word] = b.emit(LoadWord(buffer, first, extent, word.dtype))[0]
    shift = Const(8 * dtype.bytes * part.number, word.dtype)
    bits = b.cast(b.apply("shr", loaded[word], shift), u8 if dtype is bool_ else dtype)
    return b.cast(bits, dtype)


def loop_of(elements: Elements, b: Builder, op: While, search: Search | None) -> Sequence[Atom]:
    """A loop, which goes over whole words first if it is a search."""
    def element_by_element(c: Builder, init: Sequence[Atom]) -> Sequence[Atom]:
        condition, body = elements.test(c, op.condition), elements.function(c, op.body)
        return elements.loops.emit(c, While(condition, body, tuple(init)))

    init = elements.atoms(op.init)
    if search is None:
        return element_by_element(b, init)
    at, is_end = search_words(b, search, init[0], elements.kernel.array, elements.atom)
    return b.choose(is_end, lambda _: [at], lambda c: element_by_element(c, [at]))


def rows_of(kernel: KernelBuilder, op: Locate) -> row_lookup.Rows:
    """The rows among which an operation locates positions."""
    ends, (extent,) = kernel.array(op.ends)
    return row_lookup.Rows(ends, op.skip, kernel.body.sub(extent, index(op.skip)))


def operator_in(
    kernel: KernelBuilder, fn: Lambda, neutral: Sequence[Atom], checks: bool
) -> Operator:
    """An operator of the program and its neutral element; `checks` says whether its reads are
    checked first."""

    def elements() -> Elements:
        return Elements(kernel, index(0), checks)

    def combine(b: Builder, left: Values, right: Values) -> Values:
        return elements().call(b, fn, (*left, *right))

    scalars = tuple(kernel.scalar(atom) for atom in neutral)
    return Operator(combine, scalars, lambda b: elements().function(b, fn))
