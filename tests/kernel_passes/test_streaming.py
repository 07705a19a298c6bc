"""Stores go around the caches in whole lines of arrays that are only stored, if these are large."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.units import print_unit, verify
from flatweave.kernel_passes.distribute import distribute
from flatweave.kernel_passes.streaming import stream
from flatweave.lower.machine import CPU_AVX512, cpu
from flatweave.simulator.run import run

MACHINES = [CPU_AVX512, cpu(256, 16)]


def plus(a, b):
    return a + b


def streamed(write, *args, machine=CPU_AVX512, least=1):
    """A kernel for these arguments, and whether a launch streams from a number of bytes on."""
    with fw.target("interp"):
        program = fk.kernel(write).traced(*args)
    unit = stream(distribute(program.on(machine).unit, machine.block_shape), least)
    verify(unit)
    return unit


def mapped(xs):
    return fk.map(lambda x: x + 1, xs)


def scanned(xs):
    parts = fk.split_up(512, xs)
    zero = xs[0] * 0
    chain = fk.chain(parts.length, zero)

    def block(b):
        total = fk.reduce(plus, parts[b], zero)
        return fk.scan(plus, parts[b], zero, fk.look_back(plus, chain, b, total))

    return fk.generate(parts.length, block)


def of_rows(xs):
    """Each thread puts two elements with a stride of 256."""
    return fk.pconcat_map(lambda part: fk.load(2, part), fk.split_up(512, xs))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
@pytest.mark.parametrize("write", [mapped, scanned, of_rows])
def test_whole_lines_go_around_the_caches(write, dtype, machine):
    """The simulator finds every one of them aligned, and the values are as without."""
    xs = np.arange(2048).astype(dtype)
    want = {mapped: xs + 1, scanned: xs.cumsum(dtype=dtype), of_rows: xs}[write]
    unit = streamed(write, xs, machine=machine)

    assert "streaming=true" in print_unit(unit)
    np.testing.assert_array_equal(run(unit, [xs.size, xs])[0], want)


@pytest.mark.parametrize("n", [0, 1, 127, 1023, 1025, 40000])
def test_what_is_left_is_stored_as_ever(n):
    """Steps narrower than a line do not stream."""
    xs = np.arange(n, dtype=np.float32)

    np.testing.assert_array_equal(run(streamed(mapped, xs), [n, xs])[0], xs + 1)


def same_array_read(xs):
    out = fk.memory(xs.length, fw.f32)
    out.write(fk.map(lambda x: x + 1, xs))
    for_each = fk.map(lambda i: out[i] + 1, fk.iterations(xs.length))
    out.write(for_each)
    return out


def odd_parts(xs):
    return fk.pconcat_map(fk.push, fk.split_up(68, xs))


def backwards(xs):
    return fk.ix_map(lambda i: xs.length - 1 - i, fk.push(xs))


def many_times(xs):
    """Each thread stores to its index in every iteration."""
    out = fk.memory(xs.length, fw.f32)

    def thread(i):
        fk.seq_for(0, 4, lambda j: out.__setitem__(i, xs[i]))

    fk.for_all(xs.length // 256, lambda b: fk.for_all(256, lambda t: thread(b * 256 + t)))
    return out


@pytest.mark.parametrize("write", [odd_parts, backwards, many_times])
def test_others_do_not(write):
    """Lines cut by parts, elements backwards, elements stored several times."""
    xs = np.ones(68 * 256, np.float32)

    assert "streaming" not in print_unit(streamed(write, xs))


def test_what_the_same_launch_reads_does_not():
    """Two launches: the first one only stores, the second reads what it stores."""
    xs = np.ones(2048, np.float32)
    unit = streamed(same_array_read, xs)

    assert [launch.count("_s]") for launch in print_unit(unit).split("launch ")[1:3]] == [1, 0]
    np.testing.assert_array_equal(run(unit, [xs.size, xs])[0], xs + 2)


def two(xs):
    return fk.pconcat_map(
        lambda part: (fk.map(lambda x: x + 1, part), fk.map(lambda x: x * 2, part)),
        fk.split_up(256, xs),
    )


def test_the_host_adds_up_what_is_stored():
    """All arrays of a launch count; of known lengths nothing is asked when it runs."""
    xs = np.ones(2048, np.float32)

    def known(xs):
        return fk.map(lambda x: x, fk.fix_size(2048, xs))

    text = print_unit(streamed(two, xs, least=16384))
    sizes, total = re.findall(r"(t_\d+): i64 = mul t_\d+ 4\b", text), re.search(
        r"(t_\d+): i64 = add (t_\d+) (t_\d+)\n.*ge \1 16384", text
    )
    assert total and {total[2], total[3]} == set(sizes)
    assert "launch known_s" in print_unit(streamed(known, xs, least=8192))
    assert "known_s" not in print_unit(streamed(known, xs, least=8193))


def test_large_arrays_on_the_cpu():
    """4 MiB and more, also in a jitted function."""
    kernel = fk.kernel(two)
    xs = np.arange(1 << 20, dtype=np.float32)

    with fw.target("cpu"):
        for found in (kernel(xs), fw.jit(lambda x: kernel(x))(xs)):
            for got, want in zip(found, (xs + 1, xs * 2), strict=True):
                np.testing.assert_array_equal(np.asarray(got), want)
    assert "nontemporal" in kernel.text["llvm"]
