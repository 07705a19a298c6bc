"""Calls next to NumPy's: `python -m bench.functions.compare` reads their keys as JSON (names.py).

A line of JSON for each call and size, so that nothing measured is lost if a call ends the process:

    {"key": "sum(x) f", "first": 0.03, "sizes": {"100": {"ours": 7e-06, "numpy": 2e-06}, ..}}
    {"key": "fft.fft(x) f", "failed": "100 elements: ShapeError: ..", "sizes": {..}}

NumPy gives views where Flatweave gives contiguous copies, or views that are put in order when they
are read. Both are timed with what makes them contiguous, unless both share memory with what they
were given: then they are timed as they are.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import flatweave as fw
from bench.functions.inputs import inputs
from bench.functions.table import CALLS, ONLY_SHAPES, Call
from bench.measure import sample
from bench.values import leaves
from flatweave.frontend.values.elsewhere import HostView

SIZES = (100, 10_000, 1_000_000)
SAMPLE = 3e-4  # seconds that the calls of one sample take together
BUDGET = 0.05  # seconds for all rounds of a call
LEAST, MOST = 3, 9  # rounds
REST = 1e-3  # seconds before a sample, in which workers of the other side fall asleep
WARM = 4  # calls before the first sample: machine code learns a signature in the second one
SLOW = 1.0  # seconds from which on one round is enough
TOLERANCE = {"f": 5e-3, "d": 1e-8, "D": 1e-8, "i": 1e-8, "B": 1e-4}


@lru_cache(maxsize=len(SIZES))
def both(n: int, dtype: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names that our text and NumPy's refer to."""
    given = inputs(n, dtype)
    ours = {k: fw.asarray(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    fields = {name: getattr(fw, name) for name in dir(fw) if not name.startswith("_")}
    ours |= {"xp": fw, "key": fw.random.key(0), **fields, **ours}
    theirs = {"xp": np, "rng": np.random.default_rng(0), **given}
    return ours, theirs


def function(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    """The call as a function without arguments."""
    made: Callable[[], Any] = eval(f"lambda: {text}", names)
    return made


def contiguous(value: Any) -> Any:
    """A result whose arrays are contiguous."""
    if isinstance(value, list | tuple):
        return [contiguous(part) for part in value]
    return np.ascontiguousarray(value)


def copied(value: Any) -> Any:
    """A result of contiguous copies."""
    if isinstance(value, list | tuple):
        return [copied(part) for part in value]
    return np.array(value, order="C")


def is_view(value: Any, names: dict[str, Any]) -> bool:
    """Whether a result shares memory with what the call was given."""
    given = [np.asarray(v) for v in names.values() if isinstance(v, np.ndarray | fw.Array)]
    return any(np.may_share_memory(leaf, array) for leaf in leaves(value) for array in given)


def difference(call: Call, ours: Any, theirs: Any) -> str:
    """What is not the same in both results; empty where nothing is."""
    mine, other = leaves(ours), leaves(theirs)
    if len(mine) != len(other):
        return f"{len(mine)} arrays, NumPy {len(other)}"
    for a, b in zip(mine, other, strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape}, NumPy {b.shape}"
        if call.name in ONLY_SHAPES or call.name.startswith("random."):
            continue
        finite = np.abs(b[np.isfinite(b)]).astype("f8")
        tolerance = TOLERANCE[call.dtype]
        bound = tolerance * max(1.0, finite.max(initial=0.0))
        near = np.isclose(a, b, rtol=tolerance, atol=bound, equal_nan=True)
        if not near.all():
            at = int(np.argmin(near.ravel()))
            return f"{a.ravel()[at]} at {at} of {a.size}, NumPy {b.ravel()[at]}"
    return ""


def least(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of each, in rounds of both; the order changes from round to round."""
    order = [ours, theirs]
    repeat = {}
    for call in order:
        once = min(sample(call, 1, time.perf_counter, REST) for _ in range(WARM))
        repeat[call] = max(1, min(1000, int(SAMPLE / once)))
        if once > SLOW:
            return tuple(sample(call, 1, time.perf_counter, REST) for call in order)  # type: ignore
    best = dict.fromkeys(order, float("inf"))
    end = time.monotonic() + BUDGET
    for number in range(MOST):
        if number >= LEAST and time.monotonic() > end:
            break
        for call in order:
            best[call] = min(best[call], sample(call, repeat[call], time.perf_counter, REST))
        order = order[::-1]
    return best[ours], best[theirs]


def measured(call: Call, n: int) -> tuple[float, dict[str, float]]:
    """How much longer our first call takes than a later one, and the least seconds of both."""
    our_names, their_names = both(n, call.dtype)
    ours, theirs = function(call.ours, our_names), function(call.theirs, their_names)
    start = time.perf_counter()
    result = ours()
    first = time.perf_counter() - start
    is_in_order_later = type(result) is HostView  # which the comparison puts in order
    expected = theirs()
    if wrong := difference(call, result, expected):
        raise ValueError(wrong)
    if is_view(expected, their_names):
        ours_too = is_view(result, our_names)
        make = (lambda value: value) if ours_too else contiguous
        if not ours_too and is_view(contiguous(expected), their_names):
            make = copied
        if not ours_too:
            view, moved = theirs, ours
            theirs = lambda: make(view())  # noqa: E731
            ours = (lambda: contiguous(moved())) if is_in_order_later else moved
    del result, expected
    seconds = [float(f"{each:.4g}") for each in least(ours, theirs)]
    return round(max(0.0, first - seconds[0]), 4), {"ours": seconds[0], "numpy": seconds[1]}


def reports(call: Call) -> Iterator[dict[str, Any]]:
    """What is known of a call after each size; what failed says so."""
    found: dict[str, Any] = {"key": call.key, "sizes": {}}
    for n in SIZES:
        try:
            first, found["sizes"][str(n)] = measured(call, n)
            found["first"] = max(first, found.get("first", 0.0))
        except Exception as failure:  # of any kind: the page says which
            said = str(failure).strip().splitlines() or [""]
            found.setdefault("failed", f"{n:,} elements: {type(failure).__name__}: {said[0]}")
        yield found | {"done": n == SIZES[-1]}


def settings() -> SimpleNamespace:
    """What only this process can tell: BLAS, and what of the CPU NumPy uses."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return SimpleNamespace(blas=f"OpenBLAS, kernel {kernel_of_blas()}", numpy_simd=simd())
    np.ones((2, 2)) @ np.ones((2, 2))
    pools = [
        f"{pool['internal_api']} {pool['version']}, kernel {pool.get('architecture', '?')},"
        f" {pool['num_threads']} thread(s)"
        for pool in threadpool_info() if pool["user_api"] == "blas"
    ]  # fmt: skip
    return SimpleNamespace(blas="; ".join(pools), numpy_simd=simd())


def kernel_of_blas() -> str:
    """The processor whose kernels NumPy's OpenBLAS runs, as it names it; "?" for another library.
    """
    np.ones((2, 2)) @ np.ones((2, 2))
    loaded = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    for path in dict.fromkeys(each for each in loaded if "openblas" in each):
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_get_corename64_", "openblas_get_corename"):
            if ask := getattr(library, name, None):
                ask.restype = ctypes.c_char_p
                return str(ask().decode())
    return "?"


def simd() -> str:
    """The widest instructions for which NumPy has code that this CPU runs."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore
    return " ".join(found[-3:])


def main() -> None:
    """What was asked for, a line each; first the settings."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    print(json.dumps(vars(settings())), flush=True)
    for key in json.load(sys.stdin):
        call = next(call for call in CALLS if call.key == key)
        for report in reports(call):
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
