"""Tangents and cotangents as values of a program: their types, zeros, sums and products.

A tangent has the type of its primal. A float of 16 bits is a word in a program, so its tangent is
an f32; no other integer has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, f32, i64, u16
from flatweave.ops import Generate, Index, Map, Reduce, Reshape, Scatter
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Type, Var, constant
from flatweave.terms.traverse import atoms_in, needed_for

Body = Callable[[Builder, list[Var]], Sequence[Atom]]


def tangent_dtype(dtype: DType) -> DType | None:
    """The dtype of tangents; None for values that have none."""
    return dtype if dtype.is_float else f32 if dtype is u16 else None


def tangent_type(type_: Type) -> Type | None:
    """The type of tangents of values of this type; None where they have none."""
    if isinstance(type_, DType):
        return tangent_dtype(type_)
    if isinstance(type_, ArrayType):
        dtype = tangent_dtype(type_.dtype)
        return None if dtype is None else ArrayType(dtype, type_.shape)
    return None


def type_of_tangents(of: Atom) -> Type:
    """The type of tangents of a value that has some."""
    found = tangent_type(of.type)
    assert found is not None
    return found


def shape_of(atom: Atom) -> tuple[Atom, ...]:
    """The extents of an array; none of a scalar."""
    return atom.type.shape if isinstance(atom.type, ArrayType) else ()


def dtype_of(type_: Type) -> DType:
    """The dtype of a scalar or of an array's elements."""
    found = type_.dtype if isinstance(type_, ArrayType) else type_
    assert isinstance(found, DType)
    return found


def zero(b: Builder, type_: Type) -> Atom:
    """Zero, or an array of zeros."""
    value = constant(0.0 if dtype_of(type_).is_float else 0, dtype_of(type_))
    if not isinstance(type_, ArrayType):
        return value
    return generate(b, type_.shape, lambda *_: [value])[0]


def zero_tangent(b: Builder, of: Atom) -> Atom:
    """The zero among the tangents of a value."""
    return zero(b, type_of_tangents(of))


def generate(b: Builder, shape: Sequence[Atom], write: Body) -> tuple[Var, ...]:
    """Arrays from a function of their indices; it may return none, and then there are none."""
    inner = b.inner()
    params = [inner.param("i", i64, extent) for extent in shape]
    results = write(inner, params)
    if not results:
        return ()
    return b.emit(Generate(tuple(shape), closed(inner, params, results)))


def closed(inner: Builder, params: Sequence[Var], results: Sequence[Atom]) -> Lambda:
    """A lambda of what its results need. An array from around it is copied."""
    atoms = [owned(inner, atom) for atom in results]
    return Lambda(tuple(params), live(inner.lets, atoms), tuple(atoms))


def live(lets: Sequence[Let], roots: Sequence[Atom]) -> tuple[Let, ...]:
    """The operations that some values depend on, and the checks: a body that is computed again
    relies on them as the first one does."""
    checked = [atom for let in lets if let.op.effect for atom in atoms_in(let.op)]
    needed = set(needed_for(lets, [*roots, *checked]))
    return tuple(let for let in lets if let.op.effect or let in needed)


def owned(inner: Builder, atom: Atom) -> Atom:
    """An array of this body, a copy of one from around it; a scalar as it is."""
    if not isinstance(atom.type, ArrayType) or atom in inner.own:
        return atom
    return generate(inner, atom.type.shape, lambda b, at: [read(b, atom, at)])[0]


def read(b: Builder, xs: Atom, indices: Sequence[Atom]) -> Atom:
    """One element, at indices that are inside."""
    return b.emit(Index(xs, tuple(indices), checked=False))[0] if indices else xs


def read_inside(b: Builder, xs: Atom, place: Atom, size: Atom, other: Atom) -> Atom:
    """An element of an array of rank 1, or another value for an index outside."""
    return if_inside(b, place, size, lambda then: read(then, xs, [place]), other)


def if_inside(
    b: Builder, place: Atom, size: Atom, write: Callable[[Builder], Atom], other: Atom
) -> Atom:
    """A value where an index is inside, another one where it is not."""
    inside = b.apply("and", b.apply("ge", place, index(0)), b.apply("lt", place, size))
    return b.choose(inside, lambda c: [write(c)], lambda _: [other])[0]


def part(b: Builder, xs: Atom, start: Atom, shape: Sequence[Atom]) -> Atom:
    """The elements of an array from `start` on, under a shape."""

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        return [read(inner, xs, [inner.add(at[0], start), *at[1:]])]

    return generate(b, shape, write)[0]


def part_of(b: Builder, xs: Atom, start: Atom, shape: Sequence[Atom]) -> Atom:
    """A value of any shape whose elements an array of rank 1 has from `start` on."""
    if not shape:
        return read(b, xs, [start])
    return generate(b, shape, lambda inner, at: [
        read(inner, xs, [inner.add(start, inner.ravel(at, shape))])
    ])[0]  # fmt: skip


def with_part(b: Builder, xs: Atom, start: Atom, value: Atom, size: Atom) -> Atom:
    """An array of rank 1 that holds a value's elements from `start` on."""
    if not shape_of(value):
        places, values = generate(b, [index(1)], lambda *_: [start, value])
        return b.emit(Scatter((xs,), places, (values,)))[0]
    (places,) = generate(b, [size], lambda inner, p: [inner.add(start, p[0])])
    flat = value if len(shape_of(value)) == 1 else b.emit(Reshape(value, (size,)))[0]
    return b.emit(Scatter((xs,), places, (flat,)))[0]


def element(b: Builder, xs: Atom, indices: Sequence[Atom]) -> Atom:
    """What an array has at its first indices: a scalar, or an array of the remaining axes."""
    rest = shape_of(xs)[len(indices) :]
    if not rest:
        return read(b, xs, indices)
    return generate(b, rest, lambda inner, at: [read(inner, xs, (*indices, *at))])[0]


def add(b: Builder, x: Atom, y: Atom) -> Atom:
    """The sum of two values of one type."""
    if not isinstance(x.type, ArrayType):
        return b.apply("add", x, y)
    return b.emit(Map(lambda_of("add", x.type.dtype), (x, y), x.type.rank))[0]


def total(b: Builder, xs: Atom) -> Atom:
    """The sum of all elements of an array, row by row."""
    if not isinstance(xs.type, ArrayType):
        return xs
    extent, *rest = xs.type.shape
    if rest:
        (xs,) = generate(b, [extent], lambda inner, at: [total(inner, element(inner, xs, at))])
    dtype = dtype_of(xs.type)
    return b.emit(Reduce(lambda_of("add", dtype), (constant(0.0, dtype),), (xs,)))[0]


def chosen(b: Builder, condition: Atom, a: Atom, other: Atom) -> Atom:
    """One of two scalars."""
    return b.apply("select", condition, a, other)


def times(b: Builder, tangent: Atom, factor: Atom, fn: str = "mul") -> Atom:
    """`tangent * factor`, or over it, where a tangent of zero stays zero next to inf and NaN.

    A value that does not contribute has derivative 0. The test leaves the derivative of the product
    itself as it is, so that derivatives of derivatives are right where a cotangent is 0.
    """
    product = b.apply(fn, tangent, factor)
    is_known = isinstance(tangent, Const) and tangent.value != 0
    if is_known or isinstance(factor, Const) or isinstance(product, Const):
        return product
    nothing = constant(0.0, dtype_of(tangent.type))
    is_nothing, is_nan = b.apply("eq", tangent, nothing), b.apply("ne", product, product)
    # the outer test may be the same for all lanes, as tangents of a matrix's rows are
    return chosen(b, is_nothing, chosen(b, is_nan, nothing, product), product)


def cast_tangent(b: Builder, tangent: Atom, dtype: DType) -> Atom:
    """A tangent in the dtype of another value's."""
    wanted = tangent_dtype(dtype)
    assert wanted is not None
    return b.cast(tangent, wanted)


def sum_all(b: Builder, parts: Sequence[Atom]) -> Atom | None:
    """The sum of several values of one type; None if there are none."""
    found: Atom | None = None
    for part in parts:
        found = part if found is None else add(b, found, part)
    return found


def bound(let: Let) -> list[Var]:
    """The variables of a let that may have tangents."""
    return [var for var in let.vars if tangent_type(var.type) is not None]
