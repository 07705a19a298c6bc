"""Array: what users hold. On the host it has values; inside a trace it stands for what a let binds.

    fw.iota(3)                        Array([0, 1, 2], dtype=int64)
    jit(lambda x: print(x))(xs)       Traced(f32[n])

Memory never changes for who else holds it: `x[i] = v` lets the object x stand for another value
(`arrays/assignment.py`). A scalar is an array of rank 0, in element functions as anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, TypeVar

import numpy as np

from flatweave.base.dtypes import DType, as_dtype
from flatweave.base.errors import UserError
from flatweave.frontend import Methods
from flatweave.frontend.values import operators, untraceable
from flatweave.frontend.values.exchange import HOST, Exchange, Values, on_device
from flatweave.frontend.values.scope import STATE, Scope
from flatweave.runtime.lazy_import import opened
from flatweave.terms.syntax import ArrayType, Atom, Const

SHOWN = 100  # elements that repr shows in full
Number: TypeAlias = bool | int | float | complex  # an element as Python has it


class Array(operators.Operators):
    """An n-dimensional array, row-major: `.shape .dtype .ndim .size`, operators. `np.asarray(a)`
    gives the values without a copy; NotTraceableError for a traced one. Source: `numpy.ndarray`.

        >>> (fw.iota(4).reshape(2, 2) + 1).T.tolist()
        [[1, 3], [2, 4]]
    """

    __slots__ = ("__weakref__",)

    def __init_subclass__(cls) -> None:
        cls.__name__ = cls.__qualname__ = "Array"  # as Python's own messages are to call it

    if not TYPE_CHECKING:  # which knows every name

        def __getattr__(self, name: str) -> NoReturn:
            raise untraceable.attribute(name)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents, outermost first; inside a trace they can be computed with."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements; equal to fw.f32 and its like."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes: the rank."""
        raise NotImplementedError

    @property
    def size(self) -> Tracer | int:
        """The number of elements."""
        return math.prod(self.shape)  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        """The size of one element, in bytes."""
        return self.dtype.itemsize

    @property
    def device(self) -> str:
        """Where the values are: "cpu", the memory of the host."""
        return HOST

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """The array itself; ArgumentError for a device other than "cpu"."""
        on_device(device, "to_device")
        if stream is not None:
            raise untraceable.stream()
        return self

    def to_numpy(self) -> Values:
        """The values as a NumPy array, on the CPU without a copy; it cannot be written to."""
        raise NotImplementedError

    def _become(self, other: Any) -> None:
        """Let this object stand for the value of another one of its class."""
        raise NotImplementedError

    def copy(self, order: Any = "C") -> Self:
        """Another array of these elements, in row-major order; memory is copied when it changes."""
        return separate(self)

    __copy__ = __deepcopy__ = copy


A = TypeVar("A", bound=Array)


def separate(array: A) -> A:
    """Another object of the same value: assignments to one do not change the other."""
    found = object.__new__(type(array))
    found._become(array)
    return found


METHODS: Methods[Array] = operators.METHODS  # the functions of arrays, by name


class HostArray(Exchange, Array):
    """An array with values, held by a C-contiguous, read-only NumPy array."""

    __slots__ = ("_values",)

    def __init__(self, values: Values) -> None:
        self._values = values

    @property
    def shape(self) -> tuple[int, ...]:
        return self._values.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._values.dtype

    @property
    def ndim(self) -> int:
        return self._values.ndim

    @property
    def size(self) -> int:
        return self._values.size

    @property
    def nbytes(self) -> int:
        """The size of the values in memory, in bytes."""
        return self._values.nbytes

    def to_numpy(self) -> Values:
        return self._values

    def _elements(self) -> Values:
        return self.to_numpy()

    def view(self, dtype: Any = None) -> Array:
        """The same memory read as elements of another dtype, as a value; without one a copy."""
        return host_array(self._values.view(as_dtype(dtype or self.dtype).numpy))

    def item(self, *index: int) -> Number:
        """The only element, or the one at an index, as a Python scalar."""
        values = self._values if index else self._only(untraceable.no_one_element)
        return values.item(*index)  # type: ignore[no-any-return]

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars; of rank 0, the scalar."""
        return self._values.tolist()

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return bool(self._only(untraceable.no_one_truth))

    def __int__(self) -> int:
        return int(self._values)

    def __float__(self) -> float:
        return float(self._values)

    def __complex__(self) -> complex:
        return complex(self._values)

    def __index__(self) -> int:
        return self._values.__index__()

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self._values)))

    def __contains__(self, value: Any) -> bool:
        return value in self._values

    def __format__(self, spec: str) -> str:
        if self.ndim and spec:
            raise TypeError(f"{spec!r} is the format of one number, not of {describe(self)}")
        return format(self._values[()] if not self.ndim else str(self), spec)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return opened("notebook").array(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        if not self.ndim:
            return f"Array({self._values[()]}, dtype={self._values.dtype})"
        text = np.array2string(self._values, threshold=SHOWN, separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self._values.dtype})"

    def __str__(self) -> str:
        values = self._values
        return np.array2string(values, threshold=SHOWN) if self.ndim else str(values)

    def __reduce__(self) -> tuple[Any, ...]:
        return host_array, (self._values,)

    def _become(self, other: Any) -> None:
        self._values = other._values


class HostComplex(HostArray):
    """Complex numbers with values: in memory the imaginary part follows the real one."""

    __slots__ = ()


def host_array(values: Values) -> HostArray:
    """An array over these values, which nobody changes from now on."""
    values.setflags(write=False)
    return HostComplex(values) if values.dtype.kind == "c" else HostArray(values)


class Tracer(Array):
    """An array inside a trace: the atom that stands for it in the program.

    `weak` scalars come from Python numbers and take the dtype of what they meet (NEP 50).
    """

    __slots__ = ("atom", "scope", "weak")

    def __init__(self, atom: Atom, scope: Scope, weak: bool = False) -> None:
        self.atom = atom
        self.scope = scope
        self.weak = weak

    def _become(self, other: Any) -> None:
        self.atom, self.scope, self.weak = other.atom, other.scope, other.weak

    @property
    def type(self) -> DType | ArrayType:
        """The type in the program."""
        return self.atom.type  # type: ignore[return-value]

    @property
    def element(self) -> DType:
        """The dtype as a scalar type of ours."""
        type_ = self.type
        return type_.dtype if isinstance(type_, ArrayType) else type_

    @property
    def extents(self) -> tuple[Atom, ...]:
        """The extents as atoms."""
        type_ = self.type
        return type_.shape if isinstance(type_, ArrayType) else ()

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self._extent(extent) for extent in self.extents)

    def _extent(self, extent: Atom) -> Tracer | int:
        if isinstance(extent, Const):
            return int(extent.value)
        return Tracer(extent, self.scope.trace.homes[extent], weak=True)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.element.numpy

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def _refused(self, error: UserError) -> UserError:
        """The error for what Python asks of a tracer, or for one whose trace has ended."""
        return self.escaped() if self.is_gone else error

    @property
    def is_gone(self) -> bool:
        """Whether the body that this value belongs to has ended."""
        scope = STATE.scope
        return scope is None or not scope.holds(self.scope)

    def escaped(self) -> UserError:
        """The error for a value used after its body has ended."""
        trace = self.scope.trace
        ended = trace.root.closed or STATE.scope is None
        return untraceable.escaped(describe(self), trace.name, ended)

    def _without_values(self, *args: Any, **options: Any) -> NoReturn:
        raise self._refused(untraceable.host_array(describe(self), self.ndim == 0))

    to_numpy = __array__ = __dlpack__ = __dlpack_device__ = _without_values
    __arrow_c_array__ = __reduce__ = _without_values

    def item(self, *index: int) -> NoReturn:
        """Refused: there are no Python numbers inside a trace."""
        raise self._refused(untraceable.python_value(describe(self), "item"))

    def tolist(self) -> NoReturn:
        """Refused: there are no Python numbers inside a trace."""
        raise self._refused(untraceable.python_value(describe(self), "tolist"))

    def __len__(self) -> int:
        extents = self.extents
        if not extents:
            raise TypeError("len() of a scalar")
        if isinstance(extents[0], Const):
            return int(extents[0].value)
        raise self._refused(untraceable.length(describe(self)))

    def __bool__(self) -> bool:
        if isinstance(self.atom, Const):
            return bool(self.atom.value)
        raise self._refused(untraceable.truth(describe(self)))

    def __int__(self) -> int:
        if isinstance(self.atom, Const):
            return int(self.atom.value)
        raise self._refused(untraceable.conversion(describe(self), "int"))

    def __float__(self) -> float:
        if isinstance(self.atom, Const):
            return float(self.atom.value)
        raise self._refused(untraceable.conversion(describe(self), "float"))

    def __complex__(self) -> complex:
        raise self._refused(untraceable.conversion(describe(self), "complex"))

    def __index__(self) -> int:
        if isinstance(self.atom, Const) and self.element.is_integer:
            return int(self.atom.value)
        raise self._refused(untraceable.conversion(describe(self), "index"))

    def __iter__(self) -> Iterator[Any]:
        if self.extents and isinstance(self.extents[0], Const):
            return (self[i] for i in range(int(self.extents[0].value)))
        raise self._refused(untraceable.iteration(describe(self)))

    def __contains__(self, value: Any) -> bool:
        raise self._refused(untraceable.search(describe(self)))

    def __mul__(self, other: Any) -> Tracer:
        self._refuse_repetition(other)
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> Tracer:
        self._refuse_repetition(other)
        return super().__rmul__(other)

    def _refuse_repetition(self, other: Any) -> None:
        if isinstance(other, list | tuple) and not self.ndim and self.element.is_integer:
            raise self._refused(untraceable.repetition(describe(self)))

    def __hash__(self) -> int:  # type: ignore[override]
        raise self._refused(untraceable.hashing(describe(self)))

    def __format__(self, spec: str) -> str:
        if spec:
            raise self._refused(untraceable.formatting(describe(self), spec))
        return repr(self)

    def __repr__(self) -> str:
        return f"Traced({describe(self)})"


def describe(value: Any) -> str:
    """The type of an array as messages show it: `f32[1000, 3]`, `i64`."""
    is_one = isinstance(value, Tracer | HostArray | np.ndarray)
    traced = value if is_one else getattr(value, value.parts[0])  # complex, or a float of 16 bits
    if isinstance(traced, Tracer):
        extents = ", ".join(extent_text(extent, traced.scope) for extent in traced.extents)
        name = as_dtype(value.dtype).name
        return f"{name}[{extents}]" if extents else name
    return f"{value.dtype}{list(value.shape)}" if value.ndim else str(value.dtype)


def kind_of(value: Any) -> str:
    """What a value is, in a sentence: `an array`, `an int`, `a str`."""
    if isinstance(value, Array | np.ndarray):
        return "an array"
    name = type(value).__name__
    if name.lower() in ("array", "number"):  # another library's array, named as ours
        name = f"{type(value).__module__}.{name}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def shown(value: Any) -> str:
    """A value as messages show it: as Python writes it where that is short, else what it is."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else kind_of(value)


def extent_text(extent: Atom, scope: Scope) -> str:
    """An extent: its value in the call that is being traced, where known, else its name."""
    if isinstance(extent, Const):
        return str(extent.value)
    return str(scope.trace.hints.get(extent, "?"))
