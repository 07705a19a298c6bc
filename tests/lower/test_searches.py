"""Loops that search bytes from a position on: words at once, and what a loop says of each byte."""

import ctypes
import mmap

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.codegen.llvm.memory import PAGE
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import cpu
from flatweave.lower.program import lower
from tests.codegen.device_programs import agree, expected, flat, simulated, traced
from tests.codegen.levels import LEVELS, in_force
from tests.structure.counted import opened

TESTS = {
    "ne": lambda xs, i, c: xs[i] != ord("c"),
    "eq": lambda xs, i, c: xs[i] == ord("a"),
    "ne a variable": lambda xs, i, c: xs[i] != c,
    "lt": lambda xs, i, c: xs[i] < ord("c"),
    "le": lambda xs, i, c: xs[i] <= 200,
    "gt": lambda xs, i, c: xs[i] > 128,
    "ge": lambda xs, i, c: xs[i] >= ord("b"),
    "variables": lambda xs, i, c: (c - 3 <= xs[i]) & (xs[i] < c + 2),
    "above the last byte": lambda xs, i, c: xs[i] <= 255,
    "below the first byte": lambda xs, i, c: xs[i] < 0,
    "a digit or a letter": lambda xs, i, c: (
        ((xs[i] >= 48) & (xs[i] <= 57)) | ((xs[i] >= 97) & (xs[i] < 100))
    ),
    "a pair": lambda xs, i, c: ~((xs[i - 1] == 98) & (xs[i] == 99)),
    "neighbours": lambda xs, i, c: (xs[i] == xs[i + 2]) == (xs[i + 1] != 98),
    "either": lambda xs, i, c: (xs[i] == 97) | (c == 99),
    "and a number": lambda xs, i, c: (xs[i] != 98) & (c.astype(fw.i64) + 256 != c.astype(fw.i64)),
    "rising": lambda xs, i, c: xs[i] <= xs[i + 1],
    "a word's length ahead": lambda xs, i, c: xs[i + 9] != 99,
}  # fmt: skip
ALPHABETS = {
    "letters": b"aaaaaaaaaabc", "all": bytes(range(256)), "few": b"ab", "one": b"a",
    "ends": b"\x00\x7f\x80\xff\xc8\xc9c",
}  # fmt: skip


def search(test):
    """The position from each start on at which a test holds no more."""

    def program(xs, starts, c):
        return fw.map(
            lambda start: fw.while_loop(lambda i: test(xs, i, c), lambda i: i + 1, start), starts
        )

    return program


def outcome(program, *args):
    """What a program gives, or the index that is outside."""
    try:
        return np.asarray(program(*args)).tolist()
    except fw.IndexOutOfBounds as failed:
        return str(failed).split("index ")[-1].split()[0]


@pytest.mark.parametrize("name", TESTS)
def test_a_search_ends_where_a_loop_over_elements_does(name, threads):
    """From every position of short texts and of longer ones, and outside of all."""
    rng = np.random.default_rng(len(name))
    program, reference = fw.jit(search(TESTS[name])), fw.jit(search(TESTS[name]), target="interp")
    for alphabet in ALPHABETS.values():
        for size in (1, 7, 8, 9, 17, 40):
            xs = rng.choice(np.frombuffer(alphabet, np.uint8), size)
            for starts in (np.arange(size), np.arange(-size, size), rng.integers(0, size, 1)):
                for c in np.array([97, 99, 200], np.uint8):
                    args = xs, starts, c
                    found, wanted = outcome(program, *args), outcome(reference, *args)
                    if isinstance(wanted, list) and isinstance(found, list):
                        assert found == wanted
                    else:
                        assert isinstance(wanted, str) and isinstance(found, str)


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_read_after_an_array(level):
    """The last bytes of a page, after which none can be read, end each search."""
    both = mmap.mmap(-1, 2 * PAGE)
    page = np.frombuffer(both, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    assert protect(page.ctypes.data + PAGE, PAGE, 0) == 0
    try:
        with in_force(level):
            program = fw.jit(search(TESTS["eq"]))
            first = fw.jit(lambda xs, cs: fw.map(
                lambda c: fw.while_loop(lambda i: xs[i] != c, lambda i: i + 1, 0), cs
            ))  # fmt: skip
            for size in (1, 5, 8, 13, 33):
                xs = page[PAGE - size : PAGE]
                for end in range(size):
                    xs[:] = ord("a")
                    xs[end] = ord("b")
                    starts = np.arange(end + 1)
                    assert program(xs, starts, np.uint8(0)).tolist() == [end] * (end + 1)
                    cs = np.array([97, 98] * 9 if end else [98], np.uint8)
                    assert first(xs, cs).tolist() == np.where(cs == 97, 0, end).tolist()
    finally:
        assert protect(page.ctypes.data + PAGE, PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0


def test_the_simulator_searches_words_as_cpus_do():
    """No word reaches out of an array."""
    made = traced(
        "f", search(TESTS["a pair"]), np.zeros(2, np.uint8), np.zeros(2, np.int64), np.uint8(0)
    )
    unit = lower(list(pipeline.optimise(made).values())[-1], cpu(256, 16))
    verify(unit.unit)
    rng = np.random.default_rng(3)
    for size in (3, 11, 30, 61):
        xs = rng.choice(np.frombuffer(b"abc", np.uint8), size)
        xs[-2:] = np.frombuffer(b"bc", np.uint8)
        args = [*flat(xs, rng.integers(1, size - 1, 40)), np.uint8(0)]
        agree(simulated(unit, args, threads=2, seed=size), expected(made, args))


@pytest.mark.needs_opencl
def test_devices_find_the_same():
    """Their threads go from byte to byte."""
    xs = np.frombuffer(b"aaab" * 9 + b"c" + b"a" * 20 + b"c", np.uint8)
    args = xs, np.arange(xs.size), np.uint8(0)
    for test in (TESTS["ne"], TESTS["a digit or a letter"]):
        assert outcome(fw.jit(search(test), target="opencl"), *args) == outcome(
            fw.jit(search(test)), *args
        )


def test_searches_inside_of_loops_end_them_where_they_fail():
    """The field that follows some commas; a text with too few of them has none."""

    def field(xs, starts, count):
        def next_field(k, at):
            return fw.while_loop(lambda i: xs[i] != ord(","), lambda i: i + 1, at) + 1

        return fw.map(lambda at: fw.fori_loop(0, count, next_field, at), starts)

    xs = np.frombuffer(b"first,,a third one of them,fourth,fifth", np.uint8)
    commas = np.flatnonzero(xs == ord(","))
    program = fw.jit(field)
    assert "whole=true" in str(opened(field, xs, np.arange(3), 2))
    for count in range(1, 5):
        assert program(xs, np.zeros(9, np.int64), count).tolist() == [commas[count - 1] + 1] * 9
    with pytest.raises(fw.IndexOutOfBounds, match="index 39"):
        program(xs, np.zeros(9, np.int64), 5)


def test_the_loop_whose_search_finds_nothing_is_named():
    """By the line of the test, with the first element of which it is so."""
    xs = np.frombuffer(b"0123456789,123456789", np.uint8)
    program = fw.jit(search(TESTS["ne a variable"]))
    assert program(xs, np.arange(9), np.uint8(44)).tolist() == [10] * 9
    with pytest.raises(fw.IndexOutOfBounds, match=r"index 20 .* element 11") as failed:
        program(xs, np.arange(20), np.uint8(44))
    assert "xs[i] != c" in str(failed.value)


@pytest.mark.parametrize("name", TESTS)
def test_words_are_loaded(name):
    """Wherever a test is made of comparisons of bytes."""
    xs = np.zeros(9, np.uint8)
    assert "whole=true" in str(opened(search(TESTS[name]), xs, np.arange(3), np.uint8(0)))


@pytest.mark.parametrize("dtype, test, step", [
    (np.uint8, lambda xs, i, c: xs[i] != 0, 2),
    (np.uint8, lambda xs, i, c: xs[2 * i] != 0, 1),
    (np.uint8, lambda xs, i, c: xs[i] != i, 1),
    (np.uint8, lambda xs, i, c: xs[i] + 1 != 0, 1),
    (np.int8, lambda xs, i, c: xs[i] < 0, 1),
    (np.uint16, lambda xs, i, c: xs[i] != 0, 1),
])  # fmt: skip
def test_other_loops_go_from_element_to_element(dtype, test, step):
    """Other steps, tests that are no flags of bytes, and larger elements."""

    def program(xs, starts, c):
        return fw.map(
            lambda start: fw.while_loop(lambda i: test(xs, i, c), lambda i: i + step, start), starts
        )

    xs = np.zeros(9, dtype)
    assert "whole=true" not in str(opened(program, xs, np.arange(3), dtype(0)))


def test_truths_and_signed_bytes_are_bytes():
    """The first true value, and the first one that is not -1."""
    flags = np.arange(50) % 23 == 22
    first = fw.jit(search(lambda xs, i, c: ~xs[i]))
    assert first(flags, np.arange(45), np.uint8(0)).tolist() == [22] * 23 + [45] * 22
    xs = np.where(flags, 3, -1).astype(np.int8)
    other = fw.jit(search(lambda xs, i, c: xs[i] == -1))
    assert other(xs, np.arange(45), np.uint8(0)).tolist() == [22] * 23 + [45] * 22
    assert "whole=true" in str(opened(search(lambda xs, i, c: ~xs[i]), flags, np.arange(3), 0))
