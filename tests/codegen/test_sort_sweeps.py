"""Sorts whose blocks look back: a launch for each digit, right in every order of blocks."""

from functools import cache

import numpy as np
import pytest

import flatweave as fw
from flatweave.algorithms.look_back import AT_ONCE, Chains
from flatweave.base.dtypes import DTYPES
from flatweave.codegen import cuda
from flatweave.kernel_ir.host import Launch, Role
from flatweave.kernel_ir.memory_ops import LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Sync
from flatweave.lower.machine import CUDA
from flatweave.lower.schedule.plan import elements_each
from flatweave.lower.sort import onesweep, onesweep_kernel
from flatweave.simulator.counts import Counting
from flatweave.simulator.run import run
from flatweave.simulator.schedules import (
    InOrder,
    LateBlock,
    ReverseBlocks,
    ReverseWarps,
    Shuffled,
    StalledBlock,
    adversaries,
)
from flatweave.terms.build import index
from flatweave.terms.control import For
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import flat, lowered, simulated, small_blocks, traced
from tests.language.test_sorting import order_of, samples, sorted_values
from tests.simulator.mutants import is_found, mutants

QUICK = ("f32",)
ORDERS = [LateBlock(0), ReverseBlocks(), StalledBlock(1, 1), ReverseWarps(), Shuffled(3)]


def slow_but(quick, values):
    """All of them, those that are not quick marked slow."""
    return [v if str(v) in quick else pytest.param(v, marks=pytest.mark.slow) for v in values]


@pytest.fixture
def counting_blocks(monkeypatch):
    """As many blocks count as move."""
    monkeypatch.setattr(onesweep, "TILES", 1)


@pytest.mark.parametrize("dtype", slow_but(QUICK, DTYPES), ids=str)
def test_every_dtype(counting_blocks, dtype):
    """Up and down, no elements, one, and around the sizes of blocks."""
    made = traced("every", lambda x: (fw.sort(x), fw.argsort(x, descending=True)),
                  samples(dtype.numpy, 2))  # fmt: skip
    machine = small_blocks(CUDA, warps=1, most_each=2)
    unit = lowered(made, machine)
    for n in (0, 1, 127, 128, 129) if str(dtype) not in QUICK else (0, 1, 66):
        xs = samples(dtype.numpy, n, seed=n)
        up, down = simulated(unit, flat(xs), threads=3, seed=n)
        assert np.asarray(up).tobytes() == sorted_values(xs).tobytes()
        np.testing.assert_array_equal(down, order_of(xs, descending=True))


@pytest.mark.parametrize("warps", slow_but("2", [1, 2, 8]))
@pytest.mark.parametrize("each", slow_but("3", [1, 3]))
def test_several_keys_and_values(counting_blocks, warps, each):
    """Equal ones stay in their order; a block moves them as they are, whatever their widths."""
    rng = np.random.default_rng(each)
    made = traced("pairs", lambda k, f, v, w: fw.sort_by_key((k, f), (v, w)), *_columns(rng, 2))
    unit = lowered(made, small_blocks(CUDA, warps=warps, most_each=each))
    for n in (1, 200):
        k, f, v, w = _columns(rng, n)
        order = order_of(k, f)
        found = simulated(unit, flat(k, f, v, w), threads=3, seed=n)
        for ours, column in zip(found, (k, f, v, w), strict=True):
            np.testing.assert_array_equal(ours, column[order])


def _columns(rng, n):
    """Two keys of which many are equal, and two values."""
    ties = rng.integers(-3, 3, n)
    halves = (ties * 0.5).round().astype(np.float32)
    return ties.astype(np.int16), halves, np.arange(n), rng.random(n) > 0.5


@cache
def of_bytes(n):
    """A sort of n pairs with keys of 8 bits, in two digits by blocks of 64; and its arguments."""
    keys = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)
    made = traced("f", lambda k, v: fw.sort_by_key(k, v)[1], keys, np.arange(n))
    return lowered(made, small_blocks(CUDA, warps=2)).unit.complete(), flat(keys, np.arange(n))


def moves(unit):
    """The name of the kernel that moves."""
    (name,) = {
        let.op.kernel for loop in walk_lets(unit.host) if isinstance(loop.op, For)
        for let in walk_lets(loop.op.body) if isinstance(let.op, Launch)
    }  # fmt: skip
    return name


@pytest.mark.parametrize("blocks", slow_but("3", [3, 8, 40]))
def test_in_every_order_of_blocks(counting_blocks, blocks):
    """A thread finds the nearest prefix next to its block, or where the first one is late, at the
    other end."""
    unit, args = of_bytes(64 * blocks - 5)
    wanted = np.argsort(args[1], kind="stable")
    for order in (InOrder(), *ORDERS) if blocks > 3 else ORDERS[:2]:
        np.testing.assert_array_equal(run(unit, list(args), blocks, schedule=order)[0], wanted)


def broken(unit):
    """Copies of the kernels of a sort in which something is missing that orders them."""
    of_sort = tuple(name for name in (moves(unit), moves(unit) + "_count"))
    for mutant in mutants(unit):
        alone = isinstance(mutant.lost, Sync) and mutant.lost.level == "warp"
        if mutant.kernel in of_sort and not alone:  # lanes of a warp go in lock step here
            yield mutant


@pytest.mark.parametrize(
    "of", [LoadWhole | StoreWhole, pytest.param(object, marks=pytest.mark.slow)],
    ids=["words", "all"],
)  # fmt: skip
def test_each_broken_copy_is_found(monkeypatch, of):
    """Words that are stored or loaded plainly, barriers and atomic updates that are missing."""
    monkeypatch.setattr(onesweep, "TILES", 1)
    of_bytes.cache_clear()
    unit, args = of_bytes(250)
    wanted = run(unit, list(args))
    tried = [mutant for mutant in broken(unit) if isinstance(mutant.lost, of)]

    kinds = sorted(type(mutant.lost).__name__ for mutant in tried)
    words = ["LoadWhole"] * AT_ONCE + ["StoreWhole"] * 2
    others = ["Atomic"] * 4 + ["Sync"] * 6
    assert kinds == (words if of is not object else sorted(words + others))
    for mutant in tried:
        assert is_found(mutant.unit, args, wanted, adversaries(), 4), str(mutant)


def test_words_of_an_earlier_digit_say_nothing(monkeypatch):
    """They are cleared once for all digits: without its number in them blocks go by old ones."""
    keys = np.random.default_rng(1).integers(0, 256, 250).astype(np.uint8)
    made = traced("f", lambda k: fw.sort(k), keys)
    monkeypatch.setattr(
        onesweep_kernel, "Chains",
        lambda words, first, count, _: Chains(words, first, count, index(0)),
    )
    unit = lowered(made, small_blocks(CUDA, warps=2)).unit.complete()

    assert is_found(unit, flat(keys), [np.sort(keys)], adversaries(), 4)


def test_one_launch_for_a_digit():
    """Before them: which bits vary, what is in reverse, the clearing of all words, one count of all
    digits."""
    unit, _ = of_bytes(250)
    launches = [let.op for let in walk_lets(unit.host) if isinstance(let.op, Launch)]
    moved = moves(unit)
    own = [(op.kernel.removeprefix(moved), op.role) for op in launches if moved in op.kernel]

    assert own == [
        ("_turned", Role.VARIANT), ("_fill", Role.FILL), ("_count", Role.COUNT),
        ("_partials", Role.PARTIALS), ("", Role.PASS),
    ]  # fmt: skip


def test_elements_are_read_once_for_a_digit():
    """And once more to count all digits, where keys are enough; they are written once."""
    rng, n, threads = np.random.default_rng(0), 1024, 64
    keys, values = rng.integers(0, 1 << 16, n).astype(np.uint32), np.arange(n, dtype=np.int32)
    made = traced("f", lambda k, v: fw.sort_by_key(k, v), keys, values)
    unit = lowered(made, small_blocks(CUDA, warps=2, most_each=8)).unit.complete()
    counting = Counting()
    run(unit, flat(keys, values), counter=counting)
    by_name = {counted.kernel: counted for counted in counting.counts().kernels}
    moved, counted = by_name[moves(unit)], by_name[moves(unit) + "_count"]

    assert (counted.global_reads, counted.global_writes) == (n, 0)
    assert counted.global_atomics <= 6 * threads  # at most six digits of six bits
    assert moved.launches == 3
    of_threads = 2 * threads * moved.blocks  # where digits begin
    assert moved.global_reads == 3 * 2 * n + of_threads
    assert moved.global_writes == 3 * 2 * n
    # neighbours of one digit go to neighbours, at random every element has a separate sector
    assert moved.sectors < 3 * 2 * n / 2


SHAPES = {
    "u32": ("u4",), "u8": ("u1",), "f64": ("f8",), "u32 with u32": ("u4", "u4"),
    "u32 with i64": ("u4", "i8"), "i64 with i64": ("i8", "i8"), "wide": ("i8",) * 6,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_elements_stay_in_registers(compiler, name, architecture):
    """Three blocks of 256 threads have room on a multiprocessor, four of them on sm_90; nothing is
    moved to memory. What scans the blocks' counts is one block, which needs no room for others; of
    u8 it moves 16 bytes of a thread."""
    key, *values = (np.zeros(2, dtype) for dtype in SHAPES[name])

    def sort(k, *v):
        return fw.sort_by_key(k, v) if v else fw.sort(k)

    text = cuda.emit(lowered(traced("f", sort, key, *values), CUDA).unit)
    found = compiler.resources(text, architecture)

    for kernel, taken in found.items():
        is_alone = kernel.endswith("_partials")
        assert is_alone or taken.registers <= (64 if architecture == "sm_90" else 80), kernel
        assert taken.registers <= 80, kernel
        assert taken.spilled <= (16 if is_alone and name == "u8" else 0), kernel


def test_how_many_elements_a_thread_takes():
    """As many as fit into shared memory, up to 24; runs of elements that do not fit are counted."""
    u8, u32, f64 = (fw.u8, fw.u32, fw.f64)
    each = [elements_each(CUDA, dtypes) for dtypes in ([u8], [u32], [f64], [u32, f64], [f64] * 3)]

    assert each == [24, 24, 16, 11, 5]
    assert elements_each(CUDA, [f64] * 20) == 0
    made = traced("wide", lambda k, v: fw.sort_by_key(k, v), np.zeros(2), np.zeros((2, 20)))
    assert lowered(made, CUDA)
