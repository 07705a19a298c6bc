"""fk: the kernel tier, in which a program says which block, warp and thread does what.

    from flatweave import kernel as fk

    @fk.kernel
    def total_of_blocks(xs):                                # one sum for each 256 elements
        def block(part):
            while part.length > 1:                          # unrolled: lengths are known
                a, b = fk.halve(part)
                part = fk.force(fk.zip_with(lambda x, y: x + y, a, b))
            return part
        return fk.pconcat_map(block, fk.split_up(256, xs))

The language is Obsidian's (Svensson, Embedded Languages for Data-Parallel Programming, 2013).
docs/kernel.md teaches it.

The files, each on those before it:

    code, elements, checks      the code that is being written: its level, elements, launches
    pulls, pushes, parts        pulls are functions and pushes are programs
    loops, units, chunks        loops; units of the level below
    stores, atomics             force, memory that changes, atomics, what a block waits for
    operators, folds, networks, warps, chained_scans
                                reduce and scan, networks, work of warps: written in the language
    build, in_programs, called, tuning
                                traced, built, simulated, called (@kernel), tuned
"""

from flatweave.kernel.atomics import (
    atomic,
    atomic_add,
    atomic_and,
    atomic_exchange,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
)
from flatweave.kernel.called import Kernel, kernel
from flatweave.kernel.chained_scans import acquire, chain, look_back, release, wait_until
from flatweave.kernel.chunks import (
    coalesce,
    conc,
    fix_size,
    flatten,
    padded,
    rotate,
    sequential,
    shift_left,
    shift_right,
    split_up,
    transpose,
    unpair,
)
from flatweave.kernel.folds import filter, reduce, scan, seq_scan
from flatweave.kernel.loops import (
    cond,
    for_all,
    seq_for,
    seq_iterate,
    seq_reduce,
    seq_until,
    seq_while,
    when,
)
from flatweave.kernel.networks import (
    bin_split,
    compose,
    fan,
    ilv,
    ilv1,
    ilv2,
    ilv_vee1,
    ilv_vee2,
    on_evens,
    on_odds,
    repeated,
    riffle,
    two,
    vee1,
    vee2,
)
from flatweave.kernel.parts import (
    drop,
    even_odds,
    evens,
    every_nth,
    first,
    flip_bit,
    flip_bits_from,
    flip_lsbs_to,
    halve,
    insert_zero,
    last,
    low_bit,
    odds,
    one_bits,
    pair,
    reverse,
    split_at,
    take,
    zero_bits,
)
from flatweave.kernel.pulls import (
    Pull,
    gather,
    iterations,
    ix_map,
    pull,
    replicate,
    singleton,
    unzip,
    zip,
    zip_with,
)
from flatweave.kernel.pushes import Push, make_push, map, push, scatter
from flatweave.kernel.stores import Memory, barrier, fill, force, force_below, memory, unsafe_force
from flatweave.kernel.tuning import Tuned, tune, variants
from flatweave.kernel.units import (
    concat_p,
    generate,
    interleave_p,
    load,
    p_map,
    p_zip_with,
    pconcat,
    pconcat_map,
    push_how,
    push_n,
    seq_concat,
    unpair_p,
)
from flatweave.kernel.warps import (
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
    warp_reduce,
    warp_scan,
)
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, WARP
from flatweave.kernel_ir.hierarchy import BLOCK as Block
from flatweave.kernel_ir.hierarchy import GRID as Grid
from flatweave.kernel_ir.hierarchy import THREAD as Thread
from flatweave.kernel_ir.hierarchy import WARP as Warp
from flatweave.simulator import schedules
from flatweave.simulator.counts import Counts

__all__ = [
    "BLOCK", "Block", "Counts", "GRID", "Grid", "Kernel", "Memory", "Pull", "Push", "THREAD",
    "Thread", "Tuned", "WARP", "Warp", "acquire", "atomic", "atomic_add", "atomic_and",
    "atomic_exchange", "atomic_inc", "atomic_max", "atomic_min", "atomic_or", "atomic_sub",
    "atomic_xor", "barrier", "bin_split", "chain", "coalesce", "compose", "conc", "concat_p",
    "cond", "drop", "even_odds", "evens", "every_nth", "fan", "fill", "filter", "first", "fix_size",
    "flatten", "flip_bit", "flip_bits_from", "flip_lsbs_to", "for_all", "force", "force_below",
    "gather", "generate", "halve", "ilv", "ilv1", "ilv2", "ilv_vee1", "ilv_vee2", "insert_zero",
    "interleave_p", "iterations", "ix_map", "kernel", "last", "load", "look_back", "low_bit",
    "make_push", "map", "memory", "odds", "on_evens", "on_odds", "one_bits", "p_map", "p_zip_with",
    "padded", "pair", "pconcat", "pconcat_map", "pull", "push", "push_how", "push_n", "reduce",
    "release", "repeated", "replicate", "reverse", "riffle", "rotate", "scan", "scatter",
    "schedules", "seq_concat", "seq_for", "seq_iterate", "seq_reduce", "seq_scan", "seq_until",
    "seq_while", "sequential", "shift_left", "shift_right", "shuffle", "shuffle_down", "shuffle_up",
    "shuffle_xor", "singleton", "split_at", "split_up", "take", "transpose", "tune", "two",
    "unpair", "unpair_p", "unsafe_force", "unzip", "variants", "vee1", "vee2", "wait_until",
    "warp_reduce", "warp_scan", "when", "zero_bits", "zip", "zip_with",
]
