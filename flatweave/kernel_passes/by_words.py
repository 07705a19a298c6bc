"""Tiles of narrow elements are brought into shared memory a word of 32 bits at a time.

    for_all thread 1024 (i =>                   for_all thread 256 (w =>
        x = load xs (base + i)         ==>          copy_word s (4 w) xs (base + 4 w))
        store s i x)

This is for elements of one or two bytes that are copied as they are, on machines whose threads
move a word each. Where it is not known that `base` is the first element of a word, the tile begins
as far behind a word's start as `base` does, and all that use the tile know:

    base = 6        words of xs       | 4 5 6 7 | 8 9 10 11 | 12 ..
    shift = 2       words of s        | - - 0 1 | 2 3  4  5 | 6  ..      element i at place i + 2

The first and the last word may hold elements that are not of the tile: their elements are copied
one by one, as others may be writing those beside them. Memory of the grid begins with a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.arrays import Values, choose, for_all, loop, when
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, ForAll
from flatweave.kernel_ir.lane_facts import Zeros, trailing_zeros, zeros_in, zeros_of
from flatweave.kernel_ir.memory_ops import Atomic, CopyWord, elements_of_word, is_narrow, space_of
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Kernel, Load, Shared, Store, Unit
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, map_field, walk_lets


def by_words(unit: Unit, shape: BlockShape) -> Unit:
    """The unit, with narrow tiles brought in by words; as it is where a step has vectors."""
    if not shape.simt:
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(by_words_of(kernel) for kernel in unit.kernels))


def by_words_of(kernel: Kernel) -> Kernel:
    """A kernel with fewer accesses."""
    zeros = trailing_zeros(kernel.body)
    found = {id(let): copy for let in walk_lets(kernel.body) if (copy := copied(let.op))}
    if not found:
        return kernel
    shifted = {
        copy.tile: number
        for number, let in enumerate(kernel.body.lets)
        if (copy := found.get(id(let))) and not copy.begins_a_word(zeros)
        and not copy.gap and _may_shift(kernel.body, copy.tile, number)
    }  # fmt: skip
    return replace(kernel, body=_Writer(found, shifted, zeros).whole(kernel.body))


# -- what is copied -------------------------------------------------------------------------------

Sum = tuple[Atom, ...]


@record(eq=True)
class Copied:
    """`count` elements that go to a tile of shared memory, from the place on that is the sum of
    `first`; that is made of scalars that stand `inside` of the loop, too.

    In a tile with `gap` a word is left out behind each 2 ** `row` elements (`chunks.py`).
    """

    tile: Var
    source: Var
    first: Sum
    count: Atom
    inside: tuple[Let, ...]
    row: int
    gap: int

    @property
    def each(self) -> int:
        """Elements of a word."""
        return elements_of_word(dtype_in(self.tile))

    def begins_a_word(self, zeros: Zeros) -> bool:
        """Whether the first element is known to be the first of a word."""
        return all(zeros_of(zeros, atom) >= zeros_in(self.each) for atom in self.first)

    def place(self, b: Builder, i: Atom) -> Atom:
        """Where element i of the tile is."""
        if not self.gap:
            return i
        return b.add(i, b.mul(b.apply("shr", i, index(self.row)), index(self.gap)))


def copied(op: object) -> Copied | None:
    """What a loop over threads copies, if that is all it does: of narrow elements."""
    if not isinstance(op, ForAll) or LEVELS[op.level] is not THREAD or not op.body.lets:
        return None
    last = op.body.lets[-1].op
    if not isinstance(last, Store) or not is_narrow(dtype_in(last.buffer)):
        return None
    seen = _Seen(op.body.params[0])
    if not all(map(seen.let, op.body.lets[:-1])) or last.value is not seen.value:
        return None
    assert seen.source is not None
    row, gap = seen.gaps.get(last.index, (0, 0))
    each = elements_of_word(dtype_in(last.buffer))
    if gap % each or (1 << row) % each and gap or not gap and last.index is not seen.i:
        return None
    if (space_of(last.buffer), space_of(seen.source)) != ("shared", "global"):
        return None
    inside = tuple(seen.inside)
    return Copied(last.buffer, seen.source, seen.first, op.count, inside, row, gap)


class _Seen:
    """What is known of the scalars of a loop's body: which are the same for all i, which are i and
    a sum of those, which are i with gaps; and the one element that is loaded."""

    def __init__(self, i: Var) -> None:
        self.i = i
        self.sums: dict[Atom, Sum] = {i: ()}
        self.rows: dict[Atom, tuple[int, int]] = {}
        self.gaps: dict[Atom, tuple[int, int]] = {}
        self.inside: list[Let] = []
        self.value: Var | None = None
        self.source: Var | None = None
        self.first: Sum = ()

    def let(self, let: Let) -> bool:
        """Whether a let is known."""
        if not let.vars:
            return False
        var, i = let.vars[0], self.i
        match let.op:
            case Load(buffer=buffer, index=at) if at in self.sums and self.value is None:
                self.value, self.source, self.first = var, buffer, self.sums[at]
            case Apply(fn="shr", args=(a, Const(value=row))) if a is i:
                self.rows[var] = int(row), 1
            case Apply(fn="mul", args=(a, Const(value=gap))) if a in self.rows:
                self.rows[var] = self.rows[a][0], int(gap)
            case Apply(fn="add", args=(a, b)) if a is i and b in self.rows:
                self.gaps[var] = self.rows[b]
            case Apply(fn="add", args=(a, b)) if (a in self.sums) != (b in self.sums):
                at, more = (a, b) if a in self.sums else (b, a)
                self.sums[var] = (*self.sums[at], more)
                return self._is_same(more)
            case Apply(args=args):
                self.inside.append(let)
                return all(map(self._is_same, args))
            case _:
                return False
        return True

    def _is_same(self, atom: Atom) -> bool:
        """Whether a scalar is the same for all elements."""
        return atom is not self.value and not any(
            atom in known for known in (self.sums, self.rows, self.gaps)
        )


def _may_shift(body: Lambda, tile: Var, copy: int) -> bool:
    """Whether all that use a tile do so behind its first copy, element by element."""
    uses = [number for number, let in enumerate(body.lets) if _uses(let, tile)]
    inner = [let.op for let in walk_lets(body) if tile in atoms_in(let.op)]
    return uses[0] == copy and all(isinstance(op, Load | Store | Atomic) for op in inner)


def _uses(let: Let, tile: Var) -> bool:
    return any(tile in atoms_in(inner.op) for inner in walk_lets(Lambda((), (let,), ())))


# -- by words -------------------------------------------------------------------------------------


class _Writer:
    """Code of a block anew; `shifted` says which tiles begin within a word, from which let on."""

    def __init__(
        self, found: Mapping[int, Copied], shifted: Mapping[Var, int], zeros: Zeros
    ) -> None:
        self.found = found
        self.shifted = shifted
        self.zeros = zeros
        self.shifts: dict[Var, Var] = {}

    def whole(self, fn: Lambda) -> Lambda:
        """The body of a kernel."""
        made: list[Let] = []
        for number, let in enumerate(fn.lets):
            copy = self.found.get(id(let))
            if copy is not None and self.shifted.get(copy.tile) == number:
                b = Builder()
                self.shifts[copy.tile] = _copy_shifted(b, copy)
                made += _from(b, let)
            else:
                made += self._let(let)
        return replace(fn, lets=tuple(made))

    def _body(self, fn: Lambda) -> Lambda:
        return replace(fn, lets=tuple(new for let in fn.lets for new in self._let(let)))

    def _let(self, let: Let) -> Iterator[Let]:
        op, copy = let.op, self.found.get(id(let))
        if let.vars and let.vars[0] in self.shifted:
            assert isinstance(op, Shared)
            more = elements_of_word(op.dtype) - 1
            yield replace(let, op=op.replace(count=op.count + more))
        elif copy is not None and copy.tile not in self.shifted and copy.begins_a_word(self.zeros):
            b = Builder()
            _copy(b, copy, index(0), _sum(b, copy))
            yield from _from(b, let)
        elif isinstance(op, Load | Store | Atomic) and op.buffer in self.shifts:
            at = Var("at", i64)
            shift = self.shifts[op.buffer]
            yield Let((at,), Apply("add", (op.index, shift)), let.where)
            yield replace(let, op=op.replace(index=at))
        elif lambdas_in(op):
            yield replace(let, op=map_field(op, lambda atom: atom, self._body))
        else:
            yield let


def _from(b: Builder, let: Let) -> Sequence[Let]:
    """What was written to a builder, in place of a let."""
    return [replace(new, where=let.where) for new in b.lets]


def _sum(b: Builder, copy: Copied) -> Atom:
    """The place of the first element, the scalars that it rests on before it."""
    b.lets += copy.inside
    first: Atom = index(0)
    for atom in copy.first:
        first = b.add(first, atom)
    return first


def _copy_shifted(b: Builder, copy: Copied) -> Var:
    """The copy of a tile that begins within a word, and how far."""
    first = _sum(b, copy)
    shift = b.emit(Apply("and", (first, index(copy.each - 1))), "shift")[0]
    _copy(b, copy, shift, b.sub(first, shift))
    return shift


def _copy(b: Builder, copy: Copied, shift: Atom, start: Atom) -> None:
    """The copy, of which element 0 is number `shift` of the word from `start` on."""
    each, bits = index(copy.each), index(zeros_in(copy.each))
    end = b.add(copy.count, shift)
    words = b.apply("shr", b.add(end, index(copy.each - 1)), bits)
    whole = shift == index(0) and isinstance(end, Const) and int(end.value) % copy.each == 0

    def word(c: Builder, w: Atom) -> None:
        at = c.mul(w, each)
        if whole:
            together(c, at)
            return
        inside = within(c, at, c.add(at, each))
        choose(c, inside, lambda d: together(d, at), lambda d: single(d, at))

    def together(c: Builder, at: Atom) -> Values:
        c.emit(CopyWord(copy.tile, copy.place(c, at), copy.source, c.add(start, at)))
        return ()

    def single(c: Builder, at: Atom) -> Values:
        loop(c, index(0), each, lambda d, k: element(d, d.add(at, k)))
        return ()

    def element(c: Builder, i: Atom) -> None:
        when(c, within(c, i, c.add(i, index(1))), lambda d: stored(d, i))

    def stored(c: Builder, i: Atom) -> None:
        value = c.emit(Load(copy.source, c.add(start, i)))[0]
        c.emit(Store(copy.tile, copy.place(c, i), value))

    def within(c: Builder, first: Atom, behind: Atom) -> Atom:
        ends = c.apply("le", behind, end)
        return ends if shift == index(0) else c.apply("and", c.apply("le", shift, first), ends)

    for_all(b, THREAD, words, word)
