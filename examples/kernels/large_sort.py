"""A bitonic sort of any number of keys: parts in blocks, then columns of the whole grid.

    python examples/kernels large_sort

                              columns                        launches
    parts of 2^p              p (p + 1) / 2, in shared       1
    merge of 2^k, k > p       vee, ilv .. down to distance 2^p  k - p: pairs lie in different parts
                              the last p, in shared          1

After Svensson (2013, 3.3.3), whose host code is the loop in `sort_to`. What is no power of two is
filled up with the greatest key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.networks import Column, bmerge, run, tmerge, tsort

from flatweave import kernel as fk

LOG_PART, THREADS = 10, 512


def in_parts(columns: list[Column], xs: Any) -> Any:
    """Columns whose pairs are in one part: all of them in one launch."""
    return fk.pconcat_map(partial(run, columns), fk.split_up(1 << LOG_PART, xs))


@fk.kernel(threads=THREADS, static_argnames=("log",))
def sort_to(xs: Any, top: Any, log: int) -> Any:
    """The keys in order, of which there are at most 2^log; none is greater than `top`."""
    keys = fk.pull(1 << log, lambda i: fk.cond(i < xs.length, lambda: xs[i], lambda: top))
    keys = fk.force(in_parts(tsort(LOG_PART), keys))
    for size in range(LOG_PART + 1, log + 1):
        keys = run(tmerge(size)[: size - LOG_PART], keys)
        keys = fk.force(in_parts(bmerge(LOG_PART), keys))
    return fk.take(xs.length, keys)


def sort(keys: np.ndarray) -> np.ndarray:
    """The keys in order."""
    is_float = keys.dtype.kind == "f"
    top = keys.dtype.type(np.inf) if is_float else np.iinfo(keys.dtype).max
    log = max(LOG_PART, (len(keys) - 1).bit_length())
    return np.asarray(sort_to(keys, keys.dtype.type(top), log=log))


KERNELS = {"sort": sort_to}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 2001 if quick else 1 << 22
    keys = np.random.default_rng(1).integers(0, 1 << 32, n, dtype=np.uint32)
    yield ("sort", f"{n:,} u32", partial(sort, keys), partial(np.sort, keys), np.array_equal)
