"""Ctrl-C stops a program wherever it is, soon and with all memory given back; it can run again."""

import functools
import json
import platform
import subprocess
import sys
import textwrap
from functools import cache
from typing import Any

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.dtypes import i64
from flatweave.codegen.llvm import control
from flatweave.codegen.llvm.shapes import trip_count_bound
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Lambda

SOON = 1.0  # seconds between signal and exception: 0.1 on a machine that does nothing else

PREPARED = """
    import json, signal, sys, threading, time
    import numpy as np
    import flatweave as fw
    from flatweave.runtime import execute, support
    from flatweave.runtime.support import buffer_pool

    def alarm(number, frame):
        raise KeyboardInterrupt

    def interrupted(call, seconds=0.15):
        # how long after its signal a call that never ends raises
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        start = time.perf_counter()
        try:
            call()
        except KeyboardInterrupt:
            return time.perf_counter() - start - seconds
        return None
"""

ENDLESS = """
    def halved(x):
        return fw.while_loop(lambda s: s >= 0, lambda s: s * 0.5, x)

    def counted(n, x):
        return fw.fori_loop(0, n, lambda i, s: s * 0.5 + i, x)

    def nested(n, x):
        def outer(i, s):
            return fw.fori_loop(0, 7, lambda j, t: t * 0.5 + j, s)
        return fw.fori_loop(0, n, outer, x)

    def slow_add(a, b):
        return fw.while_loop(lambda s: s >= 0, lambda s: s * 0.5, a + b)

    long = 10**14
    endless = {
        "while, one element": (lambda xs: fw.map(halved, xs[:1]), 1),
        "while, many": (lambda xs: fw.map(halved, xs), 1),
        "while on two threads": (lambda xs: fw.map(halved, xs), 2),
        "lanes that differ": (
            lambda xs: fw.map(lambda x: counted(fw.astype(x * long, fw.i64), x), xs), 1),
        "fori": (lambda xs: fw.map(lambda x: counted(long, x), xs), 2),
        "nested": (lambda xs: fw.map(lambda x: nested(long, x), xs), 1),
        "sum of a long generate": (lambda xs: fw.sum(fw.generate(
            (3, long), lambda i, j: fw.astype(i ^ j, fw.f64) * xs[0]), axis=1), 2),
        "one long expansion": (lambda xs: fw.sum(fw.expand(
            lambda x: fw.astype(x * 10**11, fw.i64), lambda x, i: x * i, xs[:1])), 2),
        "an operator of a scan": (lambda xs: fw.scan(slow_add, 0.0, xs), 2),
        "an operator of a reduction": (lambda xs: fw.reduce(slow_add, 0.0, xs), 2),
        "an update under a lock": (lambda xs: fw.permute(
            lambda a, b: (slow_add(a[0], b[0]), a[1] + b[1], a[2]),
            (xs, xs, xs), fw.iota(xs.size) % 3, (xs, xs, xs))[0], 2),
        "array level": (lambda xs: fw.while_loop(
            lambda s: s[0] >= 0, lambda s: s * 0.5 + 0.5, xs), 2),
        "array level, scalars": (lambda xs: halved(fw.sum(xs)), 1),
        "sorts without end": (lambda xs: fw.while_loop(
            lambda s: s[0] >= 0, lambda s: fw.sort(fw.reverse(s)), xs), 2),
    }
    xs = np.ones(300_000)
    fw.jit(lambda xs: xs * 2)(xs)
    for name, (f, threads) in endless.items():
        made = fw.jit(f)
        made.stages(xs)
        with support.threads(threads):
            late = interrupted(lambda: made(xs))
        context = execute._FREE[-1].words
        right = float(fw.sum(xs * 2)) == 600_000.0
        print(json.dumps([name, late, context[6], context[9], right]), flush=True)
"""


@cache
def found() -> list[list[Any]]:
    """What one process says of every program: its name, how late, its buffers, and what then."""
    return [json.loads(line) for line in said(ENDLESS).splitlines()]


def said(script: str, *args: str) -> str:
    """What a Python program prints."""
    text = textwrap.dedent(PREPARED) + textwrap.dedent(script)
    command = [sys.executable, "-c", text, *args]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


def test_every_loop_without_end_is_left_soon():
    """Whatever is inside a block: loops of one lane and of many, folds, operators, locks."""
    late = {name: after for name, after, *_ in found() if after is None or after > SOON}

    assert len(found()) == 14
    assert not late


def test_memory_is_given_back():
    """The context of the call that was left has no buffer, and counts no byte."""
    assert all(head == 0 and live == 0 for _, _, head, live, _ in found())


def test_the_next_call_is_right():
    """Nothing of the interrupted call is left in the workers or the pool."""
    assert all(right for *_, right in found())


def test_interrupts_do_not_add_up():
    """Twenty of them, each with 64 MB in use, leave the process as large as five."""
    script = """
        import os
        def resident():
            buffer_pool().release_idle()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        xs = np.ones(8_000_000)
        f = fw.jit(lambda xs: fw.while_loop(lambda s: s[0] >= 0, lambda s: fw.cumsum(s) * 0.5, xs))
        f.stages(xs)
        sizes = []
        for attempt in range(20):
            interrupted(lambda: f(xs), 0.02)
            sizes.append(resident())
        print(max(sizes[5:]) - min(sizes[5:]))
    """
    assert int(said(script)) < 32 * 2**20


def test_calls_of_other_threads_go_on():
    """The signal is the main thread's; what another thread has begun ends as if there were none."""
    script = """
        f = fw.jit(lambda xs: fw.map(
            lambda x: fw.fori_loop(0, 100_000_000, lambda i, s: (s + i) ^ 5, x), xs))
        xs = np.arange(16)
        f.stages(xs)
        results = []
        worker = threading.Thread(target=lambda: results.append(f(xs)))
        def main():
            worker.start()
            time.sleep(60)
        late = interrupted(main, 0.05)
        alone = worker.is_alive()
        worker.join()
        print(late < 1, alone, results[0][:2].tolist())
    """
    # a plain loop in Python gives the sum of 0 .. 10**8 - 1, too: the fives cancel out
    assert said(script) == "True True [4999999950000000, 4999999950000001]\n"


def test_the_interpreter_can_be_interrupted():
    """It is Python."""
    script = """
        f = fw.jit(lambda xs: fw.map(lambda x: fw.while_loop(
            lambda s: s >= 0, lambda s: s * 0.5, x), xs), target="interp")
        f(-np.ones(1))
        print(interrupted(lambda: f(np.ones(1))) < 1, f(-np.ones(2)))
    """
    assert said(script) == "True [-1. -1.]\n"


@pytest.mark.needs_opencl
def test_a_device_can_be_interrupted():
    """It is waited for in Python; the kernel goes on, here for a second, then later calls do."""
    script = """
        f = fw.jit(lambda xs: fw.map(lambda x: fw.while_loop(
            lambda s: s < 1e8, lambda s: s + 1.0, x), xs), target="opencl")
        f(np.full(1, 4e8))
        print(interrupted(lambda: np.asarray(f(np.ones(1)))) < 1, f(np.full(2, 4e8)))
    """
    assert said(script) == "True [4.e+08 4.e+08]\n"


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_a_look_leaves_registers_alone(monkeypatch, cpu):
    """Frequent checks change no value, in scalars, vectors of any width, or masks."""
    if cpu != "native" and platform.machine() != "x86_64":
        pytest.skip("the name is x86-64's")
    monkeypatch.setattr(control, "TANK", 64)
    rng = np.random.default_rng(3)
    flags, counts = rng.random(70_001) < 0.5, rng.integers(0, 40, 1_001)
    rows = rng.integers(0, 1000, (50, 333))
    def powers(x, k):
        return fw.fori_loop(0, k, lambda i, s: s * x + i, x)
    expected = np.array([[functools.reduce(lambda s, i: s * x + i, range(k), x)
                          for x, k in ((float(x), k) for x, k in enumerate(counts.tolist()))]])
    with config.scoped(cpu=cpu), np.errstate(all="ignore"):
        assert np.array_equal(fw.jit(fw.sort)(flags), np.sort(flags))
        assert np.array_equal(fw.jit(lambda r: fw.map(fw.sum, r))(rows), rows.sum(axis=1))
        assert np.array_equal(fw.jit(lambda r: fw.sort(r[0]))(rows), np.sort(rows[0]))
        found = fw.jit(lambda x, k: fw.map(powers, x, k))(np.arange(1_001.0), counts)
        assert np.array_equal(np.asarray(found), expected[0])
        assert np.array_equal(
            fw.jit(lambda k: fw.expand(lambda x: x, lambda x, i: x * i, k))(counts),
            np.concatenate([k * np.arange(k) for k in counts]))  # fmt: skip


def loop(bounds: Any) -> tuple[dict[Any, Apply], For]:
    """A loop whose bounds a function builds from three unknowns, and how they were made."""
    b = Builder()
    unknown = [b.var(name, i64) for name in "abc"]
    body = b.inner()
    i = body.param("i", i64)
    lo, hi, step = bounds(b, *unknown)
    made = {let.vars[0]: let.op for let in b.lets if isinstance(let.op, Apply)}
    empty: Lambda = body.close([i], [])
    return made, For(lo, hi, index(step), empty, ())


@pytest.mark.parametrize("most, bounds", [
    (10, lambda b, a, n, c: (index(3), index(13), 1)),
    (4, lambda b, a, n, c: (index(3), index(13), 3)),
    (64, lambda b, a, n, c: (a, b.apply("minimum", b.add(a, index(4096)), n), 64)),
    (None, lambda b, a, n, c: (a, b.apply("minimum", b.add(a, c), n), 64)),
    (None, lambda b, a, n, c: (a, n, 1)),
    (15, lambda b, a, n, c: (b.mul(b.apply("floordiv", n, index(16)), index(16)), n, 1)),
    (15, lambda b, a, n, c: (
        b.add(a, b.mul(b.apply("floordiv", b.sub(n, a), index(16)), index(16))), n, 1)),
    (None, lambda b, a, n, c: (
        b.add(a, b.mul(b.apply("floordiv", b.sub(n, c), index(16)), index(16))), n, 1)),
    (None, lambda b, a, n, c: (b.mul(b.apply("floordiv", n, index(16)), index(8)), n, 1)),
    (64, lambda b, a, n, c: (index(0), b.sub(index(64), b.apply("clz", n)), 1)),
])  # fmt: skip
def test_turns_that_are_bounded_are_known(most, bounds):
    """Loops over the steps of a block and what is left of them need not look; checked by trying."""
    made, op = loop(bounds)

    assert trip_count_bound(made, op) == most


def test_a_bound_holds_for_all_values():
    """The bound of a rest and of a chunk against the iterations of Python's range."""
    rng = np.random.default_rng(1)
    for n, a in rng.integers(0, 10**6, (300, 2)).tolist():
        assert len(range(n // 16 * 16, n)) <= 15
        assert len(range(a + (n - a) // 16 * 16, n)) <= 15
        assert len(range(a, min(a + 4096, n), 64)) <= 64
        assert len(range(0, n.bit_length())) <= 64
