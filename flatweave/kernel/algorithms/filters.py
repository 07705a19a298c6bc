"""Arrays whose length is found by computing: how many elements are kept, and where each goes.

    kept = fk.filter(lambda x: x > 0, xs)        in code of the grid; a push array

    1. each thread counts what it keeps of a chunk     counts = 2 0 3
    2. one block adds the counts up                    places = 0 2 2 5, of which the last is the
                                                       length, a number of the host from now on
    3. each thread goes through its chunk again, and puts what it keeps from its place on
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import NestingError
from flatweave.base.source import user_location
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.values.array import Tracer
from flatweave.kernel.algorithms.folds import scan
from flatweave.kernel.arrays.loops import cond, for_all, seq_for, when
from flatweave.kernel.arrays.pulls import Pull, need_pull
from flatweave.kernel.arrays.pushes import Push, Put
from flatweave.kernel.arrays.units import concat_p, generate
from flatweave.kernel.storage.stores import force
from flatweave.kernel.writing.code import level, number, trace
from flatweave.kernel_ir.hierarchy import GRID

CHUNK = 64
"""Elements that a thread goes through, one after the other."""


def filter(keep: Callable[[Any], Any], xs: Any) -> Push:
    """The elements for which `keep` holds, in their order.

    In code of the grid: it takes two launches to know how many there are, and what stores them is
    a third. Elements are computed twice; force an array that is dear.
    """
    array = need_pull(xs, "filter")
    if level() is not GRID:
        raise NestingError(
            f"filter in code of a {level().word}: how many elements it keeps is known behind a "
            "launch.",
            where=user_location(),
            remedy="Filter in code of the grid, outside of pconcat_map; or let each thread put "
            "what it keeps with make_push, in room for all.",
        )
    chunks = (array.length + (CHUNK - 1)) // CHUNK
    counts = force(Pull(chunks, lambda c: _through(array, c, 0, lambda i, at, x: _step(keep, x))))
    places = force(generate(1, lambda _: concat_p(0, scan(_plus, counts, 0))))
    total = places.at(chunks)

    def write(put: Put) -> None:
        def thread(c: Any) -> None:
            def element(_: Any, at: Any, x: Any) -> Any:
                kept = keep(x)
                when(kept, lambda: put(at, x))
                return cond(kept, lambda: 1, lambda: 0)

            _through(array, c, places.at(c), element)

        threads = trace().threads
        for_all(
            (chunks + (threads - 1)) // threads,
            lambda b: for_all(
                minimum(threads, chunks - b * threads), lambda t: thread(b * threads + t)
            ),
        )

    return Push(total, write)


def _step(keep: Callable[[Any], Any], x: Any) -> Any:
    return cond(keep(x), lambda: 1, lambda: 0)


def _through(
    array: Pull, chunk: Any, start: Any, element: Callable[[Any, Any, Any], Any]
) -> Tracer:
    """`start` and what `element(i, sum so far, x)` gives for each element of a chunk, added up."""
    first = chunk * CHUNK
    end = minimum(first + CHUNK, array.length)
    before = number(start, "where a chunk begins")
    found: Tracer = seq_for(first, end, lambda i, at: at + element(i, at, array.at(i)), before)
    return found


def _plus(a: Any, b: Any) -> Any:
    return a + b
