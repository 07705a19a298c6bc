"""Python's operators on arrays: each calls the public function of the same meaning.

    x + y       METHODS["add"](x, y)          x.sum(axis=0)     METHODS["sum"](x, axis=0)

The functions are in files above this one; each enters itself in METHODS when it is declared with
`@operation`, so that arrays can be declared before what is done with them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import signature
from typing import Any, Self, TypeAlias, TypeVar

from flatweave.base.errors import ShapeError
from flatweave.frontend import ALIASES, MODULES, Methods, public
from flatweave.frontend.values import exchange
from flatweave.frontend.values.untraceable import as_functions
from flatweave.runtime.lazy_import import opened

METHODS: Methods[Any] = Methods()

# NumPy's universal functions whose name here is another
UFUNCS = {**ALIASES, "conjugate": "conj"}


A = TypeVar("A", bound="Elementwise")
# an array of rank 0 where no axis is named, else an array, a Ragged or a Chunked
Reduced: TypeAlias = Any


def called(name: str, array: A, *rest: Any, **options: Any) -> A:
    """What the function of this name makes of an array or a Ragged, which is one as well."""
    result: A = METHODS[name](array, *rest, **options)
    return result


def _pair(
    name: str, python: Callable[[Any, Any], Any], mirrored: str = ""
) -> tuple[Callable[[A, Any], A], Callable[[A, Any], A]]:
    """`array op other`, by the other's library where the operation belongs to it; and
    `other op array`, which Python asks of the array where the other declines.

    `mirrored` is the operator that Python asks of the other one, where that is a comparison.
    """
    word = python.__name__.strip("_")
    direct, reflected = f"__{word}__", f"__{mirrored or 'r' + word}__"

    def left(self: Any, other: Any) -> Any:
        cls: Any = type(other)
        if not exchange.is_foreign(cls, reflected):
            return METHODS[name](self, other)
        elements = self._elements()
        if elements is None and exchange.has_protocol(other):
            return METHODS["inside_a_program"](name, self, other, reflected)
        return exchange.computed_right(self, elements, python, other, reflected)

    def right(self: Any, other: Any) -> Any:
        cls: Any = type(other)
        if not exchange.is_foreign(cls, direct):
            return METHODS[name](other, self)
        elements = self._elements()
        return NotImplemented if elements is None else python(other, elements)

    left.__name__, right.__name__ = direct, reflected
    return left, right


def _compared(name: str, python: Callable[[Any, Any], Any], mirrored: str) -> Callable[[A, Any], A]:
    """A comparison of arrays."""
    return _pair(name, python, mirrored)[0]


def _in_place(python: Callable[[Any, Any], Any]) -> Callable[[A, Any], A]:
    """`array op= other`"""

    def work(self: Any, other: Any) -> Any:
        return METHODS["augmented"](self, python, other)

    return work


_equal = _compared("equal", operator.eq, "eq")
_not_equal = _compared("not_equal", operator.ne, "ne")


@as_functions
class Elementwise:
    """What `x + y`, `x < y` and `x.astype(..)` mean, for arrays and Ragged values."""

    __slots__ = ()
    __array_priority__ = exchange.PRIORITY

    def _elements(self) -> object | None:
        """The elements for another library, as an array of NumPy; None inside a program."""
        return None

    __add__, __radd__ = _pair("add", operator.add)
    __sub__, __rsub__ = _pair("sub", operator.sub)
    __mul__, __rmul__ = _pair("mul", operator.mul)
    __truediv__, __rtruediv__ = _pair("truediv", operator.truediv)
    __floordiv__, __rfloordiv__ = _pair("floordiv", operator.floordiv)
    __mod__, __rmod__ = _pair("mod", operator.mod)
    __pow__, __rpow__ = _pair("power", operator.pow)
    __and__, __rand__ = _pair("bitwise_and", operator.and_)
    __or__, __ror__ = _pair("bitwise_or", operator.or_)
    __xor__, __rxor__ = _pair("bitwise_xor", operator.xor)
    __lshift__, __rlshift__ = _pair("left_shift", operator.lshift)
    __rshift__, __rrshift__ = _pair("right_shift", operator.rshift)
    __lt__ = _compared("less", operator.lt, "gt")
    __le__ = _compared("less_equal", operator.le, "ge")
    __gt__ = _compared("greater", operator.gt, "lt")
    __ge__ = _compared("greater_equal", operator.ge, "le")

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented  # Python then finds them unequal
        return _equal(self, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return _not_equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    __iadd__, __isub__ = _in_place(operator.add), _in_place(operator.sub)
    __imul__, __itruediv__ = _in_place(operator.mul), _in_place(operator.truediv)
    __ifloordiv__, __imod__ = _in_place(operator.floordiv), _in_place(operator.mod)
    __ipow__, __imatmul__ = _in_place(operator.pow), _in_place(operator.matmul)
    __iand__, __ior__ = _in_place(operator.and_), _in_place(operator.or_)
    __ixor__, __ilshift__ = _in_place(operator.xor), _in_place(operator.lshift)
    __irshift__ = _in_place(operator.rshift)

    def __setitem__(self, key: Any, value: Any) -> None:
        METHODS["assign"](self, key, value)

    def __divmod__(self, other: Any) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Self, Self]:
        return other // self, other % self

    def __neg__(self) -> Self:
        return called("neg", self)

    def __pos__(self) -> Self:
        return called("positive", self)

    def __invert__(self) -> Self:
        return called("bitwise_not", self)

    def __abs__(self) -> Self:
        return called("abs", self)

    def __round__(self, digits: int = 0) -> Self:
        return called("round", self, digits)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> object:
        if any(exchange.has_protocol(x) for x in (*inputs, *options.get("out", ()))):
            plain = [x._elements() if isinstance(x, Elementwise) else x for x in inputs]
            is_here = not any(x is None for x in plain)
            return getattr(ufunc, method)(*plain, **options) if is_here else NotImplemented
        name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
        is_known = method == "__call__" and name in MODULES
        known: Callable[..., object] | None = METHODS[name] if is_known else None
        if known is None or (options and not options.keys() <= signature(known).parameters.keys()):
            return METHODS["foreign_ufunc"](ufunc, method, inputs, options)
        return known(*inputs, **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> object:
        return opened("numpy").called(func, types, args, kwargs)

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        """The same values in another dtype."""
        return called("astype", self, dtype)

    def clip(self, min: Any = None, max: Any = None) -> Self:
        """Values below `min` become `min`, values above `max` become `max`."""
        return called("clip", self, min, max)

    def round(self, decimals: int = 0) -> Self:
        """Each value rounded to `decimals` decimals, halves to even."""
        return called("round", self, decimals)


def _reduced(name: str, array: object, *options: Any) -> Reduced:
    return METHODS["reduction"](name, array, *options)


@as_functions
class Reductions:
    """What `x.sum(axis=1)` and its like mean, for arrays and Ragged values."""

    __slots__ = ()

    def sum(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Reduced:
        """The sum of all elements, or along axes."""
        return _reduced("sum", self, axis, dtype, out, keepdims, initial, where)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Reduced:
        """The product of all elements, or along axes."""
        return _reduced("prod", self, axis, dtype, out, keepdims, initial, where)

    def min(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Reduced:
        """The least element, or the least ones along axes."""
        return _reduced("min", self, axis, dtype, out, keepdims, initial, where)

    def max(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Reduced:
        """The greatest element, or the greatest ones along axes."""
        return _reduced("max", self, axis, dtype, out, keepdims, initial, where)

    def any(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        where: Any = None,
    ) -> Reduced:
        """Whether an element is true, of all or along axes."""
        return _reduced("any", self, axis, dtype, out, keepdims, None, where)

    def all(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        where: Any = None,
    ) -> Reduced:
        """Whether every element is true, of all or along axes."""
        return _reduced("all", self, axis, dtype, out, keepdims, None, where)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        where: Any = None,
    ) -> Reduced:
        """The mean of all elements, or along axes."""
        return _reduced("mean", self, axis, dtype, out, keepdims, None, where)

    def argmin(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Reduced:
        """Where the least element is first found."""
        return _reduced("argmin", self, axis, None, out, keepdims)

    def argmax(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Reduced:
        """Where the greatest element is first found."""
        return _reduced("argmax", self, axis, None, out, keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: None = None) -> Reduced:
        """The sum of the elements up to each one."""
        return _reduced("cumsum", self, axis, dtype, out, False)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: None = None) -> Reduced:
        """The product of the elements up to each one."""
        return _reduced("cumprod", self, axis, dtype, out, False)


class IndexingError(ShapeError, IndexError):
    """A key does not fit an array: more indices than axes, or a mask of another shape."""


@as_functions
class Operators(Elementwise, Reductions):
    """What `x[i]`, `x @ y` and `x.reshape(..)` mean as well, for every kind of array."""

    __slots__ = ()

    __matmul__, __rmatmul__ = _pair("matmul", operator.matmul)

    def __getitem__(self, key: Any) -> Self:
        try:
            return called("getitem", self, key)
        except ShapeError as failure:
            raise IndexingError(
                failure.message, where=failure.where, origins=failure.origins,
                remedy=failure.remedy, more=failure.more,
            ) from None  # fmt: skip

    @property
    def at(self) -> Any:
        """Copies with new values where a key is, as in `xs[key]`: -1 is the last element.

        `xs.at[key].set(v)` is `fw.replace(xs, key, v)`; `add`, `multiply`, `min`, `max` combine.
        """
        return METHODS["at"](self)

    @property
    def T(self) -> Self:
        """The array with its axes in reverse order."""
        return called("transpose", self)

    @property
    def mT(self) -> Self:
        """The array with its last two axes exchanged."""
        return called("matrix_transpose", self)

    @property
    def real(self) -> Any:
        """The real parts; of real numbers themselves."""
        return METHODS["real"](self)

    @property
    def imag(self) -> Any:
        """The imaginary parts; of real numbers zeros."""
        return METHODS["imag"](self)

    def conj(self) -> Self:
        """The complex conjugates; of real numbers themselves."""
        return called("conj", self)

    conjugate = conj

    def squeeze(self, axis: Any = None) -> Self:
        """The array without axes of extent 1: those given, or all of them."""
        return called("squeeze", self, axis)

    def take(self, indices: Any, axis: Any = None) -> Self:
        """The elements at indices along an axis, or of all elements where none is named."""
        whole = self if axis is not None else called("reshape", self, -1)
        return called("take", whole, indices, axis=0 if axis is None else axis)

    def argsort(self, axis: Any = -1, kind: Any = None, *, stable: bool = True) -> Self:
        """The indices of the elements in ascending order; equal ones keep theirs for any `kind`."""
        whole, at = (called("reshape", self, -1), 0) if axis is None else (self, axis)
        return called("argsort", whole, axis=at)

    def std(
        self, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = None,
    ) -> Reduced:
        """The standard deviation of all elements, or along axes."""
        return _reduced("std", self, axis, dtype, out, keepdims, None, where, ddof)

    def var(
        self, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = None,
    ) -> Reduced:
        """The variance of all elements, or along axes."""
        return _reduced("var", self, axis, dtype, out, keepdims, None, where, ddof)

    def nonzero(self) -> tuple[Self, ...]:
        """Where the elements are not 0: indices along each axis."""
        found: tuple[Self, ...] = METHODS["nonzero"](self)
        return found

    def repeat(self, repeats: Any, axis: Any = None) -> Self:
        """Each element several times, or each slice along an axis."""
        return called("repeat", self, repeats, axis)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Self:
        """Where values would be inserted into the ascending elements."""
        return called("searchsorted", self, v, side, sorter)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """The array with two axes exchanged."""
        return called("swapaxes", self, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Self:
        """The sum of the diagonal of the matrices along two axes."""
        trace: Any = public("trace")  # of which `fw.linalg` has another one
        found: Self = trace(self, offset, axis1, axis2, dtype)
        return found

    def __array_namespace__(self, *, api_version: str | None = None) -> object:
        """The package, which has the names of the array API standard."""
        return METHODS["namespace"](api_version)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Self:
        """The same elements under another shape, one extent of which may be -1: in row-major order,
        of order "F" in column-major order."""
        wanted = shape[0] if len(shape) == 1 else shape
        return called("reshape", self, wanted, **({} if order == "C" else {"order": order}))

    def ravel(self, order: str = "C") -> Self:
        """All elements as an array of rank 1: in row-major order, of order "F" column by column."""
        return self.reshape(-1, order="C" if order == "K" else order)

    flatten = ravel

    def transpose(self, *axes: Any) -> Self:
        """The array with its axes in another order, reversed when none is given."""
        return called("transpose", self, axes[0] if len(axes) == 1 else axes or None)

    def dot(self, other: Any) -> Self:
        """The inner product of vectors, the product of matrices."""
        return called("dot", self, other)
