"""LLVM optimises a host program only where it has a loop as hot as a kernel."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm import unit
from flatweave.codegen.llvm.unit import level_of
from flatweave.kernel_ir.units import parse_unit
from flatweave.runtime.processor import LIGHT, RAW

KERNEL = """
kernel k(xs: global i64) =>
    store xs 0 1
"""
STRAIGHT = """
host(n: i64, xs: global i64) =>
    m: i64 = mul n 3
    launch k m [xs]
    in xs
"""
OWN_LOOP = """
host(n: i64, xs: global i64) =>
    m: i64 = for 0 n 1 (i: i64, s: i64 =>
        t: i64 = mul s 3
        in t) [1]
    launch k m [xs]
    in xs
"""
LAUNCHING_LOOP = """
host(n: i64, xs: global i64) =>
    for 0 n 1 (i: i64 =>
        launch k i [xs]) []
    in xs
"""
LOOP_IN_LAUNCHING_LOOP = """
host(n: i64, xs: global i64) =>
    for 0 n 1 (i: i64 =>
        for 0 9 1 (j: i64 => store xs j i) []
        launch k i [xs]) []
    in xs
"""
PER_BLOCK = """
host(n: i64, xs: global i64) =>
    for 0 n 1 (i: i64 => store xs i 0) []
    slots: i64 = add n 1
    for 1 slots 1 (i: i64 => store xs i 0) []
    launch k n [xs]
    in xs
"""


@pytest.mark.parametrize("host, level", [
    (STRAIGHT, RAW), (OWN_LOOP, LIGHT), (LAUNCHING_LOOP, RAW), (LOOP_IN_LAUNCHING_LOOP, LIGHT),
    (PER_BLOCK, RAW),
], ids=["straight", "own loop", "launching loop", "a loop in it", "per block"])  # fmt: skip
def test_a_host_is_optimised_for_its_own_loops(host, level):
    """An iteration that launches, or one for each block of a launch, takes long anyway."""
    assert level_of(parse_unit(host + KERNEL).host) == level


def collatz(n):
    """How many steps it takes to come down to 1."""
    return fw.while_loop(
        lambda s: s[0] != 1,
        lambda s: (fw.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
        (n, 0),
    )[1]


@pytest.mark.parametrize("f, args, expected, levels", [
    (lambda xs: fw.sum(xs * xs), [np.arange(5.0)], 30.0, [LIGHT, RAW]),
    (lambda n: collatz(n), [np.int64(27)], 111, [LIGHT]),
    (lambda xs: fw.sum(fw.sort(xs) * fw.iota(4)), [np.array([3.0, 1.0, 2.0, 0.0])], 14.0,
     [LIGHT, RAW]),
], ids=["sum", "collatz", "sort"])  # fmt: skip
def test_programs_are_compiled_at_their_levels(monkeypatch, f, args, expected, levels):
    """Kernels are optimised, and are in separate modules."""
    seen = []

    def noting(real):
        def compiled(text, **named):
            seen.append((named.get("level", LIGHT), "@fw_main" in text, "@k_" in text))
            return real(text, **named)

        return compiled

    monkeypatch.setattr(unit, "compile_text", noting(unit.compile_text))
    monkeypatch.setattr(unit, "begin", noting(unit.begin))
    assert float(fw.jit(f, target="cpu")(*args)) == expected
    assert sorted({level for level, *_ in seen}, reverse=True) == levels
    assert all(level == LIGHT for level, _, has_kernels in seen if has_kernels)
    assert [has_kernels for _, is_host, has_kernels in seen if is_host] == [False]
