"""Single instructions of PTX, by what NVIDIA's manual says, and what the interpreter refuses."""

import struct
from fractions import Fraction

import numpy as np
import pytest

from tests.ptx.grid import Stuck, launch
from tests.ptx.memory import GLOBAL, GlobalMemory, IllegalAddress
from tests.ptx.parse import parse

HEAD = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
    .shared .align 16 .b8 room[256];
    .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
    .reg .f32 %f<9>; .reg .f64 %fd<9>;
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 8; add.s64 %rd3, %rd1, %rd2;
"""


def ran(body, grid=1, threads=32, order="forwards"):
    """The 8 bytes that each lane of a kernel stored."""
    memory = bytearray(8 * grid * threads)
    live = {GLOBAL: memory}
    params = {"k_param_0": struct.pack("<Q", GLOBAL)}
    launch(parse(HEAD + body + "ret; }"), "k", GlobalMemory(live), grid, threads, params, order)
    return np.frombuffer(memory, np.uint64)


def one(line, to="%rd4", kind="u64"):
    """What one instruction gives; `%rd4` and `%r10` are its usual results."""
    return ran(f"{line} st.global.{kind} [%rd3], {to};")[0]


@pytest.mark.parametrize(
    ("line", "to", "wanted"),
    [
        ("mul.hi.s64 %rd4, -3, 4;", "%rd4", 2**64 - 1),
        ("mul.hi.u64 %rd4, -1, -1;", "%rd4", 2**64 - 2),
        ("shr.u64 %rd4, -1, 64;", "%rd4", 0),
        ("shr.s64 %rd4, -5, 99;", "%rd4", 2**64 - 1),
        ("shl.b64 %rd4, 1, 63;", "%rd4", 2**63),
        ("div.s64 %rd4, -7, 2;", "%rd4", 2**64 - 3),
        ("rem.s64 %rd4, -7, 2;", "%rd4", 2**64 - 1),
        ("bfi.b64 %rd4, 5, 7, 32, 32;", "%rd4", 5 << 32 | 7),
        ("bfe.u64 %rd4, 0xABCD, 4, 8;", "%rd4", 0xBC),
        ("bfe.s64 %rd4, 0xF0, 4, 4;", "%rd4", 2**64 - 1),
        ("mov.u32 %r10, 0x11223344; prmt.b32 %r11, %r10, 0x55667788, 0x7041;"
         " cvt.u64.u32 %rd4, %r11;", "%rd4", 0x55448833),
        ("clz.b64 %r10, 1; cvt.u64.u32 %rd4, %r10;", "%rd4", 63),
        ("clz.b32 %r10, 0; cvt.u64.u32 %rd4, %r10;", "%rd4", 32),
        ("popc.b64 %r10, -1; cvt.u64.u32 %rd4, %r10;", "%rd4", 64),
        ("brev.b32 %r10, 1; cvt.u64.u32 %rd4, %r10;", "%rd4", 1 << 31),
        ("lop3.b32 %r10, 12, 10, 6, 0x96; cvt.u64.u32 %rd4, %r10;", "%rd4", 12 ^ 10 ^ 6),
        ("shf.l.wrap.b32 %r10, 0x80000000, 1, 1; cvt.u64.u32 %rd4, %r10;", "%rd4", 3),
        ("mov.u16 %rs1, 0x80; cvt.s64.s8 %rd4, %rs1;", "%rd4", 2**64 - 128),
        ("cvt.rzi.s32.f64 %r10, 0d41F0000000000000; cvt.u64.u32 %rd4, %r10;", "%rd4", 2**31 - 1),
        ("cvt.rzi.u64.f64 %rd4, 0dFFF8000000000000;", "%rd4", 0),
        ("cvt.rmi.s64.f64 %rd4, 0dBFF8000000000000;", "%rd4", 2**64 - 2),
        ("mov.b64 %rd4, {1, 2};", "%rd4", 1 | 2 << 32),
        ("setp.ltu.f64 %p1, 0d7FF8000000000000, 0d0000000000000000; selp.b64 %rd4, 5, 6, %p1;",
         "%rd4", 5),
        ("setp.lt.f64 %p1, 0d7FF8000000000000, 0d0000000000000000; selp.b64 %rd4, 5, 6, %p1;",
         "%rd4", 6),
        ("setp.ne.f64 %p1, 0d7FF8000000000000, 0d0000000000000000; selp.b64 %rd4, 5, 6, %p1;",
         "%rd4", 6),
        ("add.cc.u32 %r10, -1, 1; addc.u32 %r11, 5, 0; cvt.u64.u32 %rd4, %r11;", "%rd4", 6),
        ("sub.cc.u32 %r10, 0, 1; subc.u32 %r11, 5, 0; cvt.u64.u32 %rd4, %r11;", "%rd4", 4),
        ("mad.lo.cc.u32 %r10, -1, -1, -1; madc.hi.u32 %r11, -1, -1, 7; cvt.u64.u32 %rd4, %r11;",
         "%rd4", 6),
        ("min.f64 %fd1, 0d0000000000000000, 0d8000000000000000;", "%fd1", 1 << 63),
        ("max.f64 %fd1, 0d7FF8000000000000, 0d3FF0000000000000;", "%fd1", 0x3FF0 << 48),
    ],
)  # fmt: skip
def test_an_instruction_gives_what_the_manual_says(line, to, wanted):
    """Integers, bits, conversions, comparisons with NaN, zeros with a sign."""
    assert one(line, to, "f64" if to.startswith("%fd") else "u64") == wanted


def test_a_block_hides_registers():
    """Of the same name outside, which keep their values."""
    assert one("mov.u64 %rd4, 1; { .reg .b64 %rd4; mov.u64 %rd4, 2; }") == 1


def test_a_fused_product_rounds_once():
    """Where a product and a sum would round twice."""
    a, b, c = 1 + 2.0**-30, 1 - 2.0**-30, -1.0
    bits = [struct.pack(">d", value).hex().upper() for value in (a, b, c)]
    found = one("fma.rn.f64 %fd1, " + ", ".join("0d" + each for each in bits) + ";", "%fd1", "f64")
    exact = float(Fraction(a) * Fraction(b) + Fraction(c))
    assert struct.unpack("<d", struct.pack("<Q", int(found)))[0] == exact != a * b + c


@pytest.mark.parametrize(
    ("mode", "by", "limit", "origin"),
    [
        ("up", 3, 0, lambda lane: lane - 3 if lane >= 3 else lane),
        ("down", 3, 31, lambda lane: lane + 3 if lane + 3 < 32 else lane),
        ("bfly", 5, 31, lambda lane: lane ^ 5),
        ("idx", 7, 31, lambda lane: 7),
        ("idx", 9, 31 | 24 << 8, lambda lane: lane & 24 | 1),
        ("down", 1, 31 | 28 << 8, lambda lane: lane + 1 if lane % 4 < 3 else lane),
    ],
)
def test_lanes_read_each_other(mode, by, limit, origin):
    """In all modes, with segments and without; the predicate says who read within its own."""
    found = ran(
        f"shfl.sync.{mode}.b32 %r10|%p1, %r1, {by}, {limit}, -1; selp.b64 %rd5, 1, 0, %p1;"
        "cvt.u64.u32 %rd4, %r10; bfi.b64 %rd4, %rd5, %rd4, 32, 32; st.global.u64 [%rd3], %rd4;"
    )
    assert [int(value) & 0xFFFF for value in found] == [origin(lane) for lane in range(32)]
    inside = [mode in ("idx", "bfly") or origin(lane) != lane for lane in range(32)]
    assert [bool(int(value) >> 32) for value in found] == inside


def test_lanes_vote():
    """A ballot of the odd lanes."""
    found = ran(
        "and.b32 %r10, %r1, 1; setp.eq.s32 %p1, %r10, 1; vote.sync.ballot.b32 %r11, %p1, -1;"
        "cvt.u64.u32 %rd4, %r11; st.global.u64 [%rd3], %rd4;"
    )
    assert set(found) == {0xAAAAAAAA}


@pytest.mark.parametrize("order", ["forwards", "backwards", "mixed"])
def test_a_block_that_waits_for_another_gets_it(order):
    """Every block but the first looks until the one before has stored, whoever comes first."""
    found = ran(
        "mov.u64 %rd4, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra $put; sub.s64 %rd5, %rd3, 256;"
        "$look: nanosleep.u32 20; ld.relaxed.gpu.u64 %rd4, [%rd5]; setp.eq.s64 %p2, %rd4, 0;"
        "@%p2 bra $look; add.s64 %rd4, %rd4, 1; $put: st.relaxed.gpu.u64 [%rd3], %rd4;",
        grid=5, order=order,
    )  # fmt: skip
    assert found.reshape(5, 32).T.tolist() == [[1, 2, 3, 4, 5]] * 32


def test_a_barrier_separates_what_warps_store():
    """Shared memory, turned around across warps."""
    found = ran(
        "mul.lo.s32 %r10, %r1, 4; mov.u32 %r11, room; add.s32 %r12, %r11, %r10;"
        "st.shared.u32 [%r12], %r1; bar.sync 0; sub.s32 %r13, 252, %r10; add.s32 %r13, %r11, %r13;"
        "ld.shared.u32 %r14, [%r13]; cvt.u64.u32 %rd4, %r14; st.global.u64 [%rd3], %rd4;",
        threads=64, order="mixed",
    )  # fmt: skip
    assert found.tolist() == list(range(63, -1, -1))


def test_atomics_count_every_lane():
    """Lanes that add to one address see different counts."""
    found = ran(
        "atom.global.add.u64 %rd4, [%rd1], 1; bar.sync 0; add.s64 %rd4, %rd4, 1;"
        "setp.eq.s32 %p1, %r1, 0; @%p1 bra $end; st.global.u64 [%rd3], %rd4; $end:"
    )
    assert found[0] == 32 and sorted(found[1:]) == list(range(2, 33))


@pytest.mark.parametrize(
    ("line", "error", "match"),
    [
        ("st.global.u64 [%rd3+8], %rd4;", IllegalAddress, "not allocated"),
        ("ld.global.u64 %rd4, [%rd1+-8];", IllegalAddress, "not allocated"),
        ("ld.global.u32 %r10, [%rd3+2];", IllegalAddress, "no multiple"),
        ("ld.shared.u32 %r10, [room+256];", IllegalAddress, "of 256"),
        ("setp.eq.s32 %p1, %r1, 3; @%p1 bra $end; shfl.sync.idx.b32 %r10, %r1, 0, 31, 8;"
         "$end: bar.warp.sync 8; bar.warp.sync 16;", Stuck, "warp.sync"),
        ("setp.lt.s32 %p1, %r1, 9; @%p1 bra $a; bar.sync 0; bra.uni $b;"
         "$a: vote.sync.ballot.b32 %r10, %p1, -1; $b:", Stuck, "vote"),
    ],
)  # fmt: skip
def test_what_a_gpu_would_not_do_is_an_error(line, error, match):
    """Accesses outside, accesses that are not aligned, lanes that wait for others in vain."""
    with pytest.raises(error, match=match):
        ran(line)


def test_infinite_loops_end():
    """A kernel that never ends is not waited for."""
    with pytest.raises(Stuck), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.ptx.grid.MOST_STEPS", 100)
        ran("$on: bra.uni $on;")
