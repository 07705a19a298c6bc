"""Well-formed units pass; each rule of the machine language that is broken is found."""

import pytest

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.lane_facts import Variation
from tests.kernel_ir.units import kernel_of, one_kernel, unit

GOOD = """
    b: i64 = block_index
    w: i64 = warp_index
    p: bool = eq b 0
    if p (() => sync) (() => sync)
    s: i64 = lanes 8 (() =>
        j: i64 = lane 0
        t: i64 = for 0 n 8 (i: i64, t: i64 =>
            k: i64 = lane i
            x: i64 = load xs k
            odd: bool = lt x 3
            if odd (() => store out k x) (() => ())
            more: i64 = reduce_lanes (add i64) [x]
            sum: i64 = add t more
            in sum) [0]
        in t)
    store out b s
"""


def test_a_good_kernel_passes():
    """Collectives in a loop whose bounds are uniform, a barrier that the whole block reaches."""
    one_kernel(GOOD, warps=2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x: i64 = alloc i64 3 0", "alloc is not allowed in a kernel"),
        ("launch k 1 [n, xs, out]", "launch is not allowed in a kernel"),
        ("x: i64 = reduce_lanes (add i64) [n]", "reduce_lanes is not allowed in a kernel outside"),
        ("x: i64 = lane 0", "lane is not allowed in a kernel outside of lanes"),
        ("lanes 4 (() => lanes 4 (() => ()))", "lanes is not allowed inside lanes"),
        ("lanes 4 (() =>\n t: shared i64 = shared i64 4\n in ())", "shared is not allowed inside"),
        ("lanes 3 (() => ())", "no power of two"),
        ("lanes 4 (() =>\n x: i64 = call (add i64) [n, n]\n in ())", "call is not allowed inside"),
        ("x: i64 = call (add i64) [n, 1.0f32]", "the function"),
        ("x: i64 = lanes 4 (() => lane 0)", "differ from lane to lane"),
        ("lanes 4 (() =>\n j: i64 = lane 0\n k: i64 = lane j\n in ())", "lane has operands"),
        ("x: f32 = load xs 0", "x is f32, not i64"),
        ("x: i64 = load xs 0.0f32", "the index"),
        ("store xs 0 1.0f32", "the values"),
        ("x: i64 = load n 0", "does not fit its operands"),
        ("x: i64 = atomic mul out 0 1", "there is no atomic mul"),
        ("atomic_update (add i64) out 0 [1.0f32]", "the values"),
        (
            "atomic_update (a: i64, b: i64, c: i64, d: i64 =>\n in a, b) out 0 [1, 2]",
            "2 words are no element",
        ),
        ("locked_update (add i64) out 4 [out] 0 [1]", "the values"),
        (
            "s: shared u32 = shared u32 3\n locked_update (add i64) s 3 [out] 0 [1]",
            "3 locks are no power of two",
        ),
        ("w: i64 = warp_index\n p: bool = eq w 0\n if p (() => sync) (() => ())", "not all warps"),
        (
            "w: i64 = warp_index\n for 0 w 1 (i: i64 => sync) []",
            "not all warps",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n p: bool = lt j 2\n"
            " if p (() =>\n c: i64 = count_lanes p\n in ()) (() => ()))",
            "count_lanes stands where not all lanes run",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n for 0 j 1 (i: i64 =>\n"
            " c: i64 = reduce_lanes (add i64) [i]\n in ()) [])",
            "reduce_lanes stands where not all lanes run",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n x: i64 = acquire out j\n in ())",
            "acquire has operands that differ",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n p: bool = lt j 2\n"
            " if p (() => release out 0 1) (() => ()))",
            "release stands where not all lanes run",
        ),
    ],
)
def test_rules_of_kernels(body, message):
    """Each with the let that breaks it."""
    with pytest.raises(CompilerBug, match=message) as caught:
        one_kernel(body, warps=2)

    assert caught.value.program


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("b: i64 = block_index\n in b", "block_index is not allowed on the host"),
        ("sync", "sync is not allowed on the host"),
        ("launch mystery 1 [n]", "there is no kernel mystery"),
        ("launch k 1 [n, n]", "k does not take these arguments"),
        ("launch k 1.0f32 [n]", "the grid"),
        ("launch k 1 [n] role=star", "star is no role of a launch"),
        ("launch k 1 [n] variants=[choice n k]", "the condition"),
        ("launch k 1 [n] variants=[choice true l]", "there is no kernel l"),
        ("b: global f32 = alloc f32 1.0f32 0", "the count"),
        ("free n", "n is no buffer"),
        ("fail n 1 2 n n", "the condition"),
        ("xs: f32[n] = map (x: f32 => x) [n]", "is not allowed on the host"),
    ],
)
def test_rules_of_the_host(host, message):
    """Memory and launches, and nothing of kernels."""
    with pytest.raises(CompilerBug, match=message):
        unit(f"host(n: i64) => {host}\n kernel k(m: i64) =>\n x: i64 = add m 1")


def test_kernels_have_names_of_their_own():
    """And no results, and do not read the host's variables."""
    with pytest.raises(CompilerBug, match="two kernels"):
        unit("host() =>\n in 1\n kernel k() => sync\n kernel k() => sync")
    with pytest.raises(CompilerBug, match="parameters or results"):
        unit("host() =>\n in 1\n kernel k(n: i64) => in n")
    with pytest.raises(CompilerBug, match="no arrays any more"):
        unit("host(n: i64, xs: f32[n]) =>\n in n")


def test_variation_is_found_through_loops():
    """A loop's state varies once an iteration makes it vary, or when lanes iterate differently."""
    made = kernel_of("""
    kernel k(n: i64, xs: global i64) =>
        w: i64 = warp_index
        lanes 4 (() =>
            j: i64 = lane 0
            a: i64 = for 0 n 1 (i: i64, s: i64 => add s j) [0]
            b: i64 = for 0 n 1 (i: i64, t: i64 => add t w) [0]
            c: i64 = for 0 j 1 (i: i64, u: i64 => add u 1) [0]
            d: i64 = while (v: i64 => lt v j) (v: i64 => add v 1) [0]
            p: bool = lt j 2
            e: i64 = if p (() => 1) (() => 2)
            f: i64 = last_lane [a]
            g: i64 = load xs 3)
    """)
    variation = Variation(made.body)
    inside = {let.vars[0].name: let.vars[0] for let in made.body.lets[1].op.body.lets}
    found = {name: sorted(variation.of(inside[name])) for name in "abcdefg"}

    assert found == {
        "a": ["lane"], "b": ["warp"], "c": ["lane"], "d": ["lane"], "e": ["lane"], "f": [], "g": []
    }  # fmt: skip


def test_variation_of_differences():
    """A term of a sum that is subtracted again leaves the other one; floats are rounded."""
    made = kernel_of("""
    kernel k(n: i64, x: f64) =>
        w: i64 = warp_index
        f: f64 = cast f64 w
        e: i64 = add w n
        a: i64 = sub e w
        b: i64 = sub w e
        g: f64 = add f x
        c: f64 = sub g f
        d: i64 = for w e 1 (i: i64, s: i64 => add s 1) [0]
        h: i64 = for w n 1 (i: i64, t: i64 => add t 1) [0]
    """)
    variation = Variation(made.body)
    vars_ = {let.vars[0].name: let.vars[0] for let in made.body.lets}

    assert {name for name in "abcdh" if variation.of(vars_[name])} == {"c", "h"}
