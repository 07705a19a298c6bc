"""What both IRs are made of: variables, lets, lambdas, and ops whose fields fit together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import aside, fields, record, replace
from flatweave.base.source import Location

# -- syntax ---------------------------------------------------------------------------------------
#
# What both IRs are made of: variables, constants, lets and lambdas.
#
#     lambda ::= (var: type, ..) => let* in atom*        let  ::= var: type, .. = op
#     op     ::= opname field*                           atom ::= var | const
#     field  ::= atom | atom.. | lambda | part | static
#
# An op is a frozen record whose fields say everything; children, printing, parsing and substitution
# are derived from the fields (`traverse.py`, `print.py`, `parse.py`), so a new op needs no visitor.


_T = TypeVar("_T")


@record(eq=True)
class ArrayType:
    """An n-dimensional row-major array: every extent is an i64 atom."""

    dtype: DType
    shape: tuple[Atom, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@record(eq=True)
class BufferType:
    """A flat piece of memory as a kernel sees it; `space` is global, shared, warp_shared or
    local."""

    dtype: DType
    space: str = "global"


Type = DType | ArrayType | BufferType


@record
class Var:
    """A name bound once; compared by identity."""

    name: str
    type: Type

    def __repr__(self) -> str:
        return self.name


@record(eq=True)
class Const:
    """A literal scalar of a known dtype; `value` is a Python bool, int or float."""

    value: bool | int | float
    dtype: DType

    @property
    def type(self) -> DType:
        return self.dtype

    def __eq__(self, other: object) -> bool:
        if type(other) is not Const or self.dtype is not other.dtype:
            return False
        if self.dtype.is_float:
            return self.key() == other.key()
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0

    def key(self) -> tuple[str, str, bool]:
        """Distinguishes -0.0 from 0.0 and makes NaN equal itself, not its opposite."""
        negative = self.dtype.is_float and math.copysign(1, self.value) < 0
        return self.dtype.name, repr(self.value), negative

    def __repr__(self) -> str:
        return f"{self.value}{self.dtype.name}"


Atom = Var | Const


ATOM, ATOMS, LAMBDA, PARTS_OF_IT = "atom", "atoms", "lambda", "parts"
HELD = {
    "Atom": ATOM, "Var": ATOM, "tuple[Atom, ...]": ATOMS, "tuple[Var, ...]": ATOMS,
    "Lambda": LAMBDA,
    "int": None, "str": None, "bool": None, "DType": None, "tuple[int, ...]": None,
}  # fmt: skip
"""What terms a field of this annotation holds; of any other one, parts or nothing."""


class Node:
    """What ops and parts have in common: fields, which say by their annotations what they hold."""

    __slots__ = ()
    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    held: ClassVar[tuple[tuple[int, str], ...]]
    """The fields that hold terms: their position and what they hold, as `traverse.py` reads it."""
    has_bodies: ClassVar[bool]
    """Whether a field may hold lambdas."""

    def values(self) -> tuple[Any, ...]:
        """What the fields hold."""
        found: tuple[Any, ...] = self.__values__(self)  # type: ignore[attr-defined]
        return found

    def replace(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]


class Op(Node):
    """Base of every operation; subclasses are frozen records declared with `@op`."""

    __slots__ = ()
    effect: ClassVar[bool] = False
    traced: ClassVar[bool] = False
    """Whether it is an array operation as users write it, allowed everywhere."""

    gives_lengths: ClassVar[bool] = False
    """Whether its results are positions in a stored array, or lengths of its parts."""

    typed_as: ClassVar[str | tuple[Type, ...]] = ""
    """The types of the results, or the field whose types they have, where that is all."""

    def result_types(self) -> tuple[Type, ...]:
        """The types of what the op binds: its whole type rule."""
        if isinstance(self.typed_as, tuple):
            return self.typed_as
        if self.typed_as:
            return types_of(getattr(self, self.typed_as))
        if type(self).binders is Op.binders:
            raise NotImplementedError(f"{self.name} has no type rule")
        return types_of(self.binders())

    def binders(self) -> tuple[Var, ...]:
        """Fresh variables for the results; a later one's type may name an earlier one."""
        return tuple(Var("t", type_) for type_ in self.result_types())

    def below(self) -> tuple[Atom | None, ...]:
        """Extents that the first results are indices into; None for other results."""
        return ()

    def misfits(self) -> Iterator[str]:
        """A sentence for each thing about the fields that does not fit (`syntax.py`)."""
        return iter(())


class Part(Node):
    """Base of records that are a piece of an op, such as a sink of a sweep."""

    __slots__ = ()


OPS: dict[str, type[Op]] = {}
PARTS: dict[str, type[Part]] = {}


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


@dataclass_transform(frozen_default=True)
def op(cls: type[_T]) -> type[_T]:
    """Declare an operation: a frozen record, registered under its snake-case name."""
    made: Any = record(cls)
    made.name = _snake(made.__name__)
    made.fields = tuple(f.name for f in fields(made))
    held = [HELD.get(str(f.type), PARTS_OF_IT) for f in fields(made)]
    made.held = tuple((k, what) for k, what in enumerate(held) if what is not None)
    made.has_bodies = any(what in (LAMBDA, PARTS_OF_IT) for what in held)
    table: dict[str, Any] = PARTS if issubclass(made, Part) else OPS
    if made.name in table:
        raise TypeError(f"two operations are called {made.name}")
    table[made.name] = made
    return made  # type: ignore[no-any-return]


@record
class Let:
    """Binds the results of an op to variables; `where` is the user's line."""

    vars: tuple[Var, ...]
    op: Op
    where: Location | None = None


@record
class Lambda:
    """A function of atoms: parameters, a body of lets, and the results.

    `free` is for `traverse.free_vars` alone: what it found, so that nobody looks twice.
    """

    params: tuple[Var, ...]
    lets: tuple[Let, ...]
    results: tuple[Atom, ...]
    free: dict[Var, None] | None = aside()

    def result_types(self) -> tuple[Type, ...]:
        return tuple(atom.type for atom in self.results)


def constant(value: object, dtype: DType) -> Const:
    """A constant of exactly this dtype, wrapped or rounded as NumPy would."""
    if dtype.kind == "b":
        return Const(bool(value), dtype)
    if dtype.is_float:
        rounded = float(dtype.numpy.type(value))
        return Const(math.copysign(math.nan, rounded) if math.isnan(rounded) else rounded, dtype)
    whole = int(value) & ((1 << dtype.bits) - 1)  # type: ignore[call-overload]
    if dtype.kind == "i" and whole >> (dtype.bits - 1):
        whole -= 1 << dtype.bits
    return Const(whole, dtype)


def types_of(atoms: Sequence[Atom]) -> tuple[Type, ...]:
    return tuple(atom.type for atom in atoms)


# -- rules ----------------------------------------------------------------------------------------
#
# What the fields of an op must be to fit together: used by the `misfits` of the ops.
#
# A rule gives a sentence for each thing that does not fit, and nothing when all is well. Array
# types are compared by dtype and rank: two extents may be equal without being the same atom.
#
# Type rules share the parts of an array's type: `array_type`, `scalar_type`.


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
