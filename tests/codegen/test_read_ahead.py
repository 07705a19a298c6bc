"""Loops that only read, or of much work, prefetch what later iterations load."""

import pytest

from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.isa.x86 import Avx2
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.units import parse_unit

WIDTH, LINES = 32, 2
"""Lanes of f32 fill two lines of a cache."""


def unit(work, index="i"):
    """A loop over steps of 32 elements with a number of additions in each."""
    added = "\n".join(f"x{k + 1}: f32 = add x{k} 1.0f32" for k in range(work))
    body = "\n".join(f"                    {line}" for line in added.splitlines())
    return parse_unit(f"""
        host(n: i64, xs: global f32) =>
            out: global f32 = alloc f32 n 0
            launch adds 1 [n, xs, out]
            in out

        kernel adds(n: i64, xs: global f32, out: global f32) =>
            lanes {WIDTH} (() =>
                for 0 n {WIDTH} (p: i64 =>
                    j: i64 = lane p
                    i: i64 = add j 1
                    m: i64 = add p 7
                    s: i64 = add j n
                    t: i64 = add j m
                    u: i64 = add n j
                    x0: f32 = load xs {index}
{body}
                    store out j x{work}) [])
    """)


SUM = """
    host(n: i64, xs: global f32) =>
        out: global f32 = alloc f32 1 0
        launch sums 1 [n, xs, out]
        in out

    kernel sums(n: i64, xs: global f32, out: global f32) =>
        all: f32 = lanes WIDTH (() =>
            of_lane: f32 = for 0 n WIDTH (p: i64, s: f32 =>
                j: i64 = lane p
                x: f32 = load xs j
                t: f32 = add s x
                in t) [0.0f32]
            y: f32 = reduce_lanes (add f32) [of_lane]
            in y)
        store out 0 all
    """


def prefetches(isa, *args):
    """How many of them a unit has."""
    return emit(unit(*args), isa).count("call void @llvm.prefetch")


def test_a_loop_of_much_work_reads_ahead():
    """A prefetch for each line of a step."""
    assert prefetches(Avx2(), 12, "j") == LINES


def test_a_loop_of_little_work_that_stores_does_not():
    """Its loads follow each other closely enough."""
    assert prefetches(Avx2(), 2, "j") == 0


def test_a_loop_that_only_reads_does():
    """However little it computes."""
    text = SUM.replace("WIDTH", str(WIDTH))

    assert emit(parse_unit(text), Avx2()).count("call void @llvm.prefetch") == LINES


def test_only_where_a_step_itself_begins():
    """A stencil loads the same lines many times."""
    assert prefetches(Avx2(), 12, "i") == 0


def test_also_at_a_distance_that_no_turn_changes():
    """Rows of arrays that begin with others; but not at one that is found in the loop."""
    assert prefetches(Avx2(), 12, "s") == LINES
    assert prefetches(Avx2(), 12, "u") == LINES
    assert prefetches(Avx2(), 12, "t") == 0


@pytest.mark.parametrize("index", ["i", "j"])
def test_not_on_cpus_where_nothing_was_measured(index):
    """NEON has no distance."""
    assert prefetches(Neon(), 12, index) == 0
