"""Products of arrays by the names of their axes: einsum; inner and Kronecker products.

    einsum("ij,jk->ik", a, b)     matmul(a, b)
    einsum("bij,bkj->bik", a, b)  matmul(a, transpose(b, (0, 2, 1)))

Operands are taken from left to right, two at a time: axes that one of them alone has, and nobody
asks for, are summed first; axes of both that are asked for later stack matrices, the others of both
are summed by `matmul`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import flatweave as fw
from flatweave.numpy_functions import strong

ELLIPSIS = "..."


@fw.operation()
def inner(a: Any, b: Any) -> fw.Array:
    """The sums of products along the last axis of both; of a number the products.

    Types: `a: t[.., n], b: t[.., n] -> t[.., ..]`. Raises ShapeError where the last extents differ.
    Source: `numpy.inner`.

        >>> fw.inner([1, 2], [3, 4])
        Array(11, dtype=int64)
    """
    x, y = strong(a), strong(b)
    last: Any = ((-1,), (-1,))
    return fw.tensordot(x, y, axes=last) if x.ndim and y.ndim else x * y


@fw.operation()
def kron(a: Any, b: Any) -> fw.Array:
    """The Kronecker product: blocks, each an element of `a` times all of `b`.

    Types: `a: t[m, n], b: t[k, l] -> t[m * k, n * l]`. Raises ArgumentError for what is no array.
    Source: `numpy.kron`.

        >>> fw.kron([1, 10], [1, 2])
        Array([ 1,  2, 10, 20], dtype=int64)
    """
    x, y = strong(a), strong(b)
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - v.ndim) + tuple(v.shape) for v in (x, y))
    spread_out = fw.reshape(x, tuple(e for extent in left for e in (extent, 1)))
    beside = fw.reshape(y, tuple(e for extent in right for e in (1, extent)))
    return fw.reshape(spread_out * beside, tuple(m * k for m, k in zip(left, right, strict=True)))


class Named(NamedTuple):
    """An array and the names of its axes."""

    array: fw.Array
    axes: str


@fw.operation(static="subscripts optimize")
def einsum(subscripts: str, *operands: Any, optimize: Any = False) -> fw.Array:
    """Sums of products, by names of axes: "ij,jk->ik" is the product of two matrices.

    An axis that is not named after the arrow is summed; a name that occurs twice in an operand is
    its diagonal. Without an arrow, names that occur once are in alphabetic order; "..." is all axes
    that have no name. Axes of extent 1 are broadcast. `optimize` makes no difference: operands are
    taken from left to right.

    Types: arrays with as many axes as names `-> t[..]`, integers as in `matmul`. Raises
    ArgumentError for names that do not fit the operands, ShapeError where extents of one name
    differ and none is 1. Source: `numpy.einsum`.

        >>> fw.einsum("ij,j->i", [[1, 2], [3, 4]], [10, 100])
        Array([210, 430], dtype=int64)
    """
    arrays = [strong(x) for x in operands]
    names, wanted = _names(subscripts, [x.ndim for x in arrays])
    parts = _met([_without_twins(Named(x, own)) for x, own in zip(arrays, names, strict=True)])
    found = parts[0]
    for k, part in enumerate(parts[1:], 1):
        later = set(wanted).union(*(other.axes for other in parts[k + 1 :]))
        found = _product(found, part, later)
    found = _summed(found, set(wanted))
    result = fw.transpose(found.array, tuple(found.axes.index(name) for name in wanted))
    return result.astype(fw.result_type(*arrays))


def _names(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The names of each operand's axes, and of the result's; those of "..." are digits."""
    if not isinstance(subscripts, str):
        raise fw.ArgumentError.here(
            "einsum takes the names of axes first, as a text.",
            'Write fw.einsum("ij,jk->ik", x, y).',
        )
    text = "".join(subscripts.split())
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(ranks):
        raise _misnamed(subscripts, f"names {len(terms)} operands, and there are {len(ranks)}")
    spare = max((rank - len(t.replace(ELLIPSIS, "")) for t, rank in zip(terms, ranks, strict=True)
                 if ELLIPSIS in t), default=0)  # fmt: skip
    if spare > 10:
        raise _misnamed(subscripts, f'leaves {spare} axes to "...", which has room for 10')
    rest = "0123456789"[: max(spare, 0)]
    names = []
    for term, rank in zip(terms, ranks, strict=True):
        own = rank - len(term.replace(ELLIPSIS, ""))
        full = term.replace(ELLIPSIS, rest[len(rest) - own :] if own > 0 else "")
        if len(full) != rank or not all(n.isalpha() or n in rest for n in full):
            raise _misnamed(subscripts, f"names {len(full)} axes of an operand that has {rank}")
        names.append(full)
    everything = "".join(names)
    if not arrow:
        once = sorted(n for n in set(everything) if everything.count(n) == 1 and n.isalpha())
        wanted = rest + "".join(once)
    wanted = wanted.replace(ELLIPSIS, rest)
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(everything):
        raise _misnamed(subscripts, "asks for axes that no operand has, or for one twice")
    return names, wanted


def _misnamed(subscripts: Any, what: str) -> fw.ArgumentError:
    return fw.ArgumentError.here(
        f"einsum({subscripts!r}, ..) {what}.", 'Name each axis by a letter, as in "ij,jk->ik".'
    )


def _met(parts: Sequence[Named]) -> list[Named]:
    """The operands without axes of extent 1 that meet longer ones of their name."""
    longest: dict[str, Any] = {}
    for part in parts:
        for name, extent in zip(part.axes, part.array.shape, strict=True):
            (longest[name],) = fw.broadcast_shapes((longest.get(name, 1),), (extent,))
    return [_stretched(part, longest) for part in parts]


def _stretched(part: Named, longest: dict[str, Any]) -> Named:
    own = dict(zip(part.axes, part.array.shape, strict=True))
    kept = [name for name in own if not _is_one(own[name]) or _is_one(longest[name])]
    array = part.array
    if len(kept) < len(own):
        array = array[tuple(slice(None) if name in kept else 0 for name in part.axes)]
    return Named(fw.broadcast_to(array, tuple(longest[name] for name in kept)), "".join(kept))


def _is_one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1


def _without_twins(part: Named) -> Named:
    """The diagonal of axes that have one name."""
    if len(set(part.axes)) == len(part.axes):
        return part
    kept = "".join(dict.fromkeys(part.axes))
    own: dict[str, Any] = {}
    for name, extent in zip(part.axes, part.array.shape, strict=True):
        first = own.setdefault(name, extent)
        fw.check(
            first == extent, f"axis {name} of einsum has {{0}} elements, and {{1}}.", first, extent,
            error=fw.ShapeError, remedy="Bring both to one extent.",
        )  # fmt: skip
    shape = tuple(part.array.shape[part.axes.index(name)] for name in kept)

    def element(*at: Any) -> fw.Array:
        return part.array[tuple(at[kept.index(name)] for name in part.axes)]

    return Named(fw.generate(shape, element), kept)


def _summed(part: Named, wanted: set[str]) -> Named:
    """Without the axes that no result needs."""
    gone = tuple(k for k, name in enumerate(part.axes) if name not in wanted)
    if not gone:
        return part
    return Named(fw.sum(part.array, axis=gone), "".join(n for n in part.axes if n in wanted))


def _product(a: Named, b: Named, later: set[str]) -> Named:
    """Two operands as one."""
    a, b = _summed(a, later | set(b.axes)), _summed(b, later | set(a.axes))
    both = [name for name in a.axes if name in b.axes]
    folded = [name for name in both if name not in later]
    stacked = [name for name in both if name in later]
    left = [name for name in a.axes if name not in both]
    right = [name for name in b.axes if name not in both]
    if not folded or not left and not right:
        return _summed(_broadcast(a, b, [*stacked, *left, *right, *folded]), later)
    x = _matrices(a, stacked, left, folded)
    y = _matrices(b, stacked, folded, right)
    shape = [_extent(a, name) for name in (*stacked, *left)] + [_extent(b, name) for name in right]
    return Named(fw.reshape(fw.matmul(x, y), tuple(shape)), "".join([*stacked, *left, *right]))


def _extent(part: Named, name: str) -> Any:
    return part.array.shape[part.axes.index(name)]


def _matrices(part: Named, stacked: list[str], rows: list[str], columns: list[str]) -> fw.Array:
    """An operand as a stack of matrices."""
    order = tuple(part.axes.index(name) for name in (*stacked, *rows, *columns))
    shape = [_extent(part, name) for name in stacked]
    shape += [math.prod(_extent(part, name) for name in group) for group in (rows, columns)]
    return fw.reshape(fw.transpose(part.array, order), tuple(shape))


def _broadcast(a: Named, b: Named, order: list[str]) -> Named:
    """The products of elements, with all axes of both."""
    arrays = []
    for part in (a, b):
        own = [name for name in order if name in part.axes]
        moved = fw.transpose(part.array, tuple(part.axes.index(name) for name in own))
        arrays.append(moved[tuple(slice(None) if name in own else None for name in order)])
    return Named(arrays[0] * arrays[1], "".join(order))
