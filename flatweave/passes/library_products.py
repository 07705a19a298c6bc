"""Products of two matrices of floats in a sweep, as the library takes them.

    a: f32[n, m] = sweep [n, m] (i, j =>
        s = fold l (k => mul xs[i, k] ys[j, k]) (add f32) [0.0f32]
        t = add s 1.0f32
        in t) [store]
    ==>
    p: f32[n, m] = callback matmul_3f2a none [] [xs, ys] [f32 [n, m]]
    a: f32[n, m] = sweep [n, m] (i, j => t = add p[i, j] 1.0f32 in t) [store]

The products of a gradient are 0 where the cotangent is, even if the other factor is infinite:

    x = mul g y;  t = select (eq g 0.0) (select (ne x x) 0.0 x) x

Four products of the parts of two arrays of complex numbers are one product of these:

    re = sub (fold xs[i, k, 0] ys[k, j, 0]) (fold xs[i, k, 1] ys[k, j, 1])
    im = add (fold xs[i, k, 0] ys[k, j, 1]) (fold xs[i, k, 1] ys[k, j, 0])
    ==>
    p: f32[n, m, 2] = callback matmul_3f2a none [] [xs as c64, ys as c64] [p as c64]

This is decided after fusion: a product whose elements a reduction reads is part of it, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.base.dtypes import c64, c128, f32, f64
from flatweave.base.library_products import LARGE, LEFT, NEITHER, PRODUCTS, RIGHT, ProductSizes
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import Argument, Callback, Fold, Index, InTurn, Returned, Sweep
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Let, Op, Var, array_type, constant
from flatweave.terms.traverse import free_vars, makers

ADD = ["add"]
WHOLE = {f32: c64, f64: c128}
"""The complex numbers with parts of a dtype."""


@record
class Matrix:
    """An operand: an array, of complex numbers one of `pairs`, and what it is but for that."""

    array: Atom
    turned: bool
    conjugated: bool = False
    pairs: bool = False


@record
class Operands:
    """The operands of a product; `stored` are arrays of the sweep's own that have to be stored."""

    left: Matrix
    right: Matrix
    zeros: str
    shape: tuple[Atom, ...]
    stored: tuple[Var, ...]

    def suit(self, sizes: ProductSizes) -> bool:
        """Whether a library takes these matrices, transposed and conjugated as they are."""
        return all(sizes.has(turned=each.turned, conjugated=each.conjugated)
                   for each in (self.left, self.right))  # fmt: skip

    def product(self, b: Builder, where: Location | None, stored: Mapping[Var, Atom]) -> Atom:
        """The product, in memory; `stored` are arrays of the sweep's own."""
        arguments = []
        for each in (self.left, self.right):
            array = each.array
            if isinstance(array, Var):
                array = stored.get(array, array)
            type_ = array_type(array)
            seen = WHOLE[type_.dtype] if each.pairs else type_.dtype
            arguments.append(Argument(array, type_.shape, seen.name, False))
        shape = (*self.shape, index(2)) if each.pairs else self.shape
        result = Returned(type_.dtype, shape, seen.name, ())
        conjugated = self.left.conjugated, self.right.conjugated
        name = PRODUCTS[self.left.turned, self.right.turned, self.zeros, *conjugated]
        around, b.where = b.where, where or b.where
        (found,) = b.emit(Callback(name, "none", (), tuple(arguments), (result,)))
        b.where = around
        return found


@record
class ComplexProduct:
    """The operands of a product of complex matrices, and what its parts are in a sweep."""

    operands: Operands
    real: Let
    imaginary: Let

    def is_stored_by(self, op: Sweep) -> bool:
        """Whether a sweep stores these numbers in pairs, and nothing else."""
        stores = len(op.sinks) == 1 and isinstance(op.sinks[0], InTurn)
        return stores and op.body.results == (*self.real.vars, *self.imaginary.vars)


def complex_product(
    op: Sweep, folds: Sequence[Let], operands: Sequence[Operands], own: Mapping[Var, Sweep]
) -> ComplexProduct | None:
    """The product of complex matrices whose parts a sweep computes by four products; None if it
    does anything else with them."""
    parts: dict[tuple[int, int], Atom] = {}
    factors = [set[tuple[Atom, bool]](), set[tuple[Atom, bool]]()]
    signs = [{0: False}, {0: False}]
    for let, each in zip(folds, operands, strict=True):
        numbers = []
        for side, matrix in enumerate((each.left, each.right)):
            found = _part(matrix, own)
            if found is None:
                return None
            if signs[side].setdefault(found.number, found.negated) != found.negated:
                return None
            factors[side].add((found.pairs, found.turned))
            numbers.append(found.number)
        parts[numbers[0], numbers[1]] = let.vars[0]
    if len(folds) != 4 or len(parts) != 4 or any(len(each) != 1 for each in factors):
        return None
    if any(each.zeros != NEITHER for each in operands):
        return None
    used = [let for let in op.body.lets if {*parts.values()} & free_vars(let.op).keys()]
    by_function = {let.op.fn: (let, let.op.args) for let in used if isinstance(let.op, Apply)}
    if len(used) != 2 or {*by_function} != {"sub", "add"} or {*parts.values()} & {*op.body.results}:
        return None
    (real, straight), (imaginary, crossed) = by_function["sub"], by_function["add"]
    if straight != (parts[0, 0], parts[1, 1]) or {*crossed} != {parts[0, 1], parts[1, 0]}:
        return None
    left, right = (Matrix(*each.pop(), sign[1], pairs=True)
                   for each, sign in zip(factors, signs, strict=True))  # fmt: skip
    return ComplexProduct(Operands(left, right, NEITHER, op.shape, ()), real, imaginary)


@record
class Part:
    """A part of complex numbers in pairs: 0 for the real, 1 for the imaginary one."""

    pairs: Atom
    turned: bool
    number: int
    negated: bool


def _part(of: Matrix, own: Mapping[Var, Sweep]) -> Part | None:
    """The part of an array of pairs that a matrix is."""
    sweep = own.get(of.array) if isinstance(of.array, Var) else None
    if sweep is None or not sweep.body.lets:
        return None
    first, *rest = sweep.body.lets
    read, negation = first.op, rest[0].op if rest else None
    negated = isinstance(negation, Apply) and (negation.fn, negation.args) == ("neg", first.vars)
    if len(rest) != negated or not isinstance(read, Index):
        return None
    *place, part = read.indices
    at, shape = sweep.body.params[-len(place) :], sweep.shape[-len(place) :]  # or one for all
    *extents, last = array_type(read.xs).shape
    turned = tuple(place) == _turned(at)
    if not (turned or tuple(place) == at) or len(place) < 2:
        return None
    if not isinstance(part, Const) or last != index(2):
        return None
    if tuple(extents) != (_turned(shape) if turned else shape):
        return None
    return Part(read.xs, turned != of.turned, int(part.value), negated)


def operands_of(
    op: Sweep, folds: Sequence[Let], own: Mapping[Var, Sweep]
) -> list[Operands]:
    """The operands of each fold of a sweep; empty where one is no product of two matrices, or of
    stacks of matrices."""
    extents = [*op.shape[-2:], *(let.op.extent for let in folds if isinstance(let.op, Fold))]
    if len(op.shape) < 2 or any(map(_is_small, extents)):
        return []
    found = [_operands(op, let, own) for let in folds]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


def _is_small(extent: Atom) -> bool:
    """Whether no machine has products with such an extent from the library."""
    return isinstance(extent, Const) and extent.value < LARGE.extent


def _operands(op: Sweep, let: Let, own: Mapping[Var, Sweep]) -> Operands | None:
    fold = let.op
    assert isinstance(fold, Fold)
    factors, zero = _factors(fold)
    if len(factors) != 2:
        return None
    (*before, row, column), (step,) = op.body.params, fold.body.params
    (*counts, rows, columns), steps = op.shape, fold.extent
    one, other = factors if row in factors[0].indices else factors[::-1]
    stored: list[Var] = []
    left = _matrix(one, (*before, row, step), (*counts, rows, steps), own, stored)
    right = _matrix(other, (*before, step, column), (*counts, steps, columns), own, stored)
    if left is None or right is None:
        return None
    zeros = NEITHER if zero is None else LEFT if zero is one else RIGHT
    return Operands(left, right, zeros, op.shape, tuple(stored))


def _factors(fold: Fold) -> tuple[list[Index], Index | None]:
    """The two reads of a sum of products of floats, and the one whose zeros count; none for another
    fold."""
    (neutral, *_), body = fold.neutral, fold.body
    if neutral not in (constant(0.0, f32), constant(0.0, f64)):
        return [], None
    if component_functions(fold.fn) != ADD:
        return [], None
    made = makers(body.lets)
    last, zero = made.get(body.results[0]), None
    if isinstance(last, Apply) and last.fn == "select":
        last, zero = _masked(last, made)
    if not isinstance(last, Apply) or last.fn != "mul":
        return [], None
    reads = [read for atom in last.args if isinstance(read := made.get(atom), Index)]
    count = 3 if zero is None else 7
    known = None if zero is None else made.get(zero)
    if len(body.lets) != count or (zero is not None and zero not in last.args):
        return [], None
    return reads, known if isinstance(known, Index) else None


def _masked(op: Apply, made: Mapping[Atom, Op]) -> tuple[Op | None, Atom | None]:
    """The product that a choice gives where it is not 0 for a zero, and that factor."""
    (is_zero, guarded, product), none = op.args, (None, None)
    test, inner = made.get(is_zero), made.get(guarded)
    if not isinstance(test, Apply) or test.fn != "eq" or not _is_zero(test.args[1]):
        return none
    if not isinstance(inner, Apply) or inner.fn != "select" or inner.args[2] != product:
        return none
    is_nan = made.get(inner.args[0])
    if not _is_zero(inner.args[1]) or not isinstance(is_nan, Apply):
        return none
    if (is_nan.fn, is_nan.args) != ("ne", (product, product)):
        return none
    return made.get(product), test.args[0]


def _is_zero(atom: Atom) -> bool:
    return isinstance(atom, Const) and atom.value == 0


def _matrix(
    read: Index, at: tuple[Atom, ...], shape: tuple[Atom, ...], own: Mapping[Var, Sweep],
    stored: list[Var],
) -> Matrix | None:  # fmt: skip
    """The array of a read as the matrix of this shape that has such elements at `at`; of a stack of
    matrices, which may be one for all."""
    array = read.xs
    if len(read.indices) == 2:
        at, shape = at[-2:], shape[-2:]
    turned = read.indices == _turned(at)
    if not turned and read.indices != at:
        return None
    if array_type(array).shape != (_turned(shape) if turned else shape):
        return None
    if not isinstance(array, Var) or array not in own:
        return Matrix(array, turned)
    source = _transposed(own[array])
    if source is not None:
        return Matrix(source, not turned)
    stored.append(array)
    return Matrix(array, turned)


def _turned(axes: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The last two exchanged."""
    return (*axes[:-2], *axes[:-3:-1])


def _transposed(op: Sweep) -> Atom | None:
    """The array that a sweep stores with its last two axes exchanged; None where it does anything
    else."""
    if len(op.body.lets) != 1 or len(op.shape) < 2:
        return None
    read = op.body.lets[0].op
    if not isinstance(read, Index) or read.indices != _turned(op.body.params):
        return None
    return read.xs if array_type(read.xs).shape == _turned(op.shape) else None
