"""Kernels as OpenCL C 1.2: lanes exchange values through local memory, since subgroups may lack.

    CUDA's words         here
    block, warp          work-group, 32 work-items of it
    shared               local
    __shfl_sync          store to local memory, barrier, load, barrier

Every barrier synchronises the whole work-group, even the barrier of a warp. So every loop around a
collective must take the same iterations in all warps of the group, and every branch must be the
same. The lowering's walk (`lower/traverse/steps.py`) and `kernel_passes/steps.py` ensure that, and
`emit` refuses other kernels: their values would be wrong.
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, u32
from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.dialect import Dialect, KernelText, Values
from flatweave.codegen.c.memory import from_memory
from flatweave.codegen.c.program import emit_unit
from flatweave.kernel_ir.lane_facts import missed
from flatweave.kernel_ir.syntax import Unit

PRELUDE = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable
#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef uchar uint8_t; typedef ushort uint16_t; typedef uint uint32_t; typedef ulong uint64_t;
#define FW_GLOBAL __global
#define FW_F32(bits) as_float((uint)(bits))
#define FW_F64(bits) as_double((ulong)(bits))
#define FW_BITS32(x) as_uint((float)(x))
#define FW_BITS64(x) as_ulong((double)(x))
#define FW_SWAP32(at, old, new) atomic_cmpxchg(at, old, new)
#define FW_SWAP64(at, old, new) atom_cmpxchg(at, old, new)
#define FW_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
"""
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
# `sync` orders stores to global memory, too: lanes may store over what others have filled there.
SYNC = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
ATOMICS = {"minimum": "min", "maximum": "max", "exchange": "xchg"}


def emit(unit: Unit, wide: bool = False) -> str:
    """The text of a program with all kernels of the unit, `wide` with indices of 64 bits."""
    for kernel in unit.complete().kernels:
        for let, around in missed(kernel.body):
            raise CompilerBug(
                f"in {kernel.name}, not all warps of a block come to {let.op.name}: the "
                f"{around.op.name} around it differs between them.",
                where=let.where,
            )
    return emit_unit(unit, OPENCL_C, wide)


def _exchange(e: KernelText, values: Values, source: str) -> list[str]:
    """Every lane's values in local memory, read by another lane."""
    read = []
    for array, (_, dtype) in zip(_spread(e, values), values, strict=True):
        read.append(e.temporary(dtype, from_memory(dtype, f"{array}[{source}]")))
    e.line(BARRIER)
    return read


def _spread(e: KernelText, values: Values) -> list[str]:
    """One array of the block for each value; where this warp's lanes are in it."""
    arrays = []
    for number, (value, dtype) in enumerate(values):
        array = e.declare_shared(f"fw_x{number}_{dtype.name}", dtype, e.threads)
        e.line(f"{array}[fw_thread] = {value};")
        arrays.append(f"(fw_warp * {e.width} + {array})")
    e.line(BARRIER)
    return arrays


def _ballot(e: KernelText, flag: str) -> str:
    """Each lane sets its bit in a word of the warp."""
    words = e.declare_shared("fw_bits", u32, e.threads // e.width)
    e.line(f"if (fw_lane == 0) {words}[fw_warp] = 0;")
    e.line(BARRIER)
    e.line(f"if ({flag}) atomic_or(&{words}[fw_warp], 1U << fw_lane);")
    e.line(BARRIER)
    bits = e.temporary(u32, f"{words}[fw_warp]")
    e.line(BARRIER)
    return bits


def _atomic(fn: str, dtype: DType) -> str | None:
    """Of integers; 64-bit atomics have separate names."""
    if dtype.is_float or dtype is bool_ or dtype.bits < 32:
        return None
    name = f"{'atomic' if dtype.bits == 32 else 'atom'}_{ATOMICS.get(fn, fn)}"
    return f"({dtype.c}){name}(at, ({dtype.c})x)"


OPENCL_C = Dialect(
    name="opencl",
    prelude=PRELUDE,
    head="__kernel __attribute__((reqd_work_group_size({threads}, 1, 1)))\nvoid {name}({params})",
    global_pointer="__global {type} *",
    only_read="",
    shared="__local",
    shared_space="__local",
    shared_fence="mem_fence(CLK_LOCAL_MEM_FENCE);",
    thread="(int)get_local_id(0)",
    block="(int64_t)get_group_id(0)",
    barrier=SYNC,
    warp_barrier=SYNC,
    claim="""\
__local uint fw_number[1];
if (fw_thread == 0) fw_number[0] = atomic_inc((volatile __global uint *)fw_claim);
barrier(CLK_LOCAL_MEM_FENCE);
const int64_t fw_block = fw_number[0];""",
    acquire="{to} = atom_add((volatile __global long *)({at}), 0);\nFW_FENCE();",
    acquire_lanes="{to} = atom_add((volatile __global long *)({at}), 0);\nFW_FENCE();",
    release="FW_FENCE(); atom_xchg((volatile __global long *)({at}), (long){value});",
    load_whole={1: "{first} = atom_add((volatile __global long *)({at}), 0);"},
    store_whole={1: "atom_xchg((volatile __global long *)({at}), {first});"},
    first_lane="",
    pause=";",
    popcount="(int)popcount({})",
    highest="31 - (int)clz({})",
    exchange=_exchange,
    spread=_spread,
    ballot=_ballot,
    match="",
    atomic=_atomic,
    function="static __attribute__((noinline)) void {name}({params})",
)
