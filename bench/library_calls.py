"""First calls of what libraries compute: python -m bench.library_calls [--save]

Each function of `fw.linalg` and `fw.fft`, and products: CPU milliseconds of the first call outside
of jitted functions, of the first call in a map over rows, and of the first call for a stack of
20,000 small matrices. One process, which has compiled another program before, with no cache.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw
from bench import machine
from flatweave.base.config import config

LIMIT = 300  # CPU milliseconds
SKIPPED = ("fftfreq", "rfftfreq", "matmul", "vecdot", "tensordot", "outer", "cross", "solve",
           "lstsq")  # fmt: skip
DRAW = np.random.default_rng(5)


def positive(*shape: int) -> Any:
    """Positive definite matrices, which every function takes."""
    a = DRAW.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def calls() -> Iterator[tuple[str, Callable[..., Any], int]]:
    """The name of each function, a call of it, and how many axes a row of its argument has."""
    for name in fw.linalg.__all__:
        if name not in SKIPPED:
            one = getattr(fw.linalg, name)
            if name == "matrix_power":
                yield f"linalg.{name}", lambda m, f=one: f(m, 3), 2
            else:
                yield f"linalg.{name}", one, 1 if name == "vector_norm" else 2
    for name in ("solve", "lstsq", "matmul", "tensordot", "vecdot", "outer", "cross"):
        one = getattr(fw.linalg, name)
        if name == "tensordot":
            yield f"linalg.{name}", lambda m, f=one: f(m, m, axes=1), 2
        else:
            axes = 1 if name in ("outer", "cross") else 2
            yield f"linalg.{name}", lambda m, f=one: f(m, m), axes
    for name in fw.fft.__all__:
        if name not in SKIPPED:
            yield f"fft.{name}", getattr(fw.fft, name), 2 if name.endswith(("n", "2")) else 1


def spent(call: Callable[[], Any]) -> float:
    """CPU milliseconds of a call, by all threads."""
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1e3


def rows() -> Iterator[tuple[str, float, float, float | None]]:
    """Each function with its three figures; the last one only where there are small matrices."""
    fw.jit(lambda x: x + 1)(np.ones(3))
    fw.map(lambda row: fw.sum(row), np.ones((2, 3)))
    fw.fft.fft(np.ones(4))  # imports SciPy
    for name, f, axes in calls():
        stack = positive(5, 3, 3) if axes == 2 else DRAW.normal(size=(5, 3))
        given = np.ascontiguousarray(stack)
        alone = spent(lambda f=f, x=given: f(x[0]))
        mapped = spent(lambda f=f, x=given: fw.map(f, x))
        many = None
        takes_stacks = name not in ("linalg.tensordot", "linalg.lstsq")
        if axes == 2 and name.startswith("linalg.") and takes_stacks:
            small = positive(20_000, 4, 4)
            with np.errstate(all="ignore"):
                many = spent(lambda f=f, x=small: f(x)) - min(
                    spent(lambda f=f, x=small: f(x)) for _ in range(2)
                )
        yield name, alone, mapped, many


def page(found: list[tuple[str, float, float, float | None]], about: dict[str, Any]) -> str:
    """The page for bench/results."""
    lines = [
        f"# First calls of what libraries compute, {about['date'][:10]}", "",
        "; ".join(f"{name} {value}" for name, value in about.items()), "",
        "CPU ms of all threads; `python -m bench.library_calls --save`. *Small stack*: how much"
        " longer the first call for 20,000 matrices of 4 x 4 takes than a later one.", "",
        "| function | outside | in a map | small stack |", "|---|---:|---:|---:|",
    ]  # fmt: skip
    for name, *times in sorted(found, key=lambda row: -max(t for t in row[1:] if t is not None)):
        cells = " | ".join("" if t is None else f"{max(t, 0):.3g}" for t in times)
        lines.append(f"| `{name}` | {cells} |")
    above = sum(max(t for t in row[1:] if t is not None) > LIMIT for row in found)
    return "\n".join([*lines, "", f"Above {LIMIT} ms: {above} of {len(found)} functions."]) + "\n"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    options = parser.parse_args()
    about = machine.describe(min(2, os.cpu_count() or 1))
    with config.scoped(no_cache=True):
        found = list(rows())
    text = page(found, about | {"load_after": machine.load()})
    print(text)
    if options.save:
        print(f"kept in {machine.keep(text, 'library-calls')}")


if __name__ == "__main__":
    main()
