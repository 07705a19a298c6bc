"""Kernels as CUDA C without headers, so that NVRTC compiles them alone; for sm_70 and later.

    lanes of a warp meet by __shfl_sync and __ballot_sync, warps of a block by __syncthreads,
    blocks of a grid by ld.acquire.gpu and st.release.gpu, or by whole words (ld.relaxed.gpu)
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, i64, u32
from flatweave.codegen.c.dialect import Dialect, KernelText, Values
from flatweave.codegen.c.program import emit_unit
from flatweave.kernel_ir.syntax import Unit

PRELUDE = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
#define FW_GLOBAL
#define FW_F32(bits) __uint_as_float((uint32_t)(bits))
#define FW_F64(bits) __longlong_as_double((int64_t)(bits))
#define FW_BITS32(x) __float_as_uint(x)
#define FW_BITS64(x) ((uint64_t)__double_as_longlong(x))
#define FW_SWAP32(at, old, new) atomicCAS((uint32_t *)(at), old, new)
#define FW_SWAP64(at, old, new) atomicCAS((uint64_t *)(at), old, new)
#define FW_FENCE() __threadfence()
#define FW_ALL 0xffffffffU
"""
ATOMICS = {
    "add": "atomicAdd", "minimum": "atomicMin", "maximum": "atomicMax",
    "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor", "exchange": "atomicExch",
}  # fmt: skip


# Inline, since the compiler would test each bit twice: for the ballot, and to choose. Ballots are
# faster than match.any, of which Nvidia's CUB says the same.
MATCH = """\
FW_FN uint32_t fw_match(uint32_t number, int bits) {
    uint32_t alike = FW_ALL;
    #pragma unroll
    for (int k = 0; k < bits; k++) {
        const uint32_t bit = number & (1U << k);
        uint32_t lanes;
        asm volatile("{ .reg .pred fw_p; setp.ne.u32 fw_p, %1, 0; "
            "vote.sync.ballot.b32 %0, fw_p, 0xffffffff; }" : "=r"(lanes) : "r"(bit));
        alike &= bit ? lanes : ~lanes;
    }
    return alike;
}
"""


def emit(unit: Unit, wide: bool = False) -> str:
    """The text of a module with all kernels of the unit, `wide` with indices of 64 bits."""
    return emit_unit(unit, CUDA_C, wide)


def _exchange(e: KernelText, values: Values, source: str) -> list[str]:
    """Through registers; values narrower than 32 bits travel as an int."""
    read = []
    for value, dtype in values:
        narrow = dtype.bits < 32
        text = f"__shfl_sync(FW_ALL, {'(int)' if narrow else ''}{value}, {source})"
        read.append(e.temporary(dtype, f"({dtype.c}){text}" if narrow else text))
    return read


def _ballot(e: KernelText, flag: str) -> str:
    return e.temporary(u32, f"__ballot_sync(FW_ALL, {flag})")


def _atomic(fn: str, dtype: DType) -> str | None:
    """Floats are added only, those of 32 bits exchanged; 64 bits are added, masked and exchanged
    as unsigned ones only."""
    floats = ("add", "exchange") if dtype.bits == 32 else ("add",)
    if dtype is bool_ or dtype.bits < 32 or (dtype.is_float and fn not in floats):
        return None
    kind = dtype.c
    if dtype is i64 and fn not in ("minimum", "maximum"):
        kind = "uint64_t"
    return f"({dtype.c}){ATOMICS[fn]}((FW_GLOBAL {kind} *)at, ({kind})x)"


CUDA_C = Dialect(
    name="cuda",
    prelude=PRELUDE,
    head='extern "C" __global__ void __launch_bounds__({threads})\n{name}({params})',
    global_pointer="{type} *",
    only_read="__restrict__ ",
    shared="__shared__",
    shared_space="FW_GLOBAL",
    shared_fence="__threadfence_block();",
    thread="(int)threadIdx.x",
    block="(int64_t)blockIdx.x",
    barrier="__syncthreads();",
    warp_barrier="__syncwarp();",
    claim="""\
__shared__ uint32_t fw_number[1];
if (fw_thread == 0) fw_number[0] = atomicAdd(fw_claim, 1U);
__syncthreads();
const int64_t fw_block = fw_number[0];""",
    acquire="""\
if (fw_lane == 0)
    asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"({to}) : "l"({at}) : "memory");
{to} = __shfl_sync(FW_ALL, {to}, 0);
__syncwarp();""",
    acquire_lanes="""\
asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"({to}) : "l"({at}) : "memory");
__syncwarp();""",
    release=(
        'asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"({at}), "l"((int64_t){value}) '
        ': "memory");'
    ),
    load_whole={
        1: 'asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"({first}) : "l"({at}) : "memory");',
        2: """\
asm volatile("{{ .reg .b128 fw_pair; ld.relaxed.gpu.b128 fw_pair, [%2]; "
    "mov.b128 {{%0, %1}}, fw_pair; }}" : "=l"({first}), "=l"({second}) : "l"({at}) : "memory");""",
    },
    store_whole={
        1: 'asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"({at}), "l"({first}) : "memory");',
        2: """\
asm volatile("{{ .reg .b128 fw_pair; mov.b128 fw_pair, {{%1, %2}}; "
    "st.relaxed.gpu.b128 [%0], fw_pair; }}"
    :: "l"({at}), "l"({first}), "l"({second}) : "memory");""",
    },
    first_lane="{to} = __shfl_sync(FW_ALL, {to}, 0);",
    pause="__nanosleep(32u << ({attempt} < 5 ? {attempt} : 5));",
    popcount="__popc({})",
    highest="31 - __clz({})",
    exchange=_exchange,
    spread=None,
    ballot=_ballot,
    match=MATCH,
    atomic=_atomic,
    function="static __device__ __noinline__ void {name}({params})",
)
