"""A small program for each op that is emitted, in the text of the kernel IR, for any dtype.

Names in capitals are filled in: T is a dtype, Z its zero, W a number of lanes. A program is what
lanes do, with j = lane 0, x = xs[j] and k = ks[j] at hand, and may write ys, zs and ws.
"""

import re

import numpy as np

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import parse_unit, verify
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, BufferType
from tests.codegen.llvm_programs import Writer, kernel_unit

COUNT = 128
FRAME = """
host(n: i64, xs: global T, ks: global i64) =>
    ys: global T = alloc T n 0
    zs: global i64 = alloc i64 n 0
    ws: global u64 = alloc u64 n 0
    for 0 n 1 (t: i64 =>
        store ys t Z
        store zs t 0
        store ws t 1099511632947u64) []
    HOST
    launch k 1 [n, xs, ks, ys, zs, ws]
    in ys, zs, ws

kernel k(n: i64, xs: global T, ks: global i64, ys: global T, zs: global i64, ws: global u64) =>
    BEFORE
    lanes W (() =>
        j: i64 = lane 0
        x: T = load xs j
        k: i64 = load ks j
        p: bool = gt k 4
        BODY
        in ())
"""
BODIES = {
    "Ballot": "b: u64 = ballot p\nstore ws 0 b",
    "CountLanes": "c: i64 = count_lanes p\nstore zs 0 c",
    "LastLane": "s: T = last_lane [x]\nstore ys 0 s",
    "ReduceLanes": "s: T = reduce_lanes (add T) [x]\nstore ys 0 s",
    "ReduceLanes of a minimum": "s: T = reduce_lanes (minimum T) [x]\nstore ys 0 s",
    "ScanLanes": "s: T = scan_lanes (add T) [Z] [x]\nstore ys j s",
    "ScanLanes with starts": "s: T = scan_lanes (add T) [Z] [x] starts=[p]\nstore ys j s",
    "ScanLanes, compacted": """
        s: T = scan_lanes (add T) [Z] [x] starts=[p]
        store_compact [ys] 0 n p [s]""",
    "ShiftLanes": "s: T = shift_lanes [Z] [x]\nstore ys j s",
    "SwapLanes": "s: T = swap_lanes 1 [x]\nstore ys j s",
    "InSet": "w: u64 = load ws 0\nm: bool = in_set w\ns: i64 = select m j k\nstore zs j s",
    "SelectZero": "w: u64 = load ws 0\ns: i64 = select_zero w\nstore zs j s",
    "Load": "y: T = load xs k\nstore ys j y",
    "Load under a mask": "if p (() =>\n y: T = load xs k\n store ys j y) (() => ())",
    "Load, reversed": "i: i64 = lane 70 reverse=true\ny: T = load xs i\nstore ys j y",
    "LoadNear": "y: T = load_near xs 3 k 8\nstore ys j y",
    "Prefetch": "i: i64 = lane 100000\nprefetch xs i\nstore ys j x",
    "Store": "store ys j x",
    "Store anywhere": "i: i64 = mul j 2\nstore ys i x",
    "Store past the caches": "store ys j x streaming=true",
    "StoreInTurn": "store_in_turn ys j [x, x]",
    "StoreInTurn of three": "store_in_turn ys j [x, x, x]",
    "StoreInTurn under a mask": "if p (() => store_in_turn ys j [x, x]) (() => ())",
    "StoreInTurn anywhere": "i: i64 = mul j 2\nstore_in_turn ys i [x, x]",
    "Load at every second place": "i: i64 = mul j 2\ny: T = load xs i\nstore ys j y",
    "Load at every third place": """
        i: i64 = mul j 3
        a: i64 = add i 5
        y: T = load xs a
        store ys j y""",
    "StoreCompact": "store_compact [ys, zs] 0 n p [x, k]",
    "StoreCompact near the limit": "c: i64 = count_lanes p\nstore_compact [ys, zs] 0 c p [x, k]",
    "AcquireLanes": "w: i64 = acquire_lanes ks k\nstore zs j w",
    "LoadWhole": "w: i64 = load_whole ks k\nstore zs j w",
    "StoreWhole": "store_whole zs j [k]",
    "Atomic": "o: T = atomic add ys k x",
    "AtomicUpdate": "atomic_update (a: T, b: T =>\n c: T = maximum a b\n in c) ys k [x]",
    "Report": "if p (() => report 2 0 j k n) (() => ())",
    "If": "y: T = if p (() =>\n in x) (() =>\n y: T = add x x\n in y)\nstore ys j y",
    "While": """
        s: i64 = while (a: i64 => gt a 1) (a: i64 =>
            b: i64 = sub a 2
            in b) [k]
        store zs j s""",
    "For": "s: i64 = for 0 k 1 (t: i64, a: i64 =>\n b: i64 = add a t\n in b) [j]\nstore zs j s",
    "Cast": "c: i32 = cast i32 x\nd: f64 = cast f64 c\ne: T = cast T d\nstore ys j e",
}
UNIFORM = {
    "BlockIndex": "b: i64 = block_index\nstore zs 0 b",
    "WarpIndex": "b: i64 = warp_index\nstore zs 0 b",
    "Sync": "sync",
    "Acquire Release": "release ws 1 5u64\na: u64 = acquire ws 1\nstore ws 2 a",
    "StoreWhole LoadWhole": "store_whole zs 1 [n]\na: i64 = load_whole zs 1\nstore zs 2 a",
    "Backoff": "backoff 1",
    "Call": "a: i64 = call (b: i64 =>\n c: i64 = mul b b\n in c) [n]\nstore zs 0 a",
    "Shared": "s: shared i64 = shared i64 4\nstore s 1 n\na: i64 = load s 1\nstore zs 0 a",
}
HOST = {
    "IsUnique Retain Free": """
        retain ys
        u: bool = is_unique ys
        free ys
        if u (() => free zs) (() => ())""",
    "Adopt": """
        g: bool = lt n 0
        a: global i64 = adopt ks g
        u: bool = is_unique a
        if u (() => free zs) (() => ())""",
    "Trim": "trim zs n",
    "Fail": "a: bool = lt n 0\nfail a 3 0 n n",
    "Threads": "a: i64 = threads\nstore zs 0 a",
}
ROWS = """
    for 0 W 1 (t: i64 =>
        a: i64 = mul t W
        i: i64 = lane a
        r: T = cast T t
        y: T = add x r
        store room i y) []
    s: T = reduce_rows (add T) [room] 0
    store ys j s"""
LOCKS = """
    locks: shared u32 = shared u32 4
    for 0 4 1 (t: i64 => store locks t 0u32) []"""
LOCKED = """
    locked_update (a: T, b: T =>
        c: T = add a b
        in c) locks 4 [ys] k [x]"""


def programs(width: int, dtype: DType) -> dict[str, Unit]:
    """The programs that this dtype has, by name: the ops they are for come first."""
    bodies = dict(BODIES)
    tile = ", ".join(f"t{k}: T" for k in range(width))
    bodies["LoadTile"] = f"{tile} = load_tile xs 0 3 {width}\nstore ys j t{width - 1}"
    made = {name: filled(width, dtype, body) for name, body in bodies.items()}
    for name, body in UNIFORM.items():
        made[name] = filled(width, dtype, before=body)
    for name, body in HOST.items():
        made[name] = filled(width, dtype, host=body)
    made["ReduceRows"] = filled(width, dtype, ROWS, f"room: shared T = shared T {width * width}")
    made["LockedUpdate"] = filled(width, dtype, LOCKED, LOCKS)
    made["Apply"] = every_function(4, dtype)
    return made


def filled(width: int, dtype: DType, body: str = "", before: str = "", host: str = "") -> Unit:
    """One program, verified."""
    zero = f"0.0{dtype}" if dtype.is_float else f"0{dtype}"
    words = {"T": dtype.name, "W": str(width), "Z": zero}
    text = FRAME.replace("HOST", host).replace("BEFORE", before).replace("BODY", body)
    unit = parse_unit(re.sub(r"\b[TWZ]\b", lambda found: words[found[0]], text))
    verify(unit)
    return unit


def every_function(width: int, dtype: DType) -> Unit:
    """All rows of the scalar table that take this dtype, and what they give added up."""

    def body(w: Writer, xs: Atom, ys: Atom) -> None:
        def lanes(w: Writer) -> None:
            j = w.lane(index(0))
            x, total = w.load(xs, j), j
            for name, row in TABLE.items():
                if dtype.kind not in row.kinds:
                    continue
                given = (w.apply("eq", x, x), x, x) if name == "select" else (x,) * row.arity
                total = w.add(total, w.cast(w.apply(name, *given), i64))
            w.store(ys, j, total)

        w.lanes(width, lanes)

    return kernel_unit([BufferType(dtype), BufferType(i64)], body)


def arguments(dtype: DType) -> list[object]:
    """n, xs and ks: numbers so small that sums of floats are exact; ks are below 8."""
    random = np.random.default_rng(5)
    return [COUNT, random.integers(0, 9, COUNT).astype(dtype.numpy), random.integers(0, 8, COUNT)]
