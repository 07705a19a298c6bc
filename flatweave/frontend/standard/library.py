"""What NumPy and SciPy do better: calls of a library, at once or as a step of a program.

    @operation(host=at_once(np.linalg.inv))             outside of traces, on what is here
    def inv(x): return step(np.linalg.inv, [a], ..)     callback inv_3f2a stacked [] [..] ..
    transformed("fft", rows, n, c128, norm)             SciPy's transform, NumPy's without SciPy

Outside of traces an argument that the library does not take as it is, or refuses, goes the way of
traced ones, which raise the errors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from flatweave.base.config import config
from flatweave.base.dtypes import COMPLEX, PARTS, DType, as_dtype, f64
from flatweave.base.errors import ArgumentError, ShapeError, UserError
from flatweave.base.plan import STACKED, register
from flatweave.base.source import user_location
from flatweave.frontend.complex.rules import either
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct, traced
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.custom import ruled
from flatweave.frontend.trace import extents
from flatweave.frontend.values.array import Array, HostArray, HostComplex, Tracer, describe
from flatweave.frontend.values.asarray import is_number_list, list_values
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import Complex, is_short
from flatweave.frontend.values.scope import current
from flatweave.runtime.lazy_import import opened
from flatweave.terms.syntax import Const

LAPACK = "NumPy's LAPACK"
SINGULAR = "of a singular matrix: in some column every element from the diagonal down is 0."
LEAST_SQUARES = "Use fw.linalg.pinv(a), and fw.linalg.pinv(a) @ b as the solution of least squares."
INDEFINITE = "of a matrix that is not positive definite."
EIGENVALUES = "Look at its eigenvalues: fw.linalg.eigvalsh(x)."
REFUSING = {
    "_factor": "cholesky", "_singular": "svd", "_singular_values": "svdvals",
    "_rank": "matrix_rank", "_pseudo_inverse": "pinv", "_general": "eig",
    "_general_values": "eigvals", "_least_squares": "lstsq",
}  # fmt: skip
"""Public functions, by what computes them and may refuse a matrix where that has another name."""
NORMS = ("backward", "ortho", "forward")
OF_REALS = frozenset({"rfft", "ihfft", "rfftn"})
Out = TypeVar("Out")


# -- outside of traces ----------------------------------------------------------------------------


def floats(x: Any) -> Values | None:
    """An array that is here, of floats or complex numbers; None for any other value."""
    if type(x) is not np.ndarray:
        if isinstance(x, Array):
            x = np.asarray(x)
        elif is_number_list(x):
            x = list_values(x)
        if type(x) is not np.ndarray:
            return None
    kind = x.dtype.char
    if kind in "dfDF":
        return x
    if is_short(x):
        return x.astype(np.float32)
    return x.astype(np.float64) if kind in "?bBhHiIlLqQ" else None


def at_once(
    compute: Callable[..., Any], kind: Any = None, small: Callable[..., Any] | None = None,
    is_square: bool = True,
) -> Callable[..., Any]:  # fmt: skip
    """The short cut of a function of matrices, for arrays that are here; a tuple of results is one
    of a `kind`. `small` computes stacks of small matrices, and gives None for others."""

    def host(x: Any, /, *others: Any, **options: Any) -> object:
        a = x if type(x) is np.ndarray and x.dtype.char in "dfDF" else floats(x)
        if a is None:
            return NotImplemented
        if others:
            others = tuple([floats(other) for other in others])
            for other in others:
                if other is None:
                    return NotImplemented
        try:
            if small is not None and a.ndim > 2 and (are_square(a) or not is_square):
                result = small(a, *others, **options)
                if result is not None:
                    return kind(*result) if type(result) is tuple else result
            found = compute(a, *others, **options)
        except np.linalg.LinAlgError as failure:
            if a.ndim < 2 or (is_square and not are_square(a)):
                return NotImplemented  # the trace says what is wrong
            error = refused(compute, failure)
            error.where = user_location()
            raise error from None
        except UserError as failure:
            failure.where = failure.where or user_location()
            raise
        except (TypeError, ValueError, IndexError):
            return NotImplemented
        if isinstance(found, tuple):
            return tuple.__new__(kind, [kept(each) for each in found])
        return kept(found)

    return host


def are_square(a: Values) -> bool:
    """Whether matrices have as many rows as columns."""
    m, n = a.shape[-2:]
    return bool(m == n)


def kept(values: Any) -> HostArray:
    """A result, in row-major order, which nobody changes from now on."""
    if type(values) is not np.ndarray:
        values = np.asarray(values)
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    values.setflags(False)
    return HostComplex(values) if values.dtype.kind == "c" else HostArray(values)


# -- in traces ------------------------------------------------------------------------------------


def matrices(x: Any, who: str, is_square: bool = False) -> Array:
    """An argument as matrices of floats or complex numbers, or a stack of some."""
    array = either(x, f"x of {who}")
    plain = part_of(array)
    if plain.ndim < 2:
        raise ShapeError.here(
            f"{who} takes matrices, got {describe(array)}.", "Give an array of two axes or more."
        )
    if is_square:
        extents.same(
            plain.extents[-2], plain.extents[-1],
            f"{who} takes square matrices, got {{0}} rows and {{1}} columns.",
            remedy="Look at how the matrix was made.",
        )  # fmt: skip
    return array if plain.element.is_float else array.astype(f64)


def part_of(array: Any) -> Tracer:
    """The array, or of complex numbers the real parts."""
    return array.real if isinstance(array, Complex) else array


def real_of(array: Any) -> DType:
    """The dtype of the parts of numbers."""
    return part_of(array).element


def dtype_of(*arrays: Any) -> DType:
    """The common dtype of arrays or numbers."""
    kinds = [complex_of(x) if isinstance(x, Complex) else real_of(x) for x in arrays]
    return as_dtype(np.result_type(*(kind.numpy for kind in kinds)))


def complex_of(array: Any) -> DType:
    """The dtype of complex numbers with the parts of an array."""
    return next(kind for kind in COMPLEX.values() if PARTS[kind] is real_of(array))


def like(array: Any, *ends: Any, dtype: Any = None) -> ShapeDtypeStruct:
    """The description of an array with other extents for the last two axes."""
    return ShapeDtypeStruct((*array.shape[:-2], *ends), dtype or dtype_of(array))


def step(
    compute: Callable[..., Any], operands: Sequence[Any], results: Sequence[ShapeDtypeStruct],
    library: str = LAPACK, run: Callable[..., Any] | None = None, **options: Any,
) -> list[Array]:  # fmt: skip
    """What a function of stacks gives in a program; `options` are known. `run` calls it, where that
    takes more."""

    dtypes, computed = [as_dtype(result.dtype).dtype for result in results], run or compute

    def call(values: Sequence[Any]) -> Sequence[Any]:
        try:
            found = computed(*values, **options)
        except np.linalg.LinAlgError as failure:
            raise refused(compute, failure) from None
        parts = found if isinstance(found, tuple) else (found,)
        return [np.asarray(part, dtype) for part, dtype in zip(parts, dtypes, strict=True)]

    who = compute.__name__.removeprefix("_")
    kinds = ", ".join(str(result.dtype) for result in results)
    name = register(compute, call, f"{sorted(options.items())} {kinds}", library)
    return traced(name, results, operands, STACKED, who)


def with_rules(
    which: str, compute: Callable[..., Out], *arrays: Any, **options: Any
) -> Out:
    """What a step gives; derivatives use the rules of that name (`derivatives.py`)."""
    if not is_derived():
        return compute(*arrays)
    rules = opened("derivatives").RULES[which](**options)
    return ruled(compute, arrays, options.get("name", which), rules)


def is_derived() -> bool:
    """Whether what is traced here has derivatives taken of it."""
    scope = current()
    return bool(scope.order or scope.is_transposed)


def of_matrices(*, is_square: bool = False) -> Callable[[Callable[..., Out]], Callable[..., Out]]:
    """Declare a function of matrices by what it is of one stack of them: arrays in chunks are
    mapped over, and derivatives use the rules of its name."""

    def declare(body: Callable[..., Out]) -> Callable[..., Out]:
        who, params = body.__name__, inspect.signature(body).parameters.values()
        defaults = {p.name: p.default for p in params if p.kind is p.KEYWORD_ONLY}

        @functools.wraps(body)
        def work(x: Any, /, **options: Any) -> Out:
            options = {**defaults, **options}
            a = matrices(x, who, is_square)
            if options.get("rtol") is None and is_divided(a):
                return map(lambda each: work(each, **options), a)  # type: ignore[no-any-return]
            return with_rules(who, functools.partial(body, **options), a, **options)

        return work

    return declare


def is_divided(array: Any) -> bool:
    """Whether an array may be one in chunks, whose first axis must be mapped over."""
    scope = current()
    return scope.trace.in_chunks and scope.outer is None and part_of(array).ndim > 2


def failed(who: str, why: str, remedy: str) -> ArgumentError:
    """The error for what the library cannot compute."""
    return ArgumentError(f"{who} {why}", remedy=remedy)


def refused(compute: Callable[..., Any], failure: Exception) -> ArgumentError:
    """The user's error for matrices that LAPACK refuses; its rounds do not end for NaN."""
    who, why = REFUSING.get(compute.__name__, compute.__name__), str(failure)
    if "Singular" in why:
        return failed(who, SINGULAR, LEAST_SQUARES)
    if "definite" in why:
        return failed(who, INDEFINITE, EIGENVALUES)
    return failed(who, f"fails: {failure}.", "See whether there are NaN in it.")


# -- transforms ------------------------------------------------------------------------------------


@functools.cache
def _library() -> tuple[Any, str]:
    """The library, and what notes call it."""
    try:
        from scipy import fft as found  # optional dependency
    except ImportError:
        return np.fft, "NumPy's transforms"
    return found, "SciPy's transforms"


@functools.cache
def _transform(name: str) -> Callable[..., Any]:
    """A transform of the library."""
    found: Callable[..., Any] = getattr(_library()[0], name)
    return found


def transform_at_once(name: str) -> Callable[..., Any]:
    """The short cut for arrays that are here; what the library refuses goes the way of others."""

    of_reals = name in OF_REALS

    def host(x: Any, /, *others: Any, **options: Any) -> object:
        values = None if is_on_device() or others else floats(x)
        if values is None or (of_reals and values.dtype.kind == "c"):
            return NotImplemented
        if options and not _takes(options):
            return NotImplemented
        try:
            if name == "irfftn" and options.get("s") is None:
                last = (options.get("axes") or (-1,))[-1]
                if values.shape[last] < 2:
                    return NotImplemented  # SciPy takes one element, of which nothing is left
            return kept(_transform(name)(values, **options))
        except (TypeError, ValueError, IndexError):
            return NotImplemented

    return host


def _takes(options: dict[str, Any]) -> bool:
    """Whether the library takes lengths as they are given; their axes are the last ones unless
    others are given."""
    lengths, n = options.get("s"), options.get("n")
    if lengths is not None and _are_lengths(lengths) and options.get("axes") is None:
        options["axes"] = tuple(range(-len(lengths), 0))
    return (lengths is None or _are_lengths(lengths)) and (n is None or _are_lengths((n,)))


def _are_lengths(lengths: Any) -> bool:
    return isinstance(lengths, tuple | list) and all(type(n) is int and n > 0 for n in lengths)


def is_on_device() -> bool:
    """Whether what is called runs on a device."""
    return config.target.startswith(("cuda", "opencl"))


def transformed(
    name: str, rows: Any, width: Any, dtype: DType, norm: Any, *length: Any
) -> Array:
    """The transform along the last axis by the library; it is given the length where that does not
    follow."""
    compute, library = _transform(name), _library()[1]
    scope = current()
    if scope.trace.in_chunks and scope.outer is None and _are_several(rows):
        return map(lambda row: transformed(name, row, width, dtype, norm, *length), rows)

    def run(x: Any, *n: Any, norm: Any) -> object:
        return compute(x, *(int(np.ravel(each)[0]) for each in n), norm=norm)

    result = ShapeDtypeStruct((*rows.shape[:-1], width), dtype)
    return step(compute, [rows, *length], [result], library, run, norm=norm_of(norm))[0]


def transformed_along(name: str, array: Any, axes: tuple[int, ...], norm: Any) -> Array:
    """The transform along several axes, counted from the last one."""
    compute, library = _transform(name), _library()[1]
    result = ShapeDtypeStruct(array.shape, complex_of(array))
    return step(compute, [array], [result], library, axes=axes, norm=norm_of(norm))[0]


def _are_several(rows: Any) -> bool:
    """Whether rows, and not one row, may be divided among chunks."""
    plain = part_of(rows)
    return plain.ndim > 1 and not isinstance(plain.extents[0], Const)


def norm_of(norm: Any) -> str:
    """The name of a way to divide; None is "backward"."""
    norm = "backward" if norm is None else norm
    if norm not in NORMS:
        raise ArgumentError.here(
            f"norm of a transform is one of {', '.join(NORMS)}, got {norm!r}.",
            'Leave it out for "backward".',
        )
    return str(norm)
