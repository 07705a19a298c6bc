"""Memory is used again only after a barrier of its level, and that of a block is limited."""

import numpy as np
import pytest

from flatweave.base.errors import Unsupported
from flatweave.kernel_ir.hierarchy import Local, WarpShared
from flatweave.kernel_ir.syntax import Shared
from flatweave.kernel_passes.barriers import reuse_memory
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.terms.traverse import walk_lets
from tests.algorithms.test_scan_units import ARGUMENTS, LENGTH, ROWS, TYPES, of_a_block, prefixes
from tests.kernel_ir.machines import simulated
from tests.kernel_ir.staged import staged
from tests.kernel_ir.units import one_kernel

STEPS = """
    a: shared i64 = shared i64 32
    for_all thread 32 (i: i64 =>
        x: i64 = load xs i
        store a i x)
    sync
    b: shared i64 = shared i64 32
    for_all thread 32 (i: i64 =>
        j: i64 = sub 31 i
        x: i64 = load a j
        store b i x)
    sync
    c: shared i64 = shared i64 64
    for_all thread 32 (i: i64 =>
        j: i64 = sub 31 i
        x: i64 = load b j
        y: i64 = add x 1
        store c i y)
    sync
    for_all thread 32 (i: i64 =>
        x: i64 = load c i
        store out i x)
"""


def memory(unit, op=Shared):
    """The sizes of what a unit's kernel makes of one kind."""
    return [let.op.count for let in walk_lets(unit.kernels[0].body) if isinstance(let.op, op)]


def test_what_is_dead_is_used_again():
    """The third array reuses the memory of the first, which grows."""
    unit = one_kernel(STEPS, warps=2)
    made = reuse_memory(unit)

    assert (memory(unit), memory(made)) == ([32, 32, 64], [64, 32])
    np.testing.assert_array_equal(simulated(made, [32, np.arange(32)])[0], np.arange(1, 33))


def test_a_barrier_must_stand_between():
    """Without one, some threads may still read what others would write."""
    late = STEPS.replace("""        store b i x)
    sync
""", """        store b i x)
""")  # fmt: skip

    assert memory(reuse_memory(one_kernel(late))) == [32, 32, 64]


@pytest.mark.parametrize(
    ("change", "sizes"),
    [
        (("load c i", "load a i"), [32, 32]),  # c is never read: b reuses no memory
        (("c: shared i64 = shared i64 64", "c: shared i64 = shared i64 64\n    s: i64 = load a 0"),
         [32, 32, 64]),
    ],
)  # fmt: skip
def test_what_is_read_later_is_kept(change, sizes):
    """However late."""
    made = reuse_memory(one_kernel(STEPS.replace(*change)))

    assert sorted(memory(made))[: len(sizes)] == sizes


def test_memory_of_loops_stays():
    """No barrier is between their iterations."""
    body = f"for 0 2 1 (t: i64 =>\n {STEPS}) []"

    assert memory(reuse_memory(one_kernel(body))) == [32, 32, 64]


def test_memory_of_warps_and_threads():
    """A warp's after the warp's barriers, a thread's after its last read."""
    body = STEPS.replace("sync", "sync level=warp").replace("shared i64", "warp_shared i64")
    warp = reuse_memory(one_kernel(f"for_all warp 2 (w: i64 =>\n {body})".replace("out i", "out j")
                                   .replace("load c i", "load c i\n j: i64 = add w i"), count="64"))
    thread = """
        for_all thread 4 (i: i64 =>
            a: local i64 = local i64 1
            b: local i64 = local i64 1
            store a 0 i
            x: i64 = load a 0
            store b 0 x
            y: i64 = load b 0
            store out i y)
    """
    assert memory(warp, WarpShared) == [64, 32]
    assert memory(reuse_memory(one_kernel(thread)), Local) == [1]


def test_scans_need_memory_twice():
    """However many steps they have: one to read, one to write."""
    unit = staged(of_a_block, TYPES, TYPES)
    made = reuse_memory(unit)

    assert len(memory(unit)) == 2 * 6
    assert memory(made) == [ROWS * LENGTH] * 4
    assert [x.tolist() for x in simulated(made, ARGUMENTS)] == prefixes()


def test_a_block_has_only_so_much():
    """Too much memory is refused, with a list of all arrays."""
    unit = one_kernel(STEPS)
    with pytest.raises(Unsupported, match="k needs 1024 bytes of shared memory") as caught:
        distribute(unit, BlockShape(2, 32, memory=1000))

    kept = [line.split(", ")[1] for line in caught.value.origins]
    assert kept == ["i64[32]", "i64[32]", "i64[64]"]
    assert [line.split(":")[0] for line in caught.value.origins] == [
        "bytes 0 to 255", "bytes 256 to 511", "bytes 512 to 1023"
    ]  # fmt: skip
    distribute(reuse_memory(unit), BlockShape(2, 32, memory=1000))
