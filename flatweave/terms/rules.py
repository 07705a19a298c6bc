"""What the fields of an op must be to fit together: used by the `misfits` of the ops.

A rule gives a sentence for each thing that does not fit, and nothing when all is well. Array types
are compared by dtype and rank: two extents may be equal without being the same atom.

Type rules share the parts of an array's type: `array_type`, `scalar_type`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type, types_of


def is_alike(a: Type, b: Type) -> bool:
    """Whether two types differ at most in their extents."""
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.dtype is b.dtype and a.rank == b.rank
    return a == b


def are_alike(a: Sequence[Type], b: Sequence[Type]) -> bool:
    """Whether two lists of types differ at most in their extents."""
    return len(a) == len(b) and all(is_alike(x, y) for x, y in zip(a, b, strict=True))


def function_misfits(
    what: str, fn: Lambda, takes: Sequence[Type], gives: Sequence[Type] | None = None
) -> Iterator[str]:
    """A lambda takes and gives what it should."""
    if not are_alike(types_of(fn.params), takes):
        yield f"{what} takes {_listed(types_of(fn.params))}, not {_listed(takes)}"
    if gives is not None and not are_alike(fn.result_types(), gives):
        yield f"{what} gives {_listed(fn.result_types())}, not {_listed(gives)}"


def operator_misfits(fn: Lambda, elements: Sequence[Type]) -> Iterator[str]:
    """A lambda takes two elements and gives one."""
    return function_misfits("the operator", fn, (*elements, *elements), elements)


def types_misfit(what: str, atoms: Sequence[Atom], types: Sequence[Type]) -> Iterator[str]:
    """Atoms have these types."""
    if not are_alike(types_of(atoms), types):
        yield f"{what}: {_listed(types_of(atoms))} where {_listed(types)} must be"


def condition_misfits(atom: Atom) -> Iterator[str]:
    """An atom is a bool."""
    return types_misfit("the condition", (atom,), (bool_,))


def starts_misfits(starts: Sequence[Atom], rank: int = 0) -> Iterator[str]:
    """At most one atom says where segments start: a bool, or an array of them."""
    if len(starts) > 1:
        yield f"{len(starts)} flags say where segments start"
    flag: Type = ArrayType(bool_, (Const(0, i64),) * rank) if rank else bool_
    yield from types_misfit("the flag of segments", starts[:1], (flag,) * len(starts[:1]))


def index_misfits(what: str, atoms: Sequence[Atom]) -> Iterator[str]:
    """All atoms are indices or extents."""
    return types_misfit(what, atoms, (i64,) * len(atoms))


def elements_of(xs: Sequence[Atom], like: Sequence[Type]) -> tuple[Type, ...]:
    """What an operator over `xs` meets: scalars where its elements are, else rows."""
    found: list[Type] = []
    for x, element in zip(xs, like, strict=False):
        assert isinstance(x.type, ArrayType)
        scalar = isinstance(element, DType)
        found.append(x.type.dtype if scalar else ArrayType(x.type.dtype, x.type.shape[1:]))
    return tuple(found)


def _listed(types: Sequence[Type]) -> str:
    words = []
    for type_ in types:
        if isinstance(type_, ArrayType):
            words.append(f"{type_.dtype}[{', '.join(map(repr, type_.shape))}]")
        else:
            words.append(repr(type_))
    return f"({', '.join(words)})"


def array_type(atom: Atom) -> ArrayType:
    """The type of an atom that must be an array."""
    if not isinstance(atom.type, ArrayType):
        raise TypeError(f"{atom!r} is not an array")
    return atom.type


def scalar_type(atom: Atom) -> DType:
    """The type of an atom that must be a scalar."""
    if not isinstance(atom.type, DType):
        raise TypeError(f"{atom!r} is not a scalar")
    return atom.type


def under(shape: Sequence[Atom], element: Type) -> ArrayType:
    """An array of `shape` whose elements are of type `element` (a scalar or a row)."""
    if isinstance(element, ArrayType):
        return ArrayType(element.dtype, (*shape, *element.shape))
    if not isinstance(element, DType):
        raise TypeError(f"{element!r} cannot be an element")
    return ArrayType(element, tuple(shape))


def row_type(array: ArrayType) -> Type:
    """The type of one element along axis 0."""
    return array.dtype if array.rank == 1 else ArrayType(array.dtype, array.shape[1:])
