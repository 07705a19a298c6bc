"""Networks of comparators as columns: each column pairs all elements, and puts both of each pair.

    column         pairs i with                     pairs are left, right
    ilv(i)         i with bit i flipped             x, x ^ 2^i
    vee(i)         i with the bits up to i flipped  x, x ^ (2^(i+1) - 1)
    ilv_vee(i, j)  the bits from i to i + j         x, x ^ ((2^(j+1) - 1) << i)

A column has two forms: `pull`, in which a thread for each element asks whether it is the left or
the right one of its pair; and `push`, half as many threads, which put both and ask nothing. Whoever
composes columns forces between them. After Claessen, Sheeran and Svensson (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import flatweave as fw
from flatweave import kernel as fk

Pairwise = Callable[[Any, Any], Any]


class Column(NamedTuple):
    """The left one of each pair has bit `bit` 0; `flips` are the bits that the right one differs in.
    """

    bit: int
    flips: int

    def pull(self, f: Pairwise, g: Pairwise, xs: Any) -> Any:
        """f(left, right) on the left and g(left, right) on the right, each by its own thread."""

        def at(i: Any) -> Any:
            mine, other = xs[i], xs[i ^ self.flips]
            return fk.cond(
                i & (1 << self.bit) == 0, lambda: f(mine, other), lambda: g(other, mine)
            )

        return fk.pull(len(xs), at)

    def push(self, f: Pairwise, g: Pairwise, xs: Any) -> Any:
        """The same by a thread for each pair."""

        def write(put: Any) -> None:
            fk.for_all(len(xs) // 2, lambda t: self.pair(f, g, xs, put, t))

        return fk.make_push(len(xs), write)

    def pair(self, f: Pairwise, g: Pairwise, xs: Any, put: Any, t: Any) -> None:
        """Put both of pair t."""
        left = insert_zero(self.bit, t)
        right = left ^ self.flips
        a, b = xs[left], xs[right]
        put(left, f(a, b))
        put(right, g(a, b))


def insert_zero(i: int, x: Any) -> Any:
    """The bits of x from i on one up, and bit i is 0."""
    return x + (x & ~((1 << i) - 1))


def ilv(i: int) -> Column:
    """Elements 2^i apart."""
    return Column(i, 1 << i)


def vee(i: int) -> Column:
    """Opposite elements of parts of 2^(i + 1)."""
    return Column(i, (2 << i) - 1)


def ilv_vee(i: int, j: int) -> Column:
    """As vee(j), of elements 2^i apart."""
    return Column(i + j, ((2 << j) - 1) << i)


# -- networks for 2^n elements, or for each 2^n of more -------------------------------------------


def bmerge(n: int) -> list[Column]:
    """Sorts what goes up, then down."""
    return [ilv(n - i) for i in range(1, n + 1)]


def tmerge(n: int) -> list[Column]:
    """Merges two sorted halves."""
    return [vee(n - 1), *(ilv(n - i) for i in range(2, n + 1))]


def bpmerge(n: int) -> list[Column]:
    """Merges the sorted elements in even places with those in odd places."""
    return [vee(n - i) for i in range(1, n + 1)]


def tsort(n: int) -> list[Column]:
    """Sorts: halves are merged, from pairs on. All comparators point one way."""
    return [column for i in range(1, n + 1) for column in tmerge(i)]


def vsort(n: int) -> list[Column]:
    """Sorts: interleaved halves are merged, from elements n / 2 apart on."""
    return [ilv_vee(i, j) for i in reversed(range(n)) for j in reversed(range(n - i))]


def psort(n: int) -> list[Column]:
    """Sorts: one and the same merger n times (Dowd, Perl, Rudolph and Saks 1989)."""
    return bpmerge(n) * n


def run(columns: Iterable[Column], xs: Any, form: Any = Column.push) -> Any:
    """The columns one after the other as comparators: the lesser one of a pair goes left."""
    for column in columns:
        xs = fk.force(form(column, fw.minimum, fw.maximum, xs))
    return xs
