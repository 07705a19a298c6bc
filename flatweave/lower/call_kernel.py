"""What a program calls as it was written: a kernel, whose host code becomes part of the program's,
or a Python function, as one host step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatweave.base.records import replace
from flatweave.kernel_ir.host import CallHost, Free, Launch
from flatweave.kernel_ir.syntax import Kernel, Load, Unit
from flatweave.kernel_passes.barriers import needless_barriers, reuse_memory, warp_phases
from flatweave.kernel_passes.distribute import distribute
from flatweave.kernel_passes.registers import registers, shuffles
from flatweave.kernel_passes.streaming import stream
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import HostArray
from flatweave.lower.machine.machine import Machine
from flatweave.ops import Callback, CallKernel, KernelProgram
from flatweave.terms.build import index
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op
from flatweave.terms.traverse import map_field


def unit_for(program: KernelProgram, machine: Machine) -> Unit:
    """The kernels for the warps and lanes of a machine."""
    shape = machine.block_of(program.threads)
    unit = shuffles(program.on(machine).unit, shape)
    unit = registers(unit, shape)
    unit = warp_phases(reuse_memory(needless_barriers(unit, shape)), shape)
    unit = distribute(unit, shape)
    return unit if machine.streaming_from is None else stream(unit, machine.streaming_from)


def lower_call(lowering: Lowering, let: Let, op: CallKernel | Callback) -> None:
    """Call a kernel or a Python function here."""
    if isinstance(op, Callback):
        _lower_callback(lowering, let, op)
    else:
        _lower_kernel(lowering, let, op)


def _lower_callback(lowering: Lowering, let: Let, op: Callback) -> None:
    """Call it; a result that is a number is read from a buffer of one element."""
    calls, host = lowering.program.calls, lowering.host
    args: list[Atom] = []
    for atom in op.given():
        held = lowering.scope.find(atom)
        args.append(held.buffer if isinstance(held, HostArray) else held)
    made = []
    for result in op.results:
        shape = tuple(map(lowering.scope.scalar, result.total or result.shape))
        buffer = lowering.alloc(result.dtype, host.product(shape), "buffer")
        made.append(HostArray(buffer, shape))
    calls.append((op.described, lowering.site()))
    host.emit(CallHost(len(calls) - 1, (*args, *(array.buffer for array in made))))
    for var, array in zip(let.vars, made, strict=True):
        if array.shape:
            lowering.scope.bind(var, array)
        else:
            lowering.scope.bind(var, host.emit(Load(array.buffer, index(0)))[0])
            host.emit(Free(array.buffer))


def _lower_kernel(lowering: Lowering, let: Let, op: CallKernel) -> None:
    """Run the host code of a kernel here, its launches among the program's own."""
    program, made = op.program.on(lowering.machine), lowering.program
    unit = unit_for(program, lowering.machine)
    number = len(made.kernels)
    names = {kernel.name: f"{kernel.name}_{number}" for kernel in unit.kernels}
    sites = {
        site: lowering.sites.add(row) for site, row in sorted(program.plan.sites.items())
    }
    rename = _Renamed(names, sites)
    made.kernels += [rename.kernel(kernel) for kernel in unit.kernels]
    args: list[Atom] = []
    for atom in op.args:
        held = lowering.scope.find(atom)
        args.append(held.buffer if isinstance(held, HostArray) else held)
    results = iter(lowering.host.inline(rename.function(unit.host), args))
    of_host = _by_result(program, results)
    for var, result in zip(let.vars, of_host, strict=True):
        if isinstance(var.type, ArrayType):
            shape = tuple(lowering.scope.scalar(extent) for extent in var.type.shape)
            lowering.scope.bind(var, HostArray(result, shape))  # type: ignore[arg-type]
        else:
            lowering.scope.bind(var, result)


def _by_result(program: KernelProgram, results: Any) -> list[Atom]:
    """The host's results, the extents of each array before it, as the op binds them."""
    found: list[Atom] = []
    for result in program.plan.results:
        value = next(results)
        found += [next(results) for extent in result.extents or () if extent is None]
        found.append(value)
    return found


class _Renamed:
    """Code with other names of kernels, and other numbers of sites."""

    def __init__(self, names: Mapping[str, str], sites: Mapping[int, int]) -> None:
        self.names = names
        self.sites = sites

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel anew."""
        return replace(
            kernel, name=self.names[kernel.name], body=self.function(kernel.body)
        )

    def function(self, fn: Lambda) -> Lambda:
        """A body anew."""
        return replace(fn, lets=tuple(replace(let, op=self.op(let.op)) for let in fn.lets))

    def op(self, op: Op) -> Op:
        """An op anew."""
        found: Op = map_field(op, lambda atom: atom, self.function)
        if isinstance(found, Launch):
            variants = tuple(
                choice.replace(kernel=self.names[choice.kernel]) for choice in found.variants
            )
            return found.replace(kernel=self.names[found.kernel], variants=variants)
        if "site" in found.fields:
            return found.replace(site=self.sites[found.site])  # type: ignore[attr-defined]
        return found
