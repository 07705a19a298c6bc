"""Loops that apply one emitted expression to arrays: what the tests of scalar code compile.

    for (i = 0; i < n; i += width) out[i .. i + width] = expression(in[i .. i + width], ..)
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from llvmlite import binding

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.module import Body, Module, vec
from flatweave.runtime.processor import processor

BLOCK = 64  # every array's length is a multiple of the widest vector


@dataclass(frozen=True)
class Loop:
    """One function of a module: its operands' dtypes, its result's, and how many lanes it takes."""

    name: str
    operands: Sequence[DType]
    result: DType
    width: int
    expression: Callable[[Body, list[str]], str]


class Loops:
    """Compiled loops, called by name."""

    def __init__(self, module: Module, loops: Sequence[Loop], optimise: int = 1) -> None:
        self._loops, made_for = {loop.name: loop for loop in loops}, processor()
        for loop in loops:
            _define(module, loop)
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        parsed = binding.parse_assembly(module.text())
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=made_for.name, features=made_for.attributes, opt=optimise
        )
        parsed.data_layout = str(machine.target_data)
        parsed.verify()
        builder = binding.create_pass_builder(
            machine, binding.create_pipeline_tuning_options(speed_level=optimise)
        )
        builder.getModulePassManager().run(parsed, builder)
        self._module, self._machine = parsed, machine
        self._engine = binding.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()

    def assembly(self) -> str:
        """The instructions of all loops."""
        return self._machine.emit_assembly(self._module)

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        """The loop's results."""
        loop = self._loops[name]
        out = np.empty(arrays[0].size, loop.result.numpy)
        assert out.size % BLOCK == 0
        address = self._engine.get_function_address(name)
        function = ctypes.CFUNCTYPE(
            None, ctypes.c_int64, *[ctypes.c_void_p] * (len(loop.operands) + 1)
        )(address)
        function(out.size, *(x.ctypes.data for x in arrays), out.ctypes.data)
        return out


def _define(module: Module, loop: Loop) -> None:
    """The text of one loop."""
    body = Body(module)
    body.label("entry")
    body.line("br label %turn")
    body.label("turn")
    body.line("%i = phi i64 [ 0, %entry ], [ %next, %last ]")
    operands = []
    for number, dtype in enumerate(loop.operands):
        kind, place = _stored(dtype, loop.width), _at(body, dtype, number)
        value = body.let(f"load {kind}, ptr {place}, align 1")
        if dtype.kind == "b":
            value = body.let(f"trunc {kind} {value} to {vec(dtype, loop.width)}")
        operands.append(value)
    result = loop.expression(body, operands)
    kind = _stored(loop.result, loop.width)
    if loop.result.kind == "b":
        result = body.let(f"zext {vec(loop.result, loop.width)} {result} to {kind}")
    place = _at(body, loop.result, len(loop.operands))
    body.line(f"store {kind} {result}, ptr {place}, align 1")
    body.line("br label %last")
    body.label("last")
    body.line(f"%next = add i64 %i, {loop.width}")
    body.line("%more = icmp ult i64 %next, %n")
    body.line("br i1 %more, label %turn, label %exit")
    body.label("exit")
    body.line("ret void")
    pointers = ", ".join(f"ptr %p{i}" for i in range(len(loop.operands) + 1))
    module.define(f"@{loop.name}", f"define void @{loop.name}(i64 %n, {pointers}) {{", body)


def _stored(dtype: DType, width: int) -> str:
    """The type in memory, where a bool is a byte."""
    scalar = "i8" if dtype.kind == "b" else dtype.llvm
    return scalar if width == 1 else f"<{width} x {scalar}>"


def _at(body: Body, dtype: DType, number: int) -> str:
    """The address of element %i of an array."""
    return body.let(f"getelementptr {_stored(dtype, 1)}, ptr %p{number}, i64 %i")


def samples(dtype: DType, count: int, seed: int) -> np.ndarray:
    """Edges, small values and values of all sizes, mixed; the count is a multiple of BLOCK."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(np.bool_)
    if dtype.is_float:
        return _float_samples(dtype, count, rng)
    low, high = int(dtype.low), int(dtype.high)
    edges = [low, low + 1, high - 1, high, 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65]
    edges += [-1, -2, -7] if low < 0 else []
    allowed = np.array([x for x in edges if low <= x <= high], dtype=dtype.numpy)
    wide = rng.integers(low, high, count, dtype=dtype.numpy, endpoint=True)
    small = wide >> np.asarray(dtype.bits // 2, dtype.numpy)
    kind = rng.integers(0, 3, count)
    return np.choose(kind, [wide, small, rng.choice(allowed, count)]).astype(dtype.numpy)


def _float_samples(dtype: DType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Floats of every size, whole numbers, halves, subnormals, zeros, infinities and NaN."""
    limits = np.finfo(dtype.numpy)
    edges = np.array(
        [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3, 7, 1e30, np.inf, -np.inf, np.nan,
         limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, np.pi, 1e5, 0.85, 88.7,
         -103.9, 709.7, -745.0]
    )  # fmt: skip
    bits = rng.integers(0, 2**dtype.bits, count, dtype=f"u{dtype.bytes}").view(dtype.numpy)
    with np.errstate(all="ignore"):
        choices = [
            bits,
            rng.standard_normal(count) * 10.0 ** rng.uniform(-8, 8, count),
            np.round(rng.standard_normal(count) * 5),
            rng.choice(edges, count),
            rng.uniform(-1.3, 1.3, count),
            rng.uniform(-120, 120, count),
        ]
        return np.choose(rng.integers(0, len(choices), count), choices).astype(dtype.numpy)


def same_bits(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where two arrays agree bit for bit; any NaN agrees with any other."""
    if left.dtype.kind != "f":
        return left == right
    bits = f"u{left.dtype.itemsize}"
    return (left.view(bits) == right.view(bits)) | (np.isnan(left) & np.isnan(right))
