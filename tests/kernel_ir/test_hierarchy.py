"""Levels: the text of for_all, sync and memories, the rules of nesting, and what varies."""

import pytest

from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, LEVELS, MEMORY, THREAD, WARP
from flatweave.kernel_ir.lane_facts import Variation
from flatweave.kernel_ir.units import parse_unit, print_unit, verify
from flatweave.terms.syntax import Let
from flatweave.terms.traverse import walk_lets
from tests.kernel_ir.units import kernel_of, one_kernel

GOOD = """
    b: i64 = block_index
    s: shared i64 = shared i64 64
    for_all thread 64 (i: i64 =>
        m: local i64 = local i64 2
        x: i64 = load xs i
        store m 0 x
        y: i64 = load m 0
        store s i y)
    sync
    for_all warp 2 (w: i64 =>
        t: warp_shared i64 = warp_shared i64 32
        lo: i64 = mul w 32
        for_all thread 32 (i: i64 =>
            j: i64 = add lo i
            x: i64 = load s j
            store t i x)
        sync level=warp
        sum: i64 = lanes 8 (() =>
            j: i64 = lane 0
            x: i64 = load t j
            z: i64 = reduce_lanes (add i64) [x]
            in z)
        store out w sum)
"""


def test_levels_are_ordered():
    """A lower level is part of a higher one, and each has separate memory."""
    assert THREAD < WARP < BLOCK < GRID
    assert [level.space for level in LEVELS.values()] == [
        "local", "warp_shared", "shared", "global"
    ]  # fmt: skip
    assert [MEMORY[level].name for level in (THREAD, WARP, BLOCK)] == [
        "local", "warp_shared", "shared"
    ]  # fmt: skip


def test_the_text_reads_back():
    """The level of a barrier is said only where it is not the block."""
    made = one_kernel(GOOD)
    text = print_unit(made)

    assert "    sync\n" in text
    assert "        sync level=warp\n" in text
    assert "t: warp_shared i64 = warp_shared i64 32" in text
    assert print_unit(parse_unit(text), canonical=True) == print_unit(made, canonical=True)


WARPS = "for_all warp 2 (w: i64 =>\n {})"
THREADS = "for_all thread 2 (i: i64 =>\n {})"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (THREADS.format("for_all thread 2 (j: i64 => store out j j)"),
         "in code of a thread, which has no threads below it: take a `for` loop"),
        (WARPS.format("for_all warp 2 (v: i64 => store out v v)"),
         "in code of a warp, which has no warps below it: take for_all thread"),
        ("for_all block 2 (i: i64 => store out i i)", "the host launches kernels on blocks"),
        ("for_all core 2 (i: i64 => store out i i)", "there is no level core, only thread, warp"),
        ("lanes 4 (() => for_all thread 2 (i: i64 => store out i i))", "not allowed inside lanes"),
        ("for_all thread 2.0f32 (i: i64 => store out i i)", "the count"),
        ("for_all thread 2 (i: f32 => store out 0 1)", "the body takes"),
        (
            "w: i64 = warp_index\n p: bool = eq w 0\n"
            " if p (() => for_all thread 2 (i: i64 => store out i i)) (() => ())",
            "for_all thread stands where not all threads of the block come",
        ),
        ("w: i64 = warp_index\n for_all thread w (i: i64 => store out i i)",
         "for_all thread reads w, which differs from warp to warp"),
        ("w: i64 = warp_index\n for_all warp 4 (i: i64 => store out i w)",
         "for_all warp reads w, which differs from warp to warp of the block"),
        ("sync level=grid", "no barrier spans the grid: split the kernel"),
        ("sync level=thread", "there is nobody to wait for"),
        ("sync level=crowd", "there is nobody to wait for"),
        (THREADS.format("sync"), "sync of a block is in code of a thread: not all warps"),
        (THREADS.format("sync level=warp"), "sync of a warp is in code of a thread"),
        (WARPS.format("sync"), "sync of a block is in code of a warp"),
        (THREADS.format("store out i i") + "\n sync level=warp",
         "sync of a warp is in code of a block"),
        (
            "w: i64 = warp_index\n p: bool = eq w 0\n"
            " if p (() => sync) (() => for_all thread 2 (i: i64 => store out i i))",
            "not all",
        ),
        (
            WARPS.format("lanes 4 (() =>\n j: i64 = lane 0\n p: bool = lt j 2\n"
                         " if p (() => sync level=warp) (() => ()))"),
            "sync stands where not all threads arrive",
        ),
        (THREADS.format("x: i64 = reduce_lanes (add i64) [i]"),
         "reduce_lanes is not allowed in code of a thread: it needs a warp"),
        (WARPS.format("x: i64 = scan_lanes (add i64) [0] [w]"),
         "scan_lanes is not allowed in code of a warp"),
        (THREADS.format("lanes 4 (() => ())"), "lanes is not allowed in code of a thread"),
        (WARPS.format("v: i64 = warp_index\n store out v v"), "warp_index is not allowed in code"),
        (THREADS.format("x: i64 = acquire out i"), "acquire is not allowed in code of a thread"),
        (WARPS.format("s: shared i64 = shared i64 4"),
         "shared is memory of a block but is in code of a warp"),
        (THREADS.format("s: warp_shared i64 = warp_shared i64 4"),
         "warp_shared is memory of a warp but is in code of a thread"),
        ("s: warp_shared i64 = warp_shared i64 4",
         "warp_shared is memory of a warp but is in code of a block"),
        (WARPS.format("s: local i64 = local i64 4"),
         "local is memory of a thread but is in code of a warp"),
        ("s: local i64 = local i64 4", "local is not allowed in a kernel outside of lanes"),
        (THREADS.format("s: local i64 = local i64 0"), "it takes at least 1"),
        ("x: i64 = call (a: i64 =>\n sync\n in a) [n]",
         "sync of a block is in code of a thread"),
        ("r: local i64 = lanes 4 (() =>\n m: local i64 = local i64 1\n in m)",
         "differ from lane to lane"),
    ],
)  # fmt: skip
def test_rules_of_levels(body, message):
    """Each with the let that breaks it."""
    with pytest.raises(CompilerBug, match=message) as caught:
        one_kernel(body, warps=2)

    assert caught.value.program


def test_memory_ends_with_its_code():
    """A read elsewhere names the owner."""
    unit = parse_unit("""
        host() => in 1
        kernel k() =>
            for_all thread 2 (i: i64 =>
                m: local i64 = local i64 1
                store m 0 i)
            for_all thread 2 (i: i64 =>
                x: i64 = add i 1)
    """)
    kernel = unit.kernels[0]
    first, second = kernel.body.lets
    stray = Let((), second.op.replace(body=replace(second.op.body, lets=first.op.body.lets[1:])))
    wrong = replace(kernel, body=replace(kernel.body, lets=(first, stray)))
    with pytest.raises(CompilerBug, match="m is local memory, read outside of the code"):
        verify(replace(unit, kernels=(wrong,)))


def test_kernels_take_global_memory_only():
    """The memory of a block begins and ends in it."""
    with pytest.raises(CompilerBug, match="s is shared memory: only global comes from the host"):
        verify(parse_unit("host() => in 1\n kernel k(s: shared i64) => sync"))


def test_what_varies():
    """The same for a block, for each warp alone, or for nobody but the thread."""
    made = kernel_of("""
    kernel k(n: i64, xs: global i64, out: global i64) =>
        a: i64 = add n 1
        s: shared i64 = shared i64 64
        for_all thread 64 (i: i64 =>
            b: i64 = mul n 2
            c: i64 = load s i
            m: local i64 = local i64 1
            d: i64 = load m 0
            e: i64 = load s 3)
        sync
        for_all warp 2 (w: i64 =>
            t: warp_shared i64 = warp_shared i64 32
            f: i64 = load t 0
            g: i64 = load s w
            for_all thread 32 (j: i64 =>
                h: i64 = add w j
                k: i64 = add w 1))
    """)
    vars_ = {let.vars[0].name: let.vars[0] for let in walk_lets(made.body) if let.vars}
    variation = Variation(made.body)
    found = {name: _level_of(variation, vars_[name]) for name in "abcdefghk"}

    assert found == {
        "a": BLOCK, "b": BLOCK, "c": THREAD, "d": THREAD, "e": BLOCK, "f": WARP, "g": WARP,
        "h": THREAD, "k": WARP,
    }  # fmt: skip


def _level_of(variation, var):
    """The highest level all of whose threads have one value."""
    marks = variation.of(var)
    return THREAD if "lane" in marks else WARP if marks else BLOCK
