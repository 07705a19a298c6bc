"""What each thread has for itself goes to registers, and barriers that order nothing go away."""

import re

import numpy as np
import pytest

from flatweave import kernel as fk
from flatweave.kernel_ir.units import print_unit
from flatweave.kernel_passes.barriers import needless_barriers
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.kernel_passes.registers import registers
from flatweave.runtime.devices import cuda_libraries
from tests.kernel_ir.units import one_kernel

SHAPE = BlockShape(8, 32)
CPU = BlockShape(1, 8, simt=False)
PHASES = """
    s: shared i64 = shared i64 {size}
    for_all thread {threads} (t: i64 =>
        for 0 4 1 (j: i64 =>
            {write}
            x: i64 = load xs i
            store s i x) [])
    sync
    for_all thread {threads} (u: i64 =>
        for 0 4 1 (k: i64 =>
            {read}
            y: i64 = load s l
            store out l y) [])
"""
APART = "o: i64 = mul 64 {0}\n            {1}: i64 = add {2} o"
TURNED = (
    APART.replace("{1}:", "q:") + "\n            {1}: i64 = sub 255 q"
)
NEAR = "o: i64 = mul {2} 4\n            {1}: i64 = add o {0}"


def after(write, read, threads=64, size=256, shape=SHAPE):
    """How much is shared, kept and waited for in a kernel of two loops with these indices."""
    unit = one_kernel(PHASES.format(
        size=size, threads=threads, write=write.format("j", "i", "t"),
        read=read.format("k", "l", "u"),
    ))  # fmt: skip
    text = print_unit(needless_barriers(registers(unit, shape), shape))
    words = r"= shared", r"= thread_memory", r"\bsync"
    return tuple(len(re.findall(word, text)) for word in words)


@pytest.mark.parametrize("form", [APART, NEAR])
def test_own_elements_need_no_memory_and_no_barrier(form):
    """Apart, or neighbours: the same in both loops."""
    assert after(form, form) == (0, 1, 0)


@pytest.mark.parametrize(
    ("write", "read", "options"),
    [
        (APART, NEAR, {}),  # what one wrote another reads
        (NEAR, APART, {}),
        (APART, APART.replace("mul 64", "mul 65"), {"size": 260}),
        (NEAR, NEAR.replace("mul {2} 4", "mul {2} 3"), {}),
        (APART, APART, {"threads": 65, "size": 257}),  # two threads have one element
        (APART, APART, {"threads": 64, "shape": BlockShape(1, 32)}),  # a lane has two threads
        (TURNED, APART, {}),
    ],
)  # fmt: skip
def test_what_another_thread_may_use_stays(write, read, options):
    """In shared memory, and after its barrier."""
    assert after(write, read, **options) == (1, 0, 1)


def test_a_cpu_has_no_lanes_that_are_threads():
    """There its memory is as good."""
    assert after(APART, APART, shape=CPU) == (1, 0, 1)


def test_steps_of_a_user_stay_in_registers():
    """Two steps of which each thread reads what it wrote, and one that reads another's."""

    @fk.kernel(threads=64)
    def steps(xs):
        @fk.sequential(4)
        def block(part):
            doubled = fk.force(fk.map(lambda x: 2 * x, part))
            more = fk.force(fk.map(lambda x: x + 1, doubled))
            return fk.zip_with(lambda a, b: a * b, more, fk.reverse(doubled))

        return fk.pconcat_map(block, fk.split_up(256, xs))

    xs = np.arange(512)
    rows = 2 * xs.reshape(2, -1)
    want = ((rows + 1) * rows[:, ::-1]).ravel()
    np.testing.assert_array_equal(steps.simulate(xs, blocks=2, seed=1), want)
    np.testing.assert_array_equal(steps.simulate(xs, threads=64), want)
    counts = steps.counts(xs, threads=64)
    assert counts.barriers == 2 and counts.shared_writes == 512 and counts.shared_reads == 1024
    text = steps.text["cuda"]
    assert text.count("__shared__") == text.count("__syncthreads") == 1
    assert "int64_t m_" in text.replace("__shared__ int64_t m_", "")
    assert ".local" not in cuda_libraries.ptx(text, "compute_90")  # registers they are


def test_what_is_waited_for_stays():
    """A barrier before a use of what was written, and one after a use of what is written next; not
    those after which nothing is used that was used before."""
    text = """
        s: shared i64 = shared i64 32
        for_all thread 32 (t: i64 =>
            x: i64 = load xs t
            store s t x)
        sync
        for_all thread 32 (u: i64 =>
            p: i64 = sub 31 u
            y: i64 = load s p
            store out u y)
        sync
        for_all thread 32 (v: i64 =>
            z: i64 = load xs v
            store s v z)
        sync
        for_all thread 32 (w: i64 =>
            k: i64 = add 32 w
            store out k 7)
        sync
    """
    made = needless_barriers(one_kernel(text), SHAPE)

    assert print_unit(made).count("sync") == 2
