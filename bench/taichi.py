"""Three programs of examples/gallery next to Taichi on the same cores: python -m bench.taichi

    life            a stencil, in a loop        ti.kernel over a field, two fields alternate
    deposit         shares that meet            atomic additions into a field
    escape_times    loops of different length   a while loop each, atomic additions

Taichi's fields are where it wants them: what it is given and gives is not copied in the time. Both
are called alternately, with as many threads; the least time counts, after a call that compiles.
Taichi reads annotations when a kernel is made, so they are no text here.
"""

import functools
import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import taichi as ti

import flatweave as fw

FOLDER = Path(__file__).resolve().parent.parent / "examples"
CALLS = 15
Job = Callable[[], Any]
EACH = ti.template()


def life(world: Any, generations: int) -> tuple[Job, Job]:
    """What computes, and what reads the result."""
    height, width = world.shape
    now, then = (ti.field(ti.u8, world.shape) for _ in range(2))
    first = ti.field(ti.u8, world.shape)
    first.from_numpy(world)

    @ti.kernel
    def step(old: EACH, new: EACH):  # type: ignore[valid-type, no-untyped-def]
        for i, j in old:
            up, down = ti.select(i > 0, i, height) - 1, ti.select(i < height - 1, i + 1, 0)
            left, right = ti.select(j > 0, j, width) - 1, ti.select(j < width - 1, j + 1, 0)
            alive = old[up, left] + old[up, j] + old[up, right] + old[i, left]
            alive += old[i, right] + old[down, left] + old[down, j] + old[down, right]
            new[i, j] = ti.cast(alive == 3 or (alive == 2 and old[i, j] == 1), ti.u8)

    def run() -> None:
        now.copy_from(first)
        old, new = now, then
        for _ in range(generations):
            step(old, new)
            old, new = new, old
        ti.sync()

    return run, (now if generations % 2 == 0 else then).to_numpy


def deposit(xs: Any, ys: Any, extent: int) -> tuple[Job, Job]:
    """What computes, and what reads the result."""
    x, y = (ti.field(ti.f64, xs.shape) for _ in range(2))
    grid = ti.field(ti.f64, (extent, extent))
    x.from_numpy(xs)
    y.from_numpy(ys)

    @ti.kernel
    def add():  # type: ignore[no-untyped-def]
        for k in x:
            i, j = ti.cast(x[k], ti.i32), ti.cast(y[k], ti.i32)
            u, v = x[k] - i, y[k] - j
            grid[i, j] += (1 - u) * (1 - v)
            grid[i + 1, j] += u * (1 - v)
            grid[i, j + 1] += (1 - u) * v
            grid[i + 1, j + 1] += u * v

    def run() -> None:
        grid.fill(0)
        add()
        ti.sync()

    return run, grid.to_numpy


def escape_times(extent: int, limit: int) -> tuple[Job, Job]:
    """What computes, and what reads the result."""
    found = ti.field(ti.i64, limit + 1)

    @ti.kernel
    def count():  # type: ignore[no-untyped-def]
        for i, j in ti.ndrange(extent, extent):
            real, imaginary = 3.0 * j / extent - 2.2, 3.0 * i / extent - 1.5
            x, y, turn = 0.0, 0.0, 0
            while x * x + y * y <= 4.0 and turn < limit:
                x, y = x * x - y * y + real, 2.0 * x * y + imaginary
                turn += 1
            found[turn] += 1

    def run() -> None:
        found.fill(0)
        count()
        ti.sync()

    return run, found.to_numpy


PROGRAMS = {"life": life, "deposit": deposit, "escape_times": escape_times}


def seconds(job: Job) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main() -> None:
    """A table in Markdown; an error where results differ."""
    sys.path.insert(0, str(FOLDER))
    ti.init(arch=ti.cpu, cpu_max_num_threads=os.cpu_count(), default_fp=ti.f64, log_level=ti.ERROR)
    print(f"flatweave {fw.__version__}, Taichi {'.'.join(map(str, ti.__version__))}\n")
    print("| program | Flatweave, ms | Taichi, ms | Taichi / Flatweave |\n|---|---:|---:|---:|")
    for name, made in PROGRAMS.items():
        module = importlib.import_module(f"gallery.{name}")
        args = module.inputs()
        run, result = made(*args)
        run()
        np.testing.assert_allclose(np.asarray(module.program(*args)), result(), rtol=1e-9)
        ours, theirs = [], []
        call = functools.partial(module.program, *args)
        for _ in range(CALLS):
            ours.append(seconds(call))
            theirs.append(seconds(run))
        a, b = 1000 * min(ours), 1000 * min(theirs)
        print(f"| {name} | {a:.2f} | {b:.2f} | {b / a:.2f} |", flush=True)


if __name__ == "__main__":
    main()
