"""Arrays cut into arrays of one length, and joined, without a store.

    split_up(k, xs)[i][j] = xs[i * k + j]        neighbours
    coalesce(k, xs)[i][j] = xs[i + s * j]        s = n / k apart
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ShapeError
from flatweave.base.plan import CHECK_ERROR, Site
from flatweave.base.source import user_location
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.values.array import Tracer
from flatweave.kernel.arrays.loops import cond
from flatweave.kernel.arrays.pulls import Pull, component, need_pull
from flatweave.kernel.writing.code import Extent, here, writing
from flatweave.kernel_ir.host import Fail
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

REMEDY = "Pad it: fk.split_up(k, xs, pad=0) fills the last part up."
WRONG_SIZE = "fix_size wants {n} elements, and there are {{0}}."
UNEVEN = "{who} cuts {{0}} elements into parts of {k}, and that leaves some over."


def split_up(k: int, xs: Any, pad: Any = None) -> Pull:
    """Parts of k neighbours each; k is known when the kernel is written.

    With `pad`, the last part is filled up with it. Raises ShapeError for a length that is no
    multiple of k, where it is known at run time then.
    """
    array = need_pull(xs, "split_up")
    if pad is not None and not (isinstance(array.length, int) and array.length % _size(k) == 0):
        return _filled_up(k, array, pad)
    count = parts_of(k, array.length, "split_up")
    return Pull(count, lambda i: Pull(k, lambda j: array[i * k + j]))


def _filled_up(k: int, array: Pull, value: Any) -> Pull:
    """Parts of k elements, which ask where the array ends only in the part where it does."""
    n = array.length

    def part(u: Any) -> Pull:
        first = u * k

        def at(j: Any) -> Any:
            i = first + j
            return cond(
                first + k <= n,
                lambda: array[i],
                lambda: cond(i < n, lambda: array[i], lambda: value),
            )

        return Pull(k, at)

    return Pull((n + (_size(k) - 1)) // k, part)


def coalesce(k: int, xs: Any) -> Pull:
    """n / k parts of k elements each, those of a part n / k apart: when each thread goes through a
    part, neighbouring threads read neighbours."""
    array = need_pull(xs, "coalesce")
    count = parts_of(k, array.length, "coalesce")
    return Pull(count, lambda i: Pull(k, lambda j: array[i + count * j]))


def padded(k: int, xs: Any, value: Any) -> Pull:
    """The array with `value` behind it, up to a multiple of k."""
    array = need_pull(xs, "padded")
    n = array.length
    return Pull(
        (n + (k - 1)) // k * k, lambda i: cond(i < n, lambda: array[i], lambda: value)
    )


def parts_of(k: int, length: Extent, who: str) -> Extent:
    """How many parts of k elements there are; none may be left over."""
    _size(k, who)
    if isinstance(length, int):
        if length % k:
            raise ShapeError(
                UNEVEN.format(who=who, k=k).format(length),
                where=user_location(), remedy=REMEDY,
            )  # fmt: skip
        return length // k
    _check_even(k, length, who)
    count: Extent = length // k
    return count


def _size(k: Any, who: str = "split_up") -> int:
    """How many elements a part has."""
    if not isinstance(k, int) or k < 1:
        raise ShapeError(
            f"{who} cuts into parts of {k!r} elements.",
            where=user_location(), remedy="Give a whole number from 1 on, such as 256.",
        )  # fmt: skip
    return k


def _check_even(k: int, length: Tracer, who: str) -> None:
    """Refuse, when it runs, a length that leaves elements over."""
    uneven = here().apply("ne", (length % k).atom, index(0))
    _refuse_where(uneven, length, UNEVEN.format(who=who, k=k), REMEDY)


def _refuse_where(wrong: Atom, length: Tracer, message: str, remedy: str) -> None:
    """Refuse, when it runs, a length of which `wrong` holds."""
    scope, made = here(), writing()
    text = check_message(message, [], remedy)
    site = made.sites.add(Site("shape", scope.trace.where, text, 1))
    made.check(Fail(wrong, CHECK_ERROR, site, length.atom, index(0)))


def fix_size(n: int, xs: Any) -> Pull:
    """The array, whose length is known to be n: refused when it runs with another."""
    array = need_pull(xs, "fix_size")
    if isinstance(array.length, int):
        if array.length != n:
            raise ShapeError(
                WRONG_SIZE.format(n=n).format(array.length),
                where=user_location(), remedy="Cut or pad it first.",
            )  # fmt: skip
        return array
    other = here().apply("ne", array.length.atom, index(n))
    _refuse_where(other, array.length, WRONG_SIZE.format(n=n), "Cut or pad it before the call.")
    return Pull(n, lambda i: array[i])


def conc(a: Any, b: Any) -> Pull:
    """One array after the other, by a test in each element: see concat_p for one without."""
    first, second = need_pull(a, "conc"), need_pull(b, "conc")
    return Pull(
        first.length + second.length,
        lambda i: cond(i < first.length, lambda: first[i], lambda: second[i - first.length]),
    )


def unpair(xs: Any) -> Pull:
    """An array of pairs as one of twice the length, by a test in each element."""
    pairs = need_pull(xs, "unpair")
    return Pull(
        2 * pairs.length,
        lambda i: cond(
            i % 2 == 0, lambda: component(pairs, i // 2, 0), lambda: component(pairs, i // 2, 1)
        ),
    )


def shift_right(d: int, fill: Any, xs: Any) -> Pull:
    """Element i is element i - d; the first d are `fill`."""
    array = need_pull(xs, "shift_right")
    return Pull(array.length, lambda i: cond(i < d, lambda: fill, lambda: array[i - d]))


def shift_left(d: int, fill: Any, xs: Any) -> Pull:
    """Element i is element i + d; the last d are `fill`."""
    array = need_pull(xs, "shift_left")
    return Pull(
        array.length, lambda i: cond(i < array.length - d, lambda: array[i + d], lambda: fill)
    )


def rotate(d: int, xs: Any) -> Pull:
    """Element i is element (i + d) mod n."""
    array = need_pull(xs, "rotate")
    return Pull(array.length, lambda i: array[(i + d) % array.length])


def transpose(xs: Any) -> Pull:
    """Element [i][j] is element [j][i]."""
    rows = need_pull(xs, "transpose")
    inner = rows[0].length
    return Pull(inner, lambda i: Pull(rows.length, lambda j: rows[j][i]))


def flatten(xs: Any) -> Pull:
    """The rows of a pull array of pull arrays, one after the other."""
    rows = need_pull(xs, "flatten")
    width = rows[0].length
    return Pull(rows.length * width, lambda i: rows[i // width][i % width])
